package main_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
	"github.com/hookline-proxy/hookline/hooks/run"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/hookline-proxy/hookline/toolloop"
)

// qwenCode is Qwen Code, a process for each prompt.
func qwenCode() agent {
	return agent{sdk: "Qwen Code", manner: "headless", cli: true, hold: nodeDriver("qwen-code.mjs", "headless")}
}

// startLoop serves hooks of any dialect in front of a model, in this process. It
// ends with the test.
func startLoop(t *testing.T, model, cwd string, definitions map[hooks.Event][]hooks.Definition, command hooks.Handler) (url string) {
	t.Helper()
	set, err := hooks.New(hooks.Options{Dialects: dialect.All(), Handlers: map[string]hooks.Handler{"command": command}, Definitions: definitions})
	if err != nil {
		t.Fatal(err)
	}
	loop := toolloop.New(toolloop.Options{Hooks: set, Cwd: cwd})
	server, err := proxy.New(proxy.Options{Upstream: proxy.Upstreams{Gemini: model}, Runner: loop})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }() // ends with Shutdown
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		loop.Close(ctx, "exit")
		_ = set.Close()
	})
	return "http://" + ln.Addr().String()
}

// A PreToolUse guard for Claude Code and a BeforeTool guard for Gemini CLI, each
// as its users write it, block the same call of the same agent, whose only host of
// hooks is hookline.
func TestGuardsOfTwoAgents(t *testing.T) {
	installed(t)
	dir, err := filepath.Abs("testdata/guards")
	if err != nil {
		t.Fatal(err)
	}
	guard := func(name string) []hooks.Hook {
		return []hooks.Hook{{Type: "command", Command: `bash "$GUARDS/` + name + `"`, Env: map[string]string{"GUARDS": dir}, Timeout: time.Minute}}
	}
	guards := []struct {
		name        string
		definitions map[hooks.Event][]hooks.Definition
		reason      string
	}{
		{"PreToolUse", map[hooks.Event][]hooks.Definition{"PreToolUse": {{Dialect: hooks.DialectClaude, Matcher: "Read", Hooks: guard("claude.sh")}}}, "secrets are not for reading"},
		{"BeforeTool", map[hooks.Event][]hooks.Definition{"BeforeTool": {{Matcher: "read_file", Hooks: guard("gemini.sh")}}}, "secret.txt is private"},
	}
	for _, a := range []agent{geminiCLI("headless"), qwenCode()} {
		for _, g := range guards {
			t.Run(a.sdk+"/"+g.name, func(t *testing.T) {
				t.Parallel()
				runner := run.New(run.Options{Environ: []string{"PATH=" + os.Getenv("PATH")}})
				t.Cleanup(func() { _ = runner.Close() })
				workspace, err := filepath.EvalSymlinks(t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				model := scripted.New(scripted.Options{Script: scripted.Lines(scripted.Line{Prompt: "look", Steps: []scripted.Answer{
					{Calls: []scripted.Call{{Name: "read_file", Args: `{"file_path":` + quoted(filepath.Join(workspace, "secret.txt")) + `}`}}},
					{Calls: []scripted.Call{{Name: "read_file", Args: `{"file_path":` + quoted(filepath.Join(workspace, "note.txt")) + `}`}}},
					{Text: "I was shown: ", Echo: true},
				}})})
				ts := httptest.NewServer(model)
				t.Cleanup(ts.Close)
				got, err := a.hold(t.Context(), []conversation{{
					BaseURL: startLoop(t, ts.URL, workspace, g.definitions, runner), Key: "key", Model: "gemini-2.5-flash", Prompts: []string{"look"},
					Workspace: workspace, Files: map[string]string{"secret.txt": "42", "note.txt": "all is well"},
				}})
				if err != nil {
					t.Fatal(err)
				}
				if e := got[0].failed(); e != "" {
					t.Fatal(e)
				}
				if text := got[0].Turns[0].Text; !strings.Contains(text, "all is well") {
					t.Errorf("the user saw %q; the call that no guard minds was blocked", text)
				}
				requests := slices.DeleteFunc(model.Requests(), func(r scripted.Request) bool { return r.Side })
				if all := string(compact(t, requests[2].Body)); !strings.Contains(all, `"Tool execution blocked: `+g.reason+`"`) || strings.Contains(all, `"42"`) {
					t.Errorf("the model was not shown the guard's reason: %.3000s", all)
				}
				for _, v := range model.Violations() {
					t.Errorf("the model refuses a request: %s", v.Violation)
				}
			})
		}
	}
}

func quoted(s string) string { return string(hooks.Quote(s)) }

// qwenRun is a run of Qwen Code 0.24.4 with its own hooks, recorded.
type qwenRun struct {
	Scenario string
	Prompt   string
	Hooks    map[string]struct {
		Stdout, Stderr string
		Exit           int
		Once           bool
	}
	HookInputs []struct {
		Event string
		Stdin map[string]any
	} `json:"hook_inputs"`
	Upstream []struct{ Contents []json.RawMessage }
}

// documentsDecide are the scenarios in which the documents want something else
// than Qwen Code 0.24.4 does, each with what the model is shown instead.
var documentsDecide = map[string]struct{ why, recorded, want string }{
	"post_block":  {"a block of PostToolUse has no effect in Qwen Code; by the documents its reason stands beside the result", `secret is 42\n"`, `secret is 42\n` + beside("post feedback") + `"`},
	"post_exit2":  {"exit 2 of PostToolUse has no effect in Qwen Code; by the documents the model is shown stderr", `secret is 42\n"`, `secret is 42\n` + beside("post exit two") + `"`},
	"post_update": {"updatedToolOutput has no effect in Qwen Code; by the documents it replaces the result", `secret is 42\n`, `replaced output`},
	"pre_context": {"additionalContext of PreToolUse has no effect in Qwen Code; by the documents it stands beside the result", `secret is 42\n"`, `secret is 42\n` + beside("before the tool") + `"`},
	"pre_update":  {"updatedInput has no effect in Qwen Code; by the documents it replaces the arguments", `secret is 42\n`, `another note\n` + `\n\n[System] Tool input parameters were modified by a hook before execution.`},
	"session_context": {"SessionStart's context goes into Qwen Code's startup reminders, which are not compared; hookline adds it to the prompt",
		`"text":"say hello"}`, `"text":"say hello"} {"text":"` + block("session context here") + `"}`},
	// Wordings: a denial has Gemini CLI's prefix, whichever dialect the hook speaks.
	"pre_deny":  {"a denial has the prefix that hookline gives all denials", `"error":"`, `"error":"Tool execution blocked: `},
	"pre_exit2": {"a denial has the prefix that hookline gives all denials", `"error":"`, `"error":"Tool execution blocked: `},
	// hookline has one form of contexts for all agents.
	"post_context":   {"Qwen Code appends the bare text, hookline wraps it", `\n\nafter the tool`, beside("after the tool")},
	"prompt_context": {"the block has hookline's tag", `<qwen:user-prompt-submit-context>\nthe branch is main\n</qwen:user-prompt-submit-context>`, block("the branch is main")},
}

// block is a context as the model is shown it; beside, after the text of a result.
func block(text string) string  { return `<hook_context>` + text + `</hook_context>` }
func beside(text string) string { return `\n\n` + block(text) }

// notCompared are members of recorded inputs that no document names, or that only
// the agent knows: hookline has a session id, a transcript and times of its own,
// and the wire tells nothing of permissions.
var notCompared = []string{"session_id", "transcript_path", "timestamp", "permission_mode", "prompt_id", "submitted_prompt", "tool_use_id", "tool_call_id",
	"duration_ms", "background_tasks", "crons", "context_usage", "context_limit", "input_tokens", "x_hookline", "model"}

// compared is what is compared of a hook's input.
func compared(t *testing.T, event string, in map[string]any, workspace string) string {
	t.Helper()
	out := map[string]any{}
	for k, v := range in {
		if !slices.Contains(notCompared, k) {
			out[k] = v
		}
	}
	if event == "SessionStart" {
		out["model"] = in["model"]
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	s := strings.ReplaceAll(string(b), workspace, "/workspace")
	return callID.ReplaceAllString(s, "${1}ID")
}

// callID is a call's id in what the models say, quoted or not.
var callID = regexp.MustCompile(`(\\*"id\\*":\\*")[0-9a-z-]+`)

// recorder is a handler that notes what hooks were shown and answers as recorded.
type recorder struct {
	mu     sync.Mutex
	run    *qwenRun
	ws     string
	events []string
	inputs []map[string]any
	t      *testing.T
	fired  map[string]int
}

func (r *recorder) Handle(_ context.Context, _ *hooks.Hook, doc []byte, _ hooks.Env) hooks.Result {
	var in map[string]any
	if err := json.Unmarshal(doc, &in); err != nil {
		r.t.Errorf("a hook was shown no JSON: %s", doc)
	}
	event, _ := in["hook_event_name"].(string)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, event)
	r.inputs = append(r.inputs, in)
	r.fired[event]++
	h := r.run.Hooks[event]
	if h.Once && r.fired[event] > 1 {
		return hooks.Result{}
	}
	return hooks.Result{Stdout: []byte(strings.ReplaceAll(h.Stdout, "{ws}", r.ws)), Stderr: []byte(h.Stderr), Exit: h.Exit}
}

// recordedModel says what the model of the recordings said.
func recordedModel(v scripted.View) scripted.Answer {
	if name, args, ok := strings.Cut(lastLine(v.Prompt), " {"); ok && strings.HasPrefix(name, "call ") && v.Step == 0 {
		return scripted.Answer{Calls: []scripted.Call{{Name: strings.TrimPrefix(name, "call "), Args: "{" + args}}}
	}
	if len(v.Results) > 0 {
		var all []string
		for _, r := range v.Results {
			all = append(all, `{"id":`+quoted(r.ID)+`,"name":`+quoted(r.Name)+`,"response":`+string(r.Response)+`}`)
		}
		return scripted.Answer{Text: "tool said: [" + strings.Join(all, ",") + "]"}
	}
	if i := strings.Index(v.Prompt, "<hook_context>the branch"); i >= 0 {
		return scripted.Answer{Text: "echo: " + v.Prompt[i:]}
	}
	_, say, _ := strings.Cut(v.Prompt[max(0, strings.LastIndex(v.Prompt, "say ")):], " ")
	say, _, _ = strings.Cut(say, "\n")
	return scripted.Answer{Text: say}
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }

// TestQwenCodeAsRecorded runs Qwen Code without hooks behind hookline with the
// hooks that it had of its own when it was recorded, in the claude dialect.
func TestQwenCodeAsRecorded(t *testing.T) {
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: recorded runs of Qwen Code are not compared")
	}
	installed(t)
	files, err := filepath.Glob(filepath.Join(shared, "reference_qwen", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", shared, err)
	}
	for _, file := range files {
		var recorded qwenRun
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &recorded)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(recorded.Scenario, func(t *testing.T) {
			t.Parallel()
			asRecorded(t, &recorded)
		})
	}
}

func asRecorded(t *testing.T, recorded *qwenRun) {
	workspace, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	model := scripted.New(scripted.Options{Script: recordedModel, Gemini3: func(string) bool { return true }})
	ts := httptest.NewServer(model)
	t.Cleanup(ts.Close)
	seen := &recorder{run: recorded, ws: workspace, t: t, fired: map[string]int{}}
	definitions := map[hooks.Event][]hooks.Definition{}
	for _, ev := range []hooks.Event{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"} {
		definitions[ev] = []hooks.Definition{{Dialect: hooks.DialectClaude, Hooks: []hooks.Hook{{Type: "command", Command: "as recorded"}}}}
	}
	got, err := qwenCode().hold(t.Context(), []conversation{{
		BaseURL: startLoop(t, ts.URL, workspace, definitions, seen), Key: "key", Model: "gemini-2.5-flash", Prompts: []string{recorded.Prompt},
		Workspace: workspace, Files: map[string]string{"note.txt": "secret is 42\n", "other.txt": "another note\n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if e := got[0].failed(); e != "" {
		t.Fatal(e)
	}
	want := recordedInputs(t, recorded)
	seen.mu.Lock()
	defer seen.mu.Unlock()
	var inputs []string
	for i, in := range seen.inputs {
		inputs = append(inputs, compared(t, seen.events[i], in, workspace))
	}
	if diff := cmp.Diff(want, inputs); diff != "" {
		t.Errorf("hooks were shown (-recorded +got):\n%s", diff)
	}
	for _, v := range model.Violations() {
		t.Errorf("the model refuses a request: %s", v.Violation)
	}
	shown := shownByQwen(t, model.Requests(), workspace)
	var upstream []scripted.Request
	for _, u := range recorded.Upstream {
		upstream = append(upstream, scripted.Request{Contents: contentsOf(t, u.Contents)})
	}
	wanted := shownByQwen(t, upstream, "/workspace")
	if x, ok := documentsDecide[recorded.Scenario]; ok {
		t.Log(x.why)
		if !strings.Contains(wanted, x.recorded) {
			t.Fatalf("no %s in the recording: %s", x.recorded, wanted)
		}
		wanted = strings.ReplaceAll(wanted, x.recorded, x.want)
	}
	if diff := cmp.Diff(strings.Split(wanted, "\n"), strings.Split(shown, "\n")); diff != "" {
		t.Errorf("the model was shown (-recorded +got):\n%s", diff)
	}
}

// recordedInputs are the recorded inputs that hookline's hooks must be shown, with
// what the documents want changed.
func recordedInputs(t *testing.T, recorded *qwenRun) []string {
	var out []string
	for _, h := range recorded.HookInputs {
		switch {
		case h.Event == "InstructionsLoaded" || h.Event == "Notification":
			continue // told by the agent itself, before and beside its model calls
		case h.Event == "UserPromptSubmit" && h.Stdin["prompt"] == "":
			continue // a fault: a turn of results is no prompt
		}
		if h.Stdin["tool_name"] == "read_file" {
			// The dialect's name of the tool, and what Claude Code shows of a result.
			h.Stdin["tool_name"] = "Read"
			if r, ok := h.Stdin["tool_response"].(map[string]any); ok {
				h.Stdin["tool_response"] = r["llmContent"]
			}
		}
		x := documentsDecide[recorded.Scenario]
		if h.Event == "PostToolUse" && recorded.Scenario == "pre_update" {
			h.Stdin["tool_input"], h.Stdin["tool_response"] = map[string]any{"file_path": "/workspace/other.txt"}, "another note\n"
		}
		line := compared(t, h.Event, h.Stdin, "/workspace")
		if h.Event == "Stop" && x.why != "" {
			// The model quotes what it was shown, a result as JSON.
			html := strings.NewReplacer("<", `\u003c`, ">", `\u003e`)
			line = strings.ReplaceAll(line, html.Replace(x.recorded), html.Replace(x.want))
			line = strings.ReplaceAll(line, html.Replace(escaped(x.recorded)), html.Replace(escaped(x.want)))
		}
		out = append(out, line)
	}
	return out
}

// shownByQwen is the longest history that the model was shown in the conversation, one
// content a line, without the agent's reminders.
func shownByQwen(t *testing.T, requests []scripted.Request, workspace string) string {
	t.Helper()
	var last []string
	for _, r := range requests {
		var contents []struct {
			Role  string            `json:"role"`
			Parts []json.RawMessage `json:"parts"`
		}
		if r.Side || r.Contents == nil {
			continue
		}
		if err := json.Unmarshal(r.Contents, &contents); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, c := range contents {
			line := c.Role + ":"
			for _, p := range c.Parts {
				text := plainPart(t, p)
				if strings.HasPrefix(text, `{"text":"<system-reminder>`) || text == `{"text":""}` || text == `{"text":"(skills reminder elided)"}` {
					continue
				}
				line += " " + text
			}
			line = strings.ReplaceAll(line, workspace, "/workspace")
			lines = append(lines, callID.ReplaceAllString(line, "${1}ID"))
		}
		if n := len(lines); n > 0 && strings.Contains(lines[n-1], "Managed memory has TWO directories.") {
			continue // its subagent's
		}
		last = lines
	}
	return strings.Join(last, "\n")
}

// plainPart is a part with its members in one order and without signature.
func plainPart(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	delete(p, "thoughtSignature")
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// escaped is a text as it stands in a JSON string.
func escaped(s string) string { return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) }

func contentsOf(t *testing.T, contents []json.RawMessage) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(contents)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
