package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// always is a hook that decides the same each time.
func always(d hooks.Decision) func(hooks.Input) hooks.Decision {
	return func(hooks.Input) hooks.Decision { return d }
}

// response is the newest function response that the model was shown.
func (m *model) response() string {
	i := strings.LastIndex(m.shown(), `"response":`)
	if i < 0 {
		return ""
	}
	var v json.RawMessage
	if err := json.NewDecoder(strings.NewReader(m.shown()[i+len(`"response":`):])).Decode(&v); err != nil {
		return err.Error()
	}
	return string(v)
}

// What hooks say of a call and of its result reaches the model in the result, the
// same each time that the agent resends it.
func TestResultOfDecisions(t *testing.T) {
	const known = `\n\n<hook_context>know this</hook_context>`
	const notice = `\n\n[System] Tool input parameters were modified by a hook before execution.`
	context := []string{"know this"}
	tests := []struct {
		name          string
		before, after hooks.Decision
		response      string
		want          string
	}{
		{"context of BeforeTool", hooks.Decision{Context: context}, hooks.Decision{}, `{"output":"x"}`, `{"output":"x` + known + `"}`},
		{"context of both", hooks.Decision{Context: context}, hooks.Decision{Context: []string{"<and>"}}, `{"output":"x"}`,
			`{"output":"x` + known + `\n\n<hook_context>&lt;and&gt;</hook_context>"}`},
		{"context and rewritten arguments", hooks.Decision{Context: context, ToolInput: json.RawMessage(`{"a":2}`)}, hooks.Decision{}, `{"output":"x"}`,
			`{"output":"x` + known + notice + `"}`},
		{"output", hooks.Decision{}, hooks.Decision{Output: json.RawMessage(`"y"`)}, `{"output":"x","raw":"x"}`, `{"output":"y"}`},
		{"output of another key", hooks.Decision{}, hooks.Decision{Output: json.RawMessage(`"y"`)}, `{"result":{"a":1}}`, `{"result":"y"}`},
		{"output of no key", hooks.Decision{}, hooks.Decision{Output: json.RawMessage(`{"b":2}`)}, `{"a":1}`, `{"b":2}`},
		{"text output of no key", hooks.Decision{}, hooks.Decision{Output: json.RawMessage(`"y"`)}, `{"a":1}`, `{"output":"y"}`},
		{"output, contexts and rewritten arguments", hooks.Decision{Context: context, ToolInput: json.RawMessage(`{"a":2}`)},
			hooks.Decision{Output: json.RawMessage(`"y"`), Context: []string{"z"}}, `{"output":"x"}`,
			`{"output":"y` + known + `\n\n<hook_context>z</hook_context>` + notice + `"}`},
		{"a denied result has no context", hooks.Decision{Context: context}, hooks.Decision{Deny: true, Reason: "no"}, `{"output":"x"}`, `{"error":"no"}`},
		{"context of an error", hooks.Decision{}, hooks.Decision{Context: context}, `{"error":"x"}`, `{"error":"x","hook_context":"<hook_context>know this</hook_context>"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newTalk(t, decide{hooks.BeforeTool: always(tt.before), hooks.AfterTool: always(tt.after)},
				[]string{stop(call("1", "read", `{"a":1}`, "c2ln"))}, []string{stop(text("Done."))}, []string{stop(text("Bye."))})
			a.send(user("go"))
			a.send(results(result("1", "read", tt.response)))
			if diff := cmp.Diff(tt.want, a.model.response()); diff != "" {
				t.Errorf("model saw (-want +got):\n%s", diff)
			}
			a.send(user("thanks"))
			if diff := cmp.Diff(tt.want, a.model.response()); diff != "" {
				t.Errorf("model saw later (-want +got):\n%s", diff)
			}
		})
	}
}

// A call that is denied or put off is answered with an error; context stands
// beside it.
func TestDeniedCallKeepsContext(t *testing.T) {
	for _, tt := range []struct {
		name string
		d    hooks.Decision
		want string
	}{
		{"deny", hooks.Decision{Deny: true, Reason: "no", Context: []string{"use ls"}}, `{"error":"Tool execution blocked: no","hook_context":"<hook_context>use ls</hook_context>"}`},
		{"defer", hooks.Decision{Defer: true, Reason: "later"}, `{"error":"Tool execution blocked: later"}`},
		{"defer without words", hooks.Decision{Defer: true}, `{"error":"Tool execution blocked: the call was put off"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newTalk(t, decide{hooks.BeforeTool: always(tt.d)}, []string{stop(call("1", "rm", `{}`, "c2ln"))}, []string{stop(text("Done."))})
			a.send(user("go"))
			if diff := cmp.Diff(tt.want, a.model.response()); diff != "" {
				t.Errorf("model saw (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTailCallKeepsContext(t *testing.T) {
	a := newTalk(t, decide{
		hooks.BeforeTool: func(in hooks.Input) hooks.Decision {
			if in.Match == "lint" {
				return hooks.Decision{Context: []string{"of the tail"}}
			}
			return hooks.Decision{}
		},
		hooks.AfterTool: func(in hooks.Input) hooks.Decision {
			if in.Match == "write" {
				return hooks.Decision{Tail: &hooks.TailCall{Name: "lint", Args: json.RawMessage(`{}`)}}
			}
			return hooks.Decision{}
		},
	}, []string{stop(call("1", "write", `{}`, "c2ln"))}, []string{stop(text("Done."))})
	a.send(user("go"))
	a.send(results(result("1", "write", `{"output":"written"}`)))
	var tail struct {
		Parts []struct{ FunctionCall struct{ ID string } }
	}
	if err := json.Unmarshal([]byte(a.last()), &tail); err != nil || len(tail.Parts) != 1 {
		t.Fatalf("agent got %s, %v; want the tail call", a.last(), err)
	}
	a.send(results(result(tail.Parts[0].FunctionCall.ID, "lint", `{"output":"clean"}`)))
	if want := `{"output":"clean\n\n<hook_context>of the tail</hook_context>"}`; a.model.response() != want {
		t.Errorf("model saw %s; want %s", a.model.response(), want)
	}
}

// A hook may put another prompt in the place of the user's words. What the agent
// put beside them stays, and images do.
func TestReplacedPrompt(t *testing.T) {
	a := newTalk(t, decide{hooks.BeforeAgent: func(in hooks.Input) hooks.Decision {
		if field(in, "prompt") != `"deploy"` {
			return hooks.Decision{}
		}
		return hooks.Decision{Prompt: json.RawMessage(`"deploy to \"staging\""`), Context: []string{"careful"}}
	}}, []string{stop(text("Done."))}, []string{stop(text("Bye."))})
	said := func(words string) string {
		return `{"role":"user","parts":[{"text":"<system-reminder>r</system-reminder>` + words + `"},{"inlineData":{"mimeType":"image/png","data":"AA=="}}`
	}
	a.send(said("deploy") + `]}`)
	want := lines(strings.Replace(said(`deploy to \"staging\"`), `{"role":"user",`, `{`, 1) + `,{"text":"<hook_context>careful</hook_context>"}],"role":"user"}`)
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
	a.send(user("thanks"))
	if !strings.HasPrefix(a.model.shown(), want) {
		t.Errorf("the model's history changed:\n%s", a.model.shown())
	}
}

// compress makes an agent's compression call.
func (a *talk) compress() error {
	body := `{"systemInstruction":{"parts":[{"text":"Write a <state_snapshot>"}]},"contents":[` + user("all of it") + `]}`
	return a.loop.Run(context.Background(), toolloop.Call{ID: "r", Tenant: "t", Session: "s", Agent: "gemini-cli",
		Wire: gemini.Wire{}, Body: []byte(body), Model: "m", Upstream: a.model}, a)
}

// Context at a compression is for the model that writes the summary.
func TestContextOfCompression(t *testing.T) {
	a := newTalk(t, decide{hooks.PreCompress: always(hooks.Decision{Context: []string{"keep names"}})}, []string{stop(text("A summary."))})
	if err := a.compress(); err != nil {
		t.Fatal(err)
	}
	if want := `{"text":"all of it"},{"text":"<hook_context>keep names</hook_context>"}`; !strings.Contains(a.model.shown(), want) {
		t.Errorf("model saw %s; want %s", a.model.shown(), want)
	}
}

// A blocked compression is refused with a status that agents do not retry.
func TestBlockedCompression(t *testing.T) {
	a := newTalk(t, decide{hooks.PreCompress: always(hooks.Decision{Deny: true, Reason: "not now"})})
	err := a.compress()
	var refusal *toolloop.Refusal
	if !errors.As(err, &refusal) || refusal.Status != 400 || !strings.HasSuffix(refusal.Message, ": not now") {
		t.Errorf("got %v; want a refusal", err)
	}
	if len(a.model.requests) > 0 {
		t.Error("the model was asked")
	}
}
