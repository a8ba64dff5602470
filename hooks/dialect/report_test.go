package dialect

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

// Tests named TestReport_REPOSITORY_NUMBER re-tell public bug reports of agents
// whose hooks these are (anthropics/claude-code is claude, google-gemini/gemini-cli
// is gemini): what went wrong there goes right here.

// one fires a single hook of an event and gives the decision.
func one(t *testing.T, ev hooks.Event, d hooks.Definition, script string, in hooks.Input) hooks.Decision {
	t.Helper()
	d.Hooks = []hooks.Hook{{Type: "command", Command: "x"}}
	return newSet(t, &scripts{script: map[string]string{"x": script}}, nil, map[hooks.Event][]hooks.Definition{ev: {d}}).Fire(t.Context(), in)
}

func claude(matcher string) hooks.Definition {
	return hooks.Definition{Dialect: hooks.DialectClaude, Matcher: matcher}
}

func named(tool, args string) hooks.Input {
	return hooks.Input{Event: hooks.BeforeTool, SessionID: "s", Match: tool, Fields: []hooks.Field{
		{Key: "tool_name", Value: hooks.Quote(tool)}, {Key: "tool_input", Value: json.RawMessage(args)}, {Key: "x_hookline", Value: json.RawMessage(`{"agent":"gemini-cli","model":"m"}`)}}}
}

const denies = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`

func wantDeny(t *testing.T, d hooks.Decision, reason string) {
	t.Helper()
	if !d.Deny || d.Reason != reason {
		t.Errorf("got %+v; want a deny with reason %q", d, reason)
	}
}

// permissionDecision deny was ignored, the tool ran.
func TestReport_claude_4669(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", claude("Bash"), denies, shell("rm x")), "no")
}

// Exit code 2 at PreToolUse did not stop Bash.
func TestReport_claude_13756(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", claude("Bash"), "exit 2no", shell("rm x")), "no")
}

// A deny was ignored for Edit.
func TestReport_claude_37210(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", claude("Edit|Write"), denies, named("replace", `{"file_path":"a"}`)), "no")
}

// Exit code 2 and a deny in JSON were both ignored, alone and together.
func TestReport_claude_43407(t *testing.T) {
	l := All()["claude"]["PreToolUse"]
	for _, res := range []hooks.Result{{Exit: 2, Stderr: []byte("no")}, {Stdout: []byte(denies)}, {Exit: 2, Stdout: []byte(denies)}} {
		in := shell("rm x")
		if a := l.Read(&in, &hooks.Hook{Type: "command"}, res); !a.Deny || a.Reason != "no" {
			t.Errorf("exit %d, stdout %s: got %+v; want a deny", res.Exit, res.Stdout, a)
		}
	}
}

// The value "block" for permissionDecision was ignored for the Agent tool.
func TestReport_claude_46537(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", claude("Agent"), strings.Replace(denies, `"deny"`, `"block"`, 1), named("invoke_agent", `{"agent_name":"a"}`)), "no")
}

// An error of the hook was shown, and git push ran all the same.
func TestReport_claude_23284(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", claude(""), "exit 2pushing is not allowed", shell("git push")), "pushing is not allowed")
}

// continue:false did not stop the tool.
func TestReport_claude_3514(t *testing.T) {
	d := one(t, "PreToolUse", claude(""), `{"continue":false,"stopReason":"halt"}`, shell("rm x"))
	if !d.Stop || d.StopReason != "halt" {
		t.Errorf("got %+v; want a stop", d)
	}
}

// PostToolUse never fired for MCP tools.
func TestReport_claude_73586(t *testing.T) {
	in := named("mcp_github_create_issue", `{}`)
	in.Event = hooks.AfterTool
	if d := one(t, "PostToolUse", claude("mcp__github__.*"), `{}`, in); !d.Fired {
		t.Error("the hook did not run")
	}
}

// PostToolUse was missing for the Agent tool.
func TestReport_claude_65169(t *testing.T) {
	in := named("invoke_agent", `{}`)
	in.Event = hooks.AfterTool
	if d := one(t, "PostToolUse", claude("Agent"), `{}`, in); !d.Fired {
		t.Error("the hook did not run")
	}
}

// A PreToolUse matcher Agent, or its old name Task, was never met.
func TestReport_claude_56151(t *testing.T) {
	for _, matcher := range []string{"Agent", "Task"} {
		if d := one(t, "PreToolUse", claude(matcher), `{}`, named("invoke_agent", `{}`)); !d.Fired {
			t.Errorf("matcher %s: the hook did not run", matcher)
		}
	}
}

// updatedInput was lost when a second hook matched that had nothing to say.
func TestReport_claude_15897(t *testing.T) {
	s := &scripts{script: map[string]string{"a": `{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"ls","dir_path":"x"}}}`, "b": `{}`}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PreToolUse": {group("claude", "Bash", 0, "a"), group("claude", "", 0, "b")}})
	if d := set.Fire(t.Context(), shell("pwd")); !sameJSON(`{"command":"ls","dir_path":"x"}`, d.ToolInput) {
		t.Errorf("got %s; want the first hook's", d.ToolInput)
	}
}

// Of conflicting updatedInputs the one that ended last won.
func TestReport_claude_83353(t *testing.T) { TestUpdatedInputConflict(t) }

// Hooks should run one after the other when asked to.
func TestReport_claude_21533(t *testing.T) { TestSequentialAcrossDialects(t) }

// What several hooks come to was not documented.
func TestReport_claude_66203(t *testing.T) { TestMergeOrder(t) }

// updatedToolOutput was not honoured for Bash: secrets reached the model.
func TestReport_claude_54196(t *testing.T) {
	in := shell("cat .env")
	in.Event = hooks.AfterTool
	in.Fields = append(in.Fields, hooks.Field{Key: "tool_response", Value: json.RawMessage(`{"llmContent":"KEY=1","returnDisplay":"KEY=1"}`)})
	d := one(t, "PostToolUse", claude("Bash"), `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"KEY=***","stderr":"","interrupted":false,"isImage":false}}}`, in)
	if string(d.Output) != `"KEY=***"` {
		t.Errorf("got %s; want the redacted text", d.Output)
	}
}

// BeforeModel and AfterModel stand beside Claude Code's events in one config.
func TestReport_claude_21531(t *testing.T) {
	s := &scripts{script: map[string]string{"m": `{"hookSpecificOutput":{"llm_request":{"model":"n"}}}`}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"BeforeModel": {group("", "", 0, "m")}, "Stop": {group("", "", 0, "s")}})
	if d := set.Fire(t.Context(), hooks.Input{Event: hooks.BeforeModel}); string(d.LLMRequest) != `{"model":"n"}` {
		t.Errorf("got %s; want the edited request", d.LLMRequest)
	}
	set.Fire(t.Context(), hooks.Input{Event: hooks.AfterAgent})
	if !strings.Contains(s.shown["s"], `"hook_event_name":"Stop"`) {
		t.Errorf("shown %q; want Claude's dialect under a name that only it has", s.shown["s"])
	}
}

// Context before the model answers.
func TestReport_claude_62974(t *testing.T) {
	d := one(t, "UserPromptSubmit", claude(""), "remember the milk", hooks.Input{Event: hooks.BeforeAgent})
	if diff := cmp.Diff([]string{"remember the milk"}, d.Context); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A hook should be able to rewrite the prompt.
func TestReport_claude_34390(t *testing.T) {
	d := one(t, "UserPromptSubmit", claude(""), `{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","prompt":"translated"}}`, hooks.Input{Event: hooks.BeforeAgent})
	if string(d.Prompt) != `"translated"` {
		t.Errorf("got %s; want the prompt", d.Prompt)
	}
}

// An HTTP hook on PostToolUse was accepted and never sent.
func TestReport_claude_32977(t *testing.T) {
	s := &scripts{script: map[string]string{}}
	d := claude("")
	d.Hooks = []hooks.Hook{{Type: "http", URL: "http://127.0.0.1:1/"}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PostToolUse": {d}})
	if got := set.Fire(t.Context(), hooks.Input{Event: hooks.AfterTool}); len(s.order) != 1 || !got.Fired {
		t.Error("the hook was not called")
	}
}

// Neither usage nor model were in the input; subagents' neither (75979).
func TestReport_claude_11008(t *testing.T) {
	for name, ev := range map[string]hooks.Event{"Stop": hooks.AfterAgent, "SubagentStop": hooks.SubagentStop, "QueryEnd": hooks.QueryEnd} {
		in := hooks.Input{Event: ev, Fields: []hooks.Field{{Key: "usage", Value: json.RawMessage(`{"input_tokens":1}`)}, {Key: "x_hookline", Value: json.RawMessage(`{"model":"m"}`)}}}
		doc := string(All()["claude"][name].Encode(&in))
		if !strings.Contains(doc, `"usage":{"input_tokens":1}`) || !strings.Contains(doc, `"model":"m"`) {
			t.Errorf("%s is shown %s; want usage and model", name, doc)
		}
	}
}

// A hook could not tell a subagent from the main one.
func TestReport_claude_15998(t *testing.T) {
	in := named("read_file", `{}`)
	in.Fields = append(in.Fields, hooks.Field{Key: "agent_id", Value: hooks.Quote("a1")}, hooks.Field{Key: "agent_type", Value: hooks.Quote("explorer")})
	if doc := string(All()["claude"]["PreToolUse"].Encode(&in)); !strings.Contains(doc, `"agent_id":"a1","agent_type":"explorer"`) {
		t.Errorf("shown %s; want the subagent", doc)
	}
}

// A prompt hook on SubagentStop did not hold the subagent.
func TestReport_claude_20221(t *testing.T) {
	l := All()["claude"]["SubagentStop"]
	wants := hooks.Answer{Deny: true, Reason: "tests fail"}
	got := l.Read(&hooks.Input{Event: hooks.SubagentStop}, &hooks.Hook{Type: "prompt"}, hooks.Result{Stdout: []byte(`{"ok":false,"reason":"tests fail"}`)})
	if diff := cmp.Diff(wants, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// PostCompact was asked for.
func TestReport_claude_3537(t *testing.T) {
	if d := one(t, "PostCompact", claude("auto"), `{}`, hooks.Input{Event: hooks.PostCompact, Match: "auto"}); !d.Fired {
		t.Error("the hook did not run")
	}
}

// A hook that cannot be launched is open or closed as configured, not by chance.
func TestReport_claude_80697(t *testing.T) {
	for mode, deny := range map[hooks.FailMode]bool{"": false, hooks.FailOpen: false, hooks.FailClosed: true} {
		for _, d := range []string{"claude", "qwen", "qoder"} {
			l := All()[d]["PreToolUse"]
			for _, res := range []hooks.Result{{Exit: 127}, {Exit: 1}, {Err: errors.New("no such file")}} {
				in := shell("ls")
				if a := l.Read(&in, &hooks.Hook{Type: "command", FailMode: mode}, res); a.Deny != deny || a.Failure == nil {
					t.Errorf("%s, failMode %q, %+v: got %+v", d, mode, res, a)
				}
			}
		}
	}
}

// PreToolUse was dropped when PostToolUse was configured.
func TestReport_claude_12445(t *testing.T) {
	s := &scripts{script: map[string]string{"pre": denies}}
	set := newSet(t, s, nil, map[hooks.Event][]hooks.Definition{"PostToolUse": {group("claude", "Bash", 0, "post")}, "PreToolUse": {group("claude", "Bash", 0, "pre")}})
	wantDeny(t, set.Fire(t.Context(), shell("rm x")), "no")
}

// Only UserPromptSubmit and Stop were dispatched.
func TestReport_qwen_8622(t *testing.T) {
	for _, name := range Events() {
		l := All()["qwen"][name]
		in := hooks.Input{Event: l.Event}
		if name == "PostToolUseFailure" {
			in.Fields = []hooks.Field{{Key: "tool_response", Value: json.RawMessage(`{"error":{"message":"m"}}`)}}
		}
		if d := one(t, hooks.Event(name), hooks.Definition{Dialect: "qwen"}, `{}`, in); !d.Fired {
			t.Errorf("%s did not fire", name)
		}
	}
}

// PostToolUse's additionalContext was not given to the model.
func TestReport_qwen_2809(t *testing.T) {
	d := one(t, "PostToolUse", hooks.Definition{Dialect: "qwen"}, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"c"}}`, hooks.Input{Event: hooks.AfterTool})
	if diff := cmp.Diff([]string{"c"}, d.Context); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Each event has its own matcher target, and there are more events.
func TestReport_qwen_4343(t *testing.T) { TestFacts(t) }

// Denials of the agent's own had no event.
func TestReport_qwen_4372(t *testing.T) {
	d := one(t, "PermissionDenied", hooks.Definition{Dialect: "qwen", Matcher: "^run_"}, `{"hookSpecificOutput":{"hookEventName":"PermissionDenied","retry":true}}`,
		hooks.Input{Event: hooks.PermissionDenied, Match: "run_shell_command"})
	if string(d.Specific) != `{"retry":true}` {
		t.Errorf("got %s; want the retry", d.Specific)
	}
}

// PreToolUse was rejected as an unknown name beside Gemini CLI's.
func TestReport_get_shit_done_1295(t *testing.T) {
	wantDeny(t, one(t, "PreToolUse", hooks.Definition{Matcher: "Bash"}, denies, shell("rm x")), "no")
}

// additionalContext at SubagentStop made the subagent go on and on.
func TestReport_oh_my_claudecode_3203(t *testing.T) {
	d := one(t, "SubagentStop", claude(""), `{"hookSpecificOutput":{"hookEventName":"SubagentStop","additionalContext":"c"}}`, hooks.Input{Event: hooks.SubagentStop})
	if d.Deny || len(d.Context) != 1 {
		t.Errorf("got %+v; want context, and no order to go on", d)
	}
}

// A hook's ask became an allow when permissions were bypassed.
func TestReport_ShieldCortex_139(t *testing.T) {
	in := shell("rm x", hooks.Field{Key: "permission_mode", Value: hooks.Quote("bypassPermissions")})
	if d := one(t, "PreToolUse", claude(""), strings.Replace(denies, `"deny"`, `"ask"`, 1), in); !d.Ask || d.Allow {
		t.Errorf("got %+v; want an ask", d)
	}
}

// A mistake in the config was open in one agent and closed in another: here it is
// a mistake that is told before anything runs.
func TestReport_vibeguard_539(t *testing.T) {
	for _, d := range []string{"gemini", "claude"} {
		name := hooks.Event(map[string]string{"gemini": "BeforeTool", "claude": "PreToolUse"}[d])
		_, err := hooks.New(hooks.Options{Dialects: All(), Definitions: map[hooks.Event][]hooks.Definition{name: {{Dialect: d, Hooks: []hooks.Hook{{Type: "Command", Command: "x"}}}}}})
		if err == nil {
			t.Errorf("%s: got no error", d)
		}
	}
}

// A list of sources never matched.
func TestReport_gemini_28160(t *testing.T) {
	for _, d := range []string{"gemini", "claude", "qwen", "qoder"} {
		if got := one(t, "SessionStart", hooks.Definition{Dialect: d, Matcher: "startup|resume|clear"}, `{}`, hooks.Input{Event: hooks.SessionStart, Match: "resume"}); !got.Fired {
			t.Errorf("%s: the hook did not run", d)
		}
	}
}

// suppressOutput had no effect.
func TestReport_gemini_26395(t *testing.T) {
	for d, want := range map[string]bool{"gemini": true, "qoder": true, "qwen": true, "claude": false} {
		got := one(t, "SessionStart", hooks.Definition{Dialect: d}, `{"systemMessage":"m","suppressOutput":true}`, hooks.Input{Event: hooks.SessionStart})
		if len(got.Notices) != 1 || got.Notices[0].Suppress != want {
			t.Errorf("%s: got %+v; want one message, suppressed: %v", d, got.Notices, want)
		}
	}
}

// A message was hidden unless the hook blocked.
func TestReport_gemini_23427(t *testing.T) {
	got := one(t, "BeforeTool", hooks.Definition{}, `{"systemMessage":"m"}`, shell("ls"))
	if len(got.Notices) != 1 || got.Deny {
		t.Errorf("got %+v; want the message", got)
	}
}

// A deliberate exit code 2 was told as a failure of the hook.
func TestReport_gemini_16792(t *testing.T) {
	for _, name := range []string{"BeforeModel", "UserPromptSubmit"} {
		d := one(t, hooks.Event(name), hooks.Definition{}, "exit 2no", hooks.Input{Event: map[string]hooks.Event{"BeforeModel": hooks.BeforeModel, "UserPromptSubmit": hooks.BeforeAgent}[name]})
		if !d.Deny || d.Runs[0].Failure != "" {
			t.Errorf("%s: got %+v; want a deny that is no failure", name, d)
		}
	}
}

// An ask was wanted, and then it was not documented (28046).
func TestReport_gemini_15732(t *testing.T) {
	if d := one(t, "BeforeTool", hooks.Definition{}, `{"decision":"ask","reason":"sure?"}`, shell("rm x")); !d.Ask || d.Reason != "sure?" {
		t.Errorf("got %+v; want an ask", d)
	}
}

// A hook with an unknown event, a type in capitals or none did nothing, silently
// (16873, 14932, 17499).
func TestReport_gemini_13155(t *testing.T) {
	for _, defs := range []map[hooks.Event][]hooks.Definition{
		{"BeforeTools": {{}}},
		{"BeforeTool": {{Hooks: []hooks.Hook{{Type: "Command", Command: "x"}}}}},
		{"BeforeTool": {{Hooks: []hooks.Hook{{Command: "x"}}}}},
	} {
		if _, err := hooks.New(hooks.Options{Dialects: All(), Handlers: map[string]hooks.Handler{"command": &scripts{}}, Definitions: defs}); err == nil {
			t.Errorf("%v: got no error", defs)
		}
	}
}

// Seconds were taken for milliseconds.
func TestReport_gemini_29122(t *testing.T) { TestTimeouts(t) }

// Names of tools were mapped incompletely, and SubagentStop not at all.
func TestReport_gemini_15267(t *testing.T) {
	for claudeName, wire := range map[string]string{"Grep": "grep_search", "LS": "list_directory", "Bash": "run_shell_command", "Edit": "replace", "TodoWrite": "write_todos"} {
		if d := one(t, "PreToolUse", claude(claudeName), `{}`, named(wire, `{}`)); !d.Fired {
			t.Errorf("%s does not listen to %s", claudeName, wire)
		}
	}
	if All()["claude"]["SubagentStop"].Event != hooks.SubagentStop {
		t.Error("SubagentStop means nothing")
	}
}
