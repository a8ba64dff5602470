package toolloop

import (
	"context"
	"fmt"
	"strings"

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

// readPrompt finds the turn in which the user speaks: the last one of the run,
// unless it brings results.
func (r *run) readPrompt(before *run, count map[digest]int) {
	t := &r.turns[len(r.turns)-1]
	var said strings.Builder
	for _, p := range t.Parts {
		switch p.Kind {
		case translate.KindResult:
			return
		case translate.KindText:
			said.WriteString(stripInjected(textOf(p)))
		}
	}
	r.prompt, r.said = t, said.String()
	var near digest
	if before != nil {
		near = before.content
	}
	var d digester
	r.promptKey = d.bytes(near[:]).string(r.said).sum()
	r.ordinal = count[r.promptKey]
	count[r.promptKey]++
}

// prompts makes the run's prompt what the model is shown of it.
func (h *history) prompts(r *run) {
	rec := r.user
	if rec == nil || r.prompt == nil || !rec.Drop && len(rec.Blocks) == 0 {
		return
	}
	h.changed = true
	last := len(r.turns) - 1
	t := translate.Turn{Role: r.prompt.Role}
	for _, p := range r.prompt.Parts {
		if rec.Drop && !(p.Kind == translate.KindText && stripInjected(textOf(p)) == "") {
			continue // what the agent put beside the user's words stays
		}
		t.Parts = append(t.Parts, p)
	}
	for _, b := range rec.Blocks {
		t.Parts = append(t.Parts, h.call.Wire.TextPart(b))
	}
	turns := append([]translate.Turn(nil), r.turns[:last]...)
	if len(t.Parts) > 0 {
		turns = append(turns, t)
	}
	r.turns = turns
}

// newPrompt fires SessionStart and BeforeAgent for a prompt that is new.
func (h *history) newPrompt(ctx context.Context) error {
	l := h.loop
	if !h.conversation || !l.has(hooks.SessionStart) && !l.has(hooks.BeforeAgent) {
		return nil
	}
	r := h.lastPrompt()
	if r == nil || r.user != nil {
		return nil
	}
	newest := r == h.runs[len(h.runs)-1]
	if !newest && !l.has(hooks.SessionStart) {
		return nil
	}
	key := h.keys.user(r.promptKey, r.ordinal)
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
			l.beforeAgent(ctx, h.call, r.said, rec)
		}
		v := rec.encode()
		return v, l.put(ctx, h.call, store.Entry{Key: h.keys.anyUser(r.promptKey), Value: v})
	})
	if err != nil {
		return fmt.Errorf("BeforeAgent: %w", err)
	}
	r.acceptUser(v)
	return nil
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
	d := l.hooks.Fire(ctx, in)
	l.report(ctx, c, in.Event, d)
	switch {
	case d.Stop:
		rec.Answer = d.StopReason
	case d.Deny:
		rec.Answer, rec.Drop = d.Reason, true
	case len(d.Context) > 0:
		rec.Blocks = append(rec.Blocks, contextBlock(d.Context))
	}
}

// sessionStart fires SessionStart, once for a session, and gives the block that
// its hooks add to the prompt; "" for none.
func (h *history) sessionStart(ctx context.Context, r *run) (string, error) {
	l := h.loop
	source, key := "resume", h.keys.sessionStart()
	if len(h.runs) == 1 {
		// A history that begins anew in a session that is known was cleared.
		vals, err := l.store.Get(ctx, []store.Key{key})
		if err != nil {
			return "", l.storeDown(ctx, h.call, err)
		}
		source = "startup"
		if vals[0] != nil {
			source = "clear"
		}
		key = h.keys.sessionPrompt(r.promptKey)
	}
	mine := false
	v, err := l.once(ctx, h.call, key, func(ctx context.Context) ([]byte, error) {
		mine = true
		if source == "clear" {
			l.sessionEnd(ctx, h.call, "clear")
		}
		in := l.input(h.call, hooks.SessionStart, source, 0, []hooks.Field{{Key: "source", Value: quote(source)}})
		d := l.hooks.Fire(ctx, in)
		l.report(ctx, h.call, in.Event, d)
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
