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
	"slices"
	"strings"
	"sync"

	"github.com/hookline-proxy/hookline/proxy"
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

// Tally counts. Its Observe reads along with upstream answers; it is safe for
// concurrent use.
type Tally struct {
	open sync.WaitGroup // answers that are still being read along

	mu sync.Mutex
	c  Counts // guarded by mu
}

// New makes a Tally.
func New() *Tally {
	return &Tally{c: Counts{Tools: map[string]int{}}}
}

// Counts waits for the answers whose bodies were closed or read to the end, and
// gives the counts. Call it when no call is under way.
func (t *Tally) Counts() Counts {
	t.open.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.c
}

// Observe is what [proxy.Options.Observe] wants: it counts an answer, and reads
// along if it is one to a model call.
func (t *Tally) Observe(o proxy.Observed) io.WriteCloser {
	if !strings.HasSuffix(o.Path, "enerateContent") {
		return nil
	}
	failed := o.Status >= 400
	t.mu.Lock()
	t.c.Calls++
	if failed {
		t.c.Errors++
	}
	t.mu.Unlock()
	if failed {
		return nil
	}
	pr, pw := io.Pipe()
	t.open.Add(1)
	go func() { // ends when the writer is closed
		defer t.open.Done()
		t.read(o, pr)
		// What was not understood is let through: the caller must not wait.
		_, _ = io.Copy(io.Discard, pr)
	}()
	return pw
}

// read counts the events of one answer.
func (t *Tally) read(o proxy.Observed, body io.Reader) {
	format := stream.Array // which takes a single object, too
	if strings.HasPrefix(o.ContentType, "text/event-stream") {
		format = stream.SSE
	}
	switch o.ContentEncoding {
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
