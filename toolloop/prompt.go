package toolloop

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// injected are the blocks that agents, and hookline itself, put into user turns
// beside the user's words.
var injected = []string{"session_context", "hook_context", "system-reminder", "qwen:user-prompt-submit-context", "loaded_context", "environment_context"}

// stripInjected leaves out injected blocks.
func stripInjected(text string) string {
	for _, tag := range injected {
		open, end := "<"+tag+">", "</"+tag+">"
		for {
			i := strings.Index(text, open)
			if i < 0 {
				break
			}
			j := strings.Index(text[i:], end)
			if j < 0 {
				break
			}
			text = text[:i] + strings.TrimLeft(text[i+j+len(end):], "\r\n")
		}
	}
	return text
}

// prompt is a turn in which the user speaks.
type prompt struct {
	turn    int    // index in the run's turns
	said    string // what the user says, without injected blocks
	key     digest
	ordinal int // how many prompts before it have the same key
	rec     *userRecord
}

// accept takes a record that was found.
func (p *prompt) accept(v []byte) {
	if rec, err := decodeUser(v); err == nil {
		p.rec = rec
	}
}

// readPrompts finds the turns in which the user speaks: those that bring no
// results. The last turn of the run is the prompt; earlier ones are prompts whose
// answers the agent did not keep, since the user broke them off.
func (r *run) readPrompts(before *run, count map[digest]int) {
	var near digest
	if before != nil {
		near = before.content
	}
	for i := range r.turns {
		p := &prompt{turn: i}
		var said strings.Builder
		results := false
		for _, part := range r.turns[i].Parts {
			results = results || part.Kind == translate.KindResult
			if part.Kind == translate.KindText {
				said.WriteString(stripInjected(textOf(part)))
			}
		}
		if p.said = said.String(); results {
			continue
		}
		var d digester
		p.key = d.bytes(near[:]).string(p.said).sum()
		p.ordinal = count[p.key]
		count[p.key]++
		if i == len(r.turns)-1 {
			r.prompt = p
		} else if p.said != "" {
			r.earlier = append(r.earlier, p)
		}
	}
}

// prompts makes the run's prompts what the model is shown of them.
func (h *history) prompts(r *run) {
	all := r.earlier
	if r.prompt != nil {
		all = append(all[:len(all):len(all)], r.prompt)
	}
	var turns []translate.Turn
	next := 0
	for _, p := range all {
		if p.rec == nil || !p.rec.Drop && len(p.rec.Blocks) == 0 && p.rec.Prompt == "" {
			continue
		}
		turns = append(turns, r.turns[next:p.turn]...)
		next = p.turn + 1
		if t := h.shownPrompt(r.turns[p.turn], p.rec); len(t.Parts) > 0 {
			turns = append(turns, t)
		}
	}
	if next > 0 {
		h.changed = true
		r.turns = append(turns, r.turns[next:]...)
	}
}

// shownPrompt is what the model is shown of a prompt; without parts when nothing.
func (h *history) shownPrompt(said translate.Turn, rec *userRecord) translate.Turn {
	t := translate.Turn{Role: said.Role}
	replaced := false
	for _, p := range said.Parts {
		text, beside := "", true // beside: the agent put it beside the user's words, and it stays
		if p.Kind == translate.KindText {
			text = textOf(p)
			beside = stripInjected(text) == ""
		} else if rec.Drop {
			continue
		}
		switch {
		case beside:
			t.Parts = append(t.Parts, p)
		case rec.Drop, replaced && rec.Prompt != "":
		case rec.Prompt != "":
			replaced = true
			t.Parts = append(t.Parts, h.call.Wire.TextPart(replacePrompt(text, rec.Prompt)))
		default:
			t.Parts = append(t.Parts, p)
		}
	}
	if rec.Prompt != "" && !rec.Drop && !replaced {
		t.Parts = append(t.Parts, h.call.Wire.TextPart(rec.Prompt))
	}
	for _, b := range rec.Blocks {
		t.Parts = append(t.Parts, h.call.Wire.TextPart(b))
	}
	return t
}

// replacePrompt puts a hook's prompt in the place of the user's words. Injected
// blocks before and after them stay.
func replacePrompt(text, prompt string) string {
	said := stripInjected(text)
	before, after, ok := strings.Cut(text, said)
	if !ok {
		return prompt // blocks stand between the words
	}
	return before + prompt + after
}

// newPrompt fires SessionStart and BeforeAgent for a prompt that is new.
func (h *history) newPrompt(ctx context.Context) error {
	l := h.loop
	if !h.conversation || !l.has(hooks.SessionStart) && !l.has(hooks.BeforeAgent) {
		return nil
	}
	r := h.lastPrompt()
	if r == nil || r.prompt.rec != nil {
		return nil
	}
	newest := r == h.runs[len(h.runs)-1]
	if !newest && !l.has(hooks.SessionStart) {
		return nil
	}
	key := h.keys.user(r.prompt.key, r.prompt.ordinal)
	v, err := l.once(ctx, h.call, key, func(ctx context.Context) ([]byte, error) {
		rec := &userRecord{}
		if l.has(hooks.SessionStart) {
			block, err := h.sessionStart(ctx, r)
			if err != nil {
				return nil, err
			}
			if block != "" {
				rec.Blocks = append(rec.Blocks, block)
			}
		}
		if newest && l.has(hooks.BeforeAgent) {
			l.beforeAgent(ctx, h.call, r.prompt.said, rec)
		}
		v := rec.encode()
		es := []store.Entry{{Key: h.keys.anyUser(r.prompt.key), Value: v}}
		if rec.Drop {
			es = append(es, store.Entry{Key: h.keys.deniedPrompt(r.prompt.said), Value: (&userRecord{Drop: true}).encode()})
		}
		return v, l.put(ctx, h.call, es...)
	})
	if err != nil {
		return fmt.Errorf("BeforeAgent: %w", err)
	}
	r.prompt.accept(v)
	return nil
}

// agentEvents reports whether hooks listen to what is fired for turns of a
// conversation only.
func (l *Loop) agentEvents() bool {
	return l.has(hooks.SessionStart) || l.has(hooks.BeforeAgent) || l.has(hooks.AfterAgent)
}

// waits is the entry that says whether a session's newest answer left calls open:
// then it holds what that answer's history begins with.
func (h *history) waits(calls bool) []byte {
	if !calls {
		return nil
	}
	return h.opening
}

// openingOf is a digest of what the first turn of a history says.
func openingOf(turns []translate.Turn) []byte {
	var d digester
	if len(turns) > 0 {
		for _, p := range turns[0].Parts {
			d.buf = appendText(d.buf, p.Text)
		}
	}
	sum := d.sum()
	return sum[:]
}

// subagent reports whether a history that begins anew is a subagent's, for which
// its parent, of the same session, waits. The parent's own first request, sent
// again, begins as before.
func (h *history) subagent(ctx context.Context) (bool, error) {
	if !h.loop.agentEvents() || len(h.runs) > 1 {
		return false, nil
	}
	vals, err := h.loop.store.Get(ctx, []store.Key{h.keys.waits()})
	if err != nil {
		return false, h.loop.storeDown(ctx, h.call, err)
	}
	return len(vals[0]) > 0 && !bytes.Equal(vals[0], h.opening), nil
}

// fresh reports whether a history begins anew: nothing was answered yet, and none
// of the prompts is known but, maybe, the newest.
func (h *history) fresh() bool {
	return len(h.runs) == 1 && !slices.ContainsFunc(h.runs[0].earlier, func(p *prompt) bool { return p.rec != nil })
}

// lastPrompt is the newest run in which the user speaks; nil for none.
func (h *history) lastPrompt() *run {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if r := h.runs[i]; r.prompt != nil {
			return r
		}
	}
	return nil
}

// retries counts the AfterAgent retries since the user last spoke.
func (h *history) retries() int {
	n := 0
	for i := len(h.runs) - 1; i >= 0 && h.runs[i].prompt == nil; i-- {
		if rec := h.runs[i].rec; rec != nil {
			n += rec.Retries
		}
	}
	return n
}

// beforeAgent fires BeforeAgent for a prompt.
func (l *Loop) beforeAgent(ctx context.Context, c *Call, prompt string, rec *userRecord) {
	in := l.input(c, hooks.BeforeAgent, "", 0, []hooks.Field{{Key: "prompt", Value: quote(prompt)}})
	d := l.fire(ctx, c, in)
	switch {
	case d.Stop:
		rec.Answer = d.StopReason
	case d.Deny:
		rec.Answer, rec.Drop = d.Reason, true
	default:
		if len(d.Prompt) > 0 {
			rec.Prompt = gjson.ParseBytes(d.Prompt).String()
		}
		if len(d.Context) > 0 {
			rec.Blocks = append(rec.Blocks, contextBlock(d.Context))
		}
	}
}

// sessionStart fires SessionStart, once for a session, and gives the block that
// its hooks add to the prompt; "" for none.
func (h *history) sessionStart(ctx context.Context, r *run) (string, error) {
	l := h.loop
	source, key := "resume", h.keys.sessionStart()
	if h.fresh() {
		// A history that begins anew in a session that is known was cleared.
		vals, err := l.store.Get(ctx, []store.Key{key})
		if err != nil {
			return "", l.storeDown(ctx, h.call, err)
		}
		source = "startup"
		if vals[0] != nil {
			source = "clear"
		}
		key = h.keys.sessionPrompt(r.prompt.key)
	}
	mine := false
	v, err := l.once(ctx, h.call, key, func(ctx context.Context) ([]byte, error) {
		mine = true
		if source == "clear" {
			l.sessionEnd(ctx, h.call, "clear")
		}
		in := l.input(h.call, hooks.SessionStart, source, 0, []hooks.Field{{Key: "source", Value: quote(source)}})
		d := l.fire(ctx, h.call, in)
		rec := &userRecord{}
		if len(d.Context) > 0 {
			rec.Blocks = []string{contextBlock(d.Context)}
		}
		v := rec.encode()
		return v, l.put(ctx, h.call, store.Entry{Key: h.keys.sessionStart(), Value: v})
	})
	if err != nil {
		return "", fmt.Errorf("SessionStart: %w", err)
	}
	rec, err := decodeUser(v)
	if err != nil || !mine || len(rec.Blocks) == 0 {
		return "", nil
	}
	return rec.Blocks[0], nil
}
