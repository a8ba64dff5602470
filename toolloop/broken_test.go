package toolloop_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// once answers with one reply, and takes down what the agent gets of it.
type once struct {
	reply toolloop.Reply
	got   []string
}

func (o *once) Generate(context.Context, string, []byte) (*toolloop.Reply, error) {
	o.reply.Close = func() error { return nil }
	return &o.reply, nil
}
func (o *once) Start(*toolloop.Reply) error { return nil }
func (o *once) Forward(r *toolloop.Reply) error {
	o.got = append(o.got, fmt.Sprint("forwarded ", r.Status))
	return nil
}
func (o *once) Event(doc []byte) error { o.got = append(o.got, string(doc)); return nil }
func (o *once) Tail(raw []byte) error  { o.got = append(o.got, "tail "+string(raw)); return nil }

var errBroke = errors.New("connection reset")

// script is a stream; "!" breaks it, and what begins with "~" is no event.
func script(docs ...string) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		for _, d := range docs {
			raw, tail := strings.CutPrefix(d, "~")
			switch {
			case d == "!":
				yield(stream.Event{}, errBroke)
				return
			case tail:
				if !yield(stream.Event{Tail: true, Data: []byte(raw), Raw: []byte(raw)}, nil) {
					return
				}
			case !yield(stream.Event{Data: []byte(d)}, nil):
				return
			}
		}
	}
}

// No call gets to the agent past its BeforeTool hook, however the answer ends.
func TestNoCallPassesItsHook(t *testing.T) {
	rm := call("1", "rm", `{}`, "")
	failure := `{"error":{"code":503}}`
	for _, tt := range []struct {
		name   string
		docs   []string
		status int // 200 when 0; with it the answer is opaque
		unary  bool
		want   []string
		err    string
	}{
		{name: "stream breaks", docs: []string{said(text("a")), said(rm), "!"}, want: []string{said(text("a"))}, err: "connection reset"},
		{name: "error event", docs: []string{said(text("a"), rm), failure}, want: []string{said(text("a")), failure}},
		{name: "tail", docs: []string{said(rm), "~" + failure}, want: []string{"tail " + failure}},
		{name: "answer as a tail", docs: []string{said(text("a")), "~" + said(rm)}, want: []string{said(text("a"))}, err: "answer cut"},
		{name: "no JSON", docs: []string{said(call("1", "rm", `{"n":NaN}`, ""))}, err: "can't read the upstream's answer"},
		{name: "too deep", docs: []string{said(call("1", "rm", strings.Repeat(`{"a":`, 600)+"1"+strings.Repeat("}", 600), ""))}, err: "can't read the upstream's answer"},
		{name: "no JSON behind text", docs: []string{said(text("a")), said(rm) + ","}, want: []string{said(text("a"))}, err: "answer cut"},
		{name: "unary array", unary: true, docs: []string{"[" + said(rm) + "]"}, err: "can't read the upstream's answer"},
		{name: "unary with an error", unary: true, docs: []string{`{"error":{},"candidates":[{"content":{"parts":[` + rm + `]},"index":1}]}`}, want: []string{`{"error":{},"candidates":[{"content":{"parts":[{"text":"no"}]},"index":1}]}`}},
		{name: "candidate 7 alone", docs: []string{`{"candidates":[{"content":{"parts":[` + rm + `]},"index":7}]}`}, want: []string{`{"candidates":[{"content":{"parts":[{"text":"no"}]},"index":7}]}`}},
		{name: "unknown encoding", status: 200, err: "can't read the upstream's answer"},
		{name: "redirect", status: 307, err: "can't read the upstream's answer"},
		{name: "upstream's error", status: 429, want: []string{"forwarded 429"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &once{reply: toolloop.Reply{Status: max(tt.status, 200)}}
			if tt.status == 0 {
				o.reply.Events = script(tt.docs...)
			}
			l := toolloop.New(toolloop.Options{Hooks: &fires{on: decide{hooks.BeforeTool: denyTool("rm", "no")}}})
			err := l.Run(t.Context(), toolloop.Call{ID: "r", Wire: gemini.Wire{}, Body: []byte(`{"contents":[` + user("hi") + `]}`), Stream: !tt.unary, Upstream: o}, o)
			if got := fmt.Sprint(err); tt.err == "" && err != nil || !strings.Contains(got, tt.err) {
				t.Errorf("error is %q, want %q", got, tt.err)
			}
			if diff := cmp.Diff(tt.want, o.got); diff != "" {
				t.Errorf("agent saw (-want +got):\n%s", diff)
			}
		})
	}
}

// What the agent gets of streamed arguments is what hooks have judged: pieces that
// the assembly passed over don't reach it.
func TestStreamedArgumentsAsJudged(t *testing.T) {
	piece := func(s string) string { return said(`{"functionCall":{` + s + `}}`) }
	shown := ""
	a := newTalk(t, decide{hooks.BeforeTool: func(in hooks.Input) hooks.Decision {
		shown = field(in, "tool_input")
		return hooks.Decision{}
	}}, []string{
		piece(`"name":"rm","willContinue":true`),
		piece(`"partialArgs":[{"jsonPath":"$.a","stringValue":"x"},{"jsonPath":"$..path","stringValue":"/"}],"willContinue":true`),
		stop(`{"functionCall":{}}`)})
	a.send(user("go"))
	if diff := cmp.Diff(`{"role":"model","parts":[{"functionCall":{"name":"rm","args":`+shown+`}}]}`, a.last()); diff != "" || shown != `{"a":"x"}` {
		t.Errorf("hooks saw %s; agent saw (-want +got):\n%s", shown, diff)
	}
}

// What a tool gave beside its text is hidden with it: in the result, and behind it.
func TestHiddenResultTakesItsFilesAlong(t *testing.T) {
	picture := `{"inlineData":{"mimeType":"image/png","data":"c2VjcmV0"}}`
	a := newTalk(t, decide{hooks.AfterTool: func(in hooks.Input) hooks.Decision {
		return hooks.Decision{Deny: in.Match == "read", Reason: "no"}
	}},
		[]string{stop(call("1", "read", `{}`, ""), call("2", "show", `{}`, ""))}, []string{stop(text("ok"))})
	a.send(user("go"))
	a.send(results(
		`{"functionResponse":{"id":"1","name":"read","response":{"output":"x"},"parts":[`+picture+`]}}`, picture,
		`{"functionResponse":{"id":"2","name":"show","response":{"output":"y"}}}`, picture, text("see")))
	want := lines(user("go"), a.history[1],
		`{"parts":[{"functionResponse":{"id":"1","name":"read","response":{"error":"no"}}},{"functionResponse":{"id":"2","name":"show","response":{"output":"y"}}},`+picture+`,`+text("see")+`],"role":"user"}`)
	if diff := cmp.Diff(want, a.model.shown()); diff != "" {
		t.Errorf("model saw (-want +got):\n%s", diff)
	}
}
