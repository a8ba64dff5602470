package toolloop

import (
	"context"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate"
)

// maxRetries bounds AfterAgent's retries in a row: a hook that never likes an
// answer must not loop for ever.
const maxRetries = 8

// afterAgent shows a final answer to AfterAgent's hooks, a subagent's to those of
// SubagentStop. next is the retry to go
// on with; ended: the agent has been answered.
func (r *round) afterAgent(ctx context.Context, ch *change) (next *mRound, ended bool, err error) {
	l := r.loop
	var d hooks.Decision
	switch {
	case r.call.sub != nil && l.has(hooks.SubagentStop):
		d = r.subagentStop(ctx, string(r.said), r.retries > 0)
	case r.history.conversation && l.has(hooks.AfterAgent):
		d = r.fireAfterAgent(ctx)
	default:
		return nil, false, nil
	}
	if ctx.Err() != nil {
		return nil, true, r.broken(context.Cause(ctx))
	}
	if !d.Stop && !d.Deny {
		return nil, false, nil
	}
	m := mRound{}
	m.Parts, _ = r.modelParts(ch)
	if !d.Stop && r.retries >= maxRetries {
		l.log.WarnContext(ctx, "AfterAgent denied the answer again: the retries are used up, the answer stands", "retries", maxRetries, "request", r.call.ID)
		return nil, false, nil
	}
	if d.ClearContext {
		r.clear = len(r.done) + 1
	}
	if d.Stop {
		return nil, false, nil
	}
	return r.retry(ctx, m, d.Reason)
}

func (r *round) fireAfterAgent(ctx context.Context) hooks.Decision {
	l, prompt := r.loop, ""
	if p := r.history.lastPrompt(); p != nil {
		prompt = p.prompt.said
	}
	in := l.input(r.call, hooks.AfterAgent, "", 0, []hooks.Field{
		{Key: "prompt", Value: quote(prompt)},
		{Key: "prompt_response", Value: quote(string(r.said))},
		{Key: "stop_hook_active", Value: boolean(r.retries > 0)},
	})
	d := l.fire(ctx, r.call, in)
	return d
}

// retry sends the reason to the model as a prompt.
func (r *round) retry(ctx context.Context, m mRound, reason string) (next *mRound, ended bool, err error) {
	rec := &userRecord{}
	if r.history.conversation && r.loop.has(hooks.BeforeAgent) {
		r.loop.beforeAgent(ctx, r.call, reason, rec)
	}
	none := func(int, translate.Part) (translate.Part, bool) { return translate.Part{}, true }
	if err := r.emitHeld(none, false); err != nil {
		return nil, true, err
	}
	r.spend()
	r.retries++
	r.own++
	if rec.Prompt != "" {
		reason = rec.Prompt
	}
	if !rec.Drop {
		m.Reply = append(m.Reply, r.call.Wire.TextPart(reason).Raw)
		for _, b := range rec.Blocks {
			m.Reply = append(m.Reply, r.call.Wire.TextPart(b).Raw)
		}
	}
	if rec.Answer != "" {
		r.done = append(r.done, m)
		return nil, true, r.finish(ctx, rec.Answer)
	}
	return &m, false, nil
}

func boolean(b bool) []byte {
	if b {
		return []byte("true")
	}
	return []byte("false")
}
