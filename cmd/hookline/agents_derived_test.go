package main_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/hooks"
)

// eventLog is a handler that notes what fires, and of what.
type eventLog struct {
	mu  sync.Mutex
	all []string
}

func (l *eventLog) Handle(_ context.Context, _ *hooks.Hook, doc []byte, _ hooks.Env) hooks.Result {
	d := gjson.ParseBytes(doc)
	line := d.Get("hook_event_name").Str
	for _, key := range []string{"file_path", "event", "task_subject", "agent_type", "reason", "prompt"} {
		if v := d.Get(key).String(); v != "" {
			line += " " + v
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
	return hooks.Result{}
}

// TestDerivedEventsOfAgents runs Gemini CLI and Qwen Code themselves, each with a
// file of instructions, a file to write and a subagent, and wants the events that
// follow from their requests.
func TestDerivedEventsOfAgents(t *testing.T) {
	installed(t)
	task := `"prompt":"Count the files for me."`
	for _, tt := range []struct {
		agent        agent
		instructions string
		calls        []scripted.Call
		end          scripted.Answer // the subagent's
		want         []string
	}{
		{geminiCLI("headless"), "GEMINI.md", []scripted.Call{
			{Name: "write_todos", Args: `{"todos":[{"description":"look","status":"pending"}]}`},
			{Name: "write_todos", Args: `{"todos":[{"description":"look","status":"completed"}]}`},
			{Name: "write_file", Args: `{"file_path":"new.txt","content":"x"}`},
			{Name: "invoke_agent", Args: `{"agent_name":"generalist",` + task + `}`},
		}, scripted.Answer{Calls: []scripted.Call{{Name: "complete_task", Args: `{"result":{"response":"two"}}`}}},
			[]string{"TaskCreated look", "TaskCompleted look", "SubagentStart generalist", "SubagentStop generalist"}},
		{qwenCode(), "QWEN.md", []scripted.Call{
			{Name: "write_file", Args: `{"file_path":"WORKSPACE/new.txt","content":"x"}`},
			{Name: "agent", Args: `{"description":"count","subagent_type":"Explore",` + task + `}`},
		}, scripted.Answer{Text: "two"}, []string{"SubagentStart Explore", "SubagentStop Explore"}},
	} {
		t.Run(tt.agent.sdk, func(t *testing.T) {
			t.Parallel()
			workspace, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			model := scripted.New(scripted.Options{Script: func(v scripted.View) scripted.Answer {
				switch {
				case strings.Contains(v.Prompt, "Count the files"):
					return tt.end
				case !strings.Contains(v.Prompt, "go to work") || v.Step >= len(tt.calls):
					return scripted.Answer{Text: "all done"}
				}
				c := tt.calls[v.Step]
				c.Args = strings.ReplaceAll(c.Args, "WORKSPACE", workspace)
				return scripted.Answer{Calls: []scripted.Call{c}}
			}})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			log := &eventLog{}
			definitions := map[hooks.Event][]hooks.Definition{}
			for _, ev := range []hooks.Event{"InstructionsLoaded", "FileChanged", "TaskCreated", "TaskCompleted", "SubagentStart", "SubagentStop", "UserPromptSubmit", "SessionStart"} {
				definitions[ev] = []hooks.Definition{{Dialect: hooks.DialectClaude, Hooks: []hooks.Hook{{Type: "command", Command: "note"}}}}
			}
			got, err := tt.agent.hold(t.Context(), []conversation{{
				BaseURL: startLoop(t, ts.URL, workspace, definitions, log), Key: "key", Model: "gemini-2.5-flash", Prompts: []string{"go to work"},
				Workspace: workspace, Files: map[string]string{tt.instructions: "Always be kind."},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if e := got[0].failed(); e != "" {
				t.Fatal(e)
			}
			for _, v := range model.Violations() {
				t.Errorf("the model refuses a request: %s", v.Violation)
			}
			log.mu.Lock()
			defer log.mu.Unlock()
			want := append([]string{"InstructionsLoaded " + filepath.Join(workspace, tt.instructions), "FileChanged " + filepath.Join(workspace, "new.txt") + " add"}, tt.want...)
			for _, w := range want {
				if !slices.Contains(log.all, w) {
					t.Errorf("%s did not fire", w)
				}
			}
			users := slices.DeleteFunc(slices.Clone(log.all), func(s string) bool {
				return !strings.HasPrefix(s, "UserPromptSubmit") && !strings.HasPrefix(s, "SessionStart")
			})
			if !slices.Contains(users, "UserPromptSubmit go to work") || slices.ContainsFunc(users, func(s string) bool { return strings.Contains(s, "Count the files") }) {
				t.Errorf("events of the user: %q", users)
			}
			if t.Failed() {
				t.Logf("fired: %q", log.all)
			}
		})
	}
}
