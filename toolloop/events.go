package toolloop

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// input begins an event's input for a call.
func (l *Loop) input(c *Call, ev hooks.Event, match string, candidate int, fields []hooks.Field, more ...hooks.Field) hooks.Input {
	if c.sub != nil {
		more = append(more, hooks.Field{Key: "agent_id", Value: quote(c.sub.ID)}, hooks.Field{Key: "agent_type", Value: quote(c.sub.Type)})
	}
	fields = append(append(fields, more...), hooks.Field{Key: "x_hookline", Value: about(c, candidate)})
	return hooks.Input{
		Event:          ev,
		Tenant:         c.Tenant,
		SessionID:      c.Session,
		TranscriptPath: l.transcriptPath(c),
		Cwd:            l.o.Cwd,
		Time:           l.o.Now(),
		Match:          match,
		Fields:         fields,
	}
}

// about is the extra member that tells a hook where an event comes from.
func about(c *Call, candidate int) []byte {
	b := append([]byte(`{"request_id":`), quote(c.ID)...)
	b = append(append(b, `,"agent":`...), quote(c.Agent)...)
	b = append(append(b, `,"dialect":"gemini","origin":"wire","model":`...), quote(c.Model)...)
	b = strconv.AppendInt(append(b, `,"candidate":`...), int64(candidate), 10)
	return append(b, '}')
}

// asked is a request as model hooks are shown it. What they are shown is made
// when it is needed first, and once for all events and chunks of the request.
type asked struct {
	wire        Wire
	req         *translate.Request
	plain, full json.RawMessage // without and with the system instruction
}

func (q *asked) llmRequest(system bool) json.RawMessage {
	made := &q.plain
	if system {
		made = &q.full
	}
	if *made == nil {
		*made = q.wire.LLMRequest(q.req, system)
	}
	return *made
}

// modelInput begins the input of a model event.
func (l *Loop) modelInput(c *Call, ev hooks.Event, q *asked, more ...hooks.Field) hooks.Input {
	shown := func(system bool) []hooks.Field {
		return []hooks.Field{{Key: "llm_request", Value: q.llmRequest(system)}}
	}
	in := l.input(c, ev, "", 0, shown(false), more...)
	in.System = func() []hooks.Field { return shown(true) }
	return in
}

// fire runs the hooks of one event and says at debug level what they came to.
// Messages and failures are told by the set that runs them; nothing here names a
// payload.
func (l *Loop) fire(ctx context.Context, c *Call, in hooks.Input) hooks.Decision {
	d := l.hooks.Fire(ctx, in)
	for _, r := range d.Runs {
		l.log.DebugContext(ctx, "hook ran", slog.String("event", string(in.Event)), slog.String("hook", r.Hook), slog.Int("exit", r.Exit),
			slog.Duration("took", r.Duration), slog.String("outcome", r.Outcome), slog.String("request", c.ID))
	}
	return d
}

func (l *Loop) warn(ctx context.Context, c *Call, what string, err error) {
	l.log.WarnContext(ctx, what, slog.String("request", c.ID), slog.String("error", err.Error()))
}

// storeDown follows the fail mode for an error of the ledger's store: nil means
// to go on without it.
func (l *Loop) storeDown(ctx context.Context, c *Call, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	l.log.ErrorContext(ctx, "ledger unavailable", slog.String("request", c.ID), slog.String("failMode", string(l.o.FailMode)), slog.String("error", err.Error()))
	if l.o.FailMode != FailClosed {
		return nil
	}
	return &Refusal{Status: 503, Cause: err,
		Message: "hookline's state store can't be reached, and state.failMode is closed: the model's side of this conversation is not known. Start the store, or set state.failMode to open."}
}

// once gives the entry of key. Where there is none, fire makes it, once, however
// many requests ask for it at the same time, at whatever replica. What fire puts
// itself is seen by all who see its value.
func (l *Loop) once(ctx context.Context, c *Call, key store.Key, fire func(context.Context) ([]byte, error)) ([]byte, error) {
	v, err := l.flight.Do(ctx, key, fire)
	if err != nil && errors.Is(err, store.ErrDown) {
		if err = l.storeDown(ctx, c, err); err == nil && v == nil {
			return fire(ctx)
		}
	}
	return v, err
}

// put writes entries, by the fail mode.
func (l *Loop) put(ctx context.Context, c *Call, es ...store.Entry) error {
	if err := l.store.Put(ctx, es); err != nil {
		return l.storeDown(ctx, c, err)
	}
	return nil
}
