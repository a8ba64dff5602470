package proxy

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"

	"github.com/hookline-proxy/hookline/toolloop"
)

// runnerFunc is a Runner that is always active.
type runnerFunc func(ctx context.Context, c toolloop.Call, out toolloop.Sink) error

func (runnerFunc) Active() bool { return true }

func (f runnerFunc) Run(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
	return f(ctx, c, out)
}

// relay is the tool loop without hooks: it calls the model and passes each
// document on.
func relay(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
	reply, err := c.Upstream.Generate(ctx, c.Model, c.Body)
	if err != nil {
		return err
	}
	defer reply.Close()
	if reply.Events == nil {
		return out.Forward(reply)
	}
	if err := out.Start(reply); err != nil {
		return err
	}
	for ev, err := range reply.Events {
		switch {
		case err != nil:
			return err
		case ev.Tail:
			err = out.Tail(ev.Raw)
		default:
			err = out.Event(ev.Data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// hook adds a runner to options.
func hook(o Options, f runnerFunc) Options {
	o.Runner = f
	return o
}

func gzipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func zlibbed(s string) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

func TestHookedAnswer(t *testing.T) {
	gz := string(gzipped("data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\r\n\r\n"))
	for _, c := range []struct {
		name, target, up string
		status           string
		chunks           []string // of a chunked answer
		body             string   // of another
		contentType      string
		err              error
		closes           bool
	}{
		{name: "sse", target: streamTarget, up: chunked("text/event-stream", "data: {\"a\":1}\n\ndata: {\"a\":2}\n\n"), status: "200", contentType: "text/event-stream", chunks: []string{"data: {\"a\":1}\r\n\r\n", "data: {\"a\":2}\r\n\r\n"}},
		{name: "sse in two pieces", target: streamTarget, up: chunked("text/event-stream; charset=x", "data: {\"a\":", "1}\r\n\r\n"), status: "200", contentType: "text/event-stream; charset=x", chunks: []string{"data: {\"a\":1}\r\n\r\n"}},
		{name: "error tail", target: streamTarget, up: chunked("text/event-stream", "data: {}\r\n\r\n{\n \"error\": {}\n}\n"), status: "200", contentType: "text/event-stream", chunks: []string{"data: {}\r\n\r\n", "{\n \"error\": {}\n}\n"}},
		{name: "no events", target: streamTarget, up: chunked("text/event-stream"), status: "200", contentType: "text/event-stream"},
		{name: "cut sse", target: streamTarget, up: strings.TrimSuffix(chunked("text/event-stream", "data: {}\r\n\r\n"), "0\r\n\r\n"), closes: true, status: "200", contentType: "text/event-stream", chunks: []string{"data: {}\r\n\r\n"}, err: io.ErrUnexpectedEOF},
		{name: "gzip that nobody asked for", target: streamTarget, up: "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(gz)) + gz, status: "200", contentType: "text/event-stream", chunks: []string{"data: {\"a\":1}\r\n\r\n", "data: {\"a\":2}\r\n\r\n"}},
		{name: "array", target: arrayTarget, up: chunked("application/json; charset=UTF-8", "[{\"a\":\n1}\n", ",\r\n{\"a\":2}\n]\n"), status: "200", contentType: "application/json; charset=UTF-8", chunks: []string{"[{\"a\":\n1}", "\n,\r\n{\"a\":2}", "\n]\n"}},
		{name: "empty array", target: arrayTarget, up: chunked("application/json", "[]"), status: "200", contentType: "application/json", chunks: []string{"[]\n"}},
		{name: "cut array", target: arrayTarget, up: chunked("application/json", "[{\"a\":1}"), status: "200", contentType: "application/json", chunks: []string{"[{\"a\":1}"}, err: io.ErrUnexpectedEOF},
		{name: "array of generative-ai-go", target: "/v1beta/models/m:streamGenerateContent?%24alt=json%3Benum-encoding%3Dint", up: chunked("application/json", "[{}]"), status: "200", contentType: "application/json", chunks: []string{"[{}", "\n]\n"}},
		{name: "unary", target: unaryTarget, up: sized(200, "application/json; charset=UTF-8", "{\n \"a\": 1\n}\n"), status: "200", contentType: "application/json; charset=UTF-8", body: "{\n \"a\": 1\n}"},
		{name: "unicode", target: unaryTarget, up: sized(200, "application/json", "\"日本😀\u2028\""), status: "200", contentType: "application/json", body: "\"日本😀\u2028\""},
		{name: "cut unary", target: unaryTarget, up: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\nContent-Type: application/json\r\n\r\n{", closes: true, status: "502", contentType: "application/json; charset=UTF-8"},
		{name: "error of known length", target: streamTarget, up: sized(429, "application/json", "{\n  \"error\": {\"code\": 429}\n}\n"), status: "429", contentType: "application/json", body: "{\n  \"error\": {\"code\": 429}\n}\n"},
		{name: "array error", target: arrayTarget, up: strings.Replace(chunked("application/json", "[{\n  \"error\": {}\n}\n]\n"), "200 OK", "400 Bad Request", 1), status: "400", contentType: "application/json", chunks: []string{"[{\n  \"error\": {}\n}\n]\n"}},
		{name: "html", target: streamTarget, up: sized(200, "text/html", "<html>"), status: "200", contentType: "text/html", body: "<html>"},
		{name: "error with gzip", target: streamTarget, up: "HTTP/1.1 500 x\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(gz)) + gz, status: "500", contentType: "application/json", body: gz},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := upstream(t, func(conn net.Conn, req rawRequest) error {
				if ae := req.header("Accept-Encoding"); len(ae) != 1 || ae[0] != "identity" {
					t.Errorf("accept-encoding %q went up", ae)
				}
				_, err := io.WriteString(conn, c.up)
				if c.closes {
					return io.EOF
				}
				return err
			})
			addr := start(t, hook(Options{Upstream: Upstreams{Gemini: up}}, relay))
			conn, r := dial(t, addr)
			send(t, conn, strings.Replace(post(c.target, "{}"), "Host:", "Accept-Encoding: gzip, br\r\nHost:", 1))
			head, err := readHead(r)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(head.head, "HTTP/1.1 "+c.status+" ") {
				t.Errorf("status of %q, want %s", head.head, c.status)
			}
			if ct := head.header("Content-Type"); len(ct) != 1 || ct[0] != c.contentType {
				t.Errorf("content type %q, want %s", ct, c.contentType)
			}
			if enc := head.header("Content-Encoding"); (len(enc) > 0) != (c.body == gz) {
				t.Errorf("content encoding %q", enc)
			}
			if len(head.header("Transfer-Encoding")) > 0 {
				chunks, err := readChunks(r)
				if !errors.Is(err, c.err) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if d := cmp.Diff(c.chunks, chunks); d != "" {
					t.Errorf("chunks (-want +got):\n%s", d)
				}
				return
			}
			m, err := readBodyOf(r, head)
			if err != nil {
				t.Fatal(err)
			}
			if c.body != "" && string(m.body) != c.body {
				t.Errorf("body %q, want %q", m.body, c.body)
			}
		})
	}
}

func TestHookedCall(t *testing.T) {
	const body = `{"contents":[{"role":"user","parts":[{"text":"日本"}]}]}`
	type seen struct {
		call toolloop.Call
		up   rawRequest
	}
	for _, c := range []struct {
		name, target string
		header       http.Header
		body         []byte
		check        func(t *testing.T, s seen)
	}{
		{name: "sse", target: streamTarget, check: func(t *testing.T, s seen) {
			if !s.call.Stream || s.call.Model != "gemini-2.5-flash" || s.call.Session != "" || s.call.SessionExplicit {
				t.Errorf("call %+v", s.call)
			}
		}},
		{name: "unary with a session prefix", target: "/s/S1" + unaryTarget, check: func(t *testing.T, s seen) {
			if s.call.Stream || s.call.Session != "S1" || !s.call.SessionExplicit {
				t.Errorf("call %+v", s.call)
			}
			if want := "POST " + unaryTarget + " HTTP/1.1"; s.up.line() != want {
				t.Errorf("went up as %q, want %q", s.up.line(), want)
			}
		}},
		{name: "session header", target: unaryTarget, header: http.Header{"X-Hookline-Session": {"S2"}, "User-Agent": {"GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64) google-api-nodejs-client/9"}}, check: func(t *testing.T, s seen) {
			if s.call.Session != "S2" || s.call.Agent != "gemini-cli" {
				t.Errorf("call %+v", s.call)
			}
		}},
		{name: "bad session header", target: unaryTarget, header: http.Header{"X-Hookline-Session": {"../../etc"}}, check: func(t *testing.T, s seen) {
			if s.call.Session != "" {
				t.Errorf("session %q", s.call.Session)
			}
		}},
		{name: "gzip", target: unaryTarget, header: http.Header{"Content-Encoding": {"gzip"}}, body: gzipped(body)},
		{name: "zlib", target: unaryTarget, header: http.Header{"Content-Encoding": {"deflate"}}, body: zlibbed(body)},
		{name: "two slashes and an escaped colon", target: "//v1beta/models/gemini-2.5-flash%3AgenerateContent"},
		{name: "tuned model", target: "/v1/tunedModels/x-1:generateContent", check: func(t *testing.T, s seen) {
			if s.call.Model != "tunedModels/x-1" {
				t.Errorf("model %q", s.call.Model)
			}
		}},
		{name: "vertex express", target: "/v1beta1/publishers/google/models/g:generateContent", check: func(t *testing.T, s seen) {
			if s.call.Model != "g" {
				t.Errorf("model %q", s.call.Model)
			}
		}},
		{name: "code assist", target: "/v1internal:streamGenerateContent?alt=sse", check: func(t *testing.T, s seen) {
			if s.call.Model != "" || !s.call.Stream {
				t.Errorf("call %+v", s.call)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ups := make(chan rawRequest, 1)
			up := upstream(t, func(conn net.Conn, req rawRequest) error {
				ups <- req
				_, err := io.WriteString(conn, sized(200, "application/json", "{}"))
				return err
			})
			calls := make(chan toolloop.Call, 1)
			addr := start(t, hook(Options{Upstream: Upstreams{Gemini: up, Vertex: up, CodeAssist: up}}, func(ctx context.Context, call toolloop.Call, out toolloop.Sink) error {
				calls <- call
				return relay(ctx, call, out)
			}))
			if c.body == nil {
				c.body = []byte(body)
			}
			req := newPost(t, addr, "/", c.body)
			req.URL.Opaque = c.target
			if strings.HasPrefix(c.target, "//") {
				req.URL.Opaque, req.URL.Path = "", "//v1beta/models/gemini-2.5-flash:generateContent"
				req.URL.RawPath = c.target
			}
			req.URL.Opaque, req.URL.RawQuery, _ = strings.Cut(req.URL.Opaque, "?")
			for k, v := range c.header {
				req.Header[k] = v
			}
			if resp, b := do(t, req); resp.StatusCode != 200 {
				t.Fatalf("%s: %s", resp.Status, b)
			}
			s := seen{<-calls, <-ups}
			if string(s.call.Body) != body || string(s.up.body) != body {
				t.Errorf("the runner got %q, the upstream %q", s.call.Body, s.up.body)
			}
			if h := s.up.header("Content-Encoding"); h != nil {
				t.Errorf("content encoding %q went up", h)
			}
			if s.call.ID == "" || s.call.Tenant == "" {
				t.Errorf("call %+v", s.call)
			}
			if c.check != nil {
				c.check(t, s)
			}
		})
	}
}

func TestHookedModelChange(t *testing.T) {
	ups := make(chan rawRequest, 1)
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		ups <- req
		_, err := io.WriteString(conn, sized(200, "application/json", "{}"))
		return err
	})
	addr := start(t, hook(Options{Upstream: Upstreams{Gemini: up, Vertex: up, CodeAssist: up}}, func(ctx context.Context, call toolloop.Call, out toolloop.Sink) error {
		call.Model = "gemini-other"
		return relay(ctx, call, out)
	}))
	for target, want := range map[string]string{
		"/v1beta/models/gemini-2.5-flash:generateContent?key=k":                                "/v1beta/models/gemini-other:generateContent?key=k",
		"/v1beta/models/gemini-2.5-flash%3AgenerateContent":                                    "/v1beta/models/gemini-other%3AgenerateContent",
		"/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent": "/v1/projects/p/locations/l/publishers/google/models/gemini-other:generateContent",
		"/v1internal:generateContent":                                                          "/v1internal:generateContent",
	} {
		conn, r := dial(t, addr)
		send(t, conn, strings.Replace(post(target, "{}"), "Host:", "x-goog-request-params: model=models%2Fgemini-2.5-flash\r\nHost:", 1))
		if _, err := readRaw(r); err != nil {
			t.Fatal(err)
		}
		req := <-ups
		if got := req.line(); got != "POST "+want+" HTTP/1.1" {
			t.Errorf("%s went up as %q, want %s", target, got, want)
		}
		if h := req.header("X-Goog-Request-Params"); !strings.Contains(want, "v1internal") && (len(h) != 1 || h[0] != "model=models%2Fgemini-other") {
			t.Errorf("%s: x-goog-request-params %q", target, h)
		}
	}
}

func TestHookedErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		run    runnerFunc
		target string
		code   int
		reason string
		text   string
	}{
		{name: "refusal", run: func(context.Context, toolloop.Call, toolloop.Sink) error {
			return fmt.Errorf("run: %w", &toolloop.Refusal{Status: 403, Message: "no, because"})
		}, code: 403, text: "no, because"},
		{name: "any error", run: func(context.Context, toolloop.Call, toolloop.Sink) error { return errors.New("secret detail") }, code: 500, reason: "HOOKLINE_INTERNAL"},
		{name: "no answer", run: func(context.Context, toolloop.Call, toolloop.Sink) error { return nil }, code: 500, reason: "HOOKLINE_INTERNAL"},
		{name: "panic", run: func(context.Context, toolloop.Call, toolloop.Sink) error { panic("secret detail") }, code: 500, reason: "HOOKLINE_INTERNAL"},
		{name: "in the middle of a document", target: unaryTarget, run: func(_ context.Context, _ toolloop.Call, out toolloop.Sink) error {
			if err := errors.Join(out.Start(nil), out.Event([]byte("{}"))); err != nil {
				return err
			}
			return &toolloop.Refusal{Status: 403, Message: "no, because"}
		}, code: 403, text: "no, because"},
	} {
		t.Run(c.name, func(t *testing.T) {
			addr := start(t, hook(Options{}, c.run))
			if c.target == "" {
				c.target = streamTarget
			}
			resp, b := do(t, newPost(t, addr, c.target, []byte("{}")))
			checkError(t, resp, b, c.code, c.reason, c.text)
			if strings.Contains(string(b), "secret") {
				t.Errorf("the body tells too much: %s", b)
			}
		})
	}
}

// checkError expects Google's error body.
func checkError(t *testing.T, resp *http.Response, body []byte, code int, reason, text string) {
	t.Helper()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var e *googleapi.Error
	if err := googleapi.CheckResponse(resp); !errors.As(err, &e) {
		t.Fatalf("no API error: %s %s", resp.Status, body)
	}
	if e.Code != code || !strings.Contains(e.Message, text) {
		t.Errorf("error %d %q, want %d with %q", e.Code, e.Message, code, text)
	}
	var doc struct {
		Error struct {
			Code    int
			Status  string
			Details []struct{ Reason string }
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Error.Code != code || doc.Error.Status != statusNames[code] {
		t.Errorf("body %s, want code %d and status %s", body, code, statusNames[code])
	}
	if reason != "" && (len(doc.Error.Details) != 1 || doc.Error.Details[0].Reason != reason) {
		t.Errorf("details %+v, want reason %s", doc.Error.Details, reason)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/json; charset=UTF-8" {
		t.Errorf("content type %q", ct)
	}
	if resp.Header.Get(headerRequestID) == "" || resp.Header.Get("Date") == "" {
		t.Errorf("header %v", resp.Header)
	}
}

func TestBodyLimits(t *testing.T) {
	addr := start(t, hook(Options{MaxBody: 1000}, relay))
	big := bytes.Repeat([]byte("x"), 5<<20)
	for _, c := range []struct {
		name   string
		body   io.Reader
		header http.Header
		code   int
		reason string
		text   string
	}{
		{name: "announced", body: bytes.NewReader(big), code: 413, reason: "BODY_TOO_LARGE", text: "of 5242880 bytes is over hookline's limit of 1000 bytes for calls with hooks; limits.maxBody"},
		{name: "chunked", body: io.MultiReader(bytes.NewReader(big)), code: 413, reason: "BODY_TOO_LARGE", text: "limits.maxBody"},
		{name: "unpacked", body: bytes.NewReader(gzipped(string(big[:100_000]))), header: http.Header{"Content-Encoding": {"gzip"}}, code: 413, reason: "BODY_TOO_LARGE", text: "when decompressed"},
		{name: "unknown encoding", body: strings.NewReader("x"), header: http.Header{"Content-Encoding": {"zstd"}}, code: 415, reason: "UNKNOWN_ENCODING", text: `"zstd"`},
		{name: "no gzip", body: strings.NewReader("xxxxxxxxxxxxxxxxxxxx"), header: http.Header{"Content-Encoding": {"gzip"}}, code: 400, reason: "BAD_ENCODING", text: `"gzip"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+unaryTarget, c.body)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range c.header {
				req.Header[k] = v
			}
			resp, b := do(t, req)
			checkError(t, resp, b, c.code, c.reason, c.text)
		})
	}
}

// The upstream sees a hang-up of the client also when the call is hooked.
func TestHookedClientGone(t *testing.T) {
	for _, sent := range []string{"", "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", strings.TrimSuffix(chunked("text/event-stream", "data: 1\r\n\r\n"), "0\r\n\r\n")} {
		promptly(t, 100*time.Millisecond, func(t *testing.T) time.Duration {
			ended := make(chan error, 1)
			o := hook(Options{}, func(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
				err := relay(ctx, c, out)
				ended <- context.Cause(ctx)
				return err
			})
			took := hangUp(t, o, sent, "")
			if err := <-ended; !errors.Is(err, ErrClientGone) {
				t.Errorf("after %q the cause is %v", sent, err)
			}
			return took
		})
	}
}

func TestInactiveRunnerPassesThrough(t *testing.T) {
	const odd = "data:{ \"a\":1}\n\nrubbish"
	up := upstream(t, always(chunked("text/event-stream", odd)))
	o := Options{Upstream: Upstreams{Gemini: up}, Runner: inactive{}}
	addr := start(t, o)
	if _, b := do(t, newPost(t, addr, streamTarget, []byte("no json"))); string(b) != odd {
		t.Errorf("got %q", b)
	}
}

type inactive struct{ runnerFunc }

func (inactive) Active() bool { return false }

func TestUpstreamUnreachable(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("x"), 5<<20)
	for name, o := range map[string]Options{"forwarded": {}, "hooked": hook(Options{}, relay)} {
		o.Upstream.Gemini = "http://" + dead + "/base"
		addr := start(t, o)
		for _, body := range [][]byte{[]byte("{}"), big} {
			resp, b := do(t, newPost(t, addr, unaryTarget+"?key=SECRET", body))
			t.Log(name, string(b))
			checkError(t, resp, b, 502, "UPSTREAM_UNREACHABLE", "http://"+dead)
			if strings.Contains(string(b), "SECRET") {
				t.Errorf("%s: the body holds the key: %s", name, b)
			}
		}
	}
}

func TestOwnPaths(t *testing.T) {
	ready := errors.New("still loading")
	addr := start(t, Options{Ready: func() error { return ready }})
	get := func(path string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, b := do(t, req)
		return resp, string(b)
	}
	if resp, b := get("/-/healthz"); resp.StatusCode != 200 || b != "ok\n" {
		t.Errorf("healthz: %s %q", resp.Status, b)
	}
	if resp, b := get("/-/readyz"); resp.StatusCode != 503 || b != "not ready: still loading\n" {
		t.Errorf("readyz: %s %q", resp.Status, b)
	}
	ready = nil
	if resp, b := get("/-/readyz"); resp.StatusCode != 200 || b != "ok\n" {
		t.Errorf("readyz: %s %q", resp.Status, b)
	}
	resp, b := get("/-/nothing")
	checkError(t, resp, []byte(b), 404, "NO_SUCH_PATH", "/-/nothing")
}

func TestBadRequests(t *testing.T) {
	addr := start(t, Options{})
	for _, c := range []struct {
		in   string
		code int
	}{
		{"rubbish\r\n\r\n", 400},
		{"GET /x HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 20_000) + "\r\n\r\n", 431},
	} {
		conn, r := dial(t, addr)
		send(t, conn, c.in)
		m, err := readRaw(r)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(m.head, fmt.Sprintf("HTTP/1.1 %d ", c.code)) || !json.Valid(m.body) {
			t.Errorf("%.20q: %q %q", c.in, m.head, m.body)
		}
	}
}

// An offer of another protocol, or a method in other capitals, leads past no hook.
func TestHookedInSpite(t *testing.T) {
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		_, err := io.WriteString(conn, sized(200, "application/json", `{"got":"`+req.line()+`"}`))
		return err
	})
	var bodies []string
	o := Options{Upstream: Upstreams{Gemini: up}, Runner: runnerFunc(func(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
		bodies = append(bodies, string(c.Body))
		return relay(ctx, c, out)
	})}
	addr := start(t, o)
	for _, head := range []string{
		"POST %s HTTP/1.1\r\nHost: h\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
		"post %s HTTP/1.1\r\nHost: h\r\n",
	} {
		conn, r := dial(t, addr)
		send(t, conn, fmt.Sprintf(head, unaryTarget)+"Content-Length: 2\r\n\r\n{}")
		m, err := readRaw(r)
		if err != nil || !strings.Contains(string(m.body), `"POST `) || len(bodies) != 1 || bodies[0] != "{}" {
			t.Errorf("%q: answer %q, %v; the hooks saw %q", head, m.body, err, bodies)
		}
		bodies = nil
	}
}
