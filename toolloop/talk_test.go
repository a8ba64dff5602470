package toolloop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// fires is a hooks.Firer made of functions.
type fires struct {
	on map[hooks.Event]func(in hooks.Input) hooks.Decision

	mu  sync.Mutex
	log []string
}

func (f *fires) Has(ev hooks.Event) bool               { return f.on[ev] != nil }
func (f *fires) Matches(ev hooks.Event, _ string) bool { return f.on[ev] != nil }
func (f *fires) Window() hooks.Window                  { return hooks.WindowChunk }

func (f *fires) Fire(_ context.Context, in hooks.Input) hooks.Decision {
	f.mu.Lock()
	defer f.mu.Unlock()
	line := string(in.Event)
	if in.Match != "" {
		line += " " + in.Match
	}
	f.log = append(f.log, line)
	d := f.on[in.Event](in)
	d.Fired = true
	return d
}

func field(in hooks.Input, key string) string {
	for _, f := range in.Fields {
		if f.Key == key {
			return string(f.Value)
		}
	}
	return ""
}

// model is an upstream that answers from a script, one entry per request.
type model struct {
	t        *testing.T
	answers  [][]string // documents
	requests [][]json.RawMessage
	bodies   []string
}

func (m *model) Generate(_ context.Context, _ string, body []byte) (*toolloop.Reply, error) {
	m.t.Helper()
	var b struct{ Contents []json.RawMessage }
	if err := json.Unmarshal(body, &b); err != nil {
		m.t.Errorf("upstream got no JSON: %v", err)
	}
	m.requests = append(m.requests, b.Contents)
	m.bodies = append(m.bodies, string(body))
	if len(m.answers) == 0 {
		return nil, errors.New("the script has no more answers")
	}
	docs := m.answers[0]
	m.answers = m.answers[1:]
	return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
		for _, d := range docs {
			if !yield(stream.Event{Data: []byte(d)}, nil) {
				return
			}
		}
	}}, nil
}

// shown is the newest history that the model was shown, one line a content.
func (m *model) shown() string {
	var s strings.Builder
	for _, c := range m.requests[len(m.requests)-1] {
		s.Write(c)
		s.WriteByte('\n')
	}
	return s.String()
}

// talk is an agent: it keeps the history as it was sent it.
type talk struct {
	t       *testing.T
	loop    *toolloop.Loop
	model   *model
	hooks   *fires
	history []string
	session string
	foldEnd bool
	agent   string
	system  string
	got     []string // documents of the newest answer
	n       int
}

func newTalk(t *testing.T, on map[hooks.Event]func(hooks.Input) hooks.Decision, answers ...[]string) *talk {
	f := &fires{on: on}
	mem := store.NewMemory(store.MemoryOptions{})
	return &talk{t: t, hooks: f, model: &model{t: t, answers: answers}, session: "s1",
		loop: toolloop.New(toolloop.Options{Hooks: f, Store: mem, Cwd: "/app"})}
}

func (a *talk) Start(*toolloop.Reply) error   { return nil }
func (a *talk) Forward(*toolloop.Reply) error { return errors.New("forwarded") }
func (a *talk) Tail(raw []byte) error         { return fmt.Errorf("tail %s", raw) }
func (a *talk) Event(doc []byte) error {
	a.got = append(a.got, string(doc))
	return nil
}

// send sends the history with one more content and takes in the answer.
func (a *talk) send(content string) {
	a.t.Helper()
	a.history = append(a.history, content)
	if err := a.again(); err != nil {
		a.t.Fatalf("run: %v", err)
	}
	var parts []string
	for _, d := range a.got {
		var c struct {
			Candidates []struct {
				Content struct{ Parts []json.RawMessage }
			}
		}
		if err := json.Unmarshal([]byte(d), &c); err != nil {
			a.t.Fatalf("agent got %s: %v", d, err)
		}
		for _, p := range c.Candidates[0].Content.Parts {
			parts = append(parts, string(p))
		}
	}
	a.history = append(a.history, `{"role":"model","parts":[`+strings.Join(parts, ",")+`]}`)
}

func (a *talk) again() error { return a.run(a.model) }

func (a *talk) run(up toolloop.Upstream) error {
	a.got = nil
	a.n++
	body := `{"contents":[` + strings.Join(a.history, ",") + `]}`
	if a.system != "" {
		body = `{"systemInstruction":{"parts":[` + a.system + `]},` + body[1:]
	}
	return a.loop.Run(context.Background(), toolloop.Call{ID: fmt.Sprint("r", a.n), Tenant: "t", Session: a.session, SessionExplicit: true,
		Wire: gemini.Wire{}, Body: []byte(body), Model: "gemini-2.5-flash", Agent: a.agent, Stream: true, FoldEnd: a.foldEnd, Upstream: up}, a)
}

// last is the agent's view of the newest answer.
func (a *talk) last() string { return a.history[len(a.history)-1] }

func user(text string) string { return `{"role":"user","parts":[{"text":"` + text + `"}]}` }

func said(parts ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"}}]}`
}

func stop(parts ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`
}

func text(s string) string { return `{"text":"` + s + `"}` }

func call(id, name, args, sig string) string {
	p := `{"functionCall":{"name":"` + name + `","args":` + args + `,"id":"` + id + `"}`
	if sig != "" {
		p += `,"thoughtSignature":"` + sig + `"`
	}
	return p + `}`
}

func result(id, name, response string) string {
	return `{"functionResponse":{"name":"` + name + `","response":` + response + `,"id":"` + id + `"}}`
}

func results(rs ...string) string {
	return `{"role":"user","parts":[` + strings.Join(rs, ",") + `]}`
}
