package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookline-proxy/hookline/translate"
)

// says is a handler that answers what each hook's command spells: a result's
// stdout, or "exit N TEXT" with TEXT on stderr.
type says struct {
	mu  sync.Mutex
	got map[string][]string // inputs by command
}

func (s *says) Handle(_ context.Context, h *Hook, in []byte, _ Env) Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.got == nil {
		s.got = map[string][]string{}
	}
	s.got[h.Command] = append(s.got[h.Command], string(in))
	switch {
	case strings.HasPrefix(h.Command, "exit 1"):
		return Result{Exit: 1, Stderr: []byte(h.Command[6:])}
	case strings.HasPrefix(h.Command, "exit 2"):
		return Result{Exit: 2, Stderr: []byte(h.Command[6:])}
	case h.Command == "down":
		return Result{Err: errors.New("no route")}
	}
	return Result{Stdout: []byte(h.Command)}
}

func newSet(t *testing.T, ev Event, defs ...Definition) (*Set, *says) {
	t.Helper()
	h := &says{}
	for i := range defs {
		for j := range defs[i].Hooks {
			if defs[i].Hooks[j].Type == "" {
				defs[i].Hooks[j].Type = "command"
			}
		}
	}
	s, err := New(Options{Definitions: map[Event][]Definition{ev: defs}, Handlers: map[string]Handler{"command": h}})
	if err != nil {
		t.Fatal(err)
	}
	return s, h
}

func commands(cmds ...string) Definition {
	d := Definition{}
	for _, c := range cmds {
		d.Hooks = append(d.Hooks, Hook{Command: c})
	}
	return d
}

var noRuns = cmpopts.IgnoreFields(Decision{}, "Runs", "Fired")

// TestMerge re-tells the recorded aggregator cases of Gemini CLI with the values
// that the documentation gives them, and what it leaves open.
func TestMerge(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name string
		ev   Event
		outs []string
		want Decision
	}{
		{"two allows", BeforeTool, []string{`{"decision":"allow","reason":"p"}`, `{"decision":"approve","reason":"q"}`}, Decision{Allow: true}},
		{"only the deciding hook's reason", BeforeTool, []string{`{"decision":"allow","reason":"p"}`, `{"decision":"block","reason":"q"}`}, Decision{Deny: true, Reason: "q"}},
		{"denies are joined", AfterTool, []string{`{"decision":"deny","reason":"1"}`, `{"decision":"block","reason":"2"}`}, Decision{Deny: true, Reason: "1\n2"}},
		{"ask beats allow", BeforeTool, []string{`{"decision":"ask","systemMessage":"sure?","reason":"r"}`, `{"decision":"allow","reason":"x"}`},
			Decision{Ask: true, Reason: "r", Notices: []Notice{{Hook: "BeforeTool[0].hooks[0]", Text: "sure?"}}}},
		{"deny beats ask", BeforeTool, []string{`{"decision":"deny","reason":"n"}`, `{"decision":"ask","reason":"a"}`}, Decision{Deny: true, Reason: "n"}},
		{"ask is for tools only", AfterTool, []string{`{"decision":"ask","reason":"a"}`}, Decision{}},
		{"stop", BeforeAgent, []string{`{"continue":true}`, `{"continue":false,"stopReason":"halt","decision":"allow"}`}, Decision{Stop: true, StopReason: "halt"}},
		{"stop takes the reason", BeforeAgent, []string{`{"continue":false,"reason":"why"}`}, Decision{Stop: true, StopReason: "why"}},
		{"stop without words", BeforeAgent, []string{`{"continue":false}`}, Decision{Stop: true, StopReason: noReason}},
		{"stop and deny are both told", BeforeTool, []string{`{"continue":false,"stopReason":"s"}`, `{"decision":"deny","reason":"d"}`, `{"decision":"ask"}`},
			Decision{Stop: true, StopReason: "s", Deny: true, Reason: "d"}},
		{"continue is false only when it is", BeforeTool, []string{`{"continue":"false"}`, `{"continue":0}`, `{"continue":null}`}, Decision{}},
		{"deny: reason before stopReason", BeforeTool, []string{`{"decision":"deny","reason":"r","stopReason":"s"}`}, Decision{Deny: true, Reason: "r"}},
		{"deny: stopReason", BeforeTool, []string{`{"decision":"deny","reason":"","stopReason":"s"}`}, Decision{Deny: true, Reason: "s"}},
		{"deny without words", BeforeTool, []string{`{"decision":"deny","reason":7}`}, Decision{Deny: true, Reason: noReason}},
		{"contexts", AfterTool, []string{`{"hookSpecificOutput":{"additionalContext":"<k1>"}}`, `{"hookSpecificOutput":{"additionalContext":5}}`, `{"hookSpecificOutput":{"additionalContext":"k2"}}`},
			Decision{Context: []string{"<k1>", "k2"}}},
		{"context elsewhere", BeforeModel, []string{`{"hookSpecificOutput":{"additionalContext":"k1"}}`}, Decision{}},
		{"clearContext", AfterAgent, []string{`{"decision":"deny","reason":"x","hookSpecificOutput":{"clearContext":true}}`, `{"hookSpecificOutput":{"clearContext":false}}`},
			Decision{Deny: true, Reason: "x", ClearContext: true}},
		{"system messages stay apart", SessionStart, []string{`{"suppressOutput":true,"systemMessage":"a"}`, `{"systemMessage":"b\u001b[2J"}`},
			Decision{Notices: []Notice{{Hook: "SessionStart[0].hooks[0]", Text: "a", Suppress: true}, {Hook: "SessionStart[0].hooks[1]", Text: "b\ufffd[2J"}}}},
		{"a later allow does not undo a deny", BeforeModel, []string{`{"decision":"deny","reason":"no"}`, `{"decision":"allow"}`, `done`},
			Decision{Deny: true, Reason: "no", Notices: []Notice{{Hook: "BeforeModel[0].hooks[2]", Text: "done"}}}},
		{"llm_request key by key", BeforeModel, []string{`{"hookSpecificOutput":{"llm_request":{"model":"a","config":{"topK":1,"topP":0.50}}}}`, `{"hookSpecificOutput":{"llm_request":{"model":null,"config":{"topK":2},"x":1e400}}}`},
			Decision{LLMRequest: raw(`{"model":"a","config":{"topK":2,"topP":0.50},"x":1e400}`)}},
		{"request and response", BeforeModel, []string{`{"hookSpecificOutput":{"llm_request":{"model":"a"}}}`, `{"decision":"deny","hookSpecificOutput":{"llm_response":{"candidates":[]}}}`},
			Decision{Deny: true, Reason: noReason, LLMRequest: raw(`{"model":"a"}`), LLMResponse: raw(`{"candidates":[]}`)}},
		{"llm_response: the last", AfterModel, []string{`{"hookSpecificOutput":{"llm_response":{"text":"1"}}}`, `{"hookSpecificOutput":{"llm_response":{"text" : "2"}}}`, `{}`},
			Decision{LLMResponse: raw(`{"text":"2"}`)}},
		{"another hook's answer does not undo a deny", BeforeModel, []string{`{"hookSpecificOutput":{"llm_response":{"text":"1"}}}`, `{"decision":"deny","reason":"no"}`},
			Decision{Deny: true, Reason: "no"}},
		{"tool_input key by key", BeforeTool, []string{`{"hookSpecificOutput":{"tool_input":{"a":1,"b":12345678901234567890}}}`, `{"hookSpecificOutput":{"tool_input":{"a":null,"c":{"d":[1, 2]}}}}`},
			Decision{ToolInput: raw(`{"a":null,"b":12345678901234567890,"c":{"d":[1,2]}}`)}},
		{"tool_input of the wrong type", BeforeTool, []string{`{"hookSpecificOutput":{"tool_input":[1]}}`}, Decision{}},
		{"tail: the last", AfterTool, []string{`{"hookSpecificOutput":{"tailToolCallRequest":{"name":"x"}}}`, `{"hookSpecificOutput":{"tailToolCallRequest":{"name":"y","args":{"k":1}}}}`, `{"hookSpecificOutput":{"tailToolCallRequest":{"name":""}}}`},
			Decision{Tail: &TailCall{Name: "y", Args: raw(`{"k":1}`)}}},
		{"no tail for a denied result", AfterTool, []string{`{"hookSpecificOutput":{"tailToolCallRequest":{"name":"x"}}}`, `exit 2 no`}, Decision{Deny: true, Reason: "no"}},
		{"selection: ANY and AUTO", BeforeToolSelection, []string{`{"hookSpecificOutput":{"toolConfig":{"mode":"AUTO","allowedFunctionNames":["zed","Alpha"]}}}`, `{"hookSpecificOutput":{"toolConfig":{"mode":"ANY","allowedFunctionNames":["mid","zed"]}}}`},
			Decision{ToolConfig: &translate.ToolConfig{Mode: "ANY", AllowedFunctionNames: []string{"Alpha", "mid", "zed"}}}},
		{"selection: AUTO union", BeforeToolSelection, []string{`{"hookSpecificOutput":{"toolConfig":{"allowedFunctionNames":["b"]}}}`, `{"hookSpecificOutput":{"toolConfig":{"mode":"AUTO","allowedFunctionNames":["a"]}}}`, `{}`},
			Decision{ToolConfig: &translate.ToolConfig{Mode: "AUTO", AllowedFunctionNames: []string{"a", "b"}}}},
		{"selection: NONE wins", BeforeToolSelection, []string{`{"hookSpecificOutput":{"toolConfig":{"mode":"NONE","allowedFunctionNames":["b"]}}}`, `{"hookSpecificOutput":{"toolConfig":{"mode":"ANY","allowedFunctionNames":["a"]}}}`},
			Decision{ToolConfig: &translate.ToolConfig{Mode: "NONE"}}},
		{"selection: no toolConfig changes nothing", BeforeToolSelection, []string{`{"decision":"deny","systemMessage":"x"}`, `{"hookSpecificOutput":{"toolConfig":{}}}`, `{"hookSpecificOutput":{"toolConfig":{"mode":"VALIDATED"}}}`, `{"hookSpecificOutput":{"toolConfig":{"allowedFunctionNames":"ab"}}}`},
			Decision{Notices: []Notice{{Hook: "BeforeToolSelection[0].hooks[0]", Text: "x"}}}},
		{"notification", Notification, []string{`{"systemMessage":"a","suppressOutput":true}`, `{"continue":false,"decision":"deny"}`},
			Decision{Notices: []Notice{{Hook: "Notification[0].hooks[0]", Text: "a", Suppress: true}}}},
		{"a start cannot be denied", SessionStart, []string{`exit 2 no`, `{"decision":"deny","hookSpecificOutput":{"additionalContext":"c"}}`}, Decision{Context: []string{"c"}}},
		{"failures change nothing", BeforeTool, []string{`exit 1 boom`, `down`, `{"decision":"Deny"}`}, Decision{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newSet(t, tt.ev, commands(tt.outs...))
			got := s.Fire(t.Context(), Input{Event: tt.ev})
			if diff := cmp.Diff(tt.want, got, noRuns); diff != "" {
				t.Errorf("Fire (-want +got):\n%s", diff)
			}
			if len(got.Runs) != len(tt.outs) || !got.Fired {
				t.Errorf("got %d runs, fired %v; want %d, true", len(got.Runs), got.Fired, len(tt.outs))
			}
		})
	}
}

func TestFireOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The later a hook stands in the config, the earlier it answers.
		slow := HandlerFunc(func(ctx context.Context, h *Hook, _ []byte, _ Env) Result {
			d, _ := time.ParseDuration(h.Command)
			time.Sleep(d)
			return Result{Stdout: []byte(`{"decision":"deny","reason":"` + h.Command + `"}`)}
		})
		s, err := New(Options{Handlers: map[string]Handler{"command": slow}, Definitions: map[Event][]Definition{BeforeTool: {
			{Hooks: []Hook{{Type: "command", Command: "3s"}, {Type: "command", Command: "2s"}}},
			{Sequential: true, Hooks: []Hook{{Type: "command", Command: "1s"}, {Type: "command", Command: "4s"}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		d := s.Fire(t.Context(), Input{Event: BeforeTool, Match: "x"})
		if d.Reason != "3s\n2s\n1s" {
			t.Errorf("got reasons %q; want config order, the sequential group ended by its deny", d.Reason)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("took %v; want 3s: groups start together", took)
		}
	})
}

func TestTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := HandlerFunc(func(ctx context.Context, _ *Hook, _ []byte, _ Env) Result {
			<-ctx.Done()
			return Result{Err: ctx.Err()}
		})
		s, err := New(Options{Handlers: map[string]Handler{"command": hang}, Definitions: map[Event][]Definition{BeforeTool: {
			{Hooks: []Hook{{Type: "command", Command: "a", Name: "slow"}, {Type: "command", Command: "b", Name: "guard", Timeout: time.Second, FailMode: FailClosed}}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		d := s.Fire(t.Context(), Input{Event: BeforeTool})
		if took := time.Since(began); took != DefaultTimeout {
			t.Errorf("took %v; want %v", took, DefaultTimeout)
		}
		want := Decision{Fired: true, Deny: true, Reason: "Hook guard failed (timed out after 1s), and it is set to block when it fails.", Runs: []Run{
			{Hook: "slow", Exit: -1, Duration: DefaultTimeout, Failure: "timed out after 1m0s", Outcome: "failed"},
			{Hook: "guard", Exit: -1, Duration: time.Second, Failure: "timed out after 1s", Outcome: "deny"},
		}}
		if diff := cmp.Diff(want, d); diff != "" {
			t.Errorf("time-out (-want +got):\n%s", diff)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		d = s.Fire(ctx, Input{Event: BeforeTool})
		if !d.Deny || d.Runs[0].Failure != "canceled: nobody waits for it any more" {
			t.Errorf("canceled: got %+v", d)
		}
	})
}
