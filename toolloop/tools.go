package toolloop

import (
	"context"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// fire runs AfterTool for the results of a run that no record is known of, and
// records what becomes of them. origin tells what those results extend
// that answer tail calls.
func (h *history) fire(ctx context.Context, r *run, origin map[*item]extension) error {
	l := h.loop
	var fresh []*item
	for i := range r.results {
		res := &r.results[i]
		if h.results[res] == nil && l.has(hooks.AfterTool) && l.hooks.Matches(hooks.AfterTool, res.toolName()) {
			fresh = append(fresh, res)
		}
	}
	recs := make([]*resultRecord, len(fresh))
	errs := make([]error, len(fresh))
	var wg sync.WaitGroup
	for i, res := range fresh {
		wg.Go(func() { recs[i], errs[i] = h.once(ctx, res, origin[res]) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, res := range fresh {
		h.results[res] = recs[i]
	}
	// Agents send results as their tools finish: the model's order decides.
	first := -1
	for i := range r.results {
		rec := h.results[&r.results[i]]
		if rec != nil && rec.Stop != "" && (first < 0 || r.results[i].at < r.results[first].at) {
			first, h.stop = i, rec.Stop
		}
	}
	return nil
}

// once fires AfterTool for one result, unless another request is at it: then it
// waits for that one's outcome.
func (h *history) once(ctx context.Context, res *item, origin extension) (*resultRecord, error) {
	key := h.keys.result(res.call.shown, res.body, res.repeat)
	fire := func(ctx context.Context) ([]byte, error) {
		v := h.afterTool(ctx, res, origin).encode()
		return v, h.loop.put(ctx, h.call,
			store.Entry{Key: h.keys.oldResult(res.call.shown, res.body), Value: v},
			store.Entry{Key: h.keys.maskedResult(res.call.shown), Value: v})
	}
	v, err := h.loop.once(ctx, h.call, key, fire)
	if err != nil {
		return nil, fmt.Errorf("AfterTool of %s: %w", res.toolName(), err)
	}
	return decodeResult(v)
}

// toolName is the name of the tool that made a result.
func (it *item) toolName() string {
	if it.call.part.Name != "" {
		return it.call.part.Name
	}
	return it.part.Name
}

// extension says what a tail call's result extends. The zero value is for the
// result of a call that the model made.
type extension struct {
	name  string // of the tool that the model called
	depth int    // how many tail calls there were so far
}

// maxTails bounds the tail calls that one call of the model may be followed by:
// a hook that always asks for one more would keep the agent busy for ever.
const maxTails = 25

// afterTool fires AfterTool for one result and says what becomes of it.
func (h *history) afterTool(ctx context.Context, res *item, origin extension) *resultRecord {
	in := h.loop.input(h.call, hooks.AfterTool, res.toolName(), 0, []hooks.Field{
		{Key: "tool_name", Value: quote(res.toolName())},
		{Key: "tool_input", Value: object(res.call.part.Body)},
		{Key: "tool_response", Value: toolResponse(res.part.Body)},
	}, toolFields(origin.name, res.call.part.ID)...)
	d := h.loop.fire(ctx, h.call, in)
	rec := &resultRecord{}
	switch {
	case d.Stop:
		rec.Stop, rec.Response = d.StopReason, errorResponse(d.StopReason)
	case d.Deny:
		rec.Response = errorResponse(d.Reason)
	case d.Tail != nil:
		h.tailCall(ctx, res, d.Tail, origin, rec)
	default:
		rec.Output, rec.Context = d.Output, contextOf(d.Context)
	}
	return rec
}

// toolFields are the optional members of a tool event's input.
func toolFields(origin, id string) []hooks.Field {
	var f []hooks.Field
	if origin != "" {
		f = append(f, hooks.Field{Key: "original_request_name", Value: quote(origin)})
	}
	if id != "" {
		f = append(f, hooks.Field{Key: "tool_call_id", Value: quote(id)})
	}
	return f
}

// tailCall takes the tail call that an AfterTool hook asked for through
// BeforeTool, and records what is to become of the result.
func (h *history) tailCall(ctx context.Context, res *item, tc *hooks.TailCall, origin extension, rec *resultRecord) {
	if origin.name == "" {
		origin.name = res.toolName()
	}
	if origin.depth >= maxTails {
		h.loop.warn(ctx, h.call, "AfterTool: no more tail calls, the result stands", fmt.Errorf("%s was followed by %d tail calls, the limit", origin.name, maxTails))
		return
	}
	t := &tailRecord{Name: tc.Name, Args: object(tc.Args), Depth: origin.depth + 1}
	if res.call.part.ID != "" {
		var d digester
		sum := d.bytes(res.call.shown[:]).bytes(res.body[:]).string(tc.Name).bytes(t.Args).sum()
		t.ID = "hl" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:10]))
	}
	v := h.loop.beforeTool(ctx, h.call, translate.Part{ID: t.ID, Name: t.Name, Body: t.Args}, origin.name, 0)
	t.Context = v.context
	switch v.kind {
	case verdictStop:
		rec.Stop, rec.Response = v.reason, errorResponse(stoppedByHook+v.reason)
	case verdictDeny:
		rec.Response = errorResponse(blockedByHook + v.reason)
	case verdictRewrite:
		t.Args, t.Rewritten, rec.Tail = v.args, true, t
	default:
		rec.Tail = t
	}
}

// What the model reads of a call that a hook kept from the agent, in the words of
// Gemini CLI.
const (
	blockedByHook = "Tool execution blocked: "
	stoppedByHook = "Agent execution stopped by hook: "
)

type verdictKind string

const (
	verdictPass    verdictKind = "pass"
	verdictDeny    verdictKind = "deny"
	verdictStop    verdictKind = "stop"
	verdictRewrite verdictKind = "rewrite"
)

// verdict is what BeforeTool's hooks say of a call.
type verdict struct {
	kind    verdictKind
	reason  string          // deny, stop
	args    json.RawMessage // rewrite: the whole arguments
	context string          // block that the call's result ends with; "" for none
}

// beforeTool fires BeforeTool for one call.
func (l *Loop) beforeTool(ctx context.Context, c *Call, call translate.Part, origin string, candidate int) verdict {
	if !l.has(hooks.BeforeTool) || !l.hooks.Matches(hooks.BeforeTool, call.Name) {
		return verdict{kind: verdictPass}
	}
	in := l.input(c, hooks.BeforeTool, call.Name, candidate, []hooks.Field{
		{Key: "tool_name", Value: quote(call.Name)},
		{Key: "tool_input", Value: object(call.Body)},
	}, toolFields(origin, call.ID)...)
	d := l.fire(ctx, c, in)
	v := verdict{kind: verdictPass, context: contextOf(d.Context)}
	switch {
	case d.Stop:
		v.kind, v.reason = verdictStop, d.StopReason
	case d.Deny:
		v.kind, v.reason = verdictDeny, d.Reason
	case d.Defer:
		// A call can't be put off on the wire: the model is told, and may come
		// back to it.
		v.kind, v.reason = verdictDeny, d.Reason
		if v.reason == "" {
			v.reason = "the call was put off"
		}
	case d.Ask:
		l.notify(ctx, c, call)
		v.kind, v.reason = verdictDeny, d.Reason
		if v.reason == "" {
			v.reason = "approval is needed, and nobody is there to give it"
		}
	case len(d.ToolInput) > 0:
		if args, changed := mergePatch(call.Body, d.ToolInput); changed {
			v.kind, v.args = verdictRewrite, args
		}
	}
	return v
}

// contextOf is the block of contexts; "" for none.
func contextOf(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return contextBlock(texts)
}

// beforeTools fires BeforeTool for the calls of one turn, side by side; verdicts
// keep the calls' order.
func (l *Loop) beforeTools(ctx context.Context, c *Call, calls []translate.Part, candidate int) []verdict {
	vs := make([]verdict, len(calls))
	var wg sync.WaitGroup
	for i, p := range calls {
		wg.Go(func() { vs[i] = l.beforeTool(ctx, c, p, "", candidate) })
	}
	wg.Wait()
	return vs
}

// notify fires Notification for a call that waits for approval.
func (l *Loop) notify(ctx context.Context, c *Call, call translate.Part) {
	if !l.has(hooks.Notification) {
		return
	}
	kind, need, rest := "info", "information", `,"prompt":`+string(quote(call.Name))
	if command := gjson.GetBytes(call.Body, "command"); command.Type == gjson.String {
		root, _, _ := strings.Cut(strings.TrimSpace(command.Str), " ")
		kind, need, rest = "exec", "execution", `,"command":`+command.Raw+`,"rootCommand":`+string(quote(root))
	} else if file := gjson.GetBytes(call.Body, "file_path"); file.Type == gjson.String {
		kind, need, rest = "edit", "editing", `,"fileName":`+string(quote(path.Base(file.Str)))+`,"filePath":`+file.Raw
	}
	in := l.input(c, hooks.Notification, "", 0, []hooks.Field{
		{Key: "notification_type", Value: quote("ToolPermission")},
		{Key: "message", Value: quote("Tool " + call.Name + " requires " + need)},
		{Key: "details", Value: json.RawMessage(`{"type":"` + kind + `","title":` + string(quote(call.Name)) + rest + `}`)},
	})
	l.fire(ctx, c, in)
}
