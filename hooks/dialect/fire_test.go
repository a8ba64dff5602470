package dialect

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookline-proxy/hookline/hooks"
)

// scripts is a handler whose hooks are named by their command and do what the
// script of that name says: "exit 2 TEXT", or what to print.
type scripts struct {
	script map[string]string
	delay  map[string]time.Duration
	mu     sync.Mutex
	order  []string
	shown  map[string]string // stdin by command
}

func (s *scripts) Handle(_ context.Context, h *hooks.Hook, in []byte, _ hooks.Env) hooks.Result {
	time.Sleep(s.delay[h.Command])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown == nil {
		s.shown = map[string]string{}
	}
	s.order = append(s.order, h.Command)
	s.shown[h.Command] = string(in)
	out := s.script[h.Command]
	if text, ok := strings.CutPrefix(out, "exit 2"); ok {
		return hooks.Result{Exit: 2, Stderr: []byte(text)}
	}
	if strings.HasPrefix(out, "exit 127") {
		return hooks.Result{Exit: 127}
	}
	return hooks.Result{Stdout: []byte(out)}
}

// group is one group of hooks under an event's name.
func group(dialect, matcher string, order int, cmds ...string) hooks.Definition {
	d := hooks.Definition{Dialect: dialect, Matcher: matcher, Order: order}
	for _, c := range cmds {
		d.Hooks = append(d.Hooks, hooks.Hook{Type: "command", Command: c})
	}
	return d
}

func newSet(t *testing.T, s *scripts, log *strings.Builder, defs map[hooks.Event][]hooks.Definition) *hooks.Set {
	t.Helper()
	o := hooks.Options{Dialects: All(), Handlers: map[string]hooks.Handler{"command": s, "http": s, "prompt": s}, Definitions: defs}
	if log != nil {
		o.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	set, err := hooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// shell is a call of Gemini CLI's shell.
func shell(command string, more ...hooks.Field) hooks.Input {
	return hooks.Input{Event: hooks.BeforeTool, SessionID: "s", Match: "run_shell_command", Fields: append([]hooks.Field{
		{Key: "tool_name", Value: hooks.Quote("run_shell_command")},
		{Key: "tool_input", Value: hooks.Object([]hooks.Field{{Key: "command", Value: hooks.Quote(command)}, {Key: "dir_path", Value: hooks.Quote("x")}})},
		{Key: "tool_call_id", Value: hooks.Quote("fc-1")},
		{Key: "x_hookline", Value: json.RawMessage(`{"agent":"gemini-cli"}`)},
	}, more...)}
}

var bare = cmpopts.IgnoreFields(hooks.Decision{}, "Runs", "Fired")

// Guards of both dialects, unmodified, block the same call, each with its own
// document; what they say is merged in config order.
func TestTwoDialectsAtOneEvent(t *testing.T) {
	s := &scripts{script: map[string]string{
		"g":  `{"decision":"deny","reason":"gemini says no"}`,
		"c1": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"claude says no"}}`,
		"c2": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`,
	}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{
		"BeforeTool": {group("gemini", "run_shell_command", 2, "g")},
		"PreToolUse": {group("claude", "Bash", 1, "c1"), group("", "Bash", 3, "c2"), group("qwen", "Read", 4, "q")},
	})
	if !set.Matches(hooks.BeforeTool, "run_shell_command") || set.Matches(hooks.BeforeTool, "glob") || set.Matches(hooks.AfterTool, "glob") {
		t.Error("Matches: a guard for Bash listens to run_shell_command, no hook to glob")
	}
	d := set.Fire(t.Context(), shell("rm -rf /"))
	if want := (hooks.Decision{Deny: true, Reason: "claude says no\ngemini says no"}); !cmp.Equal(want, d, bare) {
		t.Errorf("got %+v; want %+v", d, want)
	}
	var claude, gemini struct {
		Event string `json:"hook_event_name"`
		Tool  string `json:"tool_name"`
		ID    string `json:"tool_use_id"`
		Input struct{ Command string }
	}
	for in, v := range map[string]any{s.shown["c1"]: &claude, s.shown["g"]: &gemini} {
		if err := json.Unmarshal([]byte(in), v); err != nil {
			t.Fatal(err)
		}
	}
	if claude.Event != "PreToolUse" || claude.Tool != "Bash" || claude.ID != "fc-1" || gemini.Event != "BeforeTool" || gemini.Tool != "run_shell_command" {
		t.Errorf("shown %+v and %+v", claude, gemini)
	}
}

// In a sequential group each hook sees what the one before made, in its own
// dialect's names.
func TestSequentialAcrossDialects(t *testing.T) {
	s := &scripts{script: map[string]string{
		"g": `{"hookSpecificOutput":{"tool_input":{"is_background":true,"x":1}}}`,
		"c": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls","run_in_background":false}}}`,
	}}
	d := group("gemini", "", 0, "g", "c", "last")
	d.Sequential = true
	d.Hooks[1].Dialect, d.Hooks[2].Dialect = "claude", "gemini"
	// A hook's own dialect must have the name, too.
	_, err := hooks.New(hooks.Options{Dialects: All(), Handlers: map[string]hooks.Handler{"command": s}, Definitions: map[hooks.Event][]hooks.Definition{"BeforeTool": {d}}})
	if err == nil || !strings.Contains(err.Error(), `"claude" has no such event`) {
		t.Fatalf("got %v; want an error about the event's name", err)
	}
	d.Dialect = ""
	d.Hooks[0].Dialect, d.Hooks[1].Dialect, d.Hooks[2].Dialect = "claude", "claude", "qwen"
	s.script["g"] = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls -l","run_in_background":true,"x":1}}}`
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PreToolUse": {d}})
	got := set.Fire(t.Context(), shell("pwd"))
	if want := `{"command":"ls","dir_path":null,"x":null,"is_background":false}`; !sameJSON(want, got.ToolInput) {
		t.Errorf("got %s; want %s", got.ToolInput, want)
	}
	if !strings.Contains(s.shown["c"], `"tool_input":{"command":"ls -l","run_in_background":true,"x":1}`) {
		t.Errorf("the second was shown %s", s.shown["c"])
	}
	if !strings.Contains(s.shown["last"], `"tool_input":{"command":"ls","is_background":false}`) {
		t.Errorf("the third was shown %s", s.shown["last"])
	}
}

func sameJSON(a string, b []byte) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal(b, &y) == nil && cmp.Equal(x, y)
}

// PostToolUse is for results that came, PostToolUseFailure for errors; both are
// the one event AfterTool.
func TestResultsAreSplit(t *testing.T) {
	s := &scripts{script: map[string]string{"fail": "exit 2try again"}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PostToolUse": {group("claude", "", 0, "came")}, "PostToolUseFailure": {group("claude", "", 0, "fail")}})
	for response, want := range map[string]string{`{"llmContent":"x"}`: "came", `{"llmContent":"x","error":{"message":"m"}}`: "fail"} {
		s.order = nil
		in := hooks.Input{Event: hooks.AfterTool, Match: "t", Fields: []hooks.Field{{Key: "tool_response", Value: json.RawMessage(response)}}}
		d := set.Fire(t.Context(), in)
		if diff := cmp.Diff([]string{want}, s.order); diff != "" {
			t.Errorf("%s ran (-want +got):\n%s", response, diff)
		}
		if d.Deny || (want == "fail") != (len(d.Context) == 1) {
			t.Errorf("%s: got %+v; want feedback beside the result", response, d)
		}
	}
}

func TestMergeOrder(t *testing.T) {
	pre := func(decision string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"` + decision + `","permissionDecisionReason":"` + decision + `"}}`
	}
	tests := []struct {
		name string
		outs []string
		want hooks.Decision
	}{
		{"deny beats defer", []string{pre("defer"), pre("deny"), pre("allow")}, hooks.Decision{Deny: true, Reason: "deny"}},
		{"defer beats ask", []string{pre("ask"), pre("defer"), pre("allow")}, hooks.Decision{Defer: true, Reason: "defer"}},
		{"ask beats allow", []string{pre("allow"), pre("ask")}, hooks.Decision{Ask: true, Reason: "ask"}},
		{"allow", []string{pre("allow"), `{}`}, hooks.Decision{Allow: true}},
		{"exit 2 beats allow", []string{pre("allow"), "exit 2no"}, hooks.Decision{Deny: true, Reason: "no"}},
		{"legacy beats allow", []string{pre("allow"), `{"decision":"block","reason":"no"}`}, hooks.Decision{Deny: true, Reason: "no"}},
		{"continue false beats all", []string{`{"continue":false,"stopReason":"halt"}`, pre("ask"), pre("allow")}, hooks.Decision{Stop: true, StopReason: "halt"}},
		{"contexts are all kept", []string{`{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"a"}}`, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"b"}}`},
			hooks.Decision{Context: []string{"a", "b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scripts{script: map[string]string{}}
			var cmds []string
			for i, out := range tt.outs {
				cmd := string(rune('a' + i))
				cmds, s.script[cmd] = append(cmds, cmd), out
			}
			set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PreToolUse": {group("claude", "", 0, cmds...)}})
			if diff := cmp.Diff(tt.want, set.Fire(t.Context(), shell("ls")), bare); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPermissionRequestMerge(t *testing.T) {
	decision := func(d string) string {
		return `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":` + d + `}}`
	}
	for _, tt := range []struct {
		outs []string
		want string
	}{
		{[]string{decision(`{"behavior":"deny","message":"a"}`), decision(`{"behavior":"allow"}`)}, `{"decision":{"behavior":"deny","message":"a"}}`},
		{[]string{decision(`{"behavior":"allow"}`), decision(`{"behavior":"deny","message":"a","interrupt":true}`), decision(`{"behavior":"deny","message":"b","interrupt":false}`)},
			`{"decision":{"behavior":"deny","message":"a\nb","interrupt":true}}`},
		{[]string{decision(`{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[1]}`), decision(`{"behavior":"allow","updatedInput":{"b":1},"updatedPermissions":[2]}`)},
			`{"decision":{"behavior":"allow","updatedInput":{"b":1},"updatedPermissions":[1,2]}}`},
	} {
		s := &scripts{script: map[string]string{"a": tt.outs[0], "b": tt.outs[1]}}
		cmds := []string{"a", "b"}
		if len(tt.outs) > 2 {
			cmds, s.script["c"] = append(cmds, "c"), tt.outs[2]
		}
		set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PermissionRequest": {group("claude", "", 0, cmds...)}})
		d := set.Fire(t.Context(), hooks.Input{Event: hooks.PermissionRequest, Match: "Bash"})
		if diff := cmp.Diff(tt.want, string(d.Specific)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// Names that the dialect knows and that never fire are accepted, with a word in
// the log; names of another dialect are mistakes that say so.
func TestNames(t *testing.T) {
	var log strings.Builder
	set := newSet(t, &scripts{}, &log, map[hooks.Event][]hooks.Definition{"Setup": {group("claude", "", 0, "x")}, "PostToolBatch": {group("qwen", "", 0, "y")}})
	for _, ev := range hooks.Events() {
		if set.Has(ev) {
			t.Errorf("%s has a hook", ev)
		}
	}
	if n := strings.Count(log.String(), "hook never runs"); n != 2 {
		t.Errorf("told %d hooks that never run; want 2:\n%s", n, log.String())
	}
	for _, tt := range []struct{ dialect, name, want string }{
		{"gemini", "PreToolUse", "hooks.PreToolUse[0].dialect: \"gemini\" has no such event\n  hint: the dialects that have it are claude, qoder, qwen"},
		{"claude", "BeforeModel", "hooks.BeforeModel[0].dialect: \"claude\" has no such event\n  hint: the dialects that have it are gemini"},
		{"codex", "Stop", "hooks.Stop[0].dialect: \"codex\" is no dialect\n  hint: the dialects are claude, gemini, qoder, qwen"},
	} {
		_, err := hooks.New(hooks.Options{Dialects: All(), Definitions: map[hooks.Event][]hooks.Definition{hooks.Event(tt.name): {group(tt.dialect, "", 0)}}})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s in %s: got %v; want %s", tt.name, tt.dialect, err, tt.want)
		}
	}
}

// A hook that prints {"async":true} first decides nothing; what else it says
// comes with the next prompt.
func TestDetached(t *testing.T) {
	s := &scripts{script: map[string]string{"x": "{\"async\":true}\n" + `{"decision":"block","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"later"}}`}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PostToolUse": {group("claude", "", 0, "x")}, "UserPromptSubmit": {group("claude", "", 0, "y")}})
	if d := set.Fire(t.Context(), hooks.Input{Event: hooks.AfterTool, SessionID: "s"}); len(d.Context) > 0 || d.Deny {
		t.Errorf("got %+v; want no effect", d)
	}
	if d := set.Fire(t.Context(), hooks.Input{Event: hooks.BeforeAgent, SessionID: "s"}); len(d.Context) != 1 || d.Context[0] != "later" {
		t.Errorf("got %+v; want the context", d)
	}
}

// Of several updatedInputs the last of the config counts, whoever ends first,
// and the others are told.
func TestUpdatedInputConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &scripts{delay: map[string]time.Duration{"a": 2 * time.Second, "b": time.Second}, script: map[string]string{
			"a": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"a","dir_path":"y"}}}`,
			"b": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"b"}}}`,
		}}
		set := newSet(t, s, &log, map[hooks.Event][]hooks.Definition{"PreToolUse": {group("claude", "", 0, "a", "b")}})
		d := set.Fire(t.Context(), shell("ls"))
		if !sameJSON(`{"command":"b","dir_path":null}`, d.ToolInput) {
			t.Errorf("got %s; want b's alone", d.ToolInput)
		}
		if !strings.Contains(log.String(), `field=updatedInput by=PreToolUse[0].hooks[1]`) {
			t.Errorf("the log does not tell of a's:\n%s", log.String())
		}
	})
}

func TestAgentsToolNames(t *testing.T) {
	for agent, want := range map[string]string{"gemini-cli": "Bash", "qwen-code": "Bash", "": "run_shell_command"} {
		in := shell("ls")
		in.Fields[3].Value = hooks.Object([]hooks.Field{{Key: "agent", Value: hooks.Quote(agent)}})
		var doc struct {
			Name string `json:"tool_name"`
		}
		if err := json.Unmarshal(All()["claude"]["PreToolUse"].Encode(&in), &doc); err != nil || doc.Name != want {
			t.Errorf("agent %q: got %q, %v; want %q", agent, doc.Name, err, want)
		}
	}
	mcp := hooks.Input{Event: hooks.BeforeTool, Match: "mcp_my_server_create", Fields: []hooks.Field{
		{Key: "mcp_context", Value: json.RawMessage(`{"server_name":"my_server","tool_name":"create"}`)}, {Key: "x_hookline", Value: json.RawMessage(`{"agent":"gemini-cli"}`)}}}
	if doc := string(All()["claude"]["PreToolUse"].Encode(&mcp)); !strings.Contains(doc, `"tool_name":"mcp__my_server__create"`) {
		t.Errorf("got %s", doc)
	}
	mcp.Fields = mcp.Fields[1:]
	if doc := string(All()["claude"]["PreToolUse"].Encode(&mcp)); !strings.Contains(doc, `"tool_name":"mcp__my__server_create"`) {
		t.Errorf("got %s", doc)
	}
}
