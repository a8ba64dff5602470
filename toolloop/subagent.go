package toolloop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// subagent is an agent that another one started by a call.
type subagent struct {
	ID   string `json:"id"` // of the call
	Type string `json:"type"`
	At   int64  `json:"at"` // when the call was made, Unix milliseconds
}

// subagentStarts is how long after its call a subagent's first request is taken
// for it: a user may say the same in a session of its own.
const subagentStarts = 10 * time.Minute

// maxTaskTexts bounds the texts of a first turn that may be a subagent's task.
const maxTaskTexts = 16

// subagentEvents reports whether hooks listen to what tells subagents from others.
func (l *Loop) subagentEvents() bool {
	return l.agentEvents() || slices.ContainsFunc([]hooks.Event{hooks.SubagentStart, hooks.SubagentStop, hooks.BeforeTool, hooks.AfterTool}, l.has)
}

// subagents are the entries by which the first requests of the subagents that
// calls start are known: they begin with the task that the call gives.
func (h *history) subagents(calls []translate.Part) (es []store.Entry) {
	m := markersOf(h.call)
	if len(m.Agents) == 0 || !h.loop.subagentEvents() {
		return nil
	}
	for _, p := range calls {
		marker, ok := m.Agents[p.Name]
		if !ok {
			continue
		}
		task := gjson.GetBytes(p.Body, gjson.Escape(marker.Prompt)).String()
		s := subagent{ID: p.ID, Type: gjson.GetBytes(p.Body, gjson.Escape(marker.Type)).String(), At: h.loop.o.Now().UnixMilli()}
		if s.ID == "" {
			var d digester
			sum := d.string(h.call.ID).string(task).sum()
			s.ID = fmt.Sprintf("agent-%x", sum[:6])
		}
		if v, err := json.Marshal(s); err == nil && strings.TrimSpace(task) != "" {
			es = append(es, store.Entry{Key: h.keys.subagentTask(task), Value: v})
		}
	}
	return es
}

// findSubagent notes whose call this is when it is a known subagent's.
func (h *history) findSubagent(ctx context.Context) error {
	l, m := h.loop, markersOf(h.call)
	if !h.conversation || len(m.Agents) == 0 || !l.subagentEvents() {
		return nil
	}
	known := h.keys.derived("subagent", string(h.opening))
	want := []store.Key{known}
	if len(h.runs) == 1 {
		for _, t := range h.runs[0].texts() {
			if len(want) > maxTaskTexts {
				break
			}
			want = append(want, h.keys.subagentTask(t))
			if task := m.task(t); task != "" {
				want = append(want, h.keys.subagentTask(task))
			}
		}
	}
	vals, err := l.store.Get(ctx, want)
	if err != nil {
		return l.storeDown(ctx, h.call, err)
	}
	for _, v := range vals[1:] {
		var s subagent
		if v == nil || json.Unmarshal(v, &s) != nil || l.o.Now().UnixMilli()-s.At > subagentStarts.Milliseconds() {
			continue
		}
		h.call.sub = &s
		return l.put(ctx, h.call, store.Entry{Key: known, Value: v})
	}
	var s subagent
	if vals[0] != nil && json.Unmarshal(vals[0], &s) == nil {
		h.call.sub = &s
	}
	return nil
}

// subagentStart fires SubagentStart for the first request of a subagent. What its
// hooks want known stands beside the task.
func (h *history) subagentStart(ctx context.Context) error {
	l, s := h.loop, h.call.sub
	r := h.lastPrompt()
	if s == nil || r == nil || len(h.runs) > 1 || !l.has(hooks.SubagentStart) {
		return nil
	}
	v, err := l.once(ctx, h.call, h.keys.derived("subagentstart", s.ID), func(ctx context.Context) ([]byte, error) {
		in := l.derivedInput(h.call, hooks.SubagentStart, s.Type, nil)
		d := l.fire(ctx, h.call, in)
		rec := &userRecord{}
		if len(d.Context) > 0 {
			rec.Blocks = []string{contextBlock(d.Context)}
		}
		v := rec.encode()
		return v, l.put(ctx, h.call, store.Entry{Key: h.keys.user(r.prompt.key, r.prompt.ordinal), Value: v})
	})
	if err != nil {
		return fmt.Errorf("SubagentStart: %w", err)
	}
	if r.prompt.rec == nil {
		r.prompt.accept(v)
	}
	return nil
}

// subagentCalls fires SubagentStop for the calls with which a subagent ends. A
// deny keeps it at work.
func (r *round) subagentCalls(ctx context.Context, calls []translate.Part, vs []verdict) {
	l, m := r.loop, markersOf(r.call)
	if r.call.sub == nil || m.Finish == "" || !l.has(hooks.SubagentStop) {
		return
	}
	for i, p := range calls {
		if p.Name != m.Finish || vs[i].kind == verdictDeny || vs[i].kind == verdictStop {
			continue
		}
		d := r.subagentStop(ctx, string(p.Body), len(r.done) > 0)
		switch {
		case d.Stop:
			vs[i].kind, vs[i].reason = verdictStop, d.StopReason
		case d.Deny && len(r.done) < maxRetries:
			vs[i].kind, vs[i].reason = verdictDeny, d.Reason
		}
	}
}

func (r *round) subagentStop(ctx context.Context, said string, active bool) hooks.Decision {
	l := r.loop
	in := l.derivedInput(r.call, hooks.SubagentStop, r.call.sub.Type, []hooks.Field{
		{Key: "stop_hook_active", Value: boolean(active)},
		{Key: "agent_transcript_path", Value: quote(l.transcriptPath(r.call))},
		{Key: "prompt_response", Value: quote(said)},
	})
	d := l.fire(ctx, r.call, in)
	return d
}

// subagentTask names the task that a call gave a subagent, whatever the session:
// agents without session ids show the subagent's as another one.
func (k keys) subagentTask(task string) store.Key {
	return store.Key(k.start("subagenttask", false).string(strings.TrimSpace(task)).sum())
}
