package toolloop

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// failure is why a turn did not end as the model meant it to.
type failure struct {
	kind    string // in the words of StopFailure's "error"; "" for none
	details string
}

// statusFailure is what an upstream answer with that status means.
func statusFailure(status int) failure {
	f := failure{kind: "unknown", details: "the API answered with status " + strconv.Itoa(status)}
	switch {
	case status == 400:
		f.kind = "invalid_request"
	case status == 401 || status == 403:
		f.kind = "authentication_failed"
	case status == 402:
		f.kind = "billing_error"
	case status == 404:
		f.kind = "model_not_found"
	case status == 429:
		f.kind = "rate_limit"
	case status == 503 || status == 529:
		f.kind = "overloaded"
	case status >= 500:
		f.kind = "server_error"
	}
	return f
}

// unreachable is an API that did not answer, or not to the end.
var unreachable = failure{kind: "server_error", details: "the API could not be reached, or its answer broke off"}

// errorDocument notes that an answer ended with an error document.
func (r *round) errorDocument(ev stream.Event) {
	if code := int(gjson.GetBytes(ev.Data, "error.code").Int()); code > 0 {
		r.failure = statusFailure(code)
		return
	}
	r.failure = failure{kind: "server_error", details: "the stream ended with an error"}
}

// finished notes a finish reason that is no good end.
func (r *round) finished(c *translate.Chunk) {
	for _, cand := range c.Candidates {
		switch cand.Finish {
		case "", "STOP", "FINISH_REASON_UNSPECIFIED":
		case "MAX_TOKENS":
			r.failure = failure{kind: "max_output_tokens", details: "the answer came to the limit of output tokens"}
		default:
			r.failure = failure{kind: "unknown", details: "finish reason " + cand.Finish}
		}
	}
}

// query is what a user's question has cost so far.
type query struct {
	Began int64           `json:"began"` // Unix milliseconds
	Turns int             `json:"turns"` // model calls
	Usage json.RawMessage `json:"usage,omitempty"`
}

// ended tells of the end of a turn, or of a question, once the agent has been
// answered. err is what Run returns.
func (a *answer) ended(ctx context.Context, began time.Time, s side, err error) {
	l, h := a.loop, a.history
	if !l.has(hooks.PostCompact) && !l.has(hooks.StopFailure) && !l.has(hooks.QueryEnd) {
		return
	}
	text := string(a.lane(0).text)
	if s.summary && err == nil && a.failure.kind == "" && text != "" && l.has(hooks.PostCompact) {
		a.later(hooks.PostCompact, s.trigger, hooks.Field{Key: "trigger", Value: quote(s.trigger)}, hooks.Field{Key: "compact_summary", Value: quote(text)})
	}
	if !h.conversation || len(h.runs) == 0 {
		return
	}
	reason := "end_turn"
	switch {
	case ctx.Err() != nil:
		reason = "aborted"
	case a.blocked:
		reason = "blocked"
	case a.failure.kind != "":
		reason = "error"
	case err != nil:
		reason = "aborted" // the agent can't be written to, or the ledger is down
	case len(a.lane(0).calls) > 0:
		reason = ""
	}
	if reason == "error" {
		a.stopFailure(ctx)
	}
	a.queryEnd(ctx, began, reason, text)
}

// stopFailure fires StopFailure, once for a turn: agents try again.
func (a *answer) stopFailure(ctx context.Context) {
	l := a.loop
	if !l.has(hooks.StopFailure) {
		return
	}
	f, h := a.failure, a.history
	full, _ := h.neighbour()
	key := h.keys.derived("failure", string(full[:]), strconv.Itoa(len(h.runs)), f.kind)
	_, err := l.once(ctx, a.call, key, func(context.Context) ([]byte, error) {
		a.later(hooks.StopFailure, f.kind, hooks.Field{Key: "error", Value: quote(f.kind)}, hooks.Field{Key: "error_details", Value: quote(f.details)},
			hooks.Field{Key: "prompt_response", Value: quote("API Error: " + f.details)})
		return []byte{1}, nil
	})
	if err != nil {
		l.warn(ctx, a.call, "StopFailure", err)
	}
}

// queryEnd adds a turn up and, when reason is not "", fires QueryEnd, once for a
// question and a reason.
func (a *answer) queryEnd(ctx context.Context, began time.Time, reason, text string) {
	l, h := a.loop, a.history
	p := h.lastPrompt()
	if !l.has(hooks.QueryEnd) || p == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // an agent that hung up ends its question, too
	id := fmt.Sprintf("%x-%d", p.prompt.key[:8], p.prompt.ordinal)
	key := h.keys.derived("query", id)
	vals, err := l.store.Get(ctx, []store.Key{key})
	if err != nil {
		l.warn(ctx, a.call, "QueryEnd", err)
		return
	}
	q := query{Began: began.UnixMilli()}
	if vals[0] != nil {
		_ = json.Unmarshal(vals[0], &q) // our own; what can't be read counts as nothing
	}
	q.Turns += a.asked
	q.Usage = a.call.Wire.AddUsage(q.Usage, a.spent)
	v, err := json.Marshal(q)
	if err == nil {
		err = l.put(ctx, a.call, store.Entry{Key: key, Value: v})
	}
	if err != nil {
		l.warn(ctx, a.call, "QueryEnd", err)
	}
	if reason == "" {
		return
	}
	count := func(name string) int64 { return gjson.GetBytes(q.Usage, name).Int() }
	usage := fmt.Sprintf(`{"input_tokens":%d,"output_tokens":%d,"cache_read_input_tokens":%d}`,
		count("promptTokenCount"), count("candidatesTokenCount")+count("thoughtsTokenCount"), count("cachedContentTokenCount"))
	_, err = l.once(ctx, a.call, h.keys.derived("queryend", id, reason), func(context.Context) ([]byte, error) {
		a.later(hooks.QueryEnd, "", hooks.Field{Key: "query_id", Value: quote(id)}, hooks.Field{Key: "reason", Value: quote(reason)},
			hooks.Field{Key: "duration_ms", Value: strconv.AppendInt(nil, max(0, l.o.Now().UnixMilli()-q.Began), 10)},
			hooks.Field{Key: "num_turns", Value: strconv.AppendInt(nil, int64(q.Turns), 10)},
			hooks.Field{Key: "usage", Value: json.RawMessage(usage)}, hooks.Field{Key: "prompt_response", Value: quote(text)})
		return []byte{1}, nil
	})
	if err != nil {
		l.warn(ctx, a.call, "QueryEnd", err)
	}
}

// later fires an event that nobody waits for.
func (a *answer) later(ev hooks.Event, match string, fields ...hooks.Field) {
	l, c := a.loop, Call{ID: a.call.ID, Tenant: a.call.Tenant, Session: a.call.Session, Agent: a.call.Agent, Model: a.call.Model}
	in := l.derivedInput(&c, ev, match, fields)
	l.background.run(func(ctx context.Context) { l.fire(ctx, &c, in) })
}
