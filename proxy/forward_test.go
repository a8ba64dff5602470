package proxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a client writes arrives upstream: the target byte for byte, end-to-end
// headers and body.
func TestForwardRequest(t *testing.T) {
	for _, c := range []struct {
		name, in   string
		line, body string
		want       map[string][]string // headers, nil for absent
	}{
		{name: "query of generative-ai-go", in: "GET /v1beta/models/m?%24alt=json%3Benum-encoding%3Dint&key=k HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1beta/models/m?%24alt=json%3Benum-encoding%3Dint&key=k HTTP/1.1"},
		{name: "raw semicolon in the query", in: "GET /v1beta/models?$alt=json;enum-encoding=int HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1beta/models?$alt=json;enum-encoding=int HTTP/1.1"},
		{name: "two slashes", in: post("//v1beta/models/m:countTokens", "{}"), line: "POST //v1beta/models/m:countTokens HTTP/1.1", body: "{}"},
		{name: "escaped colon", in: post("/v1beta/models/m%3AcountTokens", "{}"), line: "POST /v1beta/models/m%3AcountTokens HTTP/1.1", body: "{}"},
		{name: "dots and escapes", in: "GET /a/../b/./%2e%2E/%zz?%zz&&a=b=c# HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /a/../b/./%2e%2E/%zz?%zz&&a=b=c# HTTP/1.1"},
		{name: "empty query", in: "GET /v1beta/models? HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1beta/models? HTTP/1.1"},
		{name: "raw unicode", in: "GET /v1/é?ü HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1/é?ü HTTP/1.1"},
		{name: "absolute form", in: "GET http://other.example/v1/x?y HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1/x?y HTTP/1.1"},
		{name: "session prefix", in: "GET /s/abc-1/v1/x?y HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /v1/x?y HTTP/1.1"},
		{name: "session prefix and two slashes", in: "GET /s/abc-1//v1/x HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET //v1/x HTTP/1.1"},
		{
			name: "headers", line: "GET /x HTTP/1.1",
			in: "GET /x HTTP/1.1\r\nHost: h\r\nUser-Agent: u/1\r\nX-Two: a\r\nX-Two: b, c\r\nx-goog-api-key: k\r\nCookie: a=b; c=d\r\nAccept-Encoding: br\r\n" +
				"Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: p\r\nX-Hookline-Session: s\r\nX-Hookline-Request-Id: r\r\nX-Empty:\r\n\r\n",
			want: map[string][]string{
				"User-Agent": {"u/1"}, "X-Two": {"a", "b, c"}, "X-Goog-Api-Key": {"k"}, "Cookie": {"a=b; c=d"}, "Accept-Encoding": {"br"}, "X-Empty": {""},
				"Connection": nil, "X-Hop": nil, "Keep-Alive": nil, "Te": nil, "Proxy-Authorization": nil, "X-Hookline-Session": nil, "X-Hookline-Request-Id": nil, "X-Forwarded-For": nil,
			},
		},
		{name: "no headers are added", in: "GET /x HTTP/1.1\r\nHost: h\r\n\r\n", line: "GET /x HTTP/1.1", want: map[string][]string{"User-Agent": nil, "Accept-Encoding": nil}},
		{name: "chunked body", in: "POST /upload/v1beta/files HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", line: "POST /upload/v1beta/files HTTP/1.1", body: "abcde"},
		{name: "put", in: "PUT /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\na\x00b", line: "PUT /x HTTP/1.1", body: "a\x00b"},
		{name: "patch", in: "PATCH /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\na", line: "PATCH /x HTTP/1.1", body: "a"},
		{name: "delete", in: "DELETE /v1beta/files/x HTTP/1.1\r\nHost: h\r\n\r\n", line: "DELETE /v1beta/files/x HTTP/1.1"},
		{name: "options", in: "OPTIONS /x HTTP/1.1\r\nHost: h\r\n\r\n", line: "OPTIONS /x HTTP/1.1"},
		{name: "post without a body", in: "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", line: "POST /x HTTP/1.1", want: map[string][]string{"Content-Length": {"0"}}},
		{name: "get with a body", in: "GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab", line: "GET /x HTTP/1.1", body: "ab"},
		{name: "model call", in: post(streamTarget, `{"a": 1}`), line: "POST " + streamTarget + " HTTP/1.1", body: `{"a": 1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := make(chan rawRequest, 1)
			up := upstream(t, func(c net.Conn, req rawRequest) error {
				got <- req
				_, err := io.WriteString(c, sized(200, "text/plain", "ok"))
				return err
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
			conn, r := dial(t, addr)
			send(t, conn, c.in)
			if m, err := readRaw(r); err != nil || string(m.body) != "ok" {
				t.Fatalf("answer %q, %v", m.head, err)
			}
			req := <-got
			if req.line() != c.line {
				t.Errorf("request line %q, want %q", req.line(), c.line)
			}
			if string(req.body) != c.body {
				t.Errorf("body %q, want %q", req.body, c.body)
			}
			if h := req.header("Host"); len(h) != 1 || "http://"+h[0] != up {
				t.Errorf("host %q, want that of %s", h, up)
			}
			for k, want := range c.want {
				if d := cmp.Diff(want, req.header(k)); d != "" {
					t.Errorf("header %s (-want +got):\n%s", k, d)
				}
			}
		})
	}
}

func TestForwardBasePath(t *testing.T) {
	lines := make(chan string, 1)
	up := upstream(t, func(c net.Conn, req rawRequest) error {
		lines <- req.line()
		_, err := io.WriteString(c, sized(200, "text/plain", "ok"))
		return err
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up + "/g/", Vertex: up + "/v", CodeAssist: up + "/c"}})
	for target, want := range map[string]string{
		"/v1beta/models":          "/g/v1beta/models",
		"//v1beta/models":         "/g//v1beta/models",
		"/v1internal:countTokens": "/c/v1internal:countTokens",
		"/v1/projects/p/locations/l/publishers/google/models/m:countTokens":                 "/v/v1/projects/p/locations/l/publishers/google/models/m:countTokens",
		"/v1beta1/publishers/google/models/m:countTokens":                                   "/v/v1beta1/publishers/google/models/m:countTokens",
		"/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent":            "/v/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent",
		"/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?k=v": "/g/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?k=v",
	} {
		conn, r := dial(t, addr)
		send(t, conn, post(target, "{}"))
		if _, err := readRaw(r); err != nil {
			t.Fatal(err)
		}
		if got := <-lines; got != "POST "+want+" HTTP/1.1" {
			t.Errorf("%s went up as %q, want %s", target, got, want)
		}
	}
}

// What the upstream says arrives at the client.
func TestForwardAnswer(t *testing.T) {
	const date = "Tue, 01 Dec 2026 01:02:03 GMT"
	for _, c := range []struct {
		name, method, in string
		status           string
		body             string
		want             map[string][]string
		err              error
	}{
		{
			name: "headers", in: "HTTP/1.1 200 Fine\r\nServer: scaffolding\r\nDate: " + date + "\r\nSet-Cookie: a=1; Path=/x\r\nSet-Cookie: a=1; Path=/y\r\nX-Two: a\r\nX-Two: b\r\nalt-svc: h3=\":443\"\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nConnection: X-Hop\r\nX-Hop: 1\r\nContent-Length: 3\r\n\r\nabc",
			status: "200", body: "abc",
			want: map[string][]string{
				"Server": {"scaffolding"}, "Date": {date}, "Set-Cookie": {"a=1; Path=/x", "a=1; Path=/y"}, "X-Two": {"a", "b"}, "Content-Type": {"text/plain"},
				"Content-Encoding": {"gzip"}, "Content-Length": {"3"}, "Alt-Svc": nil, "X-Hop": nil, "Connection": nil,
			},
		},
		{name: "no headers are added", in: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na", status: "200", body: "a", want: map[string][]string{"Server": nil, "Content-Type": nil, "Date": nil}},
		{name: "quota error", in: "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: 16\r\n\r\n{\n  \"error\": {}\n}", status: "429", body: "{\n  \"error\": {}\n}"[:16], want: map[string][]string{"Retry-After": {"7"}, "Content-Type": {"application/json; charset=UTF-8"}}},
		{name: "html error", in: sized(404, "text/html", "<html>"), status: "404", body: "<html>"},
		{name: "chunks", in: chunked("text/event-stream", "data: 1\r\n\r\n", "data: 2\r\n\r\n"), status: "200", body: "data: 1\r\n\r\ndata: 2\r\n\r\n", want: map[string][]string{"Transfer-Encoding": {"chunked"}, "Content-Length": nil}},
		{name: "until close", in: "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", status: "200", body: "abc"},
		{name: "http/1.0 upstream", in: "HTTP/1.0 200 OK\r\n\r\nabc", status: "200", body: "abc"},
		{name: "empty", in: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", status: "200", want: map[string][]string{"Content-Length": {"0"}}},
		{name: "no content", in: "HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n", status: "204", want: map[string][]string{"X-A": {"b"}, "Content-Length": nil}},
		{name: "not modified", in: "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n", status: "304", want: map[string][]string{"Etag": {"x"}}},
		{name: "head", method: "HEAD", in: "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n", status: "200", want: map[string][]string{"Content-Length": {"1234"}}},
		{name: "redirect", in: "HTTP/1.1 302 Found\r\nLocation: https://elsewhere.example/\r\nContent-Length: 0\r\n\r\n", status: "302", want: map[string][]string{"Location": {"https://elsewhere.example/"}}},
		{name: "cut chunks", in: strings.TrimSuffix(chunked("text/event-stream", "data: 1\r\n\r\n"), "0\r\n\r\n"), status: "200", body: "data: 1\r\n\r\n", err: io.ErrUnexpectedEOF},
		{name: "cut array", in: strings.TrimSuffix(chunked("application/json", "[{}\n", ",\r\n{}"), "0\r\n\r\n"), status: "200", body: "[{}\n,\r\n{}", err: io.ErrUnexpectedEOF},
		{name: "cut body of known length", in: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", status: "200", body: "abc\x00\x00", err: io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			closes := c.err != nil || !strings.Contains(c.in, "Content-Length") && !strings.Contains(c.in, "chunked")
			up := upstream(t, func(conn net.Conn, _ rawRequest) error {
				_, err := io.WriteString(conn, c.in)
				if closes {
					return io.EOF
				}
				return err
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
			conn, r := dial(t, addr)
			method := c.method
			if method == "" {
				method = "GET"
			}
			send(t, conn, method+" /x HTTP/1.1\r\nHost: h\r\n\r\n")
			if method == "HEAD" {
				send(t, conn, "HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				all, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(all), "\r\n\r\n"); n != 2 || !strings.HasPrefix(string(all), "HTTP/1.1 200") || strings.Count(string(all), "Content-Length: 1234\r\n") != 2 {
					t.Errorf("two HEADs gave %q", all)
				}
				return
			}
			m, err := readRaw(r)
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v, after %q", err, c.err, m.head)
			}
			if !strings.HasPrefix(m.head, "HTTP/1.1 "+c.status+" ") {
				t.Errorf("status line of %q, want %s", m.head, c.status)
			}
			if string(m.body) != c.body {
				t.Errorf("body %q, want %q", m.body, c.body)
			}
			if id := m.header(headerRequestID); len(id) != 1 || id[0] == "" {
				t.Errorf("request id %q", id)
			}
			if d := m.header("Date"); len(d) > 1 {
				t.Errorf("dates %q", d)
			}
			for k, want := range c.want {
				if d := cmp.Diff(want, m.header(k)); d != "" {
					t.Errorf("header %s (-want +got):\n%s", k, d)
				}
			}
		})
	}
}

// Each piece of a stream arrives before the next is sent, the header before the
// first; one piece is one chunk.
func TestForwardStreams(t *testing.T) {
	for _, c := range []struct{ name, head, before, after, end string }{
		{"chunked", "Transfer-Encoding: chunked\r\n", "7\r\n", "\r\n", "0\r\n\r\n"},
		{"sized", "Content-Length: 21\r\n", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			step := make(chan string)
			up := upstream(t, func(conn net.Conn, _ rawRequest) error {
				for s := range step {
					if _, err := io.WriteString(conn, s); err != nil {
						return err
					}
				}
				return nil
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
			conn, r := dial(t, addr)
			send(t, conn, post(streamTarget, "{}"))
			step <- "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + c.head + "\r\n"
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatal(err)
				}
				if line == "\r\n" {
					break
				}
			}
			for _, ev := range []string{"data: 1", "data: 2", "data: 3"} {
				want := c.before + ev + c.after
				step <- want
				got := make([]byte, len(want))
				if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
					t.Fatalf("got %q, %v, want %q", got, err, want)
				}
			}
			step <- c.end
			close(step)
			got := make([]byte, len(c.end))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != c.end {
				t.Fatalf("got %q, %v, want %q", got, err, c.end)
			}
		})
	}
}

// A client that never ends its header is not waited for; one that is slow with
// its body is.
func TestSlowHeader(t *testing.T) {
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		_, err := io.WriteString(conn, sized(200, "text/plain", string(req.body)))
		return err
	})
	s, err := New(Options{Upstream: Upstreams{Gemini: up}})
	if err != nil {
		t.Fatal(err)
	}
	s.front.ReadTimeout = 100 * time.Millisecond
	addr := serve(t, s)
	slow, r := dial(t, addr)
	send(t, slow, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
	never, nr := dial(t, addr)
	send(t, never, "POST /x HTTP/1.1\r\nHost")
	all, err := io.ReadAll(nr) // which takes as long as the time-out
	if err != nil || !strings.HasPrefix(string(all), "HTTP/1.1 4") {
		t.Errorf("the slow header got %q, %v", all, err)
	}
	send(t, slow, strings.Repeat("x", 100_000))
	if m, err := readRaw(r); err != nil || len(m.body) != 100_000 {
		t.Errorf("the slow body got %q, %v", m.head, err)
	}
}

// A header that goes on in a next line could carry another one past us.
func TestFoldedHeader(t *testing.T) {
	got := make(chan rawRequest, 1)
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		got <- req
		_, err := io.WriteString(conn, sized(200, "text/plain", "ok"))
		return err
	})
	conn, r := dial(t, start(t, Options{Upstream: Upstreams{Gemini: up}}))
	send(t, conn, "GET /x HTTP/1.1\r\nHost: h\r\nX-A: 1\r\n X-Hookline-Session: b\r\nX-C: 2\r\n\r\n")
	m, err := readRaw(r)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(m.head, "HTTP/1.1 400 ") {
		return
	}
	if req := <-got; len(req.header("X-Hookline-Session")) > 0 || strings.Contains(req.head, "\r\n ") {
		t.Errorf("went up as %q", req.head)
	}
}

// A client of HTTP/1.0 cannot read chunks: it gets bodies of unknown length whole.
func TestOldClient(t *testing.T) {
	const body = "data: 1\r\n\r\ndata: 2\r\n\r\n"
	for name, c := range map[string]struct{ up, want, status string }{
		"chunked":      {chunked("text/event-stream", body[:11], body[11:]), body, "200"},
		"until close":  {"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + body, body, "200"},
		"sized":        {sized(200, "text/event-stream", body), body, "200"},
		"cut":          {strings.TrimSuffix(chunked("text/event-stream", body), "0\r\n\r\n"), "", "502"},
		"error chunks": {strings.Replace(chunked("application/json", "{}"), "200 OK", "429 X", 1), "{}", "429"},
	} {
		for how, o := range map[string]Options{"forwarded": {}, "hooked": hook(Options{}, relay)} {
			o.Upstream.Gemini = upstream(t, func(conn net.Conn, _ rawRequest) error {
				_, _ = io.WriteString(conn, c.up)
				return io.EOF
			})
			conn, r := dial(t, start(t, o))
			send(t, conn, strings.Replace(post(streamTarget, "{}"), "HTTP/1.1", "HTTP/1.0", 1))
			m, err := readRaw(r)
			if err != nil || !strings.HasPrefix(m.head, "HTTP/1.1 "+c.status) || len(m.header("Content-Length")) != 1 {
				t.Errorf("%s, %s: %q, %v", name, how, m.head, err)
			}
			if c.want != "" && string(m.body) != c.want {
				t.Errorf("%s, %s: body %q, want %q", name, how, m.body, c.want)
			}
		}
	}
}

// A client that hangs up ends the upstream call at once, whatever it waits for.
func TestForwardClientGone(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name   string
		sent   string // by the upstream, before it falls silent
		behind string // sent by the client behind its request
	}{
		{name: "before the header"},
		{name: "before the first event", sent: head},
		{name: "between events", sent: head + "b\r\ndata: 1\r\n\r\n\r\n"},
		{name: "behind a pipelined request", behind: "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.behind != "" && !seesBehindBytes {
				t.Skip("this system does not show a hang-up behind unread bytes")
			}
			promptly(t, 100*time.Millisecond, func(t *testing.T) time.Duration {
				return hangUp(t, Options{}, c.sent, c.behind)
			})
		})
	}
}

// hangUp makes a call, hangs up when the upstream has sent what it sends and has
// fallen silent, and returns how long it took until the upstream knew.
func hangUp(t *testing.T, o Options, sent, behind string) time.Duration {
	silent := make(chan struct{})
	gone := make(chan time.Time, 1)
	o.Upstream.Gemini = upstream(t, func(conn net.Conn, _ rawRequest) error {
		if _, err := io.WriteString(conn, sent); err != nil {
			return err
		}
		close(silent)
		_, err := conn.Read(make([]byte, 1))
		gone <- time.Now()
		if err == nil {
			return errors.New("a second request")
		}
		return err
	})
	conn, r := dial(t, start(t, o))
	send(t, conn, post(streamTarget, "{}"))
	<-silent
	if sent != "" {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	send(t, conn, behind)
	hungUp := time.Now()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case at := <-gone:
		return at.Sub(hungUp)
	case <-time.After(patience):
		t.Fatal("the upstream never saw the hang-up")
		return 0
	}
}

// Requests on one connection, sent without waiting for answers.
func TestForwardPipelined(t *testing.T) {
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		_, err := io.WriteString(conn, sized(200, "text/plain", req.line()+string(req.body)))
		return err
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
	conn, r := dial(t, addr)
	var all, want strings.Builder
	for i := range 50 {
		target := fmt.Sprintf("/%d", i)
		all.WriteString(post(target, target))
		want.WriteString("POST " + target + " HTTP/1.1" + target)
	}
	send(t, conn, all.String())
	var got strings.Builder
	for range 50 {
		m, err := readRaw(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Write(m.body)
	}
	if d := cmp.Diff(want.String(), got.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// An upstream that answers before it has read the request, as fast mocks do,
// must not cost an answer.
func TestForwardQuickAnswers(t *testing.T) {
	body := strings.Repeat("x", 20_000)
	reply := chunked("text/event-stream", "data: "+body[:1000]+"\r\n\r\n", "data: 2\r\n\r\n")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	go func() { // ends with the listener
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns.Add(1)
			go func() { // ends with the connection
				defer conns.Done()
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					if _, err := r.Peek(1); err != nil {
						return
					}
					// The answer first, then the request.
					if _, err := io.WriteString(c, reply); err != nil {
						return
					}
					if _, err := readRaw(r); err != nil {
						return
					}
				}
			}()
		}
	}()
	s, addr := startServer(t, Options{Upstream: Upstreams{Gemini: "http://" + ln.Addr().String()}})
	t.Cleanup(func() {
		_ = ln.Close()
		s.leg.close()
		conns.Wait()
	})
	n := 5000
	if testing.Short() {
		n = 500
	}
	var left, cut atomic.Int64
	left.Store(int64(n))
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			r := bufio.NewReader(c)
			for left.Add(-1) >= 0 {
				if _, err := io.WriteString(c, post(streamTarget, body)); err != nil {
					t.Error(err)
					return
				}
				m, err := readRaw(r)
				if err != nil || len(m.body) != 1000+6+4+11 {
					cut.Add(1)
					t.Errorf("answer %q: %v", m.head, err)
					return
				}
			}
		})
	}
	clients.Wait()
	if cut.Load() > 0 {
		t.Errorf("%d of %d answers were cut", cut.Load(), n)
	}
}

// A client that does not read must not make hookline read on and on.
func TestForwardBackPressure(t *testing.T) {
	var sent atomic.Int64
	stuck := make(chan struct{})
	const total = 256 << 20
	up := upstream(t, func(conn net.Conn, _ rawRequest) error {
		if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", total); err != nil {
			return err
		}
		block := bytes.Repeat([]byte("x"), 1<<16)
		for sent.Load() < total {
			if err := conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
				return err
			}
			n, err := conn.Write(block)
			sent.Add(int64(n))
			if err != nil {
				close(stuck)
				return err
			}
		}
		return nil
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
	conn, r := dial(t, addr)
	send(t, conn, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	select {
	case <-stuck:
	case <-time.After(patience):
		t.Fatalf("the upstream could send %d bytes to a client that reads nothing", sent.Load())
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were taken for a client that reads nothing", n)
	}
}

func TestUploadURL(t *testing.T) {
	var up string
	up = upstream(t, func(conn net.Conn, req rawRequest) error {
		to := up
		if len(req.header("X-Elsewhere")) > 0 {
			to = "https://storage.example"
		}
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nx-goog-upload-url: "+to+"/base/upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable\r\nContent-Length: 0\r\n\r\n")
		return err
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up + "/base"}})
	for _, c := range []struct{ in, want string }{
		{"POST /upload/v1beta/files HTTP/1.1\r\nHost: p.example:1\r\nContent-Length: 0\r\n\r\n", "http://p.example:1/upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable"},
		{"POST /s/S1/upload/v1beta/files HTTP/1.1\r\nHost: p.example:1\r\nContent-Length: 0\r\n\r\n", "http://p.example:1/s/S1/upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable"},
		{"POST /upload/v1beta/files HTTP/1.1\r\nHost: p.example:1\r\nX-Forwarded-Proto: https\r\nContent-Length: 0\r\n\r\n", "https://p.example:1/upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable"},
		{"POST /upload/v1beta/files HTTP/1.1\r\nHost: p.example:1\r\nX-Elsewhere: 1\r\nContent-Length: 0\r\n\r\n", "https://storage.example/base/upload/v1beta/files?upload_id=a%2Fb&upload_protocol=resumable"},
	} {
		conn, r := dial(t, addr)
		send(t, conn, c.in)
		m, err := readRaw(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.header("X-Goog-Upload-Url"); len(got) != 1 || got[0] != c.want {
			t.Errorf("upload URL %q, want %s", got, c.want)
		}
	}
}

func TestExpectContinue(t *testing.T) {
	bodies := make(chan string, 1)
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		bodies <- string(req.body)
		_, err := io.WriteString(conn, sized(200, "text/plain", "ok"))
		return err
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
	conn, r := dial(t, addr)
	send(t, conn, "POST /x HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
	if m, err := readRaw(r); err != nil || !strings.HasPrefix(m.head, "HTTP/1.1 100 ") {
		t.Fatalf("%q, %v", m.head, err)
	}
	send(t, conn, "abc")
	if m, err := readRaw(r); err != nil || string(m.body) != "ok" {
		t.Fatalf("%q, %v", m.head, err)
	}
	if b := <-bodies; b != "abc" {
		t.Errorf("body %q", b)
	}
}

func TestTunnel(t *testing.T) {
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		if u, c := req.header("Upgrade"), req.header("Connection"); len(u) != 1 || u[0] != "websocket" || len(c) != 1 || c[0] != "Upgrade" {
			t.Errorf("handshake %q", req.head)
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: x\r\n\r\nhello"); err != nil {
			return err
		}
		// An echo that says goodbye.
		b := make([]byte, 100)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return err
			}
			if _, err := conn.Write(b[:n]); err != nil {
				return err
			}
			if string(b[:n]) == "bye" {
				return io.EOF
			}
		}
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
	const handshake = "GET /ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: y\r\n\r\n"
	t.Run("both ways", func(t *testing.T) {
		conn, r := dial(t, addr)
		send(t, conn, handshake+"first")
		m, err := readRaw(r)
		if err != nil || !strings.HasPrefix(m.head, "HTTP/1.1 101 ") || len(m.header("Sec-WebSocket-Accept")) != 1 {
			t.Fatalf("%q, %v", m.head, err)
		}
		for _, want := range []string{"hellofirst", "\x00\xff", "bye"} {
			if want != "hellofirst" {
				send(t, conn, want)
			}
			got := make([]byte, len(want))
			if _, err := io.ReadFull(r, got); err != nil || string(got) != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
			t.Errorf("after the upstream's end: %v", err)
		}
	})
	t.Run("shutdown ends it", func(t *testing.T) {
		conn, r := dial(t, addr)
		send(t, conn, handshake)
		if _, err := readRaw(r); err != nil {
			t.Fatal(err)
		}
		// The server's clean-up would wait for ever.
	})
}
