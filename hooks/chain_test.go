package hooks

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func lastInput(t *testing.T, h *says, cmd string) string {
	t.Helper()
	if len(h.got[cmd]) == 0 {
		t.Fatalf("hook %q did not run", cmd)
	}
	return h.got[cmd][len(h.got[cmd])-1]
}

var at = time.Date(2026, 1, 2, 4, 4, 5, 678_900_000, time.FixedZone("", 3600))

func input(ev Event, fields ...string) Input {
	in := Input{Event: ev, SessionID: "S", TranscriptPath: "/t.jsonl", Cwd: "/w", Time: at}
	for i := 0; i < len(fields); i += 2 {
		in.Fields = append(in.Fields, Field{Key: fields[i], Value: json.RawMessage(fields[i+1])})
	}
	return in
}

func TestInputDocument(t *testing.T) {
	s, h := newSet(t, BeforeTool, commands("{}"))
	in := input(BeforeTool, "tool_name", `"a"`, "absent", "", "tool_input", "{ \"x\" : \"a \\\" b\\\\\" ,\n\"n\": 1.50}", "tool_call_id", `null`)
	in.SessionID = "<&>\"\\\n\x01é\xff"
	s.Fire(t.Context(), in)
	want := `{"session_id":"<&>\"\\\n\u0001é` + "\ufffd" + `","transcript_path":"/t.jsonl","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"2026-01-02T03:04:05.678Z",` +
		`"tool_name":"a","tool_input":{"x":"a \" b\\","n":1.50},"tool_call_id":null}`
	if got := lastInput(t, h, "{}"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestChain has a first hook that changes the input, and looks at what the
// second is shown.
func TestChain(t *testing.T) {
	out := func(spec string) string { return `{"hookSpecificOutput":{` + spec + `}}` }
	tests := []struct {
		name   string
		in     Input
		first  string
		key    string
		second string // the field as the second hook sees it
	}{
		{"prompt", input(BeforeAgent, "prompt", `"P0"`), out(`"additionalContext":"<k>"`), "prompt", `"P0\n\n<k>"`},
		{"tool input", input(BeforeTool, "tool_name", `"t"`, "tool_input", `{"a":1,"b":2}`), out(`"tool_input":{"b":null,"c":3.0}`), "tool_input", `{"a":1,"c":3.0}`},
		{"no tool input", input(BeforeTool, "tool_name", `"t"`), out(`"tool_input":{"c":3}`), "tool_input", `{"c":3}`},
		{"request", input(BeforeModel, "llm_request", `{"model":"m","messages":[1],"config":{"topK":1,"topP":2}}`), out(`"llm_request":{"config":{"topK":3,"topP":null},"model":null,"x":{}}`),
			"llm_request", `{"model":"m","messages":[1],"config":{"topK":3},"x":{}}`},
		{"response", input(AfterModel, "llm_request", `{}`, "llm_response", `{"text":"a"}`), out(`"llm_response":{"text":"b"}`), "llm_response", `{"text":"b"}`},
		{"selection", input(BeforeToolSelection, "llm_request", `{"model":"m"}`), out(`"toolConfig":{"mode":"NONE"}`), "llm_request", `{"model":"m","toolConfig":{"mode":"NONE"}}`},
		{"tool result", input(AfterTool, "tool_response", `{"llmContent":"x"}`), out(`"additionalContext":"c"`), "tool_response", `{"llmContent":"x"}`},
		{"failed hook", input(BeforeTool, "tool_input", `{"a":1}`), "exit 1 x", "tool_input", `{"a":1}`},
		{"bad field beside a good one", input(BeforeTool, "tool_input", `{"a":1}`), `{"reason":7,"hookSpecificOutput":{"tool_input":{"b":2}}}`, "tool_input", `{"a":1,"b":2}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := commands(tt.first, `{"reason":"second"}`)
			d.Sequential = true
			s, h := newSet(t, tt.in.Event, d)
			s.Fire(t.Context(), tt.in)
			got := field(fieldsOf([]byte(lastInput(t, h, `{"reason":"second"}`))), tt.key)
			if string(got) != tt.second {
				t.Errorf("got  %s\nwant %s", got, tt.second)
			}
		})
	}
}

func TestChainThree(t *testing.T) {
	d := commands(`{"hookSpecificOutput":{"tool_input":{"a":2,"z":1}}}`, `{"hookSpecificOutput":{"tool_input":{"a":3,"b":null}}}`, `{}`)
	d.Sequential = true
	s, h := newSet(t, BeforeTool, d)
	got := s.Fire(t.Context(), input(BeforeTool, "tool_input", `{"a":1,"b":1}`))
	if want := `{"a":2,"z":1}`; !strings.Contains(lastInput(t, h, d.Hooks[1].Command), `"tool_input":{"a":2,"b":1,"z":1}`) {
		t.Errorf("second: got %s; want %s", lastInput(t, h, d.Hooks[1].Command), want)
	}
	if !strings.Contains(lastInput(t, h, `{}`), `"tool_input":{"a":3,"z":1}`) {
		t.Errorf("third: got %s", lastInput(t, h, `{}`))
	}
	if want := `{"a":3,"z":1,"b":null}`; string(got.ToolInput) != want {
		t.Errorf("got %s; want the patch %s", got.ToolInput, want)
	}
}

func TestChainEnds(t *testing.T) {
	for _, tt := range []struct {
		first string
		ev    Event
		ends  bool
	}{
		{`{"decision":"deny"}`, BeforeTool, true}, {`{"continue":false}`, BeforeAgent, true}, {`exit 2 x`, AfterTool, true},
		{`{"decision":"ask"}`, BeforeTool, false}, {`exit 1`, BeforeTool, false},
		{`{"decision":"deny"}`, BeforeToolSelection, false}, {`{"continue":false}`, SessionStart, false},
	} {
		d := commands(tt.first, `{}`)
		d.Sequential = true
		s, h := newSet(t, tt.ev, d, commands("[]"))
		got := s.Fire(t.Context(), input(tt.ev))
		if ran := len(h.got[`{}`]) > 0; ran == tt.ends {
			t.Errorf("%s at %s: the second hook ran: %v; want %v", tt.first, tt.ev, ran, !tt.ends)
		}
		if len(h.got["[]"]) != 1 {
			t.Errorf("%s at %s: the other group did not run", tt.first, tt.ev)
		}
		if want := map[bool]int{true: 2, false: 3}[tt.ends]; len(got.Runs) != want {
			t.Errorf("%s at %s: got %d runs; want %d", tt.first, tt.ev, len(got.Runs), want)
		}
	}
}

// TestSystem: hooks that ask see the system instruction, others do not, and what
// one group's hooks make of the messages is shown to each in its own way.
func TestSystem(t *testing.T) {
	const (
		plain  = `{"messages":[{"role":"user","content":"u"}]}`
		system = `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u"}]}`
	)
	rewrite := func(msgs string) string {
		return `{"hookSpecificOutput":{"llm_request":{"messages":` + msgs + `}}}`
	}
	request := func(h *says, cmd string) string {
		return string(field(fieldsOf([]byte(lastInput(t, h, cmd))), "llm_request"))
	}
	fire := func(t *testing.T, hooks ...Hook) (Decision, *says, int) {
		s, h := newSet(t, BeforeModel, Definition{Sequential: true, Hooks: hooks})
		in := input(BeforeModel, "llm_request", plain)
		calls := 0
		in.System = func() []Field {
			calls++
			return []Field{{Key: "llm_request", Value: json.RawMessage(system)}}
		}
		return s.Fire(t.Context(), in), h, calls
	}

	t.Run("nobody asks", func(t *testing.T) {
		d, h, calls := fire(t, Hook{Command: "{}"}, Hook{Command: rewrite(`[]`)})
		if request(h, "{}") != plain || calls != 0 || d.SawSystem {
			t.Errorf("got %s, %d calls, saw %v", request(h, "{}"), calls, d.SawSystem)
		}
	})
	t.Run("each sees its own", func(t *testing.T) {
		_, h, calls := fire(t, Hook{Command: "{}"}, Hook{Command: `{"a":1}`, System: true}, Hook{Command: `{"a":2}`, System: true})
		if request(h, "{}") != plain || request(h, `{"a":1}`) != system || request(h, `{"a":2}`) != system || calls != 1 {
			t.Errorf("got %s, %s, %d calls", request(h, "{}"), request(h, `{"a":1}`), calls)
		}
	})
	t.Run("one that sees it rewrites it", func(t *testing.T) {
		d, h, _ := fire(t, Hook{Command: rewrite(`[{"role":"system","content":"S"},{"role":"user","content":"U"}]`), System: true},
			Hook{Command: rewrite(`[{"role":"user","content":"V"}]`)}, Hook{Command: `{}`, System: true})
		if got := request(h, rewrite(`[{"role":"user","content":"V"}]`)); got != `{"messages":[{"role":"user","content":"U"}]}` {
			t.Errorf("without system: got %s", got)
		}
		want := `{"messages":[{"role":"system","content":"S"},{"role":"user","content":"V"}]}`
		if got := request(h, `{}`); got != want {
			t.Errorf("with system: got %s", got)
		}
		if string(d.LLMRequest) != want || !d.SawSystem {
			t.Errorf("merged: got %s, saw %v", d.LLMRequest, d.SawSystem)
		}
	})
	t.Run("one that does not see it rewrites the rest", func(t *testing.T) {
		d, h, _ := fire(t, Hook{Command: rewrite(`[{"role":"user","content":"U"}]`)}, Hook{Command: `{}`, System: true})
		if got := request(h, `{}`); got != `{"messages":[{"role":"system","content":"s"},{"role":"user","content":"U"}]}` {
			t.Errorf("with system: got %s", got)
		}
		if diff := cmp.Diff(`{"messages":[{"role":"user","content":"U"}]}`, string(d.LLMRequest)); diff != "" || d.SawSystem {
			t.Errorf("merged: got %s, saw %v", d.LLMRequest, d.SawSystem)
		}
	})
}
