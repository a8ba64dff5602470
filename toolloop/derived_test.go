package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/reported"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
)

// telling are hooks that note some fields of each firing and decide nothing.
func telling(log *[]string, fields map[hooks.Event][]string) decide {
	on := decide{}
	for ev, keys := range fields {
		on[ev] = func(in hooks.Input) hooks.Decision {
			line := string(ev)
			for _, k := range keys {
				line += " " + field(in, k)
			}
			*log = append(*log, line)
			return hooks.Decision{}
		}
	}
	return on
}

// The first turns of Gemini CLI 0.61 and Qwen Code 0.24.4, shortened.
const (
	geminiContext = `{"role":"user","parts":[{"text":"<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n` +
		`The project's temporary directory is: /home/.gemini/tmp/ws\n- **Workspace Directories:**\n  - /workspace\n- **Directory Structure:**\n\n/workspace/\n├───note.txt\n\n\n` +
		`<loaded_context>\n<project_context>\n--- Context from: /workspace/GEMINI.md ---\nAlways be kind.\n--- End of Context from: /workspace/GEMINI.md ---\n</project_context>\n</loaded_context>\n</session_context>"},{"text":"go"}]}`
	qwenContext = `{"role":"user","parts":[{"text":"<system-reminder>\nThis is the Qwen Code. We are setting up the context for our chat.\nMy operating system is: linux\n` +
		`I'm currently working in the directory: /workspace\nHere is the folder structure of the current working directories:\n</system-reminder>"},{"text":"go"}]}`
	qwenSystem = `{"text":"You are Qwen Code.\n\n---\n\n--- Context from: QWEN.md ---\nAlways be kind.\n--- End of Context from: QWEN.md ---\n\n` +
		`--- Context from: ../home/.qwen/output-language.md ---\n# Output language\n--- End of Context from: ../home/.qwen/output-language.md ---"}`
)

// What agents do beside their model calls stands in their requests.
func TestDerivedFromRequests(t *testing.T) {
	fields := map[hooks.Event][]string{
		hooks.InstructionsLoaded: {"file_path", "memory_type", "load_reason"},
		hooks.CwdChanged:         {"old_cwd", "new_cwd"},
		hooks.FileChanged:        {"file_path", "event"},
		hooks.PermissionDenied:   {"tool_name", "reason"},
	}
	tests := []struct {
		agent, first, system string
		calls                []string
		results              []string
		want                 []string
	}{
		{"gemini-cli", geminiContext, "",
			[]string{call("1", "write_file", `{"file_path":"new.txt","content":"x"}`, ""), call("2", "replace", `{"file_path":"/workspace/note.txt"}`, ""),
				call("3", "replace", `{"file_path":"other.txt"}`, ""), call("4", "run_shell_command", `{"command":"ls"}`, "")},
			[]string{result("1", "write_file", `{"output":"Successfully created and wrote to new file: /workspace/new.txt. Here is the updated code:\nx"}`),
				result("2", "replace", `{"output":"Successfully modified file: /workspace/note.txt (1 replacements)."}`),
				result("3", "replace", `{"error":"File not found."}`), result("4", "run_shell_command", `{"error":"Tool execution denied by policy."}`)},
			[]string{`InstructionsLoaded "/workspace/GEMINI.md" "Project" "session_start"`, `FileChanged "/workspace/new.txt" "add"`, `FileChanged "/workspace/note.txt" "change"`,
				`PermissionDenied "run_shell_command" "Tool execution denied by policy."`}},
		{"qwen-code", qwenContext, qwenSystem,
			[]string{call("1", "write_file", `{"file_path":"/workspace/new.txt"}`, ""), call("2", "edit", `{"file_path":"/workspace/note.txt"}`, "")},
			[]string{result("1", "write_file", `{"output":"Successfully created and wrote to new file: /workspace/new.txt."}`),
				result("2", "edit", `{"error":"File /workspace/note.txt has not been read in this session."}`)},
			[]string{`InstructionsLoaded "/workspace/QWEN.md" "Project" "session_start"`, `InstructionsLoaded "/home/.qwen/output-language.md" "User" "session_start"`,
				`FileChanged "/workspace/new.txt" "add"`}},
		{"", geminiContext, "", []string{call("1", "write_file", `{"file_path":"a"}`, "")}, []string{result("1", "write_file", `{"output":"x"}`)}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.agent, func(t *testing.T) {
			var log []string
			a := newTalk(t, telling(&log, fields), []string{stop(tt.calls...)}, []string{stop(text("Done."))}, []string{stop(text("Done."))}, []string{stop(text("Bye."))})
			a.agent, a.system = tt.agent, tt.system
			a.send(tt.first)
			a.send(results(tt.results...))
			a.history = a.history[:3]
			if err := a.again(); err != nil { // the same again
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
			log = nil
			a.history[0] = strings.ReplaceAll(a.history[0], "/workspace", "/elsewhere")
			a.system = ""
			if err := a.again(); err != nil {
				t.Fatal(err)
			}
			if tt.agent != "" && !slices.Contains(log, `CwdChanged "/workspace" "/elsewhere"`) {
				t.Errorf("fired %q for another working directory", log)
			}
		})
	}
}

func TestTaskEvents(t *testing.T) {
	lists := map[string][2]string{
		"gemini-cli": {`{"todos":[{"description":"look","status":"pending"},{"description":"act","status":"in_progress"}]}`,
			`{"todos":[{"description":"look","status":"completed"},{"description":"act","status":"in_progress"}]}`},
		"qwen-code": {`{"todos":[{"id":"1","content":"look","status":"pending"},{"id":"2","content":"act","status":"in_progress"}]}`,
			`{"todos":[{"id":"1","content":"look","status":"completed"},{"id":"2","content":"act","status":"in_progress"}]}`},
	}
	tool := map[string]string{"gemini-cli": "write_todos", "qwen-code": "todo_write"}
	for agent, list := range lists {
		t.Run(agent, func(t *testing.T) {
			var log []string
			on := telling(&log, map[hooks.Event][]string{hooks.TaskCreated: {"task_subject"}})
			on[hooks.TaskCompleted] = func(in hooks.Input) hooks.Decision {
				log = append(log, "TaskCompleted "+field(in, "task_subject"))
				return hooks.Decision{Deny: true, Reason: "run the tests first"}
			}
			a := newTalk(t, on, []string{stop(call("1", tool[agent], list[0], ""))}, []string{stop(call("2", tool[agent], list[1], ""))}, []string{stop(text("Done."))})
			a.agent = agent
			a.send(user("go"))
			a.send(results(result("1", tool[agent], `{"output":"ok"}`)))
			if diff := cmp.Diff([]string{`TaskCreated "look"`, `TaskCreated "act"`, `TaskCompleted "look"`}, log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
			if got, want := a.model.response(), `{"error":"Tool execution blocked: run the tests first"}`; got != want {
				t.Errorf("the model was shown %s, want %s", got, want)
			}
		})
	}
}

// A hook's own denial is told, and the model may be let know that it may try again.
func TestPermissionDeniedByHooks(t *testing.T) {
	a := newTalk(t, decide{
		hooks.BeforeTool:       denyTool("rm", "no"),
		hooks.PermissionDenied: always(hooks.Decision{Specific: json.RawMessage(`{"retry":true}`)}),
	}, []string{stop(call("1", "rm", `{}`, ""))}, []string{stop(text("I may not."))})
	a.send(user("go"))
	if want := `{"error":"Tool execution blocked: no","hook_context":"<hook_context>The call may be tried again.</hook_context>"}`; a.model.response() != want {
		t.Errorf("the model was shown %s, want %s", a.model.response(), want)
	}
	if diff := cmp.Diff([]string{"BeforeTool rm", "PermissionDenied rm"}, a.hooks.log); diff != "" {
		t.Errorf("fired (-want +got):\n%s", diff)
	}
}

// failing is an upstream that fails in its ways, one after the other.
type failing struct {
	ways []func() (*toolloop.Reply, error)
}

func (f *failing) Generate(context.Context, string, []byte) (*toolloop.Reply, error) {
	w := f.ways[0]
	f.ways = f.ways[1:]
	return w()
}

func status(code int) func() (*toolloop.Reply, error) {
	return func() (*toolloop.Reply, error) {
		return &toolloop.Reply{Status: code, Close: func() error { return nil }}, nil
	}
}

func answers(err error, docs ...string) func() (*toolloop.Reply, error) {
	return func() (*toolloop.Reply, error) {
		return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
			for _, d := range docs {
				if !yield(stream.Event{Data: []byte(d)}, nil) {
					return
				}
			}
			if err != nil {
				yield(stream.Event{}, err)
			}
		}}, nil
	}
}

// A turn that fails is told once, however often the agent tries it again; the
// question ends with the sum of what its calls cost.
func TestStopFailureAndQueryEnd(t *testing.T) {
	over := stop(text("cut"))
	over = strings.Replace(over, "STOP", "MAX_TOKENS", 1)
	tests := []struct {
		name string
		ways []func() (*toolloop.Reply, error)
		want []string
	}{
		{"status, twice the same", []func() (*toolloop.Reply, error){status(429), status(429)}, []string{`QueryEnd "error" 1 0`, `StopFailure "rate_limit"`}},
		{"no answer", []func() (*toolloop.Reply, error){func() (*toolloop.Reply, error) { return nil, errors.New("refused") }}, []string{`QueryEnd "error" 1 0`, `StopFailure "server_error"`}},
		{"status 404", []func() (*toolloop.Reply, error){status(404)}, []string{`QueryEnd "error" 1 0`, `StopFailure "model_not_found"`}},
		{"status 403", []func() (*toolloop.Reply, error){status(403)}, []string{`QueryEnd "error" 1 0`, `StopFailure "authentication_failed"`}},
		{"status 529", []func() (*toolloop.Reply, error){status(529)}, []string{`QueryEnd "error" 1 0`, `StopFailure "overloaded"`}},
		{"broken stream", []func() (*toolloop.Reply, error){answers(errors.New("reset"), said(text("A")))}, []string{`QueryEnd "error" 1 0`, `StopFailure "server_error"`}},
		{"limit", []func() (*toolloop.Reply, error){answers(nil, over)}, []string{`QueryEnd "error" 1 10`, `StopFailure "max_output_tokens"`}},
		{"error in the stream", []func() (*toolloop.Reply, error){answers(nil, `{"error":{"code":503,"message":"x"}}`)}, []string{`QueryEnd "error" 1 0`, `StopFailure "overloaded"`}},
		{"good end", []func() (*toolloop.Reply, error){answers(nil, stop(text("A")))}, []string{`QueryEnd "end_turn" 1 10`}},
		{"failure, then a good end", []func() (*toolloop.Reply, error){status(500), answers(nil, stop(text("A")))},
			[]string{`QueryEnd "end_turn" 2 10`, `QueryEnd "error" 1 0`, `StopFailure "server_error"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log []string
			on := telling(&log, map[hooks.Event][]string{hooks.StopFailure: {"error"}})
			on[hooks.QueryEnd] = func(in hooks.Input) hooks.Decision {
				var usage struct {
					Input int `json:"input_tokens"`
				}
				if err := json.Unmarshal([]byte(field(in, "usage")), &usage); err != nil {
					t.Error(err)
				}
				log = append(log, "QueryEnd "+field(in, "reason")+" "+field(in, "num_turns")+" "+strconv.Itoa(usage.Input))
				return hooks.Decision{}
			}
			a := newTalk(t, on)
			a.history = []string{user("go")}
			up := &failing{ways: tt.ways}
			for range tt.ways {
				_ = a.run(up) // the errors are those of the ways
			}
			a.loop.Close(context.Background(), "exit")
			slices.Sort(log) // they are told in the background
			if diff := cmp.Diff(tt.want, log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
		})
	}
}

// compression is how an agent has its history summed up: calls, by their newest
// turn. The answer to the last one is the summary.
type compression struct {
	agent, system string
	calls         []string
}

func compressions() []compression {
	return []compression{
		{"gemini-cli", `{"text":"Distill the history into <state_snapshot>."}`, []string{
			user("First, reason in your scratchpad. Then, generate the <state_snapshot>."), user("Critically evaluate the <state_snapshot> you just generated.")}},
		{"qwen-code", `{"text":"You are the component that summarizes."}`, []string{
			user("First, reason in your <analysis> block. Then, produce the <state_snapshot> XML.")}},
	}
}

// A summary that an agent asks for is told with its text.
func TestPostCompact(t *testing.T) {
	for _, c := range compressions() {
		t.Run(c.agent, func(t *testing.T) {
			var log []string
			a := newTalk(t, telling(&log, map[hooks.Event][]string{hooks.PostCompact: {"trigger", "compact_summary"}, hooks.QueryEnd: nil}))
			a.agent, a.system = c.agent, c.system
			for i, call := range c.calls {
				last := "draft>"
				if i == len(c.calls)-1 {
					last = "snapshot>"
				}
				a.model.answers = [][]string{{said(text("<state_")), stop(text(last))}}
				a.send(call)
			}
			a.loop.Close(context.Background(), "exit")
			if diff := cmp.Diff([]string{`PostCompact "auto" "<state_snapshot>"`}, log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
		})
	}
}

// The table of how events are observed holds the documents' count of those that are
// on the wire or follow from it, but for an idle teammate, of which nothing tells.
func TestObserved(t *testing.T) {
	seen := map[reported.Sight]int{}
	for ev, o := range toolloop.Observed {
		seen[o.Sight]++
		if !slices.Contains(hooks.Events(), ev) {
			t.Errorf("%s is no event", ev)
		}
	}
	if diff := cmp.Diff(map[reported.Sight]int{reported.OnWire: 10, reported.Derived: 11}, seen); diff != "" {
		t.Errorf("sights (-want +got):\n%s", diff)
	}
}
