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
	request *asked // what was sent, as AfterModel shows it

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
	r := &round{answer: a, request: &asked{wire: a.call.Wire, req: send}, parts: map[int][]translate.Part{}}
	if a.loop.has(hooks.AfterModel) {
		r.win = newWindows(a.loop.hooks.Window())
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
		d := r.loop.fire(ctx, r.call, r.loop.modelInput(r.call, hooks.AfterModel, r.request,
			hooks.Field{Key: "llm_response", Value: r.call.Wire.LLMResponse(chunk)}))
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
