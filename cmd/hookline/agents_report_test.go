package main_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/hooks"
)

// commandHook is a group of one hook, a command. What it is shown becomes a line
// of a file before it answers.
func commandHook(dialect, matcher, log, command string) []any {
	return []any{map[string]any{"dialect": dialect, "matcher": matcher, "hooks": []any{map[string]any{
		"type": "command", "command": `in=$(cat); printf '%s\n' "$in" >> '` + log + `'; ` + command,
	}}}}
}

// fired are the documents that hooks were shown, a line each: the event and, of a
// tool, its name.
func fired(t *testing.T, log string) (lines []string, docs []map[string]any) {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(b)) {
		var in map[string]any
		if err := json.Unmarshal([]byte(l), &in); err != nil {
			t.Fatalf("a hook was shown no JSON: %s", l)
		}
		line, _ := in["hook_event_name"].(string)
		if tool, ok := in["tool_name"].(string); ok {
			line += " " + tool
		}
		lines, docs = append(lines, line), append(docs, in)
	}
	return lines, docs
}

// inWorkspace is a folder by its own name, as agents tell it.
func inWorkspace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(dir, name string) scripted.Answer {
	return scripted.Answer{Calls: []scripted.Call{{Name: "read_file", Args: `{"file_path":` + quoted(filepath.Join(dir, name)) + `}`}}}
}

// ask holds one turn with an agent behind hookline and gives what its user saw.
func askAgent(t *testing.T, a agent, c conversation) string {
	t.Helper()
	c.Key, c.Model, c.Prompts = "key", "gemini-2.5-flash", []string{"look"}
	got, err := a.hold(t.Context(), []conversation{c})
	if err != nil {
		t.Fatal(err)
	}
	if e := got[0].failed(); e != "" {
		t.Fatal(e)
	}
	return got[0].Turns[0].Text
}

// mainRequests are the model's requests but for those beside the conversation.
func mainRequests(t *testing.T, model *scripted.Server) []scripted.Request {
	t.Helper()
	for _, v := range model.Violations() {
		t.Errorf("the model refuses a request: %s", v.Violation)
	}
	return slices.DeleteFunc(model.Requests(), func(r scripted.Request) bool { return r.Side })
}

// Gemini CLI and Qwen Code without hooks of their own run with those of both
// dialects, which stand in one configuration of hookline's.
func TestHooksOfBothDialects(t *testing.T) {
	installed(t)
	guards, err := filepath.Abs("testdata/guards")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range []agent{geminiCLI("headless"), qwenCode()} {
		t.Run(a.sdk, func(t *testing.T) {
			t.Parallel()
			ws := inWorkspace(t)
			model := scripted.New(scripted.Options{Script: scripted.Lines(
				scripted.Line{Prompt: "say it better", Steps: []scripted.Answer{{Text: "The final answer."}}},
				scripted.Line{Prompt: "look", Steps: []scripted.Answer{
					readFile(ws, "secret.txt"), readFile(ws, "diary.txt"), readFile(ws, "note.txt"), {Text: "A draft: ", Echo: true},
				}},
			)})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			log := filepath.Join(t.TempDir(), "log")
			g := startHookline(t, ts.URL, map[string]any{"hooks": map[string]any{
				"PreToolUse": commandHook("claude", "Read", log, `printf '%s' "$in" | bash '`+guards+`/claude.sh'`),
				"BeforeTool": commandHook("gemini", "read_file", log, `case $in in *diary.txt*) echo '{"decision":"deny","reason":"a diary is private"}';; esac`),
				"UserPromptSubmit": commandHook("claude", "", log,
					`echo '{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"the branch is main"}}'`),
				"PostToolUse": commandHook("claude", "Read", log,
					`echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"what the hook made of it"}}'`),
				"AfterTool": commandHook("gemini", "read_file", log, ""),
				"Stop":      commandHook("claude", "", log, `case $in in *'"stop_hook_active":false'*) echo '{"decision":"block","reason":"say it better"}';; esac`),
			}})
			seen := askAgent(t, a, conversation{BaseURL: g.url, Workspace: ws,
				Files: map[string]string{"secret.txt": "42", "diary.txt": "dear diary", "note.txt": "all is well"}})
			if !strings.Contains(seen, "The final answer.") {
				t.Errorf("the user saw %q, want the final answer", seen)
			}
			requests := mainRequests(t, model)
			if len(requests) != 5 {
				t.Fatalf("the model had %d requests, want 5", len(requests))
			}
			last := compact(t, requests[4].Body)
			for _, s := range []string{
				`"Tool execution blocked: secrets are not for reading"`, `"Tool execution blocked: a diary is private"`,
				`what the hook made of it`, `\u003chook_context\u003ethe branch is main\u003c/hook_context\u003e`, `say it better`,
			} {
				if !strings.Contains(last, s) {
					t.Errorf("the model was not shown %s: %.6000s", s, last)
				}
			}
			for _, s := range []string{`"42"`, `dear diary`, `all is well`} {
				if strings.Contains(last, s) {
					t.Errorf("the model was shown %s", s)
				}
			}
			lines, _ := fired(t, log)
			slices.Sort(lines)
			want := []string{
				"AfterTool read_file", "BeforeTool read_file", "BeforeTool read_file", "BeforeTool read_file",
				"PostToolUse Read", "PreToolUse Read", "PreToolUse Read", "PreToolUse Read", "Stop", "Stop",
				"UserPromptSubmit", "UserPromptSubmit", // the reason of a block is a prompt, too, as in Gemini CLI
			}
			if diff := cmp.Diff(want, lines); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent whose own hooks report to hookline runs hookline's hooks once for what
// passes the wire as well, and at all for what only it knows.
func TestReportsOfAgents(t *testing.T) {
	installed(t)
	for _, tt := range []struct {
		agent   agent
		dialect string
		events  []string // reported, each by a hook of the agent's own
		unit    int      // of the agent's time-outs, in a second
		want    []string
	}{
		{geminiCLI("headless"), hooks.DialectGemini,
			[]string{"SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "Notification", "SessionEnd"}, 1000,
			[]string{"AfterAgent", "AfterTool glob", "AfterTool read_file", "BeforeAgent", "BeforeTool glob", "BeforeTool read_file", "SessionEnd", "SessionStart"}},
		// Without a terminal Qwen Code tells no hook of its end.
		{qwenCode(), hooks.DialectQwen,
			[]string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Notification", "SessionEnd"}, 1000,
			[]string{"Notification", "PostToolUse glob", "PostToolUse read_file", "PreToolUse glob", "PreToolUse read_file", "SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"}},
	} {
		t.Run(tt.agent.sdk, func(t *testing.T) {
			t.Parallel()
			ws := inWorkspace(t)
			both := scripted.Answer{Calls: []scripted.Call{readFile(ws, "note.txt").Calls[0], {Name: "glob", Args: `{"pattern":"*.md"}`}}}
			model := scripted.New(scripted.Options{Script: scripted.Lines(scripted.Line{Prompt: "look", Steps: []scripted.Answer{both, {Text: "All is seen."}}})})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			log := filepath.Join(t.TempDir(), "log")
			listening, own := map[string]any{}, map[string]any{}
			for _, ev := range tt.events {
				listening[ev] = commandHook(tt.dialect, "", log, "")
				own[ev] = []any{map[string]any{"hooks": []any{map[string]any{
					"type": "command", "name": "report " + ev, "timeout": 20 * tt.unit, "command": "hookline report --dialect " + tt.dialect + " " + ev,
				}}}}
			}
			g, err := launch(configure(t, ts.URL, map[string]any{"hooks": listening, "log": map[string]any{"level": "debug"}}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = g.cmd.Process.Kill() })
			seen := askAgent(t, tt.agent, conversation{BaseURL: g.url, Workspace: ws, Files: map[string]string{"note.txt": "all is well"},
				Settings: map[string]any{"hooks": own}, Env: map[string]string{"HOOKLINE_URL": g.url}})
			if !strings.Contains(seen, "All is seen.") {
				t.Errorf("the user saw %q", seen)
			}
			mainRequests(t, model)
			if tt.agent.sdk == "Qwen Code" {
				_, docs := fired(t, log)
				reportByHand(t, g, fmt.Sprintf(`{"session_id":%q,"reason":"logout"}`, docs[0]["session_id"]), "--dialect", "qwen", "SessionEnd")
			}
			g.end(t) // which ends sessions, too, that still are open
			lines, docs := fired(t, log)
			sorted := slices.Sorted(slices.Values(lines))
			if diff := cmp.Diff(tt.want, sorted); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
				for _, d := range docs {
					b, _ := json.Marshal(d)
					t.Logf("%.1500s", b)
				}
			}
		})
	}
}

// reportByHand runs `hookline report` with a document.
func reportByHand(t *testing.T, g *gateway, doc string, args ...string) {
	t.Helper()
	cmd := exec.Command("hookline", append([]string{"report", "--url", g.url}, args...)...)
	cmd.Stdin = strings.NewReader(doc)
	if out, err := cmd.CombinedOutput(); err != nil || strings.TrimSpace(string(out)) != "{}" {
		t.Errorf("hookline report: %v: %s", err, out)
	}
}

// The hooks of a user's settings run in hookline, which imports them, while the
// project's settings have the agent itself run none: a project cannot switch off
// hooks of the user in hookline.
func TestImportedHooksOfAgents(t *testing.T) {
	installed(t)
	for _, tt := range []struct {
		agent                     agent
		tool, dir                 string
		before, after, name, deny string
		off                       string // the project's settings
		want                      []string
	}{
		{geminiCLI("headless"), "gemini", ".gemini", "BeforeTool", "AfterTool", "read_file", `{"decision":"deny","reason":"a diary is private"}`,
			`{"hooksConfig":{"enabled":false}}`,
			[]string{"AfterTool read_file", "BeforeTool read_file", "BeforeTool read_file"}},
		{qwenCode(), "qwen", ".qwen", "PreToolUse", "PostToolUse", "read_file",
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"a diary is private"}}`,
			`{"disableAllHooks":true}`,
			[]string{"PostToolUse read_file", "PreToolUse read_file", "PreToolUse read_file"}},
	} {
		t.Run(tt.agent.sdk, func(t *testing.T) {
			t.Parallel()
			ws, home := inWorkspace(t), t.TempDir()
			log := filepath.Join(home, "log")
			hook := func(command string) []any {
				return []any{map[string]any{"matcher": tt.name, "hooks": []any{map[string]any{
					"type": "command", "name": "guard", "timeout": 20000, "command": `in=$(cat); printf '%s\n' "$in" >> '` + log + `'; ` + command,
				}}}}
			}
			settings := map[string]any{"hooks": map[string]any{
				tt.before: hook(`case $in in *diary.txt*) echo '` + tt.deny + `';; esac`), tt.after: hook(""),
			}}
			file := filepath.Join(home, tt.dir, "settings.json")
			if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			b, err := json.Marshal(settings)
			if err == nil {
				err = os.WriteFile(file, b, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			model := scripted.New(scripted.Options{Script: scripted.Lines(scripted.Line{Prompt: "look", Steps: []scripted.Answer{
				readFile(ws, "diary.txt"), readFile(ws, "note.txt"), {Text: "I was shown: ", Echo: true},
			}})})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			config := filepath.Join(ws, "hookline.json") // hookline works in the project, too
			if err := os.Rename(configure(t, ts.URL, map[string]any{"import": []string{tt.tool}}), config); err != nil {
				t.Fatal(err)
			}
			project := filepath.Join(ws, tt.dir, "settings.json")
			if err := os.Mkdir(filepath.Dir(project), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(project, []byte(tt.off), 0o600); err != nil {
				t.Fatal(err)
			}
			g, err := launch(config, "HOME="+home)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.end(t) })
			seen := askAgent(t, tt.agent, conversation{BaseURL: g.url, Workspace: ws, Settings: settings,
				Files: map[string]string{"diary.txt": "dear diary", "note.txt": "all is well"}})
			if !strings.Contains(seen, "all is well") {
				t.Errorf("the user saw %q", seen)
			}
			requests := mainRequests(t, model)
			last := compact(t, requests[len(requests)-1].Body)
			if !strings.Contains(last, `"Tool execution blocked: a diary is private"`) || strings.Contains(last, "dear diary") {
				t.Errorf("the model was not shown the guard's reason: %.5000s", last)
			}
			lines, docs := fired(t, log)
			slices.Sort(lines)
			if diff := cmp.Diff(tt.want, lines); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
			for _, d := range docs {
				if d["x_hookline"] == nil {
					t.Errorf("the agent ran a hook itself: %v", d)
				}
			}
		})
	}
}
