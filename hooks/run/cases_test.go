//go:build unix

package run

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

// TestCases re-tells the recorded runner cases of Gemini CLI as processes, from
// the event to the decision, with the values that the documentation gives them:
// exit codes come first, and stderr is never parsed.
func TestCases(t *testing.T) {
	tests := []struct {
		name   string
		hook   hooks.Hook
		want   hooks.Decision // without Runs
		run    hooks.Run      // without Hook and Duration
		closed string         // how the same hook ends with failMode closed; "" for the same
	}{
		{name: "JSON", hook: hooks.Hook{Command: `cat >/dev/null; printf '{"decision":"deny","reason":"w"}'`},
			want: hooks.Decision{Deny: true, Reason: "w"}, run: hooks.Run{Outcome: "deny"}},
		{name: "pretty JSON with a byte order mark", hook: hooks.Hook{Command: `printf '\xef\xbb\xbf\n{\n "decision" : "deny",\n "reason":"w"\n}\n\n'`},
			want: hooks.Decision{Deny: true, Reason: "w"}, run: hooks.Run{Outcome: "deny"}},
		{name: "silence", hook: hooks.Hook{Command: `exec true`}, run: hooks.Run{Outcome: "allow"}},
		{name: "text on stderr", hook: hooks.Hook{Command: `echo '{"decision":"deny"}' >&2`}, run: hooks.Run{Outcome: "allow"}},
		{name: "exit 2: stderr", hook: hooks.Hook{Command: `echo O; echo E >&2; exit 2`}, want: hooks.Decision{Deny: true, Reason: "E"}, run: hooks.Run{Exit: 2, Outcome: "deny"}},
		{name: "exit 2: stdout", hook: hooks.Hook{Command: `echo O; exit 2`}, want: hooks.Decision{Deny: true, Reason: "O"}, run: hooks.Run{Exit: 2, Outcome: "deny"}},
		{name: "exit 2: silence", hook: hooks.Hook{Command: `exit 2`}, want: hooks.Decision{Deny: true, Reason: "No reason provided"}, run: hooks.Run{Exit: 2, Outcome: "deny"}},
		{name: "exit 2: JSON that allows", hook: hooks.Hook{Command: `printf '{"decision":"allow","reason":"r","systemMessage":"m"}'; exit 2`},
			want: hooks.Decision{Deny: true, Reason: "r"}, run: hooks.Run{Exit: 2, Outcome: "deny"}},
		{name: "exit 2: JSON without a reason", hook: hooks.Hook{Command: `printf '{"stopReason":"s"}'; exit 2`},
			want: hooks.Decision{Deny: true, Reason: "s"}, run: hooks.Run{Exit: 2, Outcome: "deny"}},
		{name: "exit 1: text", hook: hooks.Hook{Command: `echo warnme >&2; exit 1`}, run: hooks.Run{Exit: 1, Failure: "exit code 1", Outcome: "failed"}, closed: "exit code 1"},
		{name: "exit 1: JSON", hook: hooks.Hook{Command: `printf '{"decision":"deny"}'; exit 1`}, run: hooks.Run{Exit: 1, Failure: "exit code 1", Outcome: "failed"}, closed: "exit code 1"},
		{name: "exit 7", hook: hooks.Hook{Command: `echo seven >&2; exit 7`}, run: hooks.Run{Exit: 7, Failure: "exit code 7", Outcome: "failed"}, closed: "exit code 7"},
		{name: "exit 127", hook: hooks.Hook{Command: `no-such-program-here`}, run: hooks.Run{Exit: 127, Failure: "exit code 127", Outcome: "failed"}, closed: "exit code 127"},
		{name: "null", hook: hooks.Hook{Command: `echo null`}, want: noted("null"), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "array", hook: hooks.Hook{Command: `echo '[{"decision":"deny"}]'`}, want: noted(`[{"decision":"deny"}]`), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "double-encoded", hook: hooks.Hook{Command: `printf '%s' '"{\"decision\":\"block\"}"'`}, want: noted(`"{\"decision\":\"block\"}"`), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "string", hook: hooks.Hook{Command: `printf '"abc"'`}, want: noted(`"abc"`), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "text", hook: hooks.Hook{Command: `echo plain words`}, want: noted("plain words"), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "a log line, then JSON", hook: hooks.Hook{Command: `echo log; printf '{"decision":"deny"}'`}, want: noted("log\n{\"decision\":\"deny\"}"), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "broken JSON", hook: hooks.Hook{Command: `printf '{"decision":"deny"'`}, want: noted(`{"decision":"deny"`), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "binary", hook: hooks.Hook{Command: `printf '\377\000\033[31m'`}, want: noted("\ufffd\ufffd\ufffd[31m"), run: hooks.Run{Outcome: "allow"}, closed: "its output is not a JSON object"},
		{name: "bad field", hook: hooks.Hook{Command: `printf '{"decision":"deny","reason":"r","hookSpecificOutput":[]}'`},
			want: hooks.Decision{Deny: true, Reason: "r"}, run: hooks.Run{Failure: "bad field hookSpecificOutput in its output", Outcome: "deny"}, closed: "bad field hookSpecificOutput in its output"},
		{name: "killed", hook: hooks.Hook{Command: `echo partial; kill -9 $$`},
			run: hooks.Run{Exit: -1, Failure: "ended by a signal (signal: killed)", Outcome: "failed"}, closed: "ended by a signal (signal: killed)"},
		{name: "time-out drops what was printed", hook: hooks.Hook{Command: `printf '{"decision":"deny"}'; exec sleep 20`, Timeout: 300 * time.Millisecond},
			run: hooks.Run{Exit: -1, Failure: "timed out after 300ms", Outcome: "failed"}, closed: "timed out after 300ms"},
		{name: "too much", hook: hooks.Hook{Command: `head -c 10000000 /dev/zero`},
			run: hooks.Run{Exit: -1, Failure: "printed more than 1 MiB", Outcome: "failed"}, closed: "printed more than 1 MiB"},
		{name: "not there", hook: hooks.Hook{Command: "no-such-program-here", Args: []string{}},
			run: hooks.Run{Exit: -1, Failure: "could not be started", Outcome: "failed"}, closed: "could not be started"},
		{name: "own environment", hook: hooks.Hook{Command: `printf '{"decision":"deny","reason":"%s %s"}' "$FOO" "${GEMINI_CWD}"`, Env: map[string]string{"FOO": "bar", "GEMINI_CWD": "/over"}},
			want: hooks.Decision{Deny: true, Reason: "bar /over"}, run: hooks.Run{Outcome: "deny"}},
	}
	r := newRunner(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Fired = true
			tt.run.Hook = "BeforeTool[0].hooks[0]"
			tt.want.Runs = []hooks.Run{tt.run}
			if diff := cmp.Diff(tt.want, fire(t, r, tt.hook)); diff != "" {
				t.Errorf("open (-want +got):\n%s", diff)
			}
			tt.hook.FailMode = hooks.FailClosed
			if tt.closed != "" {
				tt.want.Deny, tt.want.Reason = true, "Hook BeforeTool[0].hooks[0] failed ("+tt.closed+"), and it is set to block when it fails."
				tt.want.Runs[0].Failure, tt.want.Runs[0].Outcome = tt.closed, "deny"
			}
			if diff := cmp.Diff(tt.want, fire(t, r, tt.hook)); diff != "" {
				t.Errorf("closed (-want +got):\n%s", diff)
			}
		})
	}
}

func noted(text string) hooks.Decision {
	return hooks.Decision{Notices: []hooks.Notice{{Hook: "BeforeTool[0].hooks[0]", Text: text}}}
}

func fire(t *testing.T, r *Runner, defHooks ...hooks.Hook) hooks.Decision {
	t.Helper()
	for i := range defHooks {
		defHooks[i].Type = "command"
	}
	s, err := hooks.New(hooks.Options{
		Definitions: map[hooks.Event][]hooks.Definition{hooks.BeforeTool: {{Sequential: true, Hooks: defHooks}}},
		Handlers:    map[string]hooks.Handler{"command": r},
		Dir:         t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool, SessionID: "S-1", Match: "t", Fields: []hooks.Field{
		{Key: "tool_name", Value: json.RawMessage(`"t"`)}, {Key: "tool_input", Value: json.RawMessage(`{"a":1}`)},
	}})
	for i := range d.Runs {
		d.Runs[i].Duration = 0
	}
	return d
}

// The same hooks, one process for many events: what the guard says is honoured.
func TestCasesPersistent(t *testing.T) {
	r := newRunner(t, Options{})
	d := fire(t, r,
		hooks.Hook{Persistent: true, Command: eachLine(`echo '{"hookSpecificOutput":{"tool_input":{"b":2}}}'`)},
		hooks.Hook{Persistent: true, Command: eachLine(`case $line in *'"tool_input":{"a":1,"b":2}'*) echo '{"decision":"deny","reason":"both"}';; *) echo;; esac`)})
	if !d.Deny || d.Reason != "both" || string(d.ToolInput) != `{"b":2}` {
		t.Errorf("got %+v", d)
	}
	d = fire(t, r, hooks.Hook{Persistent: true, Command: `exit`, FailMode: hooks.FailClosed})
	if !d.Deny || !strings.Contains(d.Reason, "closed its output") {
		t.Errorf("got %+v", d)
	}
	d = fire(t, r, hooks.Hook{Persistent: true, Command: `exec sleep 60`, Timeout: 50 * time.Millisecond})
	if d.Deny || d.Runs[0].Failure != "timed out after 50ms" {
		t.Errorf("got %+v", d)
	}
}

// A group's second hook is a process that sees what the first one changed.
func TestCasesSequential(t *testing.T) {
	r := newRunner(t, Options{})
	out := t.TempDir() + "/seen"
	fire(t, r,
		hooks.Hook{Command: `cat >/dev/null; printf '%s' '{"hookSpecificOutput":{"tool_input":{"b":2}}}'`},
		hooks.Hook{Command: `cat > ` + out})
	b, err := os.ReadFile(out)
	if err != nil || !strings.Contains(string(b), `"tool_input":{"a":1,"b":2}}`) {
		t.Errorf("got %s, %v", b, err)
	}
}
