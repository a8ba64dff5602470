package hooks

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRule(t *testing.T) {
	tests := []struct {
		rule, tool, args string
		want             bool
	}{
		{"Bash", "run_shell_command", `{"command":"ls"}`, true},
		{"run_shell_command", "run_shell_command", `{"command":"ls"}`, true},
		{"Bash", "read_file", `{}`, false},
		{"mcp__github__*", "mcp_github_create", `{}`, true},
		{"Bash(*)", "run_shell_command", `{"command":"ls"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"git push"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"git"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"gitk"}`, false},
		{"Bash(git:*)", "run_shell_command", `{"command":"git push"}`, true},
		{"Bash(rm*)", "run_shell_command", `{"command":"rmdir x"}`, true},
		{"Bash(git push)", "run_shell_command", `{"command":"git push -f"}`, false},
		{"Bash(git *)", "run_shell_command", `{"command":"cd x && git push | tee log"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"A=1 B='x y' git push"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"echo 'a; git push'"}`, false},
		{"Bash(git *)", "run_shell_command", `{"command":"ls 2>&1 &\ngit push"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"ls 2>&1"}`, false},
		{"Bash(git *)", "run_shell_command", `{"command":"ls $(git push)"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"echo 'open"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":"cat <<E\nE"}`, true},
		{"Bash(git *)", "run_shell_command", `{"command":["git"]}`, true},
		{"Edit(*.ts)", "replace", `{"file_path":"/app/src/a.ts"}`, true},
		{"Edit(*.ts)", "replace", `{"file_path":"/app/src/a.tsx"}`, false},
		{"Edit(src/**)", "replace", `{"file_path":"/app/src/x/a.go"}`, true},
		{"Edit(src/*)", "replace", `{"file_path":"/app/src/x/a.go"}`, false},
		{"Edit(src/**/a.go)", "replace", `{"file_path":"src/a.go"}`, true},
		{"Edit(./src/?.go)", "replace", `{"file_path":"/app/src/../src/a.go"}`, true},
		{"Read(//etc/**)", "read_file", `{"file_path":"/app/etc/passwd"}`, false},
		{"Read(//etc/**)", "read_file", `{"file_path":"/etc/passwd"}`, true},
		{"Read(~/.ssh/**)", "read_file", `{"file_path":"/home/ada/.ssh/id"}`, true},
		{"WebFetch(domain:example.com)", "web_fetch", `{"url":"https://u@Example.com:8/x"}`, true},
		{"WebFetch(domain:example.com)", "web_fetch", `{"url":"https://example.com.evil.org/"}`, false},
		{"WebSearch(secret*)", "google_web_search", `{"query":"secret recipe"}`, true},
	}
	for _, tt := range tests {
		r, err := parseRule(tt.rule)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		in := input(BeforeTool, "tool_input", tt.args)
		in.Match = tt.tool
		if got := r.matches(&in); got != tt.want {
			t.Errorf("%s on %s %s: got %v; want %v", tt.rule, tt.tool, tt.args, got, tt.want)
		}
	}
	for _, bad := range []string{"", "(x)", "Bash(x", "Bash Read", "Bash|Read"} {
		if _, err := parseRule(bad); err == nil {
			t.Errorf("rule %q: got no error", bad)
		}
	}
}

// A hook with a rule runs for the calls that the rule names, and never under an
// event that is not about a call.
func TestRuleInPlan(t *testing.T) {
	guard := Definition{Hooks: []Hook{{Command: "{}", If: "Bash(git *)"}}}
	s, h := newSet(t, BeforeTool, guard)
	for _, cmd := range []string{`{"command":"git push"}`, `{"command":"ls"}`} {
		in := input(BeforeTool, "tool_input", cmd)
		in.Match = "run_shell_command"
		s.Fire(t.Context(), in)
	}
	if n := len(h.got["{}"]); n != 1 {
		t.Errorf("the hook ran %d times; want once, for git", n)
	}
	s, _ = newSet(t, BeforeAgent, guard)
	if d := s.Fire(t.Context(), input(BeforeAgent, "prompt", `"git push"`)); d.Fired {
		t.Error("the hook ran for a prompt")
	}
	_, err := New(Options{Definitions: map[Event][]Definition{BeforeTool: {{Hooks: []Hook{{Type: "command", Command: "x", If: "Bash("}}}}},
		Handlers: map[string]Handler{"command": &says{}}})
	want := "hooks.BeforeTool[0].hooks[0].if: \"Bash(\" is no permission rule: the bracket is not closed\n" + `  hint: write a tool's name, or a name and a pattern, as in "Bash(git *)"`
	if err == nil || err.Error() != want {
		t.Errorf("got %v; want %s", err, want)
	}
}

func FuzzRule(f *testing.F) {
	f.Add("Bash(git *)", "A=1 git push && ls")
	f.Add("Edit(src/**/?.go)", "/src/a.go")
	f.Fuzz(func(t *testing.T, text, arg string) {
		r, err := parseRule(text)
		if err != nil {
			return
		}
		for _, key := range primary {
			in := Input{Event: BeforeTool, Match: "t", Fields: []Field{{"tool_input", Object([]Field{{key, Quote(arg)}})}}}
			r.matches(&in)
		}
		if cmds, ok := subCommands(arg); ok && slices.Contains(cmds, "") {
			t.Fatalf("%q has an empty command", arg)
		}
	})
}

func TestToolNames(t *testing.T) {
	for wire, want := range map[string][]string{
		"run_shell_command":   {"run_shell_command", "Bash"},
		"Bash":                {"Bash", "run_shell_command"},
		"Edit":                {"Edit", "edit", "replace"},
		"invoke_agent":        {"invoke_agent", "Agent", "Task"},
		"mcp_a_b_c":           {"mcp_a_b_c", "mcp__a__b_c", "mcp__a_b__c"},
		"mcp__github__create": {"mcp__github__create", "mcp_github_create"},
		"other":               {"other"},
	} {
		if diff := cmp.Diff(want, ToolNames(wire)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", wire, diff)
		}
	}
}
