package toolloop

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// rewriter is a BeforeTool hook that rewrites some calls.
type rewriter struct{}

func (rewriter) Has(ev hooks.Event) bool               { return ev == hooks.BeforeTool }
func (rewriter) Matches(ev hooks.Event, _ string) bool { return ev == hooks.BeforeTool }
func (rewriter) Window() hooks.Window                  { return hooks.WindowChunk }
func (rewriter) Fire(_ context.Context, in hooks.Input) hooks.Decision {
	if in.Match == "rewritten" {
		return hooks.Decision{ToolInput: []byte(`{"file":"/elsewhere"}`)}
	}
	return hooks.Decision{}
}

// said is an upstream and an agent of one answer.
type said struct {
	doc  string
	sent []byte
}

func (s *said) Generate(context.Context, string, []byte) (*Reply, error) {
	return &Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
		yield(stream.Event{Data: []byte(s.doc)}, nil)
	}}, nil
}
func (s *said) Start(*Reply) error     { return nil }
func (s *said) Forward(*Reply) error   { return nil }
func (s *said) Tail([]byte) error      { return nil }
func (s *said) Event(doc []byte) error { s.sent = bytes.Clone(doc); return nil }

// longHistory is a conversation of 200 tool exchanges, 60 of them rewritten, with
// the ledger that it has left.
func longHistory(tb testing.TB) (*Loop, []byte) {
	d := rand.New(rand.NewPCG(1, 2))
	l := New(Options{Hooks: rewriter{}, Store: store.NewMemory(store.MemoryOptions{})})
	contents := []string{`{"role":"user","parts":[{"text":"Please clean up."}]}`}
	for i := range 200 {
		name := "read"
		if i%10 < 3 {
			name = "rewritten"
		}
		s := &said{doc: fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Looking at file %d."},{"functionCall":{"name":"%s","args":{"file":"/src/%d.go","limit":100},"id":"call-%d"},"thoughtSignature":"%064x"}]},"finishReason":"STOP"}]}`, i, name, i, i, i)}
		c := Call{ID: fmt.Sprint(i), Tenant: "t", Session: "s", Wire: gemini.Wire{}, Model: "m", Stream: true, Upstream: s,
			Body: []byte(`{"contents":[` + contents[len(contents)-1] + `]}`)}
		if err := l.Run(context.Background(), c, s); err != nil {
			tb.Fatal(err)
		}
		var text strings.Builder
		for text.Len() < 19_700 {
			fmt.Fprintf(&text, `func f%d(a, b int) error {\n\treturn fmt.Errorf(\"%x\")\n}\n`, d.IntN(1000), d.Uint64())
		}
		contents = append(contents, gjson.GetBytes(s.sent, "candidates.0.content").Raw,
			fmt.Sprintf(`{"role":"user","parts":[{"functionResponse":{"id":"call-%d","name":"%s","response":{"output":"%s"}}}]}`, i, name, text.String()))
	}
	return l, []byte(`{"contents":[` + strings.Join(contents, ",") + `]}`)
}

var sink int

// BenchmarkToModel turns a history of 4 MB into the model's. Its yardstick is to
// read the body once with gjson.Valid and to copy it once: the ratio is reported.
func BenchmarkToModel(b *testing.B) {
	l, body := longHistory(b)
	b.SetBytes(int64(len(body)))
	var yard, work time.Duration
	for b.Loop() {
		t0 := time.Now()
		if !gjson.ValidBytes(body) {
			b.Fatal("not valid")
		}
		sink += len(bytes.Clone(body))
		t1 := time.Now()
		sink += len(toModelBody(b, l, body))
		work += time.Since(t1)
		yard += t1.Sub(t0)
	}
	b.ReportMetric(float64(work)/float64(yard), "ratio")
	b.ReportMetric(float64(yard.Microseconds())/float64(b.N), "yard-µs")
	b.ReportMetric(float64(work.Microseconds())/float64(b.N), "toModel-µs")
}

// toModelBody is the way of a request's body up to the model, hooks aside.
func toModelBody(tb testing.TB, l *Loop, body []byte) []byte {
	c := Call{ID: "x", Tenant: "t", Session: "s", Wire: gemini.Wire{}, Model: "m", Body: body}
	req, err := c.Wire.ParseRequest(body, c.Model)
	if err != nil {
		tb.Fatal(err)
	}
	h, err := l.toModel(context.Background(), &c, req, true)
	if err != nil {
		tb.Fatal(err)
	}
	if !h.changed {
		return body
	}
	if req, err = c.Wire.WithTurns(req, h.out); err != nil {
		tb.Fatal(err)
	}
	return req.Raw
}
