package toolloop

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// derivedEvents are those that a request tells of.
var derivedEvents = []hooks.Event{hooks.InstructionsLoaded, hooks.CwdChanged, hooks.FileChanged, hooks.PermissionDenied}

// derive fires the events that a request of a conversation tells of by what
// stands in it: each once, however often the agent sends it again.
func (h *history) derive(ctx context.Context, req *translate.Request) error {
	l := h.loop
	if len(h.runs) == 0 || !slices.ContainsFunc(derivedEvents, l.has) {
		return nil
	}
	m := markersOf(h.call)
	texts := append([]string{h.call.Wire.Traits(req).System}, h.runs[0].texts()...)
	if len(h.runs) > 1 {
		texts = append(texts, h.runs[len(h.runs)-1].texts()...)
	}
	cwd := ""
	for _, t := range texts {
		if dir := m.workingDir(t); dir != "" {
			cwd = dir
		}
	}
	if err := h.cwdChanged(ctx, cwd); err != nil {
		return err
	}
	if l.has(hooks.InstructionsLoaded) {
		for _, t := range texts {
			for _, f := range m.files(t, cwd) {
				if err := h.instructionsLoaded(ctx, f); err != nil {
					return err
				}
			}
		}
	}
	r := h.runs[len(h.runs)-1]
	for i := range r.results {
		if err := h.resultTells(ctx, m, &r.results[i], cwd); err != nil {
			return err
		}
	}
	return nil
}

// texts are the plain texts of a run of the user's side.
func (r *run) texts() []string {
	var all []string
	for _, t := range r.turns {
		for _, p := range t.Parts {
			if !r.model && p.Kind == translate.KindText {
				all = append(all, textOf(p))
			}
		}
	}
	return all
}

// tell fires an event that only tells, once for key.
func (h *history) tell(ctx context.Context, key store.Key, ev hooks.Event, match string, fields ...hooks.Field) error {
	_, err := h.loop.once(ctx, h.call, key, func(ctx context.Context) ([]byte, error) {
		in := h.loop.derivedInput(h.call, ev, match, fields)
		h.loop.fire(ctx, h.call, in)
		return []byte{1}, nil
	})
	return err
}

// derivedInput begins the input of an event that is derived from what an agent
// sends and is sent.
func (l *Loop) derivedInput(c *Call, ev hooks.Event, match string, fields []hooks.Field) hooks.Input {
	in := l.input(c, ev, match, 0, fields)
	about := &in.Fields[len(in.Fields)-1]
	about.Value = bytes.Replace(about.Value, []byte(`"origin":"wire"`), []byte(`"origin":"derived"`), 1)
	return in
}

func (h *history) cwdChanged(ctx context.Context, cwd string) error {
	l := h.loop
	if cwd == "" || !l.has(hooks.CwdChanged) {
		return nil
	}
	key := h.keys.derived("cwd")
	vals, err := l.store.Get(ctx, []store.Key{key})
	if err != nil {
		return l.storeDown(ctx, h.call, err)
	}
	old := string(vals[0])
	if old == cwd {
		return nil
	}
	if err := l.put(ctx, h.call, store.Entry{Key: key, Value: []byte(cwd)}); err != nil || old == "" {
		return err
	}
	in := l.derivedInput(h.call, hooks.CwdChanged, "", []hooks.Field{{Key: "old_cwd", Value: quote(old)}, {Key: "new_cwd", Value: quote(cwd)}})
	l.fire(ctx, h.call, in)
	return nil
}

func (h *history) instructionsLoaded(ctx context.Context, f instructionFile) error {
	reason := "session_start"
	if len(h.runs) > 1 {
		reason = "nested_traversal"
	}
	return h.tell(ctx, h.keys.derived("instructions", f.path, string(f.sum[:])), hooks.InstructionsLoaded, reason,
		hooks.Field{Key: "file_path", Value: quote(f.path)}, hooks.Field{Key: "memory_type", Value: quote(f.memory)}, hooks.Field{Key: "load_reason", Value: quote(reason)})
}

// resultTells fires what a new result tells: that a file was written, or that the
// agent did not permit the call.
func (h *history) resultTells(ctx context.Context, m *markers, res *item, cwd string) error {
	l, tool := h.loop, res.toolName()
	failure := gjson.GetBytes(res.part.Body, "error")
	id := []string{string(res.call.shown[:]), string(res.body[:])}
	if arg := m.Files[tool]; arg != "" && !failure.Exists() && l.has(hooks.FileChanged) {
		file := absolute(gjson.GetBytes(res.call.part.Body, gjson.Escape(arg)).String(), cwd)
		event, output := "change", gjson.GetBytes(res.part.Body, "output").String()
		if slices.ContainsFunc(m.Added, func(s string) bool { return strings.HasPrefix(output, s) }) {
			event = "add"
		}
		if file != "" {
			return h.tell(ctx, h.keys.derived("file", id...), hooks.FileChanged, file,
				hooks.Field{Key: "file_path", Value: quote(file)}, hooks.Field{Key: "event", Value: quote(event)})
		}
	}
	if failure.Exists() && l.has(hooks.PermissionDenied) && m.denied(failure.String()) {
		return h.tell(ctx, h.keys.derived("denied", id...), hooks.PermissionDenied, tool, deniedFields(res.call.part, tool, failure.String())...)
	}
	return nil
}

func deniedFields(call translate.Part, tool, reason string) []hooks.Field {
	fields := []hooks.Field{{Key: "tool_name", Value: quote(tool)}, {Key: "tool_input", Value: object(call.Body)}}
	fields = append(fields, toolFields("", call.ID)...)
	return append(fields, hooks.Field{Key: "reason", Value: quote(reason)})
}

// permissionDenied tells that hooks denied a call. They may let the model know
// that it may try again.
func (l *Loop) permissionDenied(ctx context.Context, c *Call, call translate.Part, v *verdict) {
	if v.kind != verdictDeny || !l.has(hooks.PermissionDenied) {
		return
	}
	in := l.input(c, hooks.PermissionDenied, call.Name, 0, deniedFields(call, call.Name, v.reason))
	d := l.fire(ctx, c, in)
	if gjson.GetBytes(d.Specific, "retry").Bool() {
		v.context += contextBlock([]string{"The call may be tried again."})
	}
}

// taskEvents fires TaskCreated and TaskCompleted for the tasks that the model's
// calls create and complete. A task that a hook objects to denies its call.
func (r *round) taskEvents(ctx context.Context, calls []translate.Part, vs []verdict) {
	l := r.loop
	if !l.has(hooks.TaskCreated) && !l.has(hooks.TaskCompleted) {
		return
	}
	m := markersOf(r.call)
	for i, p := range calls {
		args := p.Body
		if vs[i].kind == verdictRewrite {
			args = vs[i].args
		} else if vs[i].kind != verdictPass {
			continue
		}
		list, ok := m.tasks(p.Name, args)
		if !ok {
			continue
		}
		before := r.history.tasks(m)
		for _, t := range list {
			old, known := before[t.id]
			if !known {
				r.taskEvent(ctx, hooks.TaskCreated, t, &vs[i])
			}
			if t.done && !old.done {
				r.taskEvent(ctx, hooks.TaskCompleted, t, &vs[i])
			}
		}
	}
}

func (r *round) taskEvent(ctx context.Context, ev hooks.Event, t task, v *verdict) {
	l := r.loop
	if !l.has(ev) || v.kind == verdictDeny || v.kind == verdictStop {
		return
	}
	in := l.input(r.call, ev, "", 0, []hooks.Field{{Key: "task_id", Value: quote(t.id)}, {Key: "task_subject", Value: quote(t.subject)}})
	d := l.fire(ctx, r.call, in)
	switch {
	case d.Stop && ev == hooks.TaskCompleted:
		v.kind, v.reason = verdictStop, d.StopReason
	case d.Deny:
		v.kind, v.reason = verdictDeny, d.Reason
	}
}

// tasks are the tasks of the newest list that a tool took, by id.
func (h *history) tasks(m *markers) map[string]task {
	all := map[string]task{}
	for i := len(h.runs) - 1; i >= 0; i-- {
		for k := len(h.runs[i].results) - 1; k >= 0; k-- {
			res := &h.runs[i].results[k]
			list, ok := m.tasks(res.toolName(), res.call.part.Body)
			if !ok || gjson.GetBytes(res.part.Body, "error").Exists() {
				continue
			}
			for _, t := range list {
				all[t.id] = t
			}
			return all
		}
	}
	return all
}

// derived names what was derived from a session, once.
func (k keys) derived(kind string, parts ...string) store.Key {
	d := k.start("derived", true).string(kind)
	for _, p := range parts {
		d.string(p)
	}
	return store.Key(d.sum())
}
