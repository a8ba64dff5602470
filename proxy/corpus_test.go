package proxy

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
)

// recording is a recorded answer.
type recording struct {
	name   string
	status int
	typ    string
	target string
	format stream.Format
	body   []byte
}

// recordings reads the corpus, and skips the test where it is not at hand.
func recordings(t *testing.T) (all []recording) {
	t.Helper()
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: recorded answers are not served")
	}
	index, err := os.ReadFile(filepath.Join(shared, "corpus", "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(index)) {
		cols := strings.Split(line, "\t")
		r := recording{name: cols[0], status: 200, typ: "application/json; charset=UTF-8", target: unaryTarget, format: stream.Unary}
		switch cols[3] {
		case "stream-response", "stream-error":
			r.typ, r.target, r.format = "text/event-stream", streamTarget, stream.SSE
		case "json-array-stream":
			r.target, r.format = arrayTarget, stream.Array
		case "unary-response":
		case "unary-error":
			r.status = 400
		default:
			continue
		}
		if strings.HasSuffix(r.name, ".html") {
			r.typ, r.status = "text/html", 404
		}
		if r.body, err = os.ReadFile(filepath.Join(shared, "corpus", r.name)); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) < 100 {
		t.Fatalf("only %d recordings", len(all))
	}
	return all
}

// inPieces frames a body in chunks of uneven sizes.
func (r recording) inPieces() string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d X\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", r.status, r.typ)
	rest := r.body
	for size := 1; len(rest) > 0; size = (size*7 + 3) % 4099 {
		n := min(max(size, 1), len(rest))
		fmt.Fprintf(&b, "%x\r\n%s\r\n", n, rest[:n])
		rest = rest[n:]
	}
	return b.String() + "0\r\n\r\n"
}

// serveRecordings is an upstream that plays the recording named in the request.
func serveRecordings(t *testing.T, all []recording) string {
	t.Helper()
	byName := map[string]recording{}
	for _, r := range all {
		byName[r.name] = r
	}
	return upstream(t, func(conn net.Conn, req rawRequest) error {
		r, ok := byName[req.header("X-Play")[0]]
		if !ok {
			return io.EOF
		}
		_, err := io.WriteString(conn, r.inPieces())
		return err
	})
}

func (r recording) request() string {
	return strings.Replace(post(r.target, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`), "Host:", "X-Play: "+r.name+"\r\nHost:", 1)
}

// Without hooks every recorded answer arrives as it was sent.
func TestCorpusUntouched(t *testing.T) {
	all := recordings(t)
	addr := start(t, Options{Upstream: Upstreams{Gemini: serveRecordings(t, all)}})
	conn, r := dial(t, addr)
	for _, rec := range all {
		send(t, conn, rec.request())
		m, err := readRaw(r)
		if err != nil {
			t.Fatalf("%s: %v", rec.name, err)
		}
		if !strings.HasPrefix(m.head, fmt.Sprintf("HTTP/1.1 %d X\r\n", rec.status)) || m.header("Content-Type")[0] != rec.typ {
			t.Errorf("%s: header %q", rec.name, m.head)
		}
		if !bytes.Equal(m.body, rec.body) {
			t.Errorf("%s: %d bytes became %d others", rec.name, len(rec.body), len(m.body))
		}
	}
}

// With a hook on every event that has nothing to say, the same JSON arrives,
// event by event.
func TestCorpusHooked(t *testing.T) {
	all := recordings(t)
	quiet := hooks.HandlerFunc(func(context.Context, *hooks.Hook, []byte, hooks.Env) hooks.Result {
		return hooks.Result{Stdout: []byte("{}")}
	})
	defs := map[hooks.Event][]hooks.Definition{}
	for _, ev := range hooks.Events() {
		defs[ev] = []hooks.Definition{{Hooks: []hooks.Hook{{Name: "quiet", Type: "quiet", Command: "quiet"}}}}
	}
	set, err := hooks.New(hooks.Options{Definitions: defs, Handlers: map[string]hooks.Handler{"quiet": quiet}})
	if err != nil {
		t.Fatal(err)
	}
	loop := toolloop.New(toolloop.Options{Hooks: set, Cwd: t.TempDir()})
	addr := start(t, Options{Upstream: Upstreams{Gemini: serveRecordings(t, all)}, Runner: loop})
	for _, rec := range all {
		conn, r := dial(t, addr)
		send(t, conn, rec.request())
		m, err := readRaw(r)
		if err != nil {
			t.Errorf("%s: %v", rec.name, err)
			continue
		}
		if !strings.HasPrefix(m.head, fmt.Sprintf("HTTP/1.1 %d ", rec.status)) {
			t.Errorf("%s: header %q", rec.name, m.head)
		}
		if rec.status != 200 {
			if !bytes.Equal(m.body, rec.body) {
				t.Errorf("%s: the error changed to %q", rec.name, m.body)
			}
			continue
		}
		if d := cmp.Diff(documents(t, rec, rec.body), documents(t, rec, m.body)); d != "" {
			t.Errorf("%s (-sent +arrived):\n%s", rec.name, d)
		}
	}
}

// documents are the events of a body, each in a canonical form.
func documents(t *testing.T, rec recording, body []byte) (docs []string) {
	t.Helper()
	for ev, err := range stream.Read(bufio.NewReader(bytes.NewReader(body)), rec.format, stream.Limits{}) {
		if err != nil {
			t.Errorf("%s: %v", rec.name, err)
			return docs
		}
		if ev.Tail {
			docs = append(docs, "tail "+string(ev.Raw))
			continue
		}
		d := json.NewDecoder(bytes.NewReader(ev.Data))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			docs = append(docs, "no JSON: "+string(ev.Data))
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(b))
	}
	return docs
}
