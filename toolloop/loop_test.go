package toolloop_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

type decide = map[hooks.Event]func(hooks.Input) hooks.Decision

func denyTool(name, reason string) func(hooks.Input) hooks.Decision {
	return func(in hooks.Input) hooks.Decision {
		return hooks.Decision{Deny: in.Match == name, Reason: reason}
	}
}

func lines(ss ...string) string { return strings.Join(ss, "\n") + "\n" }

func TestDeniedCallIsAnsweredInAHiddenRound(t *testing.T) {
	a := newTalk(t, decide{hooks.BeforeTool: denyTool("rm", "no")},
		[]string{said(text("Deleting.")), stop(call("1", "rm", `{"p":"/"}`, "c2ln"))},
		[]string{stop(text("I may not."))},
		[]string{stop(text("Fine."))})
	a.send(user("clean up"))
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"Deleting."},{"text":"I may not."}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	round := lines(user("clean up"),
		`{"parts":[{"text":"Deleting."},`+call("1", "rm", `{"p":"/"}`, "c2ln")+`],"role":"model"}`,
		`{"parts":[{"functionResponse":{"id":"1","name":"rm","response":{"error":"Tool execution blocked: no"}}}],"role":"user"}`)
	if diff := cmp.Diff(round, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
	// The agent joins texts as it likes; the model's side stays what it was.
	a.history[1] = `{"role":"model","parts":[{"text":"Deleting.I may not."}]}`
	a.send(user("ok"))
	want := round + lines(`{"parts":[{"text":"I may not."}],"role":"model"}`, user("ok"))
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw later (-want +got):\n%s", diff)
	}
	// Usage of the hidden round is added.
	var doc struct{ UsageMetadata struct{ TotalTokenCount int } }
	if err := json.Unmarshal([]byte(a.got[len(a.got)-1]), &doc); err != nil || doc.UsageMetadata.TotalTokenCount != 15 {
		t.Errorf("usage of a plain round: got %+v, %v", doc, err)
	}
}

func TestDenyOneOfTwo(t *testing.T) {
	a := newTalk(t, decide{hooks.BeforeTool: denyTool("rm", "no")},
		[]string{stop(call("1", "rm", `{}`, "c2ln"), call("2", "ls", `{"d":1}`, ""))},
		[]string{stop(text("Done."))}, []string{stop(text("Bye."))})
	a.send(user("go"))
	want := `{"role":"model","parts":[{"functionCall":{"name":"ls","args":{"d":1},"id":"2"},"thoughtSignature":"c2ln"}]}`
	if diff := cmp.Diff(want, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	// An agent that sorts keys, drops ids and writes 1 as 1.0.
	a.history[1] = `{"parts":[{"functionCall":{"args":{"d":1.0},"name":"ls"}}],"role":"model"}`
	a.send(results(`{"functionResponse":{"name":"ls","response":{"output":"x"}}}`))
	shown := lines(user("go"),
		`{"parts":[`+call("1", "rm", `{}`, "c2ln")+`,`+call("2", "ls", `{"d":1}`, "")+`],"role":"model"}`,
		`{"parts":[{"functionResponse":{"id":"1","name":"rm","response":{"error":"Tool execution blocked: no"}}},{"functionResponse":{"name":"ls","response":{"output":"x"},"id":"2"}}],"role":"user"}`)
	if diff := cmp.Diff(shown, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
	a.send(user("thanks"))
	if got := a.model.shown(); !strings.HasPrefix(got, shown) {
		t.Errorf("the model's history changed:\n%s\nwanted it to begin with\n%s", got, shown)
	}
}

func TestRewrittenArguments(t *testing.T) {
	a := newTalk(t, decide{hooks.BeforeTool: func(hooks.Input) hooks.Decision {
		return hooks.Decision{ToolInput: json.RawMessage(`{"file":"b"}`)}
	}},
		[]string{stop(call("1", "read", `{"file":"a","n":1e2}`, "c2ln"))},
		[]string{stop(text("Done."))})
	a.send(user("go"))
	if diff := cmp.Diff(`{"role":"model","parts":[`+call("1", "read", `{"file":"b","n":1e2}`, "c2ln")+`]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	a.send(results(result("1", "read", `{"output":"body"}`)))
	want := lines(user("go"),
		`{"parts":[`+call("1", "read", `{"file":"a","n":1e2}`, "c2ln")+`],"role":"model"}`,
		results(result("1", "read", `{"output":"body\n\n[System] Tool input parameters were modified by a hook before execution."}`)))
	got := strings.ReplaceAll(a.model.shown(), `],"role":"user"}`, `]}`)
	got = strings.ReplaceAll(got, `{"parts":[{"functionResponse"`, `{"role":"user","parts":[{"functionResponse"`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

func TestTailOfATail(t *testing.T) {
	tails := map[string]string{`{"output":"one"}`: "second", `{"output":"two"}`: "third"}
	a := newTalk(t, decide{hooks.AfterTool: func(in hooks.Input) hooks.Decision {
		var r struct{ LLMContent string }
		_ = json.Unmarshal([]byte(field(in, "tool_response")), &r)
		if next := tails[`{"output":"`+r.LLMContent+`"}`]; next != "" {
			return hooks.Decision{Tail: &hooks.TailCall{Name: next, Args: json.RawMessage(`{"x":1}`)}}
		}
		return hooks.Decision{Context: []string{"<b>"}}
	}},
		[]string{stop(call("1", "first", `{}`, "c2ln"))},
		[]string{stop(text("Done."))}, []string{stop(text("Bye."))})
	a.send(user("go"))
	id := ""
	for _, step := range []struct{ res, next string }{{"one", "second"}, {"two", "third"}} {
		if id == "" {
			a.send(results(result("1", "first", `{"output":"one"}`)))
		} else {
			a.send(results(result(id, "second", `{"output":"two"}`)))
		}
		var m struct {
			Parts []struct {
				FunctionCall struct{ ID, Name string }
			}
		}
		if err := json.Unmarshal([]byte(a.last()), &m); err != nil || len(m.Parts) != 1 || m.Parts[0].FunctionCall.Name != step.next {
			t.Fatalf("after %s the agent saw %s (%v)", step.res, a.last(), err)
		}
		id = m.Parts[0].FunctionCall.ID
	}
	if n := len(a.model.requests); n != 1 {
		t.Fatalf("the model was asked %d times before the tails were over", n)
	}
	a.send(results(result(id, "third", `{"output":"three"}`)))
	a.send(user("thanks"))
	want := lines(user("go"),
		`{"role":"model","parts":[`+call("1", "first", `{}`, "c2ln")+`]}`,
		`{"parts":[{"functionResponse":{"name":"first","response":{"output":"three\n\n<hook_context>&lt;b&gt;</hook_context>"},"id":"1"}}],"role":"user"}`,
		`{"role":"model","parts":[{"text":"Done."}]}`, user("thanks"))
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"AfterTool first", "AfterTool second", "AfterTool third"}, a.hooks.log); diff != "" {
		t.Errorf("fired (-want +got):\n%s", diff)
	}
}

func TestStops(t *testing.T) {
	a := newTalk(t, decide{
		hooks.BeforeTool: func(in hooks.Input) hooks.Decision {
			return hooks.Decision{Stop: in.Match == "bad", StopReason: "enough"}
		},
		hooks.AfterTool: func(in hooks.Input) hooks.Decision {
			return hooks.Decision{Stop: in.Match == "leak", StopReason: "too much"}
		}},
		[]string{stop(call("1", "bad", `{}`, "c2ln"), call("2", "ok", `{}`, ""))},
		[]string{stop(call("3", "leak", `{}`, "c2l3"))},
		[]string{stop(text("Bye."))})
	a.send(user("one"))
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"enough"}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	a.send(user("two"))
	a.send(results(result("3", "leak", `{"output":"secret"}`)))
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"too much"}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	a.send(user("three"))
	want := lines(user("one"),
		`{"parts":[`+call("1", "bad", `{}`, "c2ln")+`,`+call("2", "ok", `{}`, "")+`],"role":"model"}`,
		`{"parts":[{"functionResponse":{"id":"1","name":"bad","response":{"error":"Agent execution stopped by hook: enough"}}},{"functionResponse":{"id":"2","name":"ok","response":{"error":"Agent execution stopped by hook: enough"}}}],"role":"user"}`,
		user("two"),
		`{"role":"model","parts":[`+call("3", "leak", `{}`, "c2l3")+`]}`,
		`{"parts":[{"functionResponse":{"id":"3","name":"leak","response":{"error":"too much"}}}],"role":"user"}`,
		user("three"))
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

func TestAfterAgentRetry(t *testing.T) {
	denied := 0
	a := newTalk(t, decide{
		hooks.AfterAgent: func(in hooks.Input) hooks.Decision {
			if denied++; denied > 2 {
				return hooks.Decision{}
			}
			if got, want := field(in, "stop_hook_active"), map[int]string{1: "false", 2: "true"}[denied]; got != want {
				t.Errorf("answer %d: stop_hook_active %s, wanted %s", denied, got, want)
			}
			return hooks.Decision{Deny: true, Reason: "better"}
		},
		hooks.BeforeAgent: func(in hooks.Input) hooks.Decision {
			return hooks.Decision{Context: []string{"for " + field(in, "prompt")}}
		}},
		[]string{stop(text("A."))}, []string{stop(text("B."))}, []string{stop(text("C."))}, []string{stop(text("Bye."))})
	a.send(user("go"))
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"A."},{"text":"B."},{"text":"C."}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	a.send(user("bye"))
	prompt := func(s string) string {
		return `{"parts":[{"text":"` + s + `"},{"text":"<hook_context>for \"` + s + `\"</hook_context>"}],"role":"user"}`
	}
	answer := func(s string) string { return `{"parts":[{"text":"` + s + `"}],"role":"model"}` }
	want := lines(prompt("go"), answer("A."), prompt("better"), answer("B."), prompt("better"), answer("C."), prompt("bye"))
	want = strings.ReplaceAll(want, `for "`, `for \"`)
	want = strings.ReplaceAll(want, `"</hook`, `\"</hook`)
	want = strings.ReplaceAll(want, `\\`, `\`)
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

func TestDeniedPromptsAndAnswers(t *testing.T) {
	a := newTalk(t, decide{
		hooks.BeforeAgent: func(in hooks.Input) hooks.Decision {
			switch field(in, "prompt") {
			case `"bad"`:
				return hooks.Decision{Deny: true, Reason: "bad prompt"}
			case `"halt"`:
				return hooks.Decision{Stop: true, StopReason: "halted"}
			}
			return hooks.Decision{}
		},
		hooks.BeforeModel: func(in hooks.Input) hooks.Decision {
			return hooks.Decision{Deny: strings.Contains(field(in, "llm_request"), `"no model"}]`), Reason: "no model for this"}
		},
		hooks.AfterModel: func(in hooks.Input) hooks.Decision {
			return hooks.Decision{Deny: strings.Contains(field(in, "llm_response"), "ugly"), Reason: "bad words"}
		}},
		[]string{said(text("nice ")), stop(text("ugly"))}, []string{stop(text("Bye."))})
	for _, p := range []struct{ in, out string }{
		{"bad", `{"text":"bad prompt"}`}, {"halt", `{"text":"halted"}`},
		{"no model", `{"text":"no model for this"}`}, {"words", `{"text":"nice "},{"text":"bad words"}`}, {"end", `{"text":"Bye."}`}} {
		a.send(user(p.in))
		if diff := cmp.Diff(`{"role":"model","parts":[`+p.out+`]}`, a.last()); diff != "" {
			t.Errorf("%s: agent saw (-want +got):\n%s", p.in, diff)
		}
	}
	if diff := cmp.Diff(lines(user("halt"), user("no model"), user("words"), user("end")), a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

// An agent that drops a turn with an empty text must never be sent one, not in
// the middle of a retry either.
func TestEmptyEndIsFolded(t *testing.T) {
	signed := `{"text":"","thoughtSignature":"c2ln"}`
	denied := false
	a := newTalk(t, decide{hooks.AfterAgent: func(hooks.Input) hooks.Decision {
		first := !denied
		denied = true
		return hooks.Decision{Deny: first, Reason: "better"}
	}},
		[]string{said(text("A.")), stop(signed)}, []string{said(text("B.")), stop(text(""))}, []string{stop(text("Bye."))})
	a.foldEnd = true
	a.send(user("go"))
	if diff := cmp.Diff(`{"role":"model","parts":[{"text":"A."},{"text":"B."}]}`, a.last()); diff != "" {
		t.Errorf("agent saw (-want +got):\n%s", diff)
	}
	if got := a.got[len(a.got)-1]; !strings.Contains(got, `"finishReason":"STOP"`) || !strings.Contains(got, "usageMetadata") {
		t.Errorf("the last event has lost its end: %s", got)
	}
	a.send(user("bye"))
	want := lines(user("go"), `{"parts":[{"text":"A."},`+signed+`],"role":"model"}`, `{"parts":[{"text":"better"}],"role":"user"}`,
		`{"parts":[{"text":"B."}],"role":"model"}`, user("bye"))
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}

// Gemini CLI 0.61 sends every result of a resumed conversation twice, which the
// API refuses.
func TestResultSentTwiceGoesUpOnce(t *testing.T) {
	fired := 0
	a := newTalk(t, decide{hooks.AfterTool: func(hooks.Input) hooks.Decision {
		fired++
		return hooks.Decision{}
	}},
		[]string{stop(call("1", "read", `{}`, "c2ln"))}, []string{stop(text("Done."))})
	a.send(user("go"))
	r := result("1", "read", `{"output":"x"}`)
	a.send(results(r, r))
	want := lines(user("go"), `{"role":"model","parts":[`+call("1", "read", `{}`, "c2ln")+`]}`, `{"parts":[`+r+`],"role":"user"}`)
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
	if fired != 1 {
		t.Errorf("AfterTool fired %d times", fired)
	}
}

// A hook that always asks for one more call must come to an end.
func TestTailsAreBounded(t *testing.T) {
	a := newTalk(t, decide{hooks.AfterTool: func(hooks.Input) hooks.Decision {
		return hooks.Decision{Tail: &hooks.TailCall{Name: "again", Args: json.RawMessage(`{}`)}}
	}},
		[]string{stop(call("1", "first", `{}`, "c2ln"))}, []string{stop(text("Done."))})
	a.send(user("go"))
	a.send(results(result("1", "first", `{"output":"x"}`)))
	tails := 0
	for ; strings.Contains(a.last(), "functionCall") && tails < 100; tails++ {
		id := gjson.Get(a.last(), "parts.0.functionCall.id").Str
		a.send(results(result(id, "again", `{"output":"x"}`)))
	}
	if tails != 25 {
		t.Errorf("%d tail calls, wanted 25", tails)
	}
	want := lines(user("go"), `{"role":"model","parts":[`+call("1", "first", `{}`, "c2ln")+`]}`, `{"parts":[`+result("1", "first", `{"output":"x"}`)+`],"role":"user"}`)
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}
