package main_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
)

// cliTool is the tool of Gemini CLI that takes the place of one of matrixTools.
type cliTool struct {
	name   string
	args   map[string]string // its arguments: from the tool's own, or "=" and a constant
	result string            // what it says in the tests; "" where no model is shown it
}

var cliTools = map[string]cliTool{
	"look":  {"read_file", map[string]string{"file_path": "path"}, "secret is 42"},
	"wipe":  {"run_shell_command", map[string]string{"command": "path"}, ""},
	"send":  {"list_directory", map[string]string{"dir_path": "to"}, "Directory listing for WORKSPACE/nobody:\nempty.txt (0 bytes)"},
	"fetch": {"glob", map[string]string{"pattern": "path"}, ""},
	"probe": {"grep_search", map[string]string{"pattern": "path"}, `No matches found for pattern "a.txt" in the workspace directory.`},
	"chain": {"list_background_processes", nil, ""},
	"relay": {"replace", map[string]string{"file_path": "path", "instruction": "=none", "old_string": "=secret", "new_string": "=public"}, ""},
	"halt":  {"web_fetch", map[string]string{"prompt": "path"}, ""},
	"late":  {"write_file", map[string]string{"file_path": "path", "content": "=late"}, ""},
}

// cliFiles is the workspace.
var cliFiles = map[string]string{
	"a.txt": "secret is 42", "b.txt": "secret is 42", "again.txt": "secret is 42", "tail.txt": "secret is 42", "nobody/empty.txt": "",
}

// cliRun is a run of the tool of Gemini CLI that stands for another.
func cliRun(r agentRun) agentRun {
	t, ok := cliTools[r.Name]
	if !ok {
		panic("no tool of Gemini CLI stands for " + r.Name)
	}
	args := map[string]any{}
	for to, from := range t.args {
		if constant, ok := strings.CutPrefix(from, "="); ok {
			args[to] = constant
		} else if v, ok := r.Args[from]; ok {
			args[to] = v
		}
	}
	return agentRun{Name: t.name, Args: args}
}

// cliScript is matrixScript with Gemini CLI's tools.
func cliScript(v scripted.View) scripted.Answer {
	a := matrixScript(v)
	a.Calls = slices.Clone(a.Calls)
	for i, c := range a.Calls {
		a.Calls[i] = cliCall(c.Name, c.Args)
	}
	return a
}

func cliCall(name, args string) scripted.Call {
	r := agentRun{Name: name}
	if err := json.Unmarshal([]byte(args), &r.Args); err != nil {
		panic(err)
	}
	r = cliRun(r)
	b, err := json.Marshal(r.Args)
	if err != nil {
		panic(err)
	}
	return scripted.Call{Name: r.Name, Args: string(b)}
}

// cliHistory tells an expected history with Gemini CLI's tools and results.
func cliHistory(lines []string) []string {
	out := slices.Clone(lines)
	for i, l := range out {
		if call, ok := strings.CutPrefix(l, "calls "); ok {
			name, args, _ := strings.Cut(call, " ")
			c := cliCall(name, args)
			out[i] = fmt.Sprintf("calls %s %s", c.Name, c.Args)
			continue
		}
		name, result, _ := strings.Cut(l, ": ")
		t, ok := cliTools[name]
		if !ok {
			continue
		}
		for _, m := range matrixTools {
			if m.Name == name {
				result = strings.Replace(result, m.Result, t.result, 1)
			}
		}
		out[i] = t.name + ": " + result
	}
	return out
}

// cliShown is a history without what differs from run to run.
func cliShown(lines []string, workspace string) []string {
	var out []string
	for _, l := range lines {
		if strings.HasPrefix(l, "user: <session_context>") {
			continue
		}
		out = append(out, strings.ReplaceAll(l, workspace, "WORKSPACE"))
	}
	return out
}

// TestGeminiCLI runs the real Gemini CLI, headless, through hookline with a hook
// on each of the five events of the model and tool loop.
func TestGeminiCLI(t *testing.T) {
	installed(t)
	reading := []scripted.Answer{
		{Thoughts: []string{"two calls"}, Text: "Reading. ", Calls: []scripted.Call{
			{Name: "read_file", Args: `{"file_path":"note.txt"}`}, {Name: "glob", Args: `{"pattern":"*.md"}`},
		}},
		{Text: "I was shown: ", Echo: true},
	}
	for _, tt := range []struct {
		event, matcher, output string
		seen                   []string // in what the user sees
		unseen                 string   // not in it
		requests               int
		upstream               []string // in the last request
		field                  string   // in the hook's input
	}{
		{
			event: "BeforeModel", output: `{"decision":"deny","reason":"no model today"}`,
			seen: []string{"no model today"}, unseen: "Reading", requests: 0, field: `"messages":[`,
		},
		{
			event: "BeforeToolSelection", output: `{"hookSpecificOutput":{"toolConfig":{"mode":"ANY","allowedFunctionNames":["read_file","glob"]}}}`,
			seen: []string{"secret is 42"}, requests: 2, field: `"model":"gemini-2.5-flash"`,
			upstream: []string{`"mode":"ANY"`, `"allowedFunctionNames":["glob","read_file"]`},
		},
		{
			event: "AfterModel", output: `{"hookSpecificOutput":{"llm_response":{"candidates":[{"content":{"role":"model","parts":["[withheld]"]}}]}}}`,
			seen: []string{"[withheld]"}, unseen: "I was shown", requests: 2, field: `"llm_response":{`,
		},
		{
			event: "BeforeTool", matcher: "read_file", output: `{"decision":"deny","reason":"not that file"}`,
			seen: []string{`read_file {"error":"Tool execution blocked: not that file"}`, "No files found"}, unseen: "secret is 42", requests: 2,
			upstream: []string{`{"error":"Tool execution blocked: not that file"}`}, field: `"tool_input":{"file_path":"note.txt"}`,
		},
		{
			event: "AfterTool", matcher: "read_file", output: `{"hookSpecificOutput":{"additionalContext":"handle with care"}}`,
			seen: []string{`secret is 42\n\n<hook_context>handle with care</hook_context>`}, requests: 2,
			upstream: []string{`handle with care`}, field: `"tool_response":{`,
		},
	} {
		t.Run(tt.event, func(t *testing.T) {
			t.Parallel()
			model := scripted.New(scripted.Options{Script: scripted.Lines(scripted.Line{Prompt: "read the note", Steps: reading})})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			inputs := filepath.Join(t.TempDir(), "inputs")
			hook := map[string]any{"type": "command", "name": "test", "timeout": 20000, "command": fmt.Sprintf("cat >> '%s'; printf '%%s' '%s'", inputs, tt.output)}
			g := startHookline(t, ts.URL, map[string]any{"hooks": map[string]any{
				tt.event: []any{map[string]any{"matcher": tt.matcher, "hooks": []any{hook}}},
			}})
			got, err := geminiCLI("headless").hold(t.Context(), []conversation{{
				BaseURL: g.url, Key: "key", Model: "gemini-2.5-flash", Prompts: []string{"read the note"}, Files: map[string]string{"note.txt": "secret is 42"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			turn := got[0].Turns[0]
			if turn.Error != "" {
				t.Fatal(turn.Error)
			}
			for _, s := range tt.seen {
				if !strings.Contains(turn.Text, s) {
					t.Errorf("the user saw %q, want %q in it", turn.Text, s)
				}
			}
			if tt.unseen != "" && strings.Contains(turn.Text, tt.unseen) {
				t.Errorf("the user saw %q, want no %q in it", turn.Text, tt.unseen)
			}
			for _, v := range model.Violations() {
				t.Errorf("the model refuses a request: %s", v.Violation)
			}
			requests := model.Requests()
			if len(requests) != tt.requests {
				t.Fatalf("%d requests reached the model, want %d", len(requests), tt.requests)
			}
			for _, s := range tt.upstream {
				if last := compact(t, requests[len(requests)-1].Body); !strings.Contains(last, s) {
					t.Errorf("no %s in the last request", s)
				}
			}
			in, err := os.ReadFile(inputs)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{`"hook_event_name":"` + tt.event + `"`, `"session_id":"`, tt.field} {
				if !strings.Contains(string(in), s) {
					t.Errorf("no %s in what the hook got: %.2000s", s, in)
				}
			}
		})
	}
}

func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	b, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
