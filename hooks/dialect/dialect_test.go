package dialect

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// facts are the documents' table of the 27: the field that a matcher is tested
// against, what exit code 2 does, whether the event can be held back.
var facts = []struct {
	name, matcher string
	exit2         exit2
	blockable     bool
}{
	{"PreToolUse", "tool_name", exitBlocks, true},
	{"PostToolUse", "tool_name", exitFeedback, false},
	{"PostToolUseFailure", "tool_name", exitFeedback, false},
	{"SubagentStart", "agent_type", exitTells, false},
	{"SubagentStop", "agent_type", exitBlocks, true},
	{"Notification", "notification_type", exitIgnored, false},
	{"SessionStart", "source", exitTells, false},
	{"SessionEnd", "reason", exitTells, false},
	{"PreCompact", "trigger", exitBlocks, true},
	{"PostCompact", "trigger", exitTells, false},
	{"Stop", "", exitBlocks, true},
	{"QueryEnd", "", exitIgnored, false},
	{"UserPromptSubmit", "", exitBlocks, true},
	{"ConfigChange", "source", exitBlocks, true},
	{"StopFailure", "error", exitIgnored, false},
	{"TeammateIdle", "", exitBlocks, true},
	{"InstructionsLoaded", "load_reason", exitIgnored, false},
	{"CwdChanged", "", exitTells, false},
	{"FileChanged", "file_path", exitTells, false},
	{"WorktreeCreate", "", exitFails, true},
	{"WorktreeRemove", "", exitIgnored, false},
	{"Elicitation", "mcp_server_name", exitBlocks, true},
	{"ElicitationResult", "mcp_server_name", exitBlocks, true},
	{"TaskCreated", "", exitBlocks, true},
	{"TaskCompleted", "", exitBlocks, true},
	{"PermissionRequest", "tool_name", exitIgnored, true},
	{"PermissionDenied", "tool_name", exitIgnored, false},
}

// TestFacts runs the table: a hook that ends with exit code 2, a matcher that
// names the field's value, and one that does not.
func TestFacts(t *testing.T) {
	claude := All()[hooks.DialectClaude]
	if len(facts) != len(events) {
		t.Fatalf("got %d events; want %d", len(events), len(facts))
	}
	for i, f := range facts {
		t.Run(f.name, func(t *testing.T) {
			l := claude[f.name]
			if events[i].name != f.name || l == nil {
				t.Fatalf("the table has %s in this place", events[i].name)
			}
			in := &hooks.Input{Event: l.Event}
			if f.matcher != "" {
				in.Fields = append(in.Fields, hooks.Field{Key: f.matcher, Value: hooks.Quote("value")})
			}
			h := &hooks.Hook{Type: "command"}
			a := l.Read(in, h, hooks.Result{Exit: 2, Stderr: []byte("why\n")})
			got := exitIgnored
			switch {
			case a.Deny && a.Failure != nil:
				got = exitFails
			case a.Deny:
				got = exitBlocks
			case a.Context == "why":
				got = exitFeedback
			case a.Notice == "why":
				got = exitTells
			}
			if got != f.exit2 {
				t.Errorf("exit code 2: got %s (%+v); want %s", got, a, f.exit2)
			}
			if slices.Contains(Blockable(), f.name) != f.blockable {
				t.Errorf("blockable: got %v", !f.blockable)
			}
			if f.blockable != deniesSomehow(l, in) {
				t.Errorf("deny by any means: got %v; want %v", !f.blockable, f.blockable)
			}
			if (l.Compile != nil) != (f.matcher != "") {
				t.Fatalf("matchers have an effect: got %v", l.Compile != nil)
			}
			if l.Compile == nil {
				return
			}
			names := l.Subjects(in)
			for text, want := range map[string]bool{"value": true, "other|value": true, "^val": true, "valu": false, "other": false} {
				match, err := l.Compile(text)
				if err != nil {
					t.Fatal(err)
				}
				if got := slices.ContainsFunc(names, match); got != want {
					t.Errorf("matcher %q: got %v; want %v", text, got, want)
				}
			}
		})
	}
}

// deniesSomehow tries all ways to say no.
func deniesSomehow(l *hooks.Listener, in *hooks.Input) bool {
	for _, res := range []hooks.Result{
		{Exit: 2},
		{Stdout: []byte(`{"decision":"block"}`)},
		{Stdout: []byte(`{"hookSpecificOutput":{"permissionDecision":"deny"}}`)},
		{Stdout: []byte(`{"hookSpecificOutput":{"decision":{"behavior":"deny"}}}`)},
	} {
		if a := l.Read(in, &hooks.Hook{Type: "command"}, res); a.Deny {
			return true
		}
	}
	return false
}

func TestMatchers(t *testing.T) {
	tests := []struct {
		dialect, event, matcher, subject string
		want                             bool
	}{
		{"claude", "PreToolUse", "Bash", "run_shell_command", true},
		{"claude", "PreToolUse", "run_shell_command", "run_shell_command", true},
		{"claude", "PreToolUse", "Edit", "NotebookEdit", false},
		{"claude", "PreToolUse", "Edit", "replace", true},
		{"claude", "PreToolUse", "Write, Edit", "replace", true},
		{"claude", "PreToolUse", "Write|Edit", "write_file", true},
		{"claude", "PreToolUse", "Edit.*", "NotebookEdit", true},
		{"claude", "PreToolUse", "bash", "run_shell_command", false},
		{"claude", "PreToolUse", "Task", "invoke_agent", true},
		{"claude", "PreToolUse", "Agent", "invoke_agent", true},
		{"claude", "PreToolUse", "mcp__memory", "mcp__memory__create", false},
		{"claude", "PreToolUse", "mcp__memory__.*", "mcp__memory__create", true},
		{"claude", "PreToolUse", "mcp__memory__.*", "mcp_memory_create", true},
		{"claude", "PreToolUse", "mcp__my_server__create", "mcp_my_server_create", true},
		{"claude", "StopFailure", "rate_limit|overloaded", "overloaded", true},
		{"claude", "StopFailure", "rate_limit, overloaded", "overloaded", false},
		{"claude", "FileChanged", "env", "/app/.env", false},
		{"claude", "FileChanged", ".env", "/app/.env", true},
		{"claude", "FileChanged", ".envrc|.env", "/app/sub/.env", true},
		{"claude", "Notification", "permission_prompt", "ToolPermission", true},
		{"claude", "SessionEnd", "other", "exit", true},
		{"qoder", "PreToolUse", "Edit", "NotebookEdit", true},
		{"qoder", "PreToolUse", "(", "(", true},
		{"qoder", "SessionStart", "start|resume", "startup", false},
		{"qoder", "SessionStart", "^start", "startup", true},
		{"qwen", "PreToolUse", "Edit", "NotebookEdit", true},
		{"qwen", "PreToolUse", "^read_", "read_file", true},
		{"qwen", "SessionStart", "^start", "startup", false},
		{"qwen", "SessionStart", "startup|clear", "startup", true},
		{"gemini", "BeforeTool", "run_shell_command", "Bash", true},
		{"gemini", "BeforeTool", "ask", "invoke_agent", false},
	}
	for _, tt := range tests {
		l := All()[tt.dialect][tt.event]
		match, err := l.Compile(tt.matcher)
		if err != nil {
			t.Errorf("%s %s %q: %v", tt.dialect, tt.event, tt.matcher, err)
			continue
		}
		if got := slices.ContainsFunc(l.Subjects(&hooks.Input{Event: l.Event, Match: tt.subject}), match); got != tt.want {
			t.Errorf("%s %s: matcher %q on %q: got %v; want %v", tt.dialect, tt.event, tt.matcher, tt.subject, got, tt.want)
		}
	}
	if _, err := All()["claude"]["PreToolUse"].Compile("(oops"); err == nil {
		t.Error("claude: an expression that does not compile: got no error")
	}
}

func TestTimeouts(t *testing.T) {
	tests := []struct {
		dialect, event, hookType string
		want                     time.Duration
	}{
		{"claude", "PreToolUse", "command", 600 * time.Second},
		{"claude", "PreToolUse", "http", 600 * time.Second},
		{"claude", "PreToolUse", "prompt", 30 * time.Second},
		{"claude", "PreToolUse", "agent", 60 * time.Second},
		{"claude", "UserPromptSubmit", "command", 30 * time.Second},
		{"claude", "UserPromptSubmit", "agent", 60 * time.Second},
		{"claude", "SessionEnd", "command", 1500 * time.Millisecond},
		{"qoder", "Stop", "command", 600 * time.Second},
		{"qwen", "Stop", "command", 60 * time.Second},
		{"qwen", "Stop", "http", 600 * time.Second},
	}
	for _, tt := range tests {
		if got := All()[tt.dialect][tt.event].Timeout(tt.hookType); got != tt.want {
			t.Errorf("%s %s %s: got %v; want %v", tt.dialect, tt.event, tt.hookType, got, tt.want)
		}
	}
	for dialect, want := range map[string]time.Duration{"claude": time.Second, "qoder": time.Second, "qwen": time.Millisecond, "gemini": time.Millisecond} {
		if got := Unit(dialect); got != want {
			t.Errorf("unit of %s: got %v; want %v", dialect, got, want)
		}
	}
}

func TestLongTexts(t *testing.T) {
	l := All()["claude"]["UserPromptSubmit"]
	a := l.Read(&hooks.Input{Event: l.Event}, &hooks.Hook{Type: "command"}, hooks.Result{Stdout: []byte(strings.Repeat("é", 10_001))})
	if want := strings.Repeat("é", 10_000) + "…"; a.Context != want {
		t.Errorf("got %d bytes of context; want 10,000 characters and an ellipsis", len(a.Context))
	}
	if got := capped(strings.Repeat("é", 10_000)); len(got) != 20_000 {
		t.Errorf("got %d bytes; want a text of the limit whole", len(got))
	}
}

// FuzzRead throws any output at the readers of all dialects: they keep their
// promises about values, and exit code 2 denies whatever is printed.
func FuzzRead(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"async":true}`, "{\"async\":true}\n{}", `{"decision":"block"}`, `{"continue":false}`, `x`, "\xff{",
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"a":null},"permissionDecision":"allow","prompt":"","updatedToolOutput":[ 1 ],"decision":{},"worktreePath":1,"action":2}}`} {
		f.Add([]byte(s), 0, "command")
		f.Add([]byte(s), 2, "http")
	}
	all := All()
	f.Fuzz(func(t *testing.T, out []byte, exit int, hookType string) {
		for _, d := range all {
			for _, l := range d {
				in := &hooks.Input{Event: l.Event, Fields: []hooks.Field{{Key: "tool_input", Value: []byte(`{"a":1}`)}, {Key: "x_hookline", Value: []byte(`{"agent":"gemini-cli"}`)}}}
				a := l.Read(in, &hooks.Hook{Type: hookType}, hooks.Result{Stdout: out, Exit: exit})
				if a.Deny && a.Reason == "" || a.Stop && a.StopReason == "" {
					t.Fatalf("%s: no reason: %+v", l.Name, a)
				}
				if exit == 2 && (l.Event == hooks.BeforeTool || l.Event == hooks.BeforeAgent) && !a.Deny {
					t.Fatalf("%s: exit code 2 does not deny: %+v", l.Name, a)
				}
				for _, v := range [][]byte{a.ToolInput, a.Specific} {
					if v != nil && hooks.Members(v) == nil {
						t.Fatalf("%s: %s is no object", l.Name, v)
					}
				}
			}
		}
	})
}
