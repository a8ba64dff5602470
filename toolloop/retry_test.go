package toolloop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

// AfterAgent judges an answer that a BeforeModel hook wrote, and a retry asks the
// model; a denial of BeforeModel is no answer.
func TestAfterAgentSeesSyntheticAnswers(t *testing.T) {
	var seen []string
	a := newTalk(t, decide{
		hooks.BeforeModel: func(in hooks.Input) hooks.Decision {
			switch r := field(in, "llm_request"); {
			case strings.Contains(r, "better"):
				return hooks.Decision{}
			case strings.Contains(r, "forbidden"):
				return hooks.Decision{Deny: true, Reason: "no"}
			}
			return hooks.Decision{Deny: true, Reason: "why", LLMResponse: json.RawMessage(`{"candidates":[{"content":{"role":"model","parts":["mocked ","answer"]},"finishReason":"STOP"}]}`)}
		},
		hooks.AfterAgent: func(in hooks.Input) hooks.Decision {
			seen = append(seen, field(in, "prompt")+" "+field(in, "prompt_response")+" "+field(in, "stop_hook_active"))
			return hooks.Decision{Deny: len(seen) == 1, Reason: "better"}
		}},
		[]string{stop(text("Real."))}, []string{stop(text("Bye."))})
	a.send(user("forbidden"))
	a.history = nil
	a.send(user("go"))
	want := []string{`"go" "mocked answer" false`, `"go" "Real." true`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("AfterAgent saw (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"mocked "},{"text":"answer"},{"text":"Real."}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	a.send(user("bye"))
	history := lines(user("go"), `{"parts":[{"text":"mocked answer"}],"role":"model"}`, `{"parts":[{"text":"better"}],"role":"user"}`,
		`{"parts":[{"text":"Real."}],"role":"model"}`, user("bye"))
	if diff := cmp.Diff(history, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

// An answer that stands because the retries are used up clears nothing.
func TestClearContextNeedsARetry(t *testing.T) {
	fired := 0
	answers := [][]string{{stop(text("0."))}, {stop(text("1."))}, {stop(text("2."))}, {stop(text("3."))}, {stop(text("4."))},
		{stop(text("5."))}, {stop(text("6."))}, {stop(text("7."))}, {stop(text("8."))}, {stop(text("Bye."))}}
	a := newTalk(t, decide{hooks.AfterAgent: func(hooks.Input) hooks.Decision {
		fired++
		return hooks.Decision{Deny: fired < 10, Reason: "better", ClearContext: fired == 9}
	}}, answers...)
	a.send(user("go"))
	if fired != 9 {
		t.Errorf("AfterAgent fired %d times, want 9: the answer and 8 retries", fired)
	}
	a.send(user("bye"))
	shown := a.model.shown()
	if !strings.HasPrefix(shown, user("go")+"\n") || !strings.Contains(shown, `"8."`) {
		t.Errorf("the model was shown\n%s\nwant the whole history", shown)
	}
}
