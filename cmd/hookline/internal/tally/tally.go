// Package tally counts what an agent's model calls cost: calls, tool calls,
// tokens. It reads along with upstream answers and changes nothing in them, so
// it sees what the model was really asked, whatever hooks make of it.
//
// Invariants: the bytes that a caller reads are those of the upstream; an answer
// that cannot be understood is counted as a call and nothing else.
package tally

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/hookline-proxy/hookline/stream"
	"github.com/tidwall/gjson"
)

// Counts is what was counted so far.
type Counts struct {
	Calls  int            // model calls that were answered, errors too
	Errors int            // of these, answers with a status of 400 and up
	Tools  map[string]int // function calls of the model by tool
	Input  int64          // prompt tokens
	Output int64          // answer and thought tokens
}

// Tally counts. Use it as the transport of upstream calls; it is safe for
// concurrent use.
type Tally struct {
	next http.RoundTripper
	open sync.WaitGroup // answers that are still being read along

	mu sync.Mutex
	c  Counts // guarded by mu
}

// New makes a Tally that sends through next.
func New(next http.RoundTripper) *Tally {
	return &Tally{next: next, c: Counts{Tools: map[string]int{}}}
}

// Counts waits for the answers whose bodies were closed or read to the end, and
// gives the counts. Call it when no call is under way.
func (t *Tally) Counts() Counts {
	t.open.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.c
}

// RoundTrip sends the request on, and reads along if it is a model call.
func (t *Tally) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	path := r.URL.Path
	if r.URL.Opaque != "" { // a target that must keep its spelling stands there
		path = r.URL.Opaque
	}
	if err != nil || !strings.HasSuffix(path, "enerateContent") {
		return res, err
	}
	failed := res.StatusCode >= 400
	t.mu.Lock()
	t.c.Calls++
	if failed {
		t.c.Errors++
	}
	t.mu.Unlock()
	if failed || res.Body == nil {
		return res, nil
	}
	pr, pw := io.Pipe()
	t.open.Add(1)
	go func() { // ends when the body is read to its end or closed
		defer t.open.Done()
		t.read(res.Header, pr)
		// What was not understood is let through: the caller must not wait.
		_, _ = io.Copy(io.Discard, pr)
	}()
	res.Body = &along{body: res.Body, tee: pw}
	return res, nil
}

// read counts the events of one answer.
func (t *Tally) read(h http.Header, body io.Reader) {
	format := stream.Array // which takes a single object, too
	if strings.HasPrefix(h.Get("Content-Type"), "text/event-stream") {
		format = stream.SSE
	}
	switch h.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(body)
		if err != nil {
			return
		}
		body = z
	default:
		return
	}
	var input, output int64
	tools := map[string]int{}
	for ev, err := range stream.Read(body, format, stream.Limits{}) {
		if err != nil {
			break
		}
		doc := gjson.ParseBytes(ev.Data)
		if r := doc.Get("response"); r.IsObject() { // Code Assist's envelope
			doc = r
		}
		for _, call := range doc.Get("candidates.#.content.parts.#.functionCall.name|@flatten").Array() {
			if call.String() != "" { // later pieces of streamed arguments have none
				tools[call.String()]++
			}
		}
		// Each event's numbers are those of the whole answer so far.
		if u := doc.Get("usageMetadata"); u.IsObject() {
			input = max(input, u.Get("promptTokenCount").Int()+u.Get("toolUsePromptTokenCount").Int())
			output = max(output, u.Get("candidatesTokenCount").Int()+u.Get("thoughtsTokenCount").Int())
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.c.Input += input
	t.c.Output += output
	for name, n := range tools {
		t.c.Tools[name] += n
	}
}

// along copies what is read of body to tee.
type along struct {
	body io.ReadCloser
	tee  *io.PipeWriter
}

func (a *along) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		// The reader of the pipe reads to the end, whatever it finds.
		_, _ = a.tee.Write(p[:n])
	}
	if err != nil {
		a.tee.CloseWithError(err)
	}
	return n, err
}

func (a *along) Close() error {
	err := a.body.Close()
	a.tee.Close()
	return err
}

// String is the summary for people, in one or two lines without a line end.
func (c Counts) String() string {
	var b strings.Builder
	b.WriteString(plural(c.Calls, "model call"))
	if c.Errors > 0 {
		fmt.Fprintf(&b, " (%d failed)", c.Errors)
	}
	type tool struct {
		name string
		n    int
	}
	var tools []tool
	total := 0
	for name, n := range c.Tools {
		tools = append(tools, tool{name, n})
		total += n
	}
	// The most used first, and at most five, so that it stays one line.
	slices.SortFunc(tools, func(a, b tool) int { return cmp.Or(b.n-a.n, cmp.Compare(a.name, b.name)) })
	b.WriteString(", " + plural(total, "tool call"))
	for i, t := range tools {
		switch {
		case i == 0:
			b.WriteString(" (")
		case i == 5:
			fmt.Fprintf(&b, ", and %d more", len(tools)-i)
		default:
			b.WriteString(", ")
		}
		if i == 5 {
			break
		}
		fmt.Fprintf(&b, "%s %d", t.name, t.n)
	}
	if len(tools) > 0 {
		b.WriteString(")")
	}
	fmt.Fprintf(&b, ", %d tokens in, %d out", c.Input, c.Output)
	return b.String()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
