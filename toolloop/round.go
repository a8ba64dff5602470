package toolloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate"
)

// round is one model call and the reading of its answer.
type round struct {
	*answer
	sent *translate.Request
	asks func() json.RawMessage // llm_request as AfterModel shows it

	held  []*translate.Chunk // chunks that wait for the end: from the first call on, or one with a finish reason
	calls bool               // some held chunk has a call
	parts map[int][]translate.Part
	said  []byte // text of the first candidate, as the agent sees it
	usage json.RawMessage
	win   *windows
}

// round makes one model call. next is the hidden round to go on with; nil when
// the agent has its answer.
func (a *answer) round(ctx context.Context, send *translate.Request) (next *mRound, err error) {
	a.failure = failure{}
	a.asked++
	reply, err := a.call.Upstream.Generate(ctx, send.Model, send.Raw)
	if err != nil {
		a.failure = unreachable
		return nil, a.broken(err)
	}
	defer reply.Close()
	if reply.Events == nil {
		a.failure = statusFailure(reply.Status)
		if a.started {
			return nil, fmt.Errorf("%w: hidden round: upstream answered with status %d", ErrCut, reply.Status)
		}
		if reply.Status < 400 && a.loop.guards() {
			return nil, a.unseen(fmt.Errorf("status %d, and a body that is neither JSON nor an event stream", reply.Status))
		}
		return nil, a.out.Forward(reply)
	}
	if a.opened == nil {
		a.opened = reply
	}
	r := &round{answer: a, sent: send, parts: map[int][]translate.Part{}}
	if a.loop.has(hooks.AfterModel) {
		r.win = newWindows(a.loop.hooks.Window())
		var once json.RawMessage
		r.asks = func() json.RawMessage {
			if once == nil {
				once = a.call.Wire.LLMRequest(send, false)
			}
			return once
		}
	}
	ended, err := r.read(ctx, reply)
	if a.loop.has(hooks.QueryEnd) {
		a.spent = a.call.Wire.AddUsage(a.spent, r.usage)
	}
	if err != nil || ended {
		return nil, err
	}
	return r.settle(ctx)
}

// read reads the answer to its end. ended: the agent has been answered, there is
// nothing to settle.
func (r *round) read(ctx context.Context, reply *Reply) (ended bool, err error) {
	for ev, err := range reply.Events {
		if err != nil {
			return true, r.upstreamBroke(err)
		}
		if ev.Tail {
			if err := r.flushSeen(); err != nil {
				return true, err
			}
			if err := r.mayPass(ev.Data); err != nil {
				return true, r.unseen(err)
			}
			if err := r.start(); err != nil {
				return true, err
			}
			return true, r.out.Tail(ev.Raw)
		}
		chunk, err := r.call.Wire.ParseChunk(bytes.Clone(ev.Data))
		if err != nil || chunk.Error {
			// Not a document of the API, or an error in its midst.
			r.errorDocument(ev)
			return true, r.forward(ev.Data)
		}
		r.like = chunk
		r.finished(chunk)
		if len(chunk.Usage) > 0 {
			r.usage = chunk.Usage
		}
		if ended, err := r.see(ctx, chunk); err != nil || ended {
			return true, err
		}
	}
	if r.win == nil {
		return false, nil
	}
	for _, rest := range r.win.rest(r.call.Wire, r.like) {
		if ended, err := r.deliver(ctx, rest); err != nil || ended {
			return true, err
		}
	}
	return false, nil
}

// see takes one chunk of the model through the window and on.
func (r *round) see(ctx context.Context, chunk *translate.Chunk) (ended bool, err error) {
	if r.win == nil {
		return r.deliver(ctx, chunk)
	}
	for _, c := range r.win.push(r.call.Wire, chunk) {
		if ended, err := r.deliver(ctx, c); err != nil || ended {
			return true, err
		}
	}
	return false, nil
}

// deliver shows a chunk to AfterModel and then to the agent, or holds it.
func (r *round) deliver(ctx context.Context, chunk *translate.Chunk) (ended bool, err error) {
	made := chunk // as the model made it
	if r.win != nil {
		in := r.loop.input(r.call, hooks.AfterModel, "", 0, []hooks.Field{
			{Key: "llm_request", Value: r.asks()},
			{Key: "llm_response", Value: r.call.Wire.LLMResponse(chunk)},
		})
		in.System = func() []hooks.Field {
			return []hooks.Field{{Key: "llm_request", Value: r.call.Wire.LLMRequest(r.sent, true)}}
		}
		d := r.loop.hooks.Fire(ctx, in)
		r.loop.report(ctx, r.call, in.Event, d)
		if ctx.Err() != nil {
			return true, r.broken(context.Cause(ctx))
		}
		switch {
		case d.Stop:
			return true, r.denied(ctx, d.StopReason)
		case d.Deny:
			return true, r.denied(ctx, d.Reason)
		case len(d.LLMResponse) > 0:
			edited, err := r.call.Wire.ApplyLLMResponse(chunk, d.LLMResponse)
			if err != nil {
				r.loop.warn(ctx, r.call, "AfterModel: llm_response can't be used, the chunk goes on as it was", err)
				break
			}
			chunk = edited
		}
	}
	for i, cand := range chunk.Candidates {
		var own []translate.Part
		if i < len(made.Candidates) {
			own = made.Candidates[i].Parts
		}
		r.keep(cand.Index, cand.Parts, own)
	}
	return false, r.hold(chunk)
}

// keep notes what the model's side holds of a chunk: what the agent is shown, but
// for signed parts, which stay as the model made them (own).
func (r *round) keep(index int, parts, own []translate.Part) {
	if r.parts[index] == nil {
		r.parts[index] = []translate.Part{} // an answer without parts is one, too
	}
	for _, p := range parts {
		if index == 0 && p.Kind == translate.KindText {
			r.said = appendText(r.said, p.Text)
		}
		if p.Signature != "" {
			if i := slices.IndexFunc(own, func(o translate.Part) bool { return o.Signature == p.Signature }); i >= 0 {
				p = own[i]
			}
		}
		if p.Kind == translate.KindThought && p.Signature == "" {
			continue
		}
		r.parts[index] = append(r.parts[index], p)
	}
}

// denied ends the turn in the middle of an answer.
func (r *round) denied(ctx context.Context, reason string) error {
	if err := r.emitHeld(func(int, translate.Part) (translate.Part, bool) { return translate.Part{}, true }, false); err != nil {
		return err
	}
	r.spend()
	return r.finish(ctx, reason)
}

// spend counts the usage of a round that is over.
func (r *round) spend() { r.answer.usage = r.call.Wire.AddUsage(r.answer.usage, r.usage) }

// hold sends a chunk, or keeps it while the end of the turn is not clear: a call
// may still be denied, and a finish reason may turn out to be none.
func (r *round) hold(chunk *translate.Chunk) error {
	calls, finish := false, false
	for _, cand := range chunk.Candidates {
		finish = finish || cand.Finish != ""
		for _, p := range cand.Parts {
			calls = calls || p.Kind == translate.KindCall
		}
	}
	if !r.calls && !(r.call.FoldEnd && bare(chunk)) {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.calls = r.calls || calls
	if r.calls || finish || r.call.FoldEnd {
		r.held = append(r.held, chunk)
		return nil
	}
	return r.show(chunk)
}

// fold lays documents without parts worth having over the ones before them.
func (r *round) fold() error {
	if !r.call.FoldEnd {
		return nil
	}
	var out []*translate.Chunk
	for _, c := range r.held {
		if len(out) == 0 || !bare(c) {
			out = append(out, c)
			continue
		}
		e := translate.Edit{Finish: map[int]string{}, Usage: c.Usage}
		for _, cand := range c.Candidates {
			if cand.Finish != "" {
				e.Finish[cand.Index] = cand.Finish
			}
		}
		folded, err := r.call.Wire.Edit(out[len(out)-1], e)
		if err != nil {
			return r.broken(err)
		}
		out[len(out)-1] = folded
	}
	r.held = out
	return nil
}

// bare reports whether a document has no part but empty texts.
func bare(c *translate.Chunk) bool {
	for _, cand := range c.Candidates {
		for _, p := range cand.Parts {
			if p.Kind != translate.KindText || len(p.Text) > 2 {
				return false
			}
		}
	}
	return true
}

// show sends a chunk to the agent.
func (r *round) show(c *translate.Chunk) error {
	for _, cand := range c.Candidates {
		r.lane(cand.Index).see(cand.Parts)
	}
	if len(c.Usage) > 0 {
		c = r.withUsage(c)
	}
	return r.emit(c)
}

// flush sends what is held as it is.
func (r *round) flush() error {
	held := r.held
	r.held = nil
	for _, c := range held {
		if err := r.show(c); err != nil {
			return err
		}
	}
	return nil
}

// settle decides what becomes of an answer that has come whole.
func (r *round) settle(ctx context.Context) (*mRound, error) {
	recs := map[int]*turnRecord{}
	changes := map[int]*change{}
	for index, parts := range r.parts {
		parts = r.call.Wire.Assemble(parts)
		if index == 0 {
			r.transcribe(ctx, parts)
		}
		calls, at := callsOf(parts)
		vs := r.loop.beforeTools(ctx, r.call, calls, index)
		r.taskEvents(ctx, calls, vs)
		r.subagentCalls(ctx, calls, vs)
		for k := range vs {
			r.loop.permissionDenied(ctx, r.call, calls[k], &vs[k])
		}
		if ctx.Err() != nil {
			return nil, r.broken(context.Cause(ctx))
		}
		ch := &change{parts: parts, calls: calls, at: at, verdicts: vs}
		changes[index] = ch
		if len(r.parts) == 1 && index == 0 {
			if reason, stop := ch.stop(); stop {
				return nil, r.stopped(ctx, ch, reason)
			}
			if len(calls) > 0 && ch.count(verdictDeny) == len(calls) {
				return r.hidden(ch)
			}
			if len(calls) == 0 {
				if next, ended, err := r.afterAgent(ctx, ch); err != nil || ended || next != nil {
					return next, err
				}
			}
		}
		recs[index] = r.settled(ch)
	}
	return nil, r.last(ctx, changes, recs)
}

// change is what hooks make of the calls of one candidate.
type change struct {
	parts    []translate.Part // as the model's side holds them
	calls    []translate.Part
	at       []int // where calls stand in parts
	verdicts []verdict
}

func callsOf(parts []translate.Part) (calls []translate.Part, at []int) {
	for i, p := range parts {
		if p.Kind == translate.KindCall {
			calls, at = append(calls, p), append(at, i)
		}
	}
	return calls, at
}

func (c *change) count(k verdictKind) int {
	n := 0
	for _, v := range c.verdicts {
		if v.kind == k {
			n++
		}
	}
	return n
}

func (c *change) stop() (string, bool) {
	i := slices.IndexFunc(c.verdicts, func(v verdict) bool { return v.kind == verdictStop })
	if i < 0 {
		return "", false
	}
	return c.verdicts[i].reason, true
}

// refusal is the result of a call that the agent never sees.
func (r *round) refusal(p translate.Part, text, context string) []byte {
	response := errorResponse(text)
	if context != "" {
		response = appendNote(response, context, "hook_context")
	}
	return r.call.Wire.ResultPart(p.ID, p.Name, response).Raw
}

// modelParts are the parts of a turn as it goes up again: plain texts joined,
// empty ones left out.
func (r *round) modelParts(ch *change) (parts [][]byte, at []int) {
	at = make([]int, len(ch.calls))
	var text []byte
	flush := func() {
		if len(text) > 0 {
			parts = append(parts, r.call.Wire.TextPart(string(text)).Raw)
			text = nil
		}
	}
	k := 0
	for _, p := range ch.parts {
		if p.Kind == translate.KindText && p.Signature == "" {
			text = appendText(text, p.Text)
			continue
		}
		flush()
		if p.Kind == translate.KindCall {
			at[k] = len(parts)
			k++
		}
		parts = append(parts, p.Raw)
	}
	flush()
	return parts, at
}

// hidden answers a turn whose calls were all denied, and asks the model again.
func (r *round) hidden(ch *change) (*mRound, error) {
	next := &mRound{}
	next.Parts, _ = r.modelParts(ch)
	for i, p := range ch.calls {
		next.Reply = append(next.Reply, r.refusal(p, blockedByHook+ch.verdicts[i].reason, ch.verdicts[i].context))
	}
	if err := r.emitHeld(func(_ int, p translate.Part) (translate.Part, bool) { return p, p.Kind == translate.KindCall }, false); err != nil {
		return nil, err
	}
	r.spend()
	return next, nil
}

// stopped ends the agent's turn at a call that a hook stopped. The model's side
// keeps the calls, each with an error for its result.
func (r *round) stopped(ctx context.Context, ch *change, reason string) error {
	m := mRound{}
	m.Parts, _ = r.modelParts(ch)
	for i, p := range ch.calls {
		text := stoppedByHook + reason
		switch v := ch.verdicts[i]; v.kind {
		case verdictDeny:
			text = blockedByHook + v.reason
		case verdictStop:
			text = stoppedByHook + v.reason
		}
		m.Reply = append(m.Reply, r.refusal(p, text, ch.verdicts[i].context))
	}
	if err := r.emitHeld(func(_ int, p translate.Part) (translate.Part, bool) { return p, p.Kind == translate.KindCall }, false); err != nil {
		return err
	}
	r.spend()
	r.done = append(r.done, m)
	return r.finish(ctx, reason)
}

// settled is the record of a candidate's turn that ends here.
func (r *round) settled(ch *change) *turnRecord {
	signed := slices.ContainsFunc(ch.parts, func(p translate.Part) bool { return p.Signature != "" })
	if len(ch.calls) == 0 && len(r.done) == 0 && r.clear == 0 && !signed {
		return &turnRecord{Same: true}
	}
	parts, at := r.modelParts(ch)
	rec := &turnRecord{Rounds: append(slices.Clone(r.done), mRound{Parts: parts}), Clear: r.clear, Retries: r.own}
	for i, p := range ch.calls {
		v := ch.verdicts[i]
		if v.kind == verdictDeny || v.kind == verdictStop {
			rec.Joined = append(rec.Joined, joined{Pos: at[i], Result: r.refusal(p, blockedByHook+v.reason, v.context)})
			continue
		}
		s := shownCall{ID: p.ID, ModelID: p.ID, Args: argsDigest(p.Body), Name: p.Name, Pos: at[i], Context: v.context}
		if v.kind == verdictRewrite {
			s.Args, s.Rewritten = argsDigest(v.args), true
		}
		rec.Shown = append(rec.Shown, s)
	}
	return rec
}

// last sends the end of the agent's turn.
func (r *round) last(ctx context.Context, changes map[int]*change, recs map[int]*turnRecord) error {
	if err := r.fold(); err != nil {
		return err
	}
	held := r.held
	for _, ch := range changes {
		// Hooks judged streamed arguments as they were put together here, where
		// another reader might make something else of the pieces.
		judged := r.loop.has(hooks.BeforeTool) && streamed(held)
		if ch.count(verdictPass) < len(ch.calls) || judged {
			var err error
			if held, err = r.edited(changes); err != nil {
				return r.broken(err)
			}
			break
		}
	}
	for _, c := range held {
		for _, cand := range c.Candidates {
			r.lane(cand.Index).see(cand.Parts)
		}
	}
	if err := r.record(ctx, recs); err != nil {
		return r.broken(err)
	}
	r.held = nil
	for _, c := range held {
		if len(c.Usage) > 0 {
			c = r.withUsage(c)
		}
		if err := r.emit(c); err != nil {
			return err
		}
	}
	return r.close()
}

// streamed reports whether a call among chunks comes in pieces.
func streamed(chunks []*translate.Chunk) bool {
	for _, c := range chunks {
		for _, cand := range c.Candidates {
			if slices.ContainsFunc(cand.Parts, func(p translate.Part) bool { return p.Kind == translate.KindCall && p.Partial }) {
				return true
			}
		}
	}
	return false
}

// edited makes the held chunks what the agent is to see of them.
func (r *round) edited(changes map[int]*change) ([]*translate.Chunk, error) {
	var out []*translate.Chunk
	next := map[int]int{}
	signature := map[int]string{}
	replace := func(index int, p translate.Part) (translate.Part, bool) {
		if p.Name == "" {
			return p, true // a piece of a streamed call, which goes out whole
		}
		ch := changes[index]
		k := next[index]
		if ch == nil || k >= len(ch.calls) {
			return p, true
		}
		next[index]++
		v := ch.verdicts[k]
		p = ch.calls[k]
		if sig := p.Signature; sig != "" && signature[index] == "" && (v.kind == verdictDeny || v.kind == verdictStop) {
			signature[index] = sig
		}
		switch v.kind {
		case verdictDeny, verdictStop:
			if len(changes) > 1 || index != 0 {
				return r.call.Wire.TextPart(v.reason), false
			}
			return p, true
		case verdictRewrite:
			p = r.call.Wire.WithArgs(p, v.args)
		}
		if sig := signature[index]; sig != "" && p.Signature == "" {
			// The first call that the agent sees carries the signature.
			p = r.call.Wire.WithSignature(p, sig)
		}
		signature[index] = ""
		return p, false
	}
	err := r.editHeld(replace, true, func(c *translate.Chunk) error {
		out = append(out, c)
		return nil
	})
	return out, err
}

// emitHeld sends the held chunks without some of their parts.
func (r *round) emitHeld(replace func(int, translate.Part) (translate.Part, bool), final bool) error {
	return r.editHeld(replace, final, r.show)
}

// editHeld replaces or drops parts of the held chunks. A chunk that is left
// without parts is not sent: its finish reason and usage move to the last chunk
// that has some; when the turn is not final they are dropped.
func (r *round) editHeld(replace func(int, translate.Part) (translate.Part, bool), final bool, send func(*translate.Chunk) error) error {
	held := r.held
	r.held, r.calls = nil, false
	var out []*translate.Chunk
	finish := map[int]string{}
	var usage json.RawMessage
	for _, c := range held {
		e := translate.Edit{Parts: map[int][]translate.Part{}, Finish: map[int]string{}}
		left := 0
		for _, cand := range c.Candidates {
			parts := []translate.Part{}
			changed := false
			for _, p := range cand.Parts {
				if p.Kind != translate.KindCall {
					if p.Kind == translate.KindText && len(p.Text) <= 2 && (p.Signature == "" || r.call.FoldEnd) {
						changed = true
						continue
					}
					parts = append(parts, p)
					continue
				}
				q, drop := replace(cand.Index, p)
				changed = true
				if !drop {
					parts = append(parts, q)
				}
			}
			left += len(parts)
			if changed {
				e.Parts[cand.Index] = parts
			}
			if cand.Finish != "" {
				finish[cand.Index] = cand.Finish
				e.Finish[cand.Index] = ""
			}
		}
		if len(c.Usage) > 0 {
			usage = c.Usage
			e.Usage = json.RawMessage{}
		}
		if left == 0 {
			continue
		}
		edited, err := r.call.Wire.Edit(c, e)
		if err != nil {
			return err
		}
		out = append(out, edited)
	}
	if final {
		if len(out) == 0 {
			return nil
		}
		last, err := r.call.Wire.Edit(out[len(out)-1], translate.Edit{Finish: finish, Usage: usage})
		if err != nil {
			return err
		}
		out[len(out)-1] = last
	}
	for _, c := range out {
		if err := send(c); err != nil {
			return err
		}
	}
	return nil
}
