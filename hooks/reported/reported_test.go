package reported

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, dialect, event, doc string
		err                       error
		wantEvent                 hooks.Event
		wantDialect               string
		fields                    map[string]string
	}{
		{"claude tool", "", "", `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t1"}`,
			nil, hooks.BeforeTool, "claude", map[string]string{"tool_name": `"Bash"`, "tool_use_id": `"t1"`}},
		{"name from outside", "", "BeforeTool", `{"tool_name":"x"}`, nil, hooks.BeforeTool, "gemini", map[string]string{"tool_name": `"x"`}},
		{"result", "claude", "PostToolUse", `{"tool_name":"x","tool_response":"out"}`, nil, hooks.AfterTool, "claude",
			map[string]string{"tool_response": `{"llmContent":"out","returnDisplay":"out"}`}},
		{"failure", "", "PostToolUseFailure", `{"error":"no"}`, nil, hooks.AfterTool, "claude",
			map[string]string{"tool_response": `{"llmContent":"no","returnDisplay":"no","error":{"message":"no"}}`}},
		{"end of turn", "", "Stop", `{"last_assistant_message":"done"}`, nil, hooks.AfterAgent, "claude", map[string]string{"prompt_response": `"done"`}},
		{"shared name, gemini by its time", "", "SessionStart", `{"timestamp":"2026-01-02T03:04:05.000Z"}`, nil, hooks.SessionStart, "gemini", nil},
		{"shared name, claude", "", "SessionStart", `{}`, nil, hooks.SessionStart, "claude", nil},
		{"qwen", "qwen", "PermissionRequest", `{"tool_name":"x"}`, nil, hooks.PermissionRequest, "qwen", nil},
		{"says that it is the wire", "", "Stop", `{"x_hookline":{"origin":"wire"}}`, nil, hooks.AfterAgent, "claude",
			map[string]string{"x_hookline": `{"agent":"","dialect":"claude","origin":"reported"}`}},
		{"unknown event", "", "Nonsense", `{}`, ErrEvent, "", "", nil},
		{"unknown dialect", "latin", "Stop", `{}`, ErrDialect, "", "", nil},
		{"event of another dialect", "gemini", "Stop", `{}`, ErrEvent, "", "", nil},
		{"no JSON", "", "Stop", `{`, ErrJSON, "", "", nil},
		{"no object", "", "Stop", `[]`, ErrJSON, "", "", nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Parse(tc.dialect, tc.event, []byte(tc.doc))
			if !errors.Is(err, tc.err) {
				t.Fatalf("error %v, want %v", err, tc.err)
			}
			if err != nil {
				return
			}
			if r.Input.Event != tc.wantEvent || r.Dialect != tc.wantDialect {
				t.Errorf("event %s in %s, want %s in %s", r.Input.Event, r.Dialect, tc.wantEvent, tc.wantDialect)
			}
			for k, v := range tc.fields {
				if got := string(r.Input.Field(k)); got != v {
					t.Errorf("%s is %s, want %s", k, got, v)
				}
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	patch := json.RawMessage(`{"a":2,"b":null}`)
	for _, tc := range []struct {
		name, dialect, event, doc string
		d                         hooks.Decision
		want                      string
	}{
		{"nothing", "claude", "PreToolUse", `{}`, hooks.Decision{}, `{}`},
		{"gemini deny", "gemini", "BeforeTool", `{}`, hooks.Decision{Deny: true, Reason: "no"}, `{"decision":"deny","reason":"no"}`},
		{"gemini ask", "gemini", "BeforeTool", `{}`, hooks.Decision{Ask: true}, `{"decision":"ask"}`},
		{"gemini patch", "gemini", "BeforeTool", `{}`, hooks.Decision{ToolInput: patch},
			`{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"a":2,"b":null}}}`},
		{"claude deny", "claude", "PreToolUse", `{}`, hooks.Decision{Deny: true, Reason: "no"},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}`},
		{"claude has the whole input", "claude", "PreToolUse", `{"tool_input":{"a":1,"b":1,"c":1}}`, hooks.Decision{ToolInput: patch, Allow: true},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":2,"c":1}}}`},
		{"qwen has the patch", "qwen", "PreToolUse", `{"tool_input":{"a":1}}`, hooks.Decision{ToolInput: patch},
			`{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"a":2,"b":null}}}`},
		{"claude blocks a prompt", "claude", "UserPromptSubmit", `{}`, hooks.Decision{Deny: true, Reason: "no"}, `{"decision":"block","reason":"no"}`},
		{"stop and words", "claude", "Stop", `{}`, hooks.Decision{Stop: true, StopReason: "enough", Context: []string{"x", "y"}, Notices: []hooks.Notice{{Text: "hi"}}},
			`{"continue":false,"stopReason":"enough","systemMessage":"hi","hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"x\ny"}}`},
		{"members of one event", "claude", "WorktreeCreate", `{}`, hooks.Decision{Specific: json.RawMessage(`{"worktreePath":"/w"}`)},
			`{"hookSpecificOutput":{"hookEventName":"WorktreeCreate","worktreePath":"/w"}}`},
		{"output", "claude", "PostToolUse", `{}`, hooks.Decision{Output: json.RawMessage(`"clean"`)},
			`{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":"clean"}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := Parse(tc.dialect, tc.event, []byte(tc.doc))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(r.Answer(tc.d))); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
		})
	}
}

// counted fires by counting.
type counted struct{ n int }

func (c *counted) fire(context.Context, hooks.Input) hooks.Decision {
	c.n++
	return hooks.Decision{Fired: true, Deny: true, Reason: "no", Context: []string{"context"}}
}

func in(ev hooks.Event, session string, kv ...string) hooks.Input {
	i := hooks.Input{Event: ev, SessionID: session}
	for n := 0; n < len(kv); n += 2 {
		i.Fields = append(i.Fields, hooks.Field{Key: kv[n], Value: hooks.Quote(kv[n+1])})
	}
	return i
}

func TestDesk(t *testing.T) {
	type step struct {
		report bool
		after  time.Duration
		in     hooks.Input
		fires  bool
	}
	call := func(session, id string) hooks.Input { return in(hooks.BeforeTool, session, "tool_call_id", id) }
	result := func(session, id, out string) hooks.Input {
		i := in(hooks.AfterTool, session, "tool_call_id", id)
		i.Fields = append(i.Fields, hooks.Field{Key: "tool_response", Value: hooks.Object([]hooks.Field{{Key: "llmContent", Value: hooks.Quote(out)}})})
		return i
	}
	start := func(session, agent string) hooks.Input {
		i := in(hooks.SessionStart, session, "source", "startup")
		i.Fields = append(i.Fields, hooks.Field{Key: "x_hookline", Value: json.RawMessage(`{"agent":"` + agent + `"}`)})
		return i
	}
	ls := func(id string) hooks.Input { return in(hooks.BeforeTool, "s", "tool_call_id", id, "tool_name", "ls") }
	prompt := func(session, text string) hooks.Input { return in(hooks.BeforeAgent, session, "prompt", text) }
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"wire, then report", []step{{false, 0, call("s", "1"), true}, {true, time.Minute, in(hooks.BeforeTool, "s", "tool_use_id", "1"), false}}},
		{"report, then wire", []step{{true, 0, prompt("s", "hi"), true}, {false, time.Second, prompt("s", "hi"), false}}},
		{"a report of a call's id with other arguments", []step{{true, 0, in(hooks.BeforeTool, "s", "tool_call_id", "1", "tool_name", "ls"), true},
			{false, 0, in(hooks.BeforeTool, "s", "tool_call_id", "1", "tool_name", "rm"), true}}},
		{"a result that was reported", []step{{true, 0, result("s", "1", "out"), true}, {false, 0, result("s", "1", "out"), false}}},
		{"a result that was reported as another", []step{{true, 0, result("s", "1", "out"), true}, {false, 0, result("s", "1", "secret"), true}}},
		{"an end that was reported first", []step{{true, 0, in(hooks.AfterAgent, "s", "prompt_response", "x"), true}, {false, 0, in(hooks.AfterAgent, "s", "prompt_response", "y"), true}}},
		{"another call", []step{{false, 0, call("s", "1"), true}, {true, 0, call("s", "2"), true}}},
		{"another session that the wire knows", []step{{false, 0, call("s", "1"), true}, {false, 0, call("o", "2"), true}, {true, 0, call("o", "1"), true}}},
		{"a session that goes by another name", []step{{false, 0, call("derived", "1"), true}, {true, 0, call("own", "1"), false}}},
		{"the same words later", []step{{false, 0, prompt("s", "go on"), true}, {true, time.Minute, prompt("s", "go on"), true}}},
		{"said twice, reported twice", []step{{false, 0, prompt("s", "x"), true}, {true, 0, prompt("s", "x"), false}, {false, 0, prompt("s", "x"), true}, {true, 0, prompt("s", "x"), false}}},
		{"the wire twice", []step{{false, 0, prompt("s", "x"), true}, {false, 0, prompt("s", "x"), true}}},
		{"two tries, one answer", []step{{false, 0, in(hooks.AfterAgent, "s", "prompt_response", "a"), true}, {false, 0, in(hooks.AfterAgent, "s", "prompt_response", "b"), true},
			{true, 0, in(hooks.AfterAgent, "s", "prompt_response", "ab"), false}}},
		{"an id that the wire has not", []step{{false, 0, ls(""), true}, {true, time.Minute, ls("agent's"), false}, {true, 0, ls("agent's other"), true}}},
		{"an id that the report has not", []step{{true, 0, result("s", "", "out"), true}, {false, time.Minute, result("s", "1", "out"), false}}},
		{"two ids", []step{{false, 0, ls("1"), true}, {true, 0, ls("2"), true}}},
		{"the same call at the same time", []step{{false, 0, ls(""), true}, {false, 0, ls(""), true}, {true, 0, ls(""), false}, {true, 0, ls(""), false}, {true, 0, ls(""), true}}},
		{"ids that count in each session", []step{{false, 0, in(hooks.BeforeTool, "w", "tool_call_id", "1", "tool_name", "ls"), true},
			{true, 0, in(hooks.BeforeTool, "own", "tool_call_id", "1", "tool_name", "rm"), true}}},
		{"a start under another name", []step{{true, 0, start("own", "qwen-code"), true}, {false, time.Minute, start("w", "qwen-code"), false}, {false, 0, start("w2", "qwen-code"), true}}},
		{"a start of another agent", []step{{true, 0, start("own", "qwen-code"), true}, {false, 0, start("w", "gemini-cli"), true}}},
		{"the end of a turn under another name", []step{{false, 0, prompt("w", "x"), true}, {true, 0, prompt("own", "x"), false},
			{false, 0, in(hooks.AfterAgent, "w", "prompt_response", "a"), true}, {true, 0, in(hooks.AfterAgent, "own", "prompt_response", "ab"), false}}},
		{"chunks have no twin", []step{{false, 0, in(hooks.AfterModel, "s"), true}, {true, 0, in(hooks.AfterModel, "s"), true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, c := NewDesk(), &counted{}
				for i, s := range tc.steps {
					time.Sleep(s.after)
					before := c.n
					var out hooks.Decision
					if s.report {
						out, _ = d.Report(t.Context(), s.in, c.fire)
					} else {
						out = d.Wire(t.Context(), s.in, c.fire)
					}
					if fired := c.n > before; fired != s.fires {
						t.Errorf("step %d: fired %v, want %v", i, fired, s.fires)
					}
					if !out.Deny || out.Reason != "no" {
						t.Errorf("step %d: the decision is lost: %+v", i, out)
					}
					if !s.fires && out.Context != nil {
						t.Errorf("step %d: what the model has already is given again", i)
					}
				}
			})
		})
	}
}

// A hook's new arguments are those that the agent reports.
func TestDeskRewrites(t *testing.T) {
	d := NewDesk()
	call := func(args string) hooks.Input {
		i := in(hooks.BeforeTool, "s", "tool_name", "ls")
		i.Fields = append(i.Fields, hooks.Field{Key: "tool_input", Value: json.RawMessage(args)})
		return i
	}
	d.Wire(t.Context(), call(`{"a":1}`), func(context.Context, hooks.Input) hooks.Decision {
		return hooks.Decision{ToolInput: json.RawMessage(`{"a":2}`)}
	})
	if _, seen := d.Report(t.Context(), call(`{"a":2}`), (&counted{}).fire); !seen {
		t.Error("the call that a hook rewrote was taken for another one")
	}
}

// TestDeskNames: what was seen at both places tells how a session is called at each.
func TestDeskNames(t *testing.T) {
	d, c := NewDesk(), &counted{}
	d.Report(t.Context(), in(hooks.BeforeAgent, "own", "prompt", "x"), c.fire)
	d.Wire(t.Context(), in(hooks.BeforeAgent, "w", "prompt", "x"), c.fire)
	for session, want := range map[string]string{"own": "w", "w": "w", "other": "other"} {
		if got := d.OnWire(session); got != want {
			t.Errorf("%s is %s on the wire, want %s", session, got, want)
		}
	}
}

// TestDeskWaits: a report of what is being fired has that firing's answer.
func TestDeskWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, c := NewDesk(), &counted{}
		go d.Wire(t.Context(), in(hooks.BeforeTool, "s", "tool_call_id", "1"), func(ctx context.Context, i hooks.Input) hooks.Decision {
			time.Sleep(time.Second)
			return c.fire(ctx, i)
		})
		synctest.Wait()
		out, seen := d.Report(t.Context(), in(hooks.BeforeTool, "s", "tool_call_id", "1"), c.fire)
		if !seen || !out.Deny || c.n != 1 {
			t.Errorf("seen %v, decision %+v, fired %d times", seen, out, c.n)
		}
	})
}

func TestService(t *testing.T) {
	c := &counted{}
	ended := ""
	s := &Service{Desk: NewDesk(), Fire: c.fire, Has: func(ev hooks.Event) bool { return ev == hooks.BeforeTool }, Log: slog.New(slog.DiscardHandler),
		Observed: map[hooks.Event]Observation{hooks.BeforeTool: {Sight: OnWire, Enforced: true}, hooks.PreCompress: {Sight: Derived, Agents: []string{"gemini-cli"}}},
		EndSession: func(_ context.Context, id, reason string) int {
			if id == "known" {
				ended = reason
				return 1
			}
			return 0
		}}
	for _, tc := range []struct {
		name, event, session, doc, want string
		fires                           int
	}{
		{"a tool", "PreToolUse", "", `{"tool_name":"Bash"}`, `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no","additionalContext":"context"}}`, 1},
		{"unknown", "Nonsense", "", `{}`, `{}`, 0},
		{"the end of a session on the wire", "SessionEnd", "known", `{"reason":"logout"}`, `{}`, 0},
		{"a turn of results", "UserPromptSubmit", "", `{"prompt":""}`, `{}`, 0},
		{"the end of another", "SessionEnd", "", `{"reason":"logout","session_id":"o"}`, `{"decision":"block","reason":"no","hookSpecificOutput":{"hookEventName":"SessionEnd","additionalContext":"context"}}`, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := c.n
			dialect := "claude"
			if tc.event == "UserPromptSubmit" {
				dialect = "qwen"
			}
			got, err := s.Report(t.Context(), dialect, tc.event, tc.session, []byte(tc.doc))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, string(got)); d != "" {
				t.Errorf("answer (-want +got):\n%s", d)
			}
			if c.n-before != tc.fires {
				t.Errorf("fired %d times, want %d", c.n-before, tc.fires)
			}
		})
	}
	if ended != "logout" {
		t.Errorf("ended with %q", ended)
	}
	seen := map[Sight]int{}
	for _, c := range s.Capabilities() {
		seen[c.Observed]++
		switch {
		case c.Event == hooks.BeforeTool && (c.Enforced != "wire" || !c.Hooks || c.Names["claude"] != "PreToolUse"),
			c.Event == hooks.AfterTool && c.Names["qwen"] != "PostToolUse",
			c.Event == hooks.WorktreeCreate && (c.Enforced != "reporter" || c.Observed != ByAgent || c.Hooks):
			t.Errorf("capability %+v", c)
		}
	}
	if d := cmp.Diff(map[Sight]int{OnWire: 1, Derived: 1, ByAgent: 27}, seen); d != "" {
		t.Errorf("sights (-want +got):\n%s", d)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("claude", "PreToolUse", `{"tool_input":{"a":1}}`)
	f.Add("", "", `{"hook_event_name":"Stop"}`)
	f.Fuzz(func(t *testing.T, dialect, event, doc string) {
		r, err := Parse(dialect, event, []byte(doc))
		if err != nil {
			return
		}
		if out := r.Answer(hooks.Decision{Deny: true, Reason: doc, ToolInput: json.RawMessage(`{"a":null}`)}); !json.Valid(out) {
			t.Errorf("answer is no JSON: %s", out)
		}
	})
}
