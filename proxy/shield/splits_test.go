package shield

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// allSplits cuts all shared cases in all ways, which takes minutes; without it
// a sample is cut.
var allSplits = flag.Bool("all-splits", false, "cut the text of every shared detection case in every way")

// sampleEvery is the share of the cases that is cut without -all-splits.
const sampleEvery = 120

// sharedTexts are the texts of the shared detection cases.
func sharedTexts(t *testing.T, seed string) (texts []string) {
	t.Helper()
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: the detection cases stand there")
	}
	lines, err := os.ReadFile(filepath.Join(shared, "pii", "presidio_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := exec.Command("python3", filepath.Join(shared, "pii", "gen_secrets.py"), seed).Output()
	if err != nil {
		t.Logf("no secrets: %v", err)
	}
	for line := range bytes.Lines(append(lines, secrets...)) {
		var c struct{ Text string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, c.Text)
	}
	return texts
}

// splitLane writes texts as events of one lane of an answer.
type splitLane struct {
	kind   gemini.LeafKind
	before string // an event before the pieces
	event  func(piece string, last bool) string
	after  []string // events behind them
}

var splitLanes = []splitLane{
	{
		kind:  gemini.LeafText,
		event: func(s string, _ bool) string { return says(s) },
		after: []string{stop},
	},
	{
		kind: gemini.LeafThought,
		event: func(s string, _ bool) string {
			return `{"candidates":[{"content":{"parts":[{"thought":true,"text":` + q(s) + `}],"role":"model"}}]}`
		},
		after: []string{says("done"), stop},
	},
	{
		kind:   gemini.LeafPartial,
		before: `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}`,
		event: func(s string, last bool) string {
			return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":%s,"willContinue":%v}],"willContinue":true}}]}}]}`, q(s), !last)
		},
		after: []string{`{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}`},
	},
}

// sse frames an answer whose text comes in pieces.
func (l splitLane) sse(t *testing.T, pieces []string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := stream.NewWriter(&b, stream.SSE)
	events := []string{l.before}
	for i, p := range pieces {
		events = append(events, l.event(p, i == len(pieces)-1))
	}
	for _, e := range append(events, l.after...) {
		if e == "" {
			continue
		}
		if err := w.WriteEvent([]byte(e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// wire is a model that answers with bytes, which arrive some at a time.
type wire struct {
	b    []byte
	size int // bytes of each read
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), w.size)], w.b)
	w.b = w.b[n:]
	return n, nil
}

// framed is an agent that is sent bytes.
type framed struct {
	agent
	w *stream.Writer
}

func (f *framed) Event(p []byte) error { return f.w.WriteEvent(p) }

// through takes a framed answer through both borders. It returns what hooks
// read, and what the agent reads after framing and parsing.
func (l splitLane) through(t *testing.T, c *Call, body []byte, size int) (between, got string) {
	t.Helper()
	var w gemini.Wire
	up := &wire{body, size}
	reply, err := c.Upstream(reads{up}, w, false).Generate(t.Context(), "m", c.sent)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	sink := c.Sink(&framed{w: stream.NewWriter(&out, stream.SSE)}, w, false)
	var seen []string
	for ev, err := range reply.Events {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(ev.Data))
		if err := sink.Event(ev.Data); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Finish(); err != nil {
		t.Fatal(err)
	}
	var docs []string
	for ev, err := range stream.Read(&wire{out.Bytes(), size}, stream.SSE, stream.Limits{}) {
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(ev.Data))
	}
	return texts(seen, l.kind), texts(docs, l.kind)
}

// reads is an upstream that reads its answer from the wire.
type reads struct{ r io.Reader }

func (u reads) Generate(context.Context, string, []byte) (*toolloop.Reply, error) {
	return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: stream.Read(u.r, stream.SSE, stream.Limits{})}, nil
}

// chunkings calls f with every cut of a text in two, with its characters one by
// one, and with some random cuts in 3 to 8.
func chunkings(text string, rnd *rand.Rand, f func([]string)) {
	var at []int // where characters begin
	var single []string
	for i, r := range text {
		if i > 0 {
			at = append(at, i)
		}
		single = append(single, text[i:i+max(1, utf8.RuneLen(r))])
	}
	for _, i := range at {
		f([]string{text[:i], text[i:]})
	}
	if len(single) > 2 {
		f(single)
	}
	for n := 3; n <= 8 && n-1 <= len(at); n++ {
		cuts := rnd.Perm(len(at))[:n-1]
		slices.Sort(cuts)
		var pieces []string
		from := 0
		for _, k := range cuts {
			pieces = append(pieces, text[from:at[k]])
			from = at[k]
		}
		f(append(pieces, text[from:]))
	}
}

// TestAllSplits: however the model's words are cut into events, and those into
// reads, hooks and agent read what they read of the words in one piece.
func TestAllSplits(t *testing.T) {
	var list []string
	for i, text := range sharedTexts(t, "20261130") {
		if text == "" || !*allSplits && i%sampleEvery != 0 {
			continue
		}
		// In a document or a sentence, other things wait than in a text by itself.
		list = append(list, text, `{"k":`+q(text)+`}`, `See ("`+text+`") or so, é«`+text+"»— all.")
	}
	s := both(t, redact.Options{Entities: []string{"all"}})
	e := s.o.Rules[0].Redactor.engine
	for _, l := range splitLanes {
		t.Run(string(l.kind), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(4, 8))
			cases, found, cut, differ, leaks := 0, 0, 0, 0, 0
			for _, text := range list {
				cases++
				c := s.Call("r", "tenant", "session")
				if _, err := c.Request(gemini.Wire{}, "m", []byte(`{"contents":[`+user("hello")+`]}`)); err != nil {
					t.Fatal(err)
				}
				want, _ := l.through(t, c, l.sse(t, []string{text}), 1<<16)
				var values []string
				for _, sp := range e.Spans([]byte(text)) {
					if v := text[sp.Start:sp.End]; !strings.Contains(want, v) {
						values = append(values, v)
					}
				}
				found += len(values)
				chunkings(text, rnd, func(pieces []string) {
					cut++
					between, got := l.through(t, c, l.sse(t, pieces), 1+cut%97)
					if between != want || got != want {
						if differ++; differ < 10 {
							t.Errorf("%q: hooks read %q, the agent %q, want %q", pieces, between, got, want)
						}
					}
					for _, v := range values {
						if strings.Contains(between, v) || strings.Contains(got, v) {
							leaks++
							t.Errorf("%q: %q comes through", pieces, v)
						}
					}
				})
			}
			t.Logf("%d texts with %d values, %d chunkings: %d differ, %d leaks", cases, found, cut, differ, leaks)
		})
	}
}
