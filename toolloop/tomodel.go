package toolloop

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// history turns what the agent sends (A) into what the model is to be shown (M).
type history struct {
	loop *Loop
	call *Call
	keys keys
	runs []*run

	results map[*item]*resultRecord

	out     []translate.Turn
	changed bool
	slots   []slot // results that wait for their tail call's result

	conversation bool   // the call is a turn of the conversation, no side call of the agent
	sub          bool   // it is a subagent's
	opening      []byte // see [openingOf]
	stop         string // what the newest results or prompt ask for: the turn ends with this reason; "" for none
	unasked      bool   // the model is not shown the prompt that asked for it
}

// slot is a result in out whose place a tail call's result takes.
type slot struct {
	turn, part int
	id, name   string // of the call that the model made
	tail       *tailRecord
	call       digest // identity of the call that the tail extends, as the agent has it
}

// toModel turns the agent's history into the model's. It fires AfterTool for
// results that are new.
func (l *Loop) toModel(ctx context.Context, c *Call, req *translate.Request, conversation bool) (*history, error) {
	h := &history{loop: l, call: c, conversation: conversation, keys: keys{tenant: c.Tenant, session: c.Session}, runs: split(req.Turns, l.memos), opening: openingOf(req.Turns), results: map[*item]*resultRecord{}}
	if len(h.runs) == 0 {
		return h, nil
	}
	sub, err := h.subagent(ctx)
	if err != nil {
		return nil, err
	}
	if err := h.findSubagent(ctx); err != nil {
		return nil, err
	}
	sub = sub || c.sub != nil
	h.sub = h.conversation && sub
	h.conversation = h.conversation && !sub
	h.transcribe(ctx)
	look := lookup{store: l.store, keys: h.keys, runs: h.runs}
	if err := look.find(ctx, h.results); err != nil {
		if err = l.storeDown(ctx, c, err); err != nil {
			return nil, err
		}
	} else if err := h.pin(ctx); err != nil {
		return nil, err
	}
	if err := h.subagentStart(ctx); err != nil {
		return nil, err
	}
	if err := h.newPrompt(ctx); err != nil {
		return nil, err
	}
	h.out = make([]translate.Turn, 0, len(req.Turns)+4)
	for i, r := range h.runs {
		var before *run
		if i > 0 {
			before = h.runs[i-1]
		}
		switch {
		case r.model:
			h.modelRun(r)
		case before != nil && before.rec != nil && before.rec.Tail && len(h.slots) > 0:
			if err := h.tailResults(ctx, r, before); err != nil {
				return nil, err
			}
		default:
			if err := h.userRun(ctx, r, before); err != nil {
				return nil, err
			}
		}
		if i < len(h.runs)-1 {
			h.stop = "" // an old stop: its answer follows and is left out
		} else if p := r.prompt; p != nil && p.rec != nil && p.rec.Answer != "" {
			h.stop, h.unasked = p.rec.Answer, p.rec.Drop
		}
	}
	return h, nil
}

// pin makes what was found for turns of a resumed conversation this session's own.
// Without ids and signatures a later turn may look the same, and what hooks make
// of that one must not be taken for theirs. Turns without a record were left alone.
func (h *history) pin(ctx context.Context) error {
	if !h.conversation {
		return nil
	}
	var es []store.Entry
	for _, r := range h.runs {
		rec := r.rec
		switch {
		case !r.model || r.known || rec != nil && !r.whole():
			continue
		case rec == nil:
			rec = &turnRecord{Same: true}
		}
		es = append(es, store.Entry{Key: h.keys.turn(r.base, r.ordinal), Value: rec.encode()})
	}
	if len(es) == 0 {
		return nil
	}
	return h.loop.put(ctx, h.call, es...)
}

// modelRun appends what the model's side holds for a run of model turns.
func (h *history) modelRun(r *run) {
	rec := r.rec
	if rec != nil && rec.Tail && len(h.slots) > 0 {
		h.changed = true
		return
	}
	h.slots = nil // a tail call that was never made: its result stays what the agent has
	switch {
	case rec == nil || rec.Same || rec.Tail:
		h.out = append(h.out, r.turns...)
		return
	case len(rec.Rounds) == 0:
		h.changed = true
		return
	case !r.whole():
		h.repairCalls(r)
		return
	}
	if rec.Clear > 0 {
		h.out, h.changed = h.out[:0], true
	}
	last := len(rec.Rounds) - 1
	if last == 0 && rec.Clear == 0 && len(rec.Joined) == 0 && r.echoes(rec.Rounds[0].Parts, h.call.Wire) {
		h.out = append(h.out, r.turns...)
		return
	}
	h.changed = true
	h.out = h.appendRounds(h.out, rec.Rounds, rec.Clear)
}

// appendRounds appends rounds, but for what is forgotten.
func (h *history) appendRounds(turns []translate.Turn, rounds []mRound, clear int) []translate.Turn {
	for i, m := range rounds {
		if len(m.Parts) > 0 && i >= clear {
			turns = append(turns, h.built("model", m.Parts))
		}
		if len(m.Reply) > 0 && i+1 >= clear {
			turns = append(turns, h.built("user", m.Reply))
		}
	}
	return turns
}

// built makes a turn of stored parts.
func (h *history) built(role string, parts [][]byte) translate.Turn {
	t := translate.Turn{Role: role}
	for _, p := range parts {
		t.Parts = append(t.Parts, h.call.Wire.Part(p))
	}
	return t
}

// echoes reports whether the agent has the turn as the model made it, in one
// content. Thoughts and empty texts may be missing, texts may be joined.
func (r *run) echoes(parts [][]byte, w Wire) bool {
	if len(r.turns) != 1 {
		return false
	}
	var own []translate.Part
	for _, p := range parts {
		own = append(own, w.Part(p))
	}
	return sameParts(essence(r.turns[0].Parts), essence(own))
}

// essence leaves out what agents may drop without harm, and joins plain texts.
type essential struct {
	part translate.Part
	text []byte // of plain texts
}

func essence(parts []translate.Part) []essential {
	var es []essential
	for _, p := range parts {
		plain := p.Kind == translate.KindText && p.Signature == ""
		switch {
		case p.Kind == translate.KindThought && p.Signature == "":
		case plain && len(p.Text) <= 2:
		case plain && len(es) > 0 && es[len(es)-1].text != nil:
			es[len(es)-1].text = appendText(es[len(es)-1].text, p.Text)
		case plain:
			es = append(es, essential{part: p, text: appendText([]byte{}, p.Text)})
		default:
			es = append(es, essential{part: p})
		}
	}
	return es
}

func sameParts(a, b []essential) bool {
	return slices.EqualFunc(a, b, func(x, y essential) bool {
		if x.text != nil || y.text != nil {
			return x.text != nil && y.text != nil && bytes.Equal(x.text, y.text)
		}
		p, q := x.part, y.part
		if p.Kind == translate.KindCall && q.Kind == translate.KindCall {
			return p.ID == q.ID && p.Name == q.Name && p.Signature == q.Signature && sameBody(p.Body, q.Body)
		}
		if p.Kind == translate.KindText && q.Kind == translate.KindText || p.Kind == translate.KindThought && q.Kind == translate.KindThought {
			return p.Signature == q.Signature && textOf(p) == textOf(q)
		}
		return bytes.Equal(appendCanonical(nil, p.Raw), appendCanonical(nil, q.Raw))
	})
}

// sameBody compares arguments byte for byte but for white space between tokens.
func sameBody(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y bytes.Buffer
	return bytes.Equal(a, b) || json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// repairCalls restores single calls of a run of which only some are known.
func (h *history) repairCalls(r *run) {
	last := r.rec.Rounds[len(r.rec.Rounds)-1]
	k := 0
	for _, t := range r.turns {
		var parts []translate.Part
		for i, p := range t.Parts {
			if p.Kind != translate.KindCall {
				continue
			}
			if m := r.matched[k]; m >= 0 {
				if parts == nil {
					parts = slices.Clone(t.Parts)
				}
				parts[i] = h.call.Wire.Part(last.Parts[r.rec.Shown[m].Pos])
			}
			k++
		}
		if parts != nil {
			t, h.changed = translate.Turn{Role: t.Role, Parts: parts}, true
		}
		h.out = append(h.out, t)
	}
}

// answered is a result as it goes up, with what its call says about it.
type answered struct {
	part  translate.Part
	tail  *tailRecord
	call  digest
	id    string
	name  string
	moved bool // not the bytes that the agent sent
}

// userRun appends what the model's side holds for a run of user turns.
func (h *history) userRun(ctx context.Context, r, before *run) error {
	h.prompts(r)
	if len(r.results) == 0 && !before.leavesOpen() {
		h.out = append(h.out, r.turns...)
		return nil
	}
	if err := h.fire(ctx, r, nil); err != nil {
		return err
	}
	list, untouched := h.inModelOrder(r, before)
	if untouched {
		h.out = append(h.out, r.turns...)
		return nil
	}
	h.changed = true
	role := "user"
	var parts []translate.Part
	for _, a := range list {
		if a.tail != nil {
			h.slots = append(h.slots, slot{turn: len(h.out), part: len(parts), id: a.id, name: a.name, tail: a.tail, call: a.call})
		}
		parts = append(parts, a.part)
	}
	var rest []translate.Turn
	found := false
	for _, t := range r.turns {
		others, has := h.beside(r, t)
		if !has {
			rest = append(rest, t)
			continue
		}
		if !found {
			role, found = t.Role, true
		}
		parts = append(parts, others...)
	}
	h.out = append(h.out, translate.Turn{Role: role, Parts: parts})
	h.out = append(h.out, rest...)
	return nil
}

// beside are the parts of a turn that are no results, and whether it has results,
// too. Pictures and files right behind a result are what its tool gave, with agents
// that know no better place for them (Gemini CLI before Gemini 3): where a hook hid
// the result they stay back with it.
func (h *history) beside(r *run, t translate.Turn) (others []translate.Part, results bool) {
	hide := false
	for _, p := range t.Parts {
		switch {
		case p.Kind == translate.KindResult:
			results = true
			i := slices.IndexFunc(r.results, func(it item) bool { return bytes.Equal(it.part.Raw, p.Raw) })
			hide = i >= 0 && hidden(h.results[&r.results[i]])
			continue
		case p.Kind != translate.KindOther:
			hide = false
		}
		if !hide {
			others = append(others, p)
		}
	}
	return others, results
}

// leavesOpen reports whether the run was restored as it was and ends with calls,
// so that results which the agent never had must be joined in.
func (r *run) leavesOpen() bool {
	return r != nil && r.rec != nil && !r.rec.Same && !r.rec.Tail && r.rec.open() && r.whole()
}

// inModelOrder gives the results of a user run in the order of the model's calls,
// joined with those that the agent never saw. untouched: the agent's own bytes do.
func (h *history) inModelOrder(r, before *run) (list []answered, untouched bool) {
	untouched = oneTurn(r) && !r.twice
	if !before.leavesOpen() {
		for i := range r.results {
			a := h.result(&r.results[i], before.shownOf(r.results[i].call))
			untouched = untouched && !a.moved && a.tail == nil
			list = append(list, a)
		}
		return list, untouched || len(list) == 0
	}
	rec := before.rec
	byShown := map[int]*item{}
	var strays []*item
	for i := range r.results {
		res := &r.results[i]
		if s := before.shownOf(res.call); s != nil {
			byShown[indexOf(rec.Shown, s)] = res
		} else {
			strays = append(strays, res)
		}
	}
	at := 0
	for pos := range rec.Rounds[len(rec.Rounds)-1].Parts {
		for _, j := range rec.Joined {
			if j.Pos == pos {
				list = append(list, answered{part: h.call.Wire.Part(j.Result), moved: true})
				untouched = false
			}
		}
		for k := range rec.Shown {
			s := &rec.Shown[k]
			if s.Pos != pos {
				continue
			}
			res := byShown[k]
			if res == nil {
				if len(rec.Joined) > 0 {
					untouched = false
					list = append(list, answered{part: h.call.Wire.ResultPart(s.ModelID, s.Name, json.RawMessage(`{"error":"no result"}`)), moved: true})
				}
				continue
			}
			a := h.result(res, s)
			untouched = untouched && !a.moved && a.tail == nil && at < len(r.results) && res == &r.results[at]
			at++
			list = append(list, a)
		}
	}
	for _, res := range strays {
		list = append(list, h.result(res, nil))
		untouched = false
	}
	return list, untouched
}

func oneTurn(r *run) bool {
	n := 0
	for _, t := range r.turns {
		for _, p := range t.Parts {
			if p.Kind == translate.KindResult {
				n++
				break
			}
		}
	}
	return n <= 1
}

func indexOf(shown []shownCall, s *shownCall) int {
	for i := range shown {
		if &shown[i] == s {
			return i
		}
	}
	return -1
}

// shownOf finds what the record says of a call of the run; nil for nothing.
func (r *run) shownOf(call *item) *shownCall {
	if r == nil || r.rec == nil || r.rec.Same {
		return nil
	}
	for i := range r.calls {
		if &r.calls[i] == call && r.matched != nil && r.matched[i] >= 0 {
			return &r.rec.Shown[r.matched[i]]
		}
	}
	return nil
}

// result makes the model's side of one result.
func (h *history) result(res *item, s *shownCall) answered {
	a := answered{part: res.part, id: res.part.ID, name: res.part.Name, call: res.call.shown}
	rec := h.results[res]
	var e resultEdit
	if rec != nil {
		e.response, e.output, e.context, a.tail = rec.Response, rec.Output, rec.Context, rec.Tail
	}
	if s != nil {
		a.id, a.name = s.ModelID, s.Name
		e.notice = s.Rewritten && e.response == nil
		e.context = joinBlocks(s.Context, e.context)
		e.setID, e.id = res.part.ID != s.ModelID, s.ModelID
	}
	if !e.none() {
		a.part, a.moved = h.loop.memos.edit(h.call.Wire, res.part, e), true
	}
	return a
}

// rewrittenNotice ends the result of a call whose arguments a hook changed, as
// Gemini CLI words it.
const rewrittenNotice = "\n\n[System] Tool input parameters were modified by a hook before execution."

// tailResults puts the results of tail calls in the places of those that they
// extend.
func (h *history) tailResults(ctx context.Context, r, before *run) error {
	h.prompts(r)
	h.changed = true
	slots := h.slots
	origin := map[*item]extension{}
	place := map[*item]int{}
	for i := range before.calls {
		c := &before.calls[i]
		k := i
		if k >= len(slots) || slots[k].tail.Name != c.part.Name {
			k = slices.IndexFunc(slots, func(s slot) bool { return s.tail.Name == c.part.Name })
		}
		if k < 0 {
			continue
		}
		for j := range r.results {
			if r.results[j].call == c {
				origin[&r.results[j]], place[&r.results[j]] = extension{slots[k].name, slots[k].tail.Depth}, k
			}
		}
	}
	if err := h.fire(ctx, r, origin); err != nil {
		return err
	}
	h.slots = nil
	var last *slot
	for i := range r.results {
		res := &r.results[i]
		k, ok := place[res]
		if !ok {
			continue // an answer to nothing that the model knows of
		}
		s := slots[k]
		a := h.result(res, nil)
		part := a.part
		if sc := before.shownOf(res.call); sc != nil && !hidden(h.results[res]) {
			part = resultEdit{context: sc.Context, notice: sc.Rewritten}.apply(h.call.Wire, part)
		}
		h.out[s.turn].Parts[s.part] = h.call.Wire.WithCall(part, s.id, s.name)
		if a.tail != nil {
			s.tail, s.call = a.tail, a.call
			h.slots = append(h.slots, s)
		}
		last = &s
	}
	if last == nil && len(slots) > 0 {
		last = &slots[0]
	}
	for _, t := range r.turns {
		if !hasResults(t) {
			h.out = append(h.out, t) // the user spoke again, and the agent kept no answer before that
			continue
		}
		if others, _ := h.beside(r, t); last != nil {
			h.out[last.turn].Parts = append(h.out[last.turn].Parts, others...)
		}
	}
	return nil
}

func hidden(r *resultRecord) bool { return r != nil && r.Response != nil }

// appendNote appends text to the string that a result's response shows the model:
// its output, else its result. Where there is no such string, a sibling key holds it.
func appendNote(body json.RawMessage, text, sibling string) json.RawMessage {
	if len(body) == 0 || body[0] != '{' {
		body = json.RawMessage("{}")
	}
	for _, key := range []string{"output", "result"} {
		v := gjson.GetBytes(body, key)
		if !v.Exists() {
			continue
		}
		if v.Type != gjson.String {
			break
		}
		end := v.Index + len(v.Raw) - 1 // the closing quote
		lit := quote(text)
		return slices.Concat(body[:end], lit[1:len(lit)-1], body[end:])
	}
	if v := gjson.GetBytes(body, sibling); v.Type == gjson.String {
		end := v.Index + len(v.Raw) - 1
		lit := quote(text)
		return slices.Concat(body[:end], lit[1:len(lit)-1], body[end:])
	}
	member := slices.Concat(quote(sibling), []byte(":"), quote(trimmed(text)))
	inner := bytes.TrimSpace(body[1 : len(body)-1])
	if len(inner) == 0 {
		return slices.Concat([]byte("{"), member, []byte("}"))
	}
	end := bytes.LastIndexByte(body, '}')
	return slices.Concat(body[:end], []byte(","), member, body[end:])
}

func trimmed(s string) string {
	for len(s) > 0 && s[0] == '\n' {
		s = s[1:]
	}
	return s
}
