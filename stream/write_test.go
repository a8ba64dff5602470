package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// calls records each Write.
type calls []string

func (c *calls) Write(b []byte) (int, error) {
	*c = append(*c, string(b))
	return len(b), nil
}

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Format
		docs []string
		tail string
		want calls
	}{
		{name: "sse", f: SSE, docs: []string{`{"a": 1}`, `{}`}, want: calls{"data: {\"a\": 1}\r\n\r\n", "data: {}\r\n\r\n"}},
		{name: "sse without events", f: SSE, want: nil},
		{name: "sse of pretty JSON", f: SSE, docs: []string{"{\r\n\t\"a\": 1\n}"}, want: calls{"data: {  \t\"a\": 1 }\r\n\r\n"}},
		{name: "sse with separators", f: SSE, docs: []string{"\"a\u2028b\u2029c\u0085d\u009f\x7f\x0b\""}, want: calls{`data: "a\u2028b\u2029c\u0085d\u009f\u007f\u000b"` + "\r\n\r\n"}},
		{name: "sse with their neighbours", f: SSE, docs: []string{"\"\u2027\u202a\u00a0é…日本😀\xc2\""}, want: calls{"data: \"\u2027\u202a\u00a0é…日本😀\xc2\"\r\n\r\n"}},
		{name: "sse with a tail", f: SSE, docs: []string{"1"}, tail: "{\n\"error\": 1\n}\n", want: calls{"data: 1\r\n\r\n", "{\n\"error\": 1\n}\n"}},
		{name: "array", f: Array, docs: []string{"{\n\"a\": 1}", `{}`, `{}`}, want: calls{"[{\n\"a\": 1}", "\n,\r\n{}", "\n,\r\n{}", "\n]\n"}},
		{name: "array without elements", f: Array, want: calls{"[]\n"}},
		{name: "array with a tail", f: Array, docs: []string{"1"}, tail: "x", want: calls{"[1", "x"}},
		{name: "unary", f: Unary, docs: []string{"{\n}"}, want: calls{"{\n}"}},
		{name: "nothing at all", f: Unary, docs: []string{""}, want: nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got calls
			w := NewWriter(&got, c.f)
			for _, d := range c.docs {
				if err := w.WriteEvent([]byte(d)); err != nil {
					t.Fatal(err)
				}
			}
			if c.tail != "" {
				if err := w.WriteTail([]byte(c.tail)); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("writes (-want +got):\n%s", d)
			}
		})
	}
}

func TestWriterError(t *testing.T) {
	gone := errors.New("gone")
	w := NewWriter(writerFunc(func([]byte) (int, error) { return 0, gone }), Array)
	if err := w.WriteEvent([]byte("{}")); !errors.Is(err, gone) {
		t.Errorf("WriteEvent: %v", err)
	}
	if err := w.WriteTail([]byte("{}")); !errors.Is(err, gone) {
		t.Errorf("WriteTail: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Whatever is in a document, it takes one line and means the same.
func FuzzWriteSSE(f *testing.F) {
	f.Add([]byte("{\n\"a\": \"\u2028\u0085\"\r\n}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var out bytes.Buffer
		if err := NewWriter(&out, SSE).WriteEvent(doc); err != nil {
			t.Fatal(err)
		}
		line, ok := strings.CutSuffix(out.String(), "\r\n\r\n")
		if !ok || strings.ContainsAny(line, "\r\n\u2028\u2029\u0085\x0b\x0c\x1c\x1d\x1e") {
			t.Fatalf("more than a line: %q", out.String())
		}
		if json.Valid(doc) {
			if got := canon(t, strings.TrimPrefix(line, "data: ")); got != canon(t, string(doc)) {
				t.Fatalf("%q became %q", doc, got)
			}
		}
	})
}

func BenchmarkWriteSSE(b *testing.B) {
	doc := []byte(`{"candidates": [{"content": {"parts": [{"text": "` + strings.Repeat("word ", 20) + `"}],"role": "model"},"index": 0}]}`)
	w := NewWriter(writerFunc(func(p []byte) (int, error) { return len(p), nil }), SSE)
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.WriteEvent(doc); err != nil {
			b.Fatal(err)
		}
	}
}
