package stream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// collect copies events, as their slices do not outlive an iteration. Tails are
// marked, so that tables can be written as strings.
func collect(r io.Reader, f Format, l Limits) (got []string, err error) {
	for ev, e := range Read(r, f, l) {
		if e != nil {
			return got, e
		}
		if ev.Tail {
			got = append(got, "TAIL "+string(ev.Raw))
		} else {
			got = append(got, string(ev.Data))
		}
	}
	return got, nil
}

var readCases = []struct {
	name string
	f    Format
	in   string
	want []string
	err  error
}{
	{name: "crlf", f: SSE, in: "data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\r\n\r\n", want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "lf", f: SSE, in: "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "cr", f: SSE, in: "data: {\"a\":1}\r\rdata: {\"a\":2}\r\r", want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "mixed line ends", f: SSE, in: "data: 1\r\n\ndata: 2\n\r\ndata: 3\r\rdata: 4\n\n", want: []string{"1", "2", "3", "4"}},
	{name: "no space", f: SSE, in: "data:{}\r\n\r\n", want: []string{"{}"}},
	{name: "only one space is framing", f: SSE, in: "data:  {}  \n\n", want: []string{"{}"}},
	{name: "several data lines", f: SSE, in: "data: {\"a\":\r\ndata: [1,\r\ndata:2]}\r\n\r\n", want: []string{`{"a": [1, 2]}`}},
	{name: "empty data line in the middle", f: SSE, in: "data: {\ndata\ndata:\ndata: }\n\n", want: []string{"{   }"}},
	{name: "comments and fields", f: SSE, in: ": ping\n\nevent: x\nid: 1\nretry: 5\ndata: {}\n: more\nid: 2\n\n:\n\n", want: []string{"{}"}},
	{name: "comment between data lines", f: SSE, in: "data: [1\n: c\ndata: ,2]\n\n", want: []string{"[1 ,2]"}},
	{name: "a field that starts like data", f: SSE, in: "database: x\n\ndata: 1\n\n", want: []string{"1"}},
	{name: "done marker", f: SSE, in: "data: {}\n\ndata: [DONE]\n\n", want: []string{"{}"}},
	{name: "empty data", f: SSE, in: "data:\n\ndata: {}\n\n", want: []string{"{}"}},
	{name: "extra blank lines", f: SSE, in: "\r\n\r\ndata: 1\r\n\r\n\r\n\r\ndata: 2\r\n\r\n\r\n", want: []string{"1", "2"}},
	{name: "no final blank line", f: SSE, in: "data: {\"a\":1}\r\n", want: []string{`{"a":1}`}},
	{name: "no final line end", f: SSE, in: "data: {\"a\":1}", want: []string{`{"a":1}`}},
	{name: "cut in a document", f: SSE, in: "data: 1\n\ndata: {\"a\":", want: []string{"1"}, err: io.ErrUnexpectedEOF},
	{name: "byte order mark", f: SSE, in: "\ufeffdata: 1\n\n", want: []string{"1"}},
	{name: "half a byte order mark", f: SSE, in: "\xef\xbb", want: nil},
	{name: "empty", f: SSE, in: "", want: nil},
	{name: "error tail", f: SSE, in: "data: 1\r\n\r\n{\n  \"error\": {\n    \"message\": \"}\\\"\"\n  }\n}\n", want: []string{"1", "TAIL {\n  \"error\": {\n    \"message\": \"}\\\"\"\n  }\n}\n"}},
	{name: "error tail without line end", f: SSE, in: "data: 1\n\n[{\"error\":1}]", want: []string{"1", "TAIL [{\"error\":1}]"}},
	{name: "error tail right behind data", f: SSE, in: "data: 1\n{\"error\":1}\n", want: []string{"1", "TAIL {\"error\":1}\n"}},
	{name: "events behind a tail", f: SSE, in: "data: 1\n\n {\"e\":1}\r\n\r\ndata: 2\n\n", want: []string{"1", "TAIL  {\"e\":1}\r\n", "2"}},
	{name: "cut tail", f: SSE, in: "data: 1\n\n{\"error\":", want: []string{"1", "TAIL {\"error\":"}, err: io.ErrUnexpectedEOF},
	{name: "object instead of events", f: SSE, in: "\n{\"error\":\n1}\n", want: []string{"{\"error\":\n1}"}},
	{name: "array instead of events", f: SSE, in: "[{\"a\":1}\n,\r\n{\"a\":2}\n]\n", want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "unicode line separators are text", f: SSE, in: "data: \"a\u2028b\u2029c\u0085d\"\n\n", want: []string{"\"a\u2028b\u2029c\u0085d\""}},

	{name: "google's array", f: Array, in: "[{\"a\":1}\n,\r\n{\"a\":2}\n]\n", want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "array on one line", f: Array, in: `[{"a":1},{"a":2}]`, want: []string{`{"a":1}`, `{"a":2}`}},
	{name: "brackets in strings", f: Array, in: `[{"a":"]},[{\"\\"},{"b":"\\\""}]`, want: []string{`{"a":"]},[{\"\\"}`, `{"b":"\\\""}`}},
	{name: "nested", f: Array, in: "[\n{\n\"a\": [1, {\"b\": []}]\n}\n]", want: []string{"{\n\"a\": [1, {\"b\": []}]\n}"}},
	{name: "scalars", f: Array, in: `[1 ,"a,]",null, -2.5e3,true]`, want: []string{"1", `"a,]"`, "null", "-2.5e3", "true"}},
	{name: "no elements", f: Array, in: " [ ] ", want: nil},
	{name: "comma before the end", f: Array, in: `[{},]`, want: []string{"{}"}},
	{name: "array with byte order mark", f: Array, in: "\ufeff[{}]", want: []string{"{}"}},
	{name: "object instead of array", f: Array, in: "{\"error\":\n{}}\n", want: []string{"{\"error\":\n{}}"}},
	{name: "array cut behind an element", f: Array, in: `[{"a":1}`, want: []string{`{"a":1}`}, err: io.ErrUnexpectedEOF},
	{name: "array cut behind a comma", f: Array, in: `[{"a":1},`, want: []string{`{"a":1}`}, err: io.ErrUnexpectedEOF},
	{name: "array cut in an element", f: Array, in: `[{"a":1},{"a`, want: []string{`{"a":1}`}, err: io.ErrUnexpectedEOF},
	{name: "array cut in a number", f: Array, in: `[1`, want: []string{"1"}, err: io.ErrUnexpectedEOF},
	{name: "empty body instead of array", f: Array, in: "", err: io.ErrUnexpectedEOF},
	{name: "text instead of array", f: Array, in: "data: {}", err: ErrSyntax},
	{name: "two arrays", f: Array, in: "[1][2]", want: []string{"1"}, err: ErrSyntax},
	{name: "no comma", f: Array, in: "[{}{}]", want: []string{"{}"}, err: ErrSyntax},
	{name: "two commas", f: Array, in: "[1,,2]", want: []string{"1"}, err: ErrSyntax},
	{name: "brace instead of bracket", f: Array, in: "[1,}", want: []string{"1"}, err: ErrSyntax},

	{name: "unary", f: Unary, in: "\ufeff\n{\"a\":\n1}\n", want: []string{"{\"a\":\n1}"}},
	{name: "unary empty", f: Unary, in: "", want: nil},
	{name: "unary that is no json", f: Unary, in: "<html>", want: []string{"<html>"}},
}

// pieces reads its strings one per Read.
type pieces []string

func (p *pieces) Read(b []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(b, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

func TestRead(t *testing.T) {
	for _, c := range readCases {
		t.Run(c.name, func(t *testing.T) {
			check := func(how string, r io.Reader) {
				t.Helper()
				got, err := collect(r, c.f, Limits{})
				if !errors.Is(err, c.err) {
					t.Errorf("%s: error %v, want %v", how, err, c.err)
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("%s (-want +got):\n%s", how, d)
				}
			}
			check("at once", strings.NewReader(c.in))
			check("byte by byte", iotest.OneByteReader(strings.NewReader(c.in)))
			check("data with the error", iotest.DataErrReader(strings.NewReader(c.in)))
			for i := range c.in {
				check(fmt.Sprintf("cut at %d", i), &pieces{c.in[:i], c.in[i:]})
			}
		})
	}
}

// An event must come out when its last byte has gone in: whoever waits for it
// may be what the next one waits for.
func TestReadPrompt(t *testing.T) {
	for _, c := range []struct {
		name string
		f    Format
		in   []string // the event must come out after each piece
	}{
		{"crlf", SSE, []string{"data: 1\r\n\r\n", "data: 2\r\n\r\n"}},
		{"crlf without its last byte", SSE, []string{"data: 1\r\n\r", "\ndata: 2\r\n\r"}},
		{"lf", SSE, []string{"data: 1\n\n", "data: 2\n\n"}},
		{"cr", SSE, []string{"data: 1\r\r", "data: 2\r\r"}},
		{"tail", SSE, []string{"data: 1\n\n", "{}\n"}},
		{"array", Array, []string{"[{}", ",{}", "\n,\r\n{}"}},
		{"object", Array, []string{"{}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			fed, seen := 0, 0
			r := readerFunc(func(b []byte) (int, error) {
				if fed != seen {
					t.Fatalf("read again after piece %d, %d events seen", fed, seen)
				}
				if fed == len(c.in) {
					return 0, errors.New("enough")
				}
				fed++
				return copy(b, c.in[fed-1]), nil
			})
			for range Read(r, c.f, Limits{}) {
				seen++
			}
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestReadError(t *testing.T) {
	broken := errors.New("connection reset")
	for _, f := range []Format{SSE, Array, Unary} {
		// A stream that breaks is not one that ends: what stands there
		// without its end is not handed out.
		in := map[Format]string{SSE: "data: 1\n\ndata: 2\n", Array: "[1,2", Unary: "{}"}[f]
		got, err := collect(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)), f, Limits{})
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want the reader's", f, err)
		}
		want := []string{"1"}
		if f == Unary {
			want = nil
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", f, d)
		}
	}
}

func TestReadStops(t *testing.T) {
	for _, c := range []struct {
		f  Format
		in string
	}{
		{SSE, "data: 1\n\ndata: 2\n\n"},
		{SSE, "[1,2]"},
		{SSE, "{}"},
		{SSE, "data: 1\n\n{}\n{}\n"},
		{SSE, "data: 1"},
		{Array, "[1,2]"},
		{Array, "{}"},
		{Unary, "{}"},
	} {
		n := 0
		for _, err := range Read(strings.NewReader(c.in), c.f, Limits{}) {
			if err != nil {
				t.Errorf("%s %q: %v", c.f, c.in, err)
			}
			n++
			break // going on would panic
		}
		if n != 1 {
			t.Errorf("%s %q: %d events", c.f, c.in, n)
		}
	}
}

func TestReadLimit(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, c := range []struct {
		name string
		f    Format
		in   string
	}{
		{"line", SSE, "data: 1\n\ndata: \"" + long + "\"\n\n"},
		{"lines", SSE, "data: 1\n\ndata: [\n" + strings.Repeat("data: 1,\n", 2000) + "data: 1]\n\n"},
		{"tail", SSE, "data: 1\n\n{\"" + long + "\":1}\n"},
		{"line end of a tail", SSE, "data: 1\n\n{}" + long},
		{"element", Array, "[1,\"" + long + "\"]"},
		{"unary", Unary, long},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := collect(strings.NewReader(c.in), c.f, Limits{Event: 5000})
			if !errors.Is(err, ErrEventTooLarge) {
				t.Errorf("error %v, want %v", err, ErrEventTooLarge)
			}
		})
	}
	// Comments and blank lines add up to nothing.
	in := strings.Repeat(": "+long[:1000]+"\n\n", 100) + "data: 1\n\n"
	got, err := collect(strings.NewReader(in), SSE, Limits{Event: 5000})
	if err != nil || len(got) != 1 {
		t.Errorf("stream with many comments: %v, %v", got, err)
	}
}

// Every recorded stream gives valid JSON, the same for other cuts.
func TestReadCorpus(t *testing.T) {
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: recorded streams are not read")
	}
	index, err := os.ReadFile(filepath.Join(shared, "corpus", "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for line := range strings.Lines(string(index)) {
		cols := strings.Split(line, "\t")
		f := map[string]Format{"stream-response": SSE, "stream-error": SSE, "json-array-stream": Array, "unary-response": Unary}[cols[3]]
		if f == "" {
			continue
		}
		in, err := os.ReadFile(filepath.Join(shared, "corpus", cols[0]))
		if err != nil {
			t.Fatal(err)
		}
		read++
		want, err := collect(bytes.NewReader(in), f, Limits{})
		if err != nil {
			t.Errorf("%s: %v", cols[0], err)
			continue
		}
		if len(want) == 0 && len(in) > 0 {
			t.Errorf("%s: no events", cols[0])
		}
		for i, doc := range want {
			if f != Unary && !strings.HasPrefix(doc, "TAIL ") && !json.Valid([]byte(doc)) {
				t.Errorf("%s: event %d is no JSON: %.80q", cols[0], i, doc)
			}
		}
		if len(in) > 100_000 {
			continue
		}
		got, err := collect(iotest.OneByteReader(bytes.NewReader(in)), f, Limits{})
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s byte by byte: %v\n%s", cols[0], err, d)
		}
	}
	t.Logf("%d files", read)
}

func FuzzRead(f *testing.F) {
	for _, c := range readCases {
		for i, format := range []Format{SSE, Array, Unary} {
			if format == c.f {
				f.Add(byte(i), []byte(c.in))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, in []byte) {
		format := []Format{SSE, Array, Unary}[int(which)%3]
		want, werr := collect(bytes.NewReader(in), format, Limits{Event: 1 << 10})
		got, gerr := collect(iotest.OneByteReader(bytes.NewReader(in)), format, Limits{Event: 1 << 10})
		if errors.Is(werr, ErrEventTooLarge) || errors.Is(gerr, ErrEventTooLarge) {
			return // where exactly the limit strikes depends on the cuts
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("events depend on the cuts (-at once +byte by byte):\n%s", d)
		}
		if (werr == nil) != (gerr == nil) {
			t.Fatalf("errors depend on the cuts: %v and %v", werr, gerr)
		}
		// What was read and written again reads the same.
		if format == Unary || werr != nil {
			return
		}
		var out bytes.Buffer
		w := NewWriter(&out, format)
		var docs []string
		for _, doc := range want {
			if strings.HasPrefix(doc, "TAIL ") || !json.Valid([]byte(doc)) {
				return
			}
			docs = append(docs, doc)
			if err := w.WriteEvent([]byte(doc)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := collect(&out, format, Limits{})
		if err != nil || len(again) != len(docs) {
			t.Fatalf("%d events became %d: %v", len(docs), len(again), err)
		}
		for i := range docs {
			if canon(t, docs[i]) != canon(t, again[i]) {
				t.Fatalf("event %d: %q became %q", i, docs[i], again[i])
			}
		}
	})
}

func canon(t *testing.T, doc string) string {
	d := json.NewDecoder(strings.NewReader(doc))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%q: %v", doc, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func BenchmarkReadSSE(b *testing.B) {
	one := "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"" + strings.Repeat("word ", 20) + "\"}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n"
	in := []byte(strings.Repeat(one, 1000))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range Read(bytes.NewReader(in), SSE, Limits{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 1000 {
			b.Fatal(n)
		}
	}
}
