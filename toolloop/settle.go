package toolloop

import (
	"context"
	"slices"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate"
)

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
	for i, c := range held {
		// An answer without usage gives that of the hidden rounds at its end.
		if len(c.Usage) > 0 || len(r.usage) == 0 && i == len(held)-1 {
			c = r.withUsage(c)
		}
		if err := r.emit(c); err != nil {
			return err
		}
	}
	return r.close()
}
