package toolloop_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
)

// What users reported of the hooks of agents, and what a loop that sees the wire
// makes of it: the tests have the reports' numbers.

// claudeHooks are hooks in Claude's dialect, one for each event. By its name each
// says how it answers.
type claudeHooks struct {
	say map[string]hooks.Result

	mu   sync.Mutex
	seen []string // the documents
}

func (c *claudeHooks) Handle(_ context.Context, h *hooks.Hook, doc []byte, _ hooks.Env) hooks.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, string(doc))
	return c.say[h.Command]
}

// of are the documents of one event.
func (c *claudeHooks) of(event string) (docs []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.seen {
		if gjson.Get(d, "hook_event_name").Str == event {
			docs = append(docs, d)
		}
	}
	return docs
}

// claudeTalk is an agent whose hooks speak Claude's dialect. An event may have a
// matcher, as in "PreToolUse Bash".
func claudeTalk(t *testing.T, say map[string]hooks.Result, answers ...[]string) (*talk, *claudeHooks) {
	t.Helper()
	c := &claudeHooks{say: say}
	definitions := map[hooks.Event][]hooks.Definition{}
	for name := range say {
		event, matcher, _ := strings.Cut(name, " ")
		definitions[hooks.Event(event)] = []hooks.Definition{{Dialect: hooks.DialectClaude, Matcher: matcher, Hooks: []hooks.Hook{{Type: "command", Command: name}}}}
	}
	set, err := hooks.New(hooks.Options{Dialects: dialect.All(), Handlers: map[string]hooks.Handler{"command": c}, Definitions: definitions})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	a := newTalk(t, nil, answers...)
	a.loop = toolloop.New(toolloop.Options{Hooks: set})
	return a, c
}

var blocked = hooks.Result{Exit: 2, Stderr: []byte("no")}

// Tool calls of subagents fire no hooks.
func TestReport_claude_34692(t *testing.T) {
	for _, tt := range subagentCases() {
		a, c := claudeTalk(t, map[string]hooks.Result{"PreToolUse Bash": blocked},
			[]string{stop(call("c1", tt.tool, tt.args, ""))}, []string{stop(call("s1", "run_shell_command", `{"command":"rm"}`, ""))}, []string{stop(text("I may not."))})
		a.agent = tt.agent
		a.send(user("go"))
		a.session, a.history = "another", nil
		a.send(tt.first)
		docs := c.of("PreToolUse")
		if len(docs) != 1 || gjson.Get(docs[0], "agent_type").Str != tt.kind || gjson.Get(docs[0], "agent_id").Str != "c1" {
			t.Errorf("%s: the hook was shown %q", tt.agent, docs)
		}
		if strings.Contains(a.last(), "functionCall") {
			t.Errorf("%s: the subagent got the call: %s", tt.agent, a.last())
		}
	}
}

// Headless, the denial comes after the tool has run: here an agent never gets a
// call that is denied.
func TestReport_claude_36071(t *testing.T) {
	a, _ := claudeTalk(t, map[string]hooks.Result{"PreToolUse *": blocked},
		[]string{said(text("Deleting.")), stop(call("1", "rm", `{}`, "c2ln"))}, []string{stop(text("I may not."))})
	a.history = []string{user("go")}
	if err := a.again(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(a.got, ""); strings.Contains(got, "functionCall") {
		t.Errorf("the agent was sent %s", got)
	}
}

// In some sessions hooks are not evaluated at all.
func TestReport_claude_82143(t *testing.T) {
	for _, agent := range []string{"", "gemini-cli", "qwen-code", "langchain"} {
		for _, session := range []string{"", "s1"} {
			a, c := claudeTalk(t, map[string]hooks.Result{"PreToolUse": blocked}, []string{stop(call("1", "rm", `{}`, ""))}, []string{stop(text("I may not."))})
			a.agent, a.session = agent, session
			a.send(user("go"))
			if len(c.of("PreToolUse")) != 1 || strings.Contains(a.last(), "functionCall") {
				t.Errorf("agent %q, session %q: %d firings, the agent has %s", agent, session, len(c.of("PreToolUse")), a.last())
			}
		}
	}
}

// Some tools bypass hooks.
func TestReport_roo_code_10834(t *testing.T) {
	for _, tool := range []string{"attempt_completion", "mcp_server_do", "mcp__server__do", "a.b:c", "switch-mode"} {
		a, c := claudeTalk(t, map[string]hooks.Result{"PreToolUse": {}, "PostToolUse": {}}, []string{stop(call("1", tool, `{}`, ""))}, []string{stop(text("Done."))})
		a.send(user("go"))
		a.send(results(result("1", tool, `{"output":"x"}`)))
		if len(c.of("PreToolUse")) != 1 || len(c.of("PostToolUse")) != 1 {
			t.Errorf("%s: hooks were shown %q", tool, c.seen)
		}
	}
}

// subagentStop is a session with a subagent; it gives what SubagentStop was shown.
func subagentStop(t *testing.T, tt subagentCase, background bool) (main, sub []string) {
	a, c := claudeTalk(t, map[string]hooks.Result{"SubagentStop": {}, "Stop": {}},
		[]string{stop(call("c1", tt.tool, tt.args, ""))}, []string{stop(text("Started."))}, []string{stop(tt.end)})
	a.agent = tt.agent
	a.send(user("go"))
	if background {
		a.send(results(result("c1", tt.tool, `{"output":"Background agent launched successfully."}`)))
	} else {
		a.model.answers = a.model.answers[1:]
	}
	main = c.of("SubagentStop")
	a.session, a.history = "another", nil
	a.send(tt.first)
	return main, c.of("SubagentStop")
}

// SubagentStop does not fire for subagents in the background, or not at all.
func TestReport_claude_39030(t *testing.T) {
	for _, tt := range subagentCases() {
		for _, background := range []bool{false, true} {
			if _, docs := subagentStop(t, tt, background); len(docs) != 1 || gjson.Get(docs[0], "agent_type").Str != tt.kind {
				t.Errorf("%s, background %v: the hook was shown %q", tt.agent, background, docs)
			}
		}
	}
}

func TestReport_claude_82249(t *testing.T) { TestReport_claude_39030(t) }

// SubagentStop fires at start-up, without a subagent.
func TestReport_claude_9682(t *testing.T) {
	for _, tt := range subagentCases() {
		if docs, _ := subagentStop(t, tt, true); len(docs) != 0 {
			t.Errorf("%s: the hook was shown %q", tt.agent, docs)
		}
	}
}

// SubagentStop does not tell the model.
func TestReport_claude_75979(t *testing.T) {
	if _, docs := subagentStop(t, subagentCases()[0], false); gjson.Get(docs[0], "model").Str != "gemini-2.5-flash" {
		t.Errorf("the hook was shown %q", docs)
	}
}

// A Stop hook that is never content burns a whole session.
func TestReport_claude_55754(t *testing.T) {
	n := 0
	a, c := claudeTalk(t, map[string]hooks.Result{"Stop": blocked})
	a.history = []string{user("go")}
	err := a.run(answering(func() string {
		n++
		return stop(text(fmt.Sprint("answer ", n)))
	}))
	if err != nil || n != 9 || len(c.of("Stop")) != 9 {
		t.Errorf("%d answers, %d firings, error %v; want 9 of each", n, len(c.of("Stop")), err)
	}
}

type answering func() string

func (f answering) Generate(context.Context, string, []byte) (*toolloop.Reply, error) {
	return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
		yield(stream.Event{Data: []byte(f())}, nil)
	}}, nil
}

// PreCompact is skipped for some kinds of compaction.
func TestReport_claude_15096(t *testing.T) {
	for _, c := range compressions() {
		a, h := claudeTalk(t, map[string]hooks.Result{"PreCompact auto": {}, "PostCompact": {}})
		a.agent, a.system = c.agent, c.system
		for _, call := range c.calls {
			a.model.answers = [][]string{{stop(text("<state_snapshot>short</state_snapshot>"))}}
			a.send(call)
		}
		a.loop.Close(context.Background(), "exit")
		if len(h.of("PreCompact")) != 1 || len(h.of("PostCompact")) != 1 {
			t.Errorf("%s: hooks were shown %q", c.agent, h.seen)
		}
	}
}

// PreCompact is defined and never called.
func TestReport_letta_code_870(t *testing.T) { TestReport_claude_15096(t) }

// Only UserPromptSubmit and Stop are dispatched: what else a turn has is, too.
func TestReport_qwen_8622_on_the_wire(t *testing.T) {
	events := []string{"SessionStart", "InstructionsLoaded", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "FileChanged", "Stop", "QueryEnd"}
	say := map[string]hooks.Result{}
	for _, ev := range events {
		say[ev] = hooks.Result{}
	}
	a, c := claudeTalk(t, say, []string{stop(call("1", "write_file", `{"file_path":"a"}`, ""), call("2", "read_file", `{"file_path":"b"}`, ""))}, []string{stop(text("Done."))})
	a.agent, a.system = "qwen-code", qwenSystem
	a.send(qwenContext)
	a.send(results(result("1", "write_file", `{"output":"Successfully created"}`), result("2", "read_file", `{"error":"File not found"}`)))
	a.loop.Close(context.Background(), "exit")
	for _, ev := range events {
		if len(c.of(ev)) == 0 {
			t.Errorf("%s did not fire", ev)
		}
	}
	if prompts := c.of("UserPromptSubmit"); len(prompts) != 1 || gjson.Get(prompts[0], "prompt").Str != "go" {
		t.Errorf("UserPromptSubmit was shown %q; a turn of results is no prompt", prompts)
	}
}
