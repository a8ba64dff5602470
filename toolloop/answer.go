package toolloop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// maxRounds bounds the model calls that one agent request may cause: a model that
// asks for a denied tool again and again must come to an end.
const maxRounds = 25

// answer is the agent's side of one call: what it is sent, and what the model's
// side holds for it.
type answer struct {
	loop    *Loop
	call    *Call
	out     Sink
	history *history
	base    *translate.Request // the model's history

	started bool
	opened  *Reply             // the upstream answer that opens ours; nil for none
	unary   []*translate.Chunk // what a unary answer is made of
	like    *translate.Chunk   // the newest chunk of the model, for ids
	usage   json.RawMessage    // of rounds that are over

	failure failure         // of the newest round
	blocked bool            // hooks ended the turn
	asked   int             // model calls made
	spent   json.RawMessage // their usage

	done    []mRound // rounds that are over
	clear   int      // as in turnRecord
	retries int      // AfterAgent retries in a row, those of earlier requests of this turn included
	own     int      // of these, those of this answer
	lanes   map[int]*lane
}

// lane is what one candidate has come to, in the agent's eyes.
type lane struct {
	text     []byte // shown
	thoughts bool
	all      []byte // shown, thoughts included: some agents can't tell them apart
	calls    []translate.Part
	signed   []string // signatures of other parts
}

func (a *answer) lane(candidate int) *lane {
	if a.lanes == nil {
		a.lanes = map[int]*lane{}
	}
	if a.lanes[candidate] == nil {
		a.lanes[candidate] = &lane{}
	}
	return a.lanes[candidate]
}

// rounds calls the model, and again as long as hookline itself can answer it.
func (a *answer) rounds(ctx context.Context) error {
	cur := a.base
	for range maxRounds {
		send, made, err := a.beforeModel(ctx, cur)
		var next *mRound
		switch {
		case err != nil:
		case made != nil:
			next, err = a.synthetic(ctx, made)
		case send != nil:
			next, err = a.round(ctx, send)
		}
		if err != nil || next == nil {
			return err
		}
		a.done = append(a.done, *next)
		if cur, err = a.call.Wire.WithTurns(a.base, a.turns()); err != nil {
			return a.broken(fmt.Errorf("extend history: %w", err))
		}
	}
	a.loop.log.WarnContext(ctx, "turn ended: too many hidden rounds", slog.Int("rounds", maxRounds), slog.String("request", a.call.ID))
	return a.finish(ctx, fmt.Sprintf("hookline ended this turn: hooks denied the model's calls %d times in a row.", maxRounds))
}

// turns is the model's history with the rounds of this answer that are over.
func (a *answer) turns() []translate.Turn {
	var turns []translate.Turn
	if a.clear == 0 {
		turns = slices.Clone(a.base.Turns)
	}
	return a.history.appendRounds(turns, a.done, a.clear)
}

// broken makes err final for an answer of which part may be out.
func (a *answer) broken(err error) error {
	if a.started {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return err
}

// beforeModel takes one model call through BeforeModel and BeforeToolSelection.
// made is an answer that a hook wrote in the model's place, send else what to ask
// the model. Both are nil when the agent has been answered.
func (a *answer) beforeModel(ctx context.Context, req *translate.Request) (send *translate.Request, made *translate.Chunk, err error) {
	l, c, w := a.loop, a.call, a.call.Wire
	q := &asked{wire: w, req: req}
	if l.has(hooks.BeforeModel) {
		d := l.fire(ctx, c, l.modelInput(c, hooks.BeforeModel, q))
		switch {
		case d.Stop:
			return nil, nil, a.finish(ctx, d.StopReason)
		case len(d.LLMResponse) > 0:
			chunk, err := w.Synthesize(a.like, d.LLMResponse)
			if err == nil {
				return nil, chunk, nil
			}
			l.warn(ctx, c, "BeforeModel: llm_response can't be used", err)
			if !d.Deny {
				break
			}
			fallthrough
		case d.Deny:
			return nil, nil, a.finish(ctx, d.Reason)
		}
		if len(d.LLMRequest) > 0 {
			edited, err := w.ApplyLLMRequest(req, d.LLMRequest, d.SawSystem)
			if err != nil {
				l.warn(ctx, c, "BeforeModel: llm_request can't be used, the request goes on as it was", err)
			} else {
				req, q = edited, &asked{wire: w, req: edited}
			}
		}
	}
	if l.has(hooks.BeforeToolSelection) {
		d := l.fire(ctx, c, l.modelInput(c, hooks.BeforeToolSelection, q))
		if d.ToolConfig != nil {
			edited, err := w.ApplyToolConfig(req, *d.ToolConfig)
			if err != nil {
				l.warn(ctx, c, "BeforeToolSelection: toolConfig can't be used, the request goes on as it was", err)
			} else {
				req = edited
			}
		}
	}
	return req, nil, nil
}

// finish ends the agent's turn with a reason. The model's side keeps the rounds
// that are over; the reason itself is not shown to it.
func (a *answer) finish(ctx context.Context, reason string) error {
	a.blocked = true
	if a.loop.o.DenyAs == DenyAsError && !a.started {
		return &Refusal{Status: 403, Message: reason}
	}
	w := a.call.Wire
	a.lane(0).see([]translate.Part{w.TextPart(reason)})
	if err := a.record(ctx, map[int]*turnRecord{0: {Unasked: a.history.unasked, Rounds: a.done, Clear: a.clear, Retries: a.own}}); err != nil {
		return a.broken(err)
	}
	chunk := w.Answer(a.like, 0, []translate.Part{w.TextPart(reason)}, "STOP")
	if err := a.emit(a.withUsage(chunk)); err != nil {
		return err
	}
	return a.close()
}

// synthetic answers with what a hook wrote in the model's place. Both sides keep
// it, and AfterAgent judges it like an answer of the model's.
func (a *answer) synthetic(ctx context.Context, made *translate.Chunk) (next *mRound, err error) {
	a.failure = failure{}
	r := &round{answer: a, parts: map[int][]translate.Part{}, held: []*translate.Chunk{made}, usage: made.Usage}
	for _, cand := range made.Candidates {
		r.keep(cand.Index, cand.Parts, nil)
	}
	return r.settle(ctx)
}

// tailCalls answers with the calls that AfterTool hooks asked for. The model does
// not see this turn.
func (a *answer) tailCalls(ctx context.Context) error {
	w := a.call.Wire
	rec := &turnRecord{Tail: true}
	var parts []translate.Part
	signature := ""
	if a.history.signed() {
		// The agent's history then is one that the API accepts also when the
		// ledger has lost the entry.
		signature = skipSignature
	}
	for _, s := range a.history.slots {
		p := w.CallPart(s.tail.ID, s.tail.Name, s.tail.Args, signature)
		signature = ""
		parts = append(parts, p)
		rec.Shown = append(rec.Shown, shownCall{ID: s.tail.ID, ModelID: s.tail.ID, Args: argsDigest(s.tail.Args), Name: s.tail.Name, Pos: -1, Rewritten: s.tail.Rewritten, Context: s.tail.Context})
	}
	a.lane(0).see(parts)
	if err := a.record(ctx, map[int]*turnRecord{0: rec}); err != nil {
		return err
	}
	if err := a.emit(w.Answer(nil, 0, parts, "STOP")); err != nil {
		return err
	}
	return a.close()
}

// skipSignature is the API's documented stand-in for the signature of a call that
// the model did not make, "skip_thought_signature_validator", in the base64 in
// which it travels: https://ai.google.dev/gemini-api/docs/thought-signatures
// (read 2026-11-30). The bare string, which some clients send, is no base64, and
// agents that hold signatures as bytes (the Go SDK) cannot read it.
const skipSignature = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="

// signed reports whether the model signs its calls in this conversation.
func (h *history) signed() bool {
	for i := len(h.runs) - 1; i >= 0; i-- {
		for _, c := range h.runs[i].calls {
			if c.part.Signature != "" {
				return true
			}
		}
	}
	return false
}

// see notes parts that the agent is sent.
func (l *lane) see(parts []translate.Part) {
	for _, p := range parts {
		if p.Kind != translate.KindCall && p.Signature != "" {
			l.signed = append(l.signed, p.Signature)
		}
		switch p.Kind {
		case translate.KindText:
			l.text = appendText(l.text, p.Text)
			l.all = appendText(l.all, p.Text)
		case translate.KindThought:
			l.thoughts = true
			l.all = appendText(l.all, p.Text)
		case translate.KindCall:
			l.calls = append(l.calls, p)
		}
	}
}

// withUsage adds the usage of the rounds that are over to a chunk.
func (a *answer) withUsage(c *translate.Chunk) *translate.Chunk {
	if len(a.usage) == 0 {
		return c
	}
	edited, err := a.call.Wire.Edit(c, translate.Edit{Usage: a.call.Wire.AddUsage(a.usage, c.Usage)})
	if err != nil {
		return c
	}
	return edited
}

// emit sends a chunk to the agent, or keeps it for the one document of a unary
// answer.
func (a *answer) emit(c *translate.Chunk) error {
	if !a.call.Stream {
		a.unary = append(a.unary, c)
		return nil
	}
	if err := a.start(); err != nil {
		return err
	}
	for _, doc := range a.call.Wire.Emit(c) {
		if err := a.out.Event(doc); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) start() error {
	if a.started {
		return nil
	}
	a.started = true
	return a.out.Start(a.opened)
}

// close ends the agent's answer.
func (a *answer) close() error {
	if a.call.Stream || len(a.unary) == 0 {
		return a.start()
	}
	doc := a.unary[0]
	if len(a.unary) > 1 {
		joined, err := a.call.Wire.Join(a.unary)
		if err != nil {
			return a.broken(err)
		}
		doc = joined
	}
	if err := a.start(); err != nil {
		return err
	}
	return a.out.Event(doc.Raw)
}

// record writes what the model's side holds for each candidate of this answer.
// It is called before the agent gets the end of the answer, so that its next
// request finds the entries, at whatever replica.
func (a *answer) record(ctx context.Context, recs map[int]*turnRecord) error {
	k := a.history.keys
	var es []store.Entry
	for candidate, rec := range recs {
		if candidate == 0 && a.history.conversation && a.loop.agentEvents() {
			es = append(es, store.Entry{Key: k.waits(), Value: a.history.waits(len(rec.Shown) > 0)})
		}
		ln := a.lane(candidate)
		if candidate == 0 && (a.history.conversation || a.history.sub) {
			es = append(es, a.history.subagents(a.call.Wire.Assemble(ln.calls))...)
		}
		calls := make([]item, 0, len(ln.calls))
		count := map[digest]int{}
		for _, p := range a.call.Wire.Assemble(ln.calls) {
			calls = append(calls, numbered(item{part: p, body: argsDigest(p.Body)}, count))
		}
		full, loose := a.history.neighbour()
		value := rec.encode()
		to := k.record(a.call.ID, candidate)
		texts := [][]byte{bytes.TrimSpace(ln.text)}
		if ln.thoughts {
			texts = append(texts, bytes.TrimSpace(ln.all))
		}
		for _, text := range texts {
			base, looseBase := turnDigests(full, loose, contentDigest(text, calls))
			es = append(es, store.Entry{Key: k.turn(base, a.history.seen(base)), Value: value})
			if !rec.Same {
				es = append(es, store.Entry{Key: k.anyTurn(looseBase), Value: encodePointer(to, -1)})
			}
		}
		if rec.Same {
			continue
		}
		es = append(es, store.Entry{Key: to, Value: value})
		for _, s := range ln.signed {
			es = append(es, store.Entry{Key: k.signature(s), Value: encodePointer(to, -1)})
		}
		for i, c := range calls {
			es = append(es, store.Entry{Key: k.call(callIdentity("", c.part.Name, c.body, loose, c.ordinal)), Value: encodePointer(to, i)})
			if c.part.ID != "" {
				es = append(es, store.Entry{Key: k.call(callIdentity(c.part.ID, c.part.Name, c.body, loose, c.ordinal)), Value: encodePointer(to, i)})
			}
			if s := c.part.Signature; s != "" && s != skipSignature {
				es = append(es, store.Entry{Key: k.signature(s), Value: encodePointer(to, i)})
			}
		}
	}
	if err := a.loop.store.Put(ctx, es); err != nil {
		return a.loop.storeDown(ctx, a.call, err)
	}
	return nil
}

// neighbour is the digest of the newest user run.
func (h *history) neighbour() (full, loose digest) {
	for i := len(h.runs) - 1; i >= 0; i-- {
		if !h.runs[i].model {
			return h.runs[i].full, h.runs[i].loose
		}
	}
	return full, loose
}

// seen counts the runs of the history that look like a new one with this base.
func (h *history) seen(base digest) int {
	n := 0
	for _, r := range h.runs {
		if r.model && r.base == base {
			n++
		}
	}
	return n
}
