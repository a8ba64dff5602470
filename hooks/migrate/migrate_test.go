package migrate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/config"
)

func read(t *testing.T, tool, text string) config.Hooks {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.Import([]string{tool + ":" + file}, "", config.Place{}).Hooks
}

func one(event, matcher, hook string) string {
	return fmt.Sprintf(`{"hooks": {%q: [{"matcher": %q, "hooks": [%s]}]}}`, event, matcher, hook)
}

func TestMigrate(t *testing.T) {
	const run = `{"type": "command", "command": "x", "timeout": 5}`
	speak := "must speak"
	for _, tc := range []struct {
		name, from string
		to         Tool
		in, want   string
		lost       []string // part of each, in order
	}{
		{"claude to gemini", "claude", Gemini, one("PreToolUse", "Bash|Edit", run),
			`{"hooks":{"BeforeTool":[{"matcher":"^(run_shell_command|replace)$","hooks":[{"type":"command","command":"x","timeout":5000}]}]}}`, []string{speak}},
		{"regular expression", "claude", Gemini, one("PostToolUse", "mcp__github__.*", run),
			`{"hooks":{"AfterTool":[{"matcher":"mcp_github_.*","hooks":[{"type":"command","command":"x","timeout":5000}]}]}}`, []string{speak}},
		{"the time that is the default", "claude", Gemini, one("Stop", "", `{"type": "command", "command": "x"}`),
			`{"hooks":{"AfterAgent":[{"hooks":[{"type":"command","command":"x","timeout":600000}]}]}}`, []string{speak}},
		{"list of sources", "claude", Gemini, one("SessionStart", "startup|compact|resume", run),
			`{"hooks":{"SessionStart":[{"matcher":"startup","hooks":[{"type":"command","command":"x","timeout":5000}]},{"matcher":"resume","hooks":[{"type":"command","command":"x","timeout":5000}]}]}}`,
			[]string{speak, `never has "compact"`}},
		{"no such event", "claude", Gemini, one("TaskCreated", "", run), `{"hooks":{}}`, []string{"no event like TaskCreated"}},
		{"what Gemini CLI has not", "claude", Gemini, one("PreToolUse", "", `{"type": "command", "command": "x", "if": "Bash(git *)", "async": true, "args": ["a"], "timeout": 1}, {"type": "http", "url": "http://h"}`),
			`{"hooks":{"BeforeTool":[{"hooks":[{"type":"command","command":"x","timeout":1000}]}]}}`,
			[]string{speak, `"args"`, `"if"`, `"async"`, "without its arguments", `type "http"`}},
		{"gemini to claude", "gemini", Claude, one("BeforeTool", "write_file|replace", `{"type": "command", "command": "$GEMINI_PROJECT_DIR/x", "timeout": 1500, "name": "n", "env": {"A": "b"}}`),
			`{"hooks":{"PreToolUse":[{"matcher":"Write|Edit","hooks":[{"type":"command","command":"$CLAUDE_PROJECT_DIR/x","timeout":2}]}]}}`, []string{speak, `"env"`}},
		{"part of a name", "gemini", Claude, one("BeforeTool", "write", run),
			`{"hooks":{"PreToolUse":[{"matcher":"TodoWrite|Write","hooks":[{"type":"command","command":"x","timeout":1}]}]}}`, []string{speak, "matched parts of names"}},
		{"results, good and bad", "gemini", Claude, one("AfterTool", "", run),
			`{"hooks":{"PostToolUse":[{"hooks":[{"type":"command","command":"x","timeout":1}]}],"PostToolUseFailure":[{"hooks":[{"type":"command","command":"x","timeout":1}]}]}}`, []string{speak}},
		{"model event", "gemini", Claude, one("BeforeModel", "", run), `{"hooks":{}}`, []string{"no event like BeforeModel"}},
		{"qwen to gemini", "qwen", Gemini, one("PreToolUse", "^edit$", `{"type": "command", "command": "x", "timeout": 5000}`),
			`{"hooks":{"BeforeTool":[{"matcher":"^replace$","hooks":[{"type":"command","command":"x","timeout":5000}]}]}}`, []string{speak}},
		{"to hookline nothing is lost", "claude", Hookline, one("PreToolUse", "Bash", `{"type": "command", "command": "x", "timeout": 5, "if": "Bash(git *)", "once": true}`),
			`{"hooks":{"PreToolUse":[{"matcher":"Bash","dialect":"claude","hooks":[{"type":"command","command":"x","timeout":5,"if":"Bash(git *)","once":true}]}]}}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := Migrate(read(t, tc.from, tc.in), tc.to)
			b, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(b)); d != "" {
				t.Errorf("settings (-want +got):\n%s", d)
			}
			var lost []string
			for _, l := range got.Lost {
				lost = append(lost, l.What)
			}
			if len(lost) != len(tc.lost) {
				t.Fatalf("lost %q, want %q", lost, tc.lost)
			}
			for i, w := range tc.lost {
				if !strings.Contains(lost[i], w) {
					t.Errorf("lost %q, want %q", lost[i], w)
				}
			}
			if tc.to == Hookline {
				if _, ps := config.Parse("f", b); len(ps) > 0 {
					t.Errorf("hookline does not take it: %v", ps)
				}
			}
		})
	}
}
