package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"
)

// A pooled connection that the upstream has closed costs no answer, whether that
// shows before the call or during it.
func TestLegDeadConnection(t *testing.T) {
	for _, c := range []struct {
		name string
		body string
		bad  string // what the upstream does with the second call of a connection
		code int
	}{
		{name: "closed while idle", body: "{}", bad: "", code: 200},
		{name: "closed on the next request", body: "{}", bad: "close", code: 200},
		{name: "closed on the next request, large body", body: strings.Repeat("x", smallBody+1), bad: "close", code: 502},
		{name: "half an answer", body: "{}", bad: "HTTP/1.1 200 OK\r\nContent-", code: 502},
		{name: "rubbish", body: "{}", bad: "220 mail.example ESMTP\r\n", code: 502},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			calls := map[net.Conn]int{}
			var hit atomic.Bool // the upstream has done what it does with a second call
			closed := make(chan struct{}, 10)
			up := upstream(t, func(conn net.Conn, req rawRequest) error {
				mu.Lock()
				calls[conn]++
				n := calls[conn]
				mu.Unlock()
				if n == 2 && c.bad != "" {
					hit.Store(true)
					if c.bad != "close" {
						if _, err := io.WriteString(conn, c.bad); err != nil {
							return err
						}
					}
					return io.EOF
				}
				if _, err := io.WriteString(conn, sized(200, "text/plain", "ok")); err != nil {
					return err
				}
				if c.bad == "" {
					_ = conn.Close()
					closed <- struct{}{}
					return io.EOF
				}
				return nil
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
			// A call may come before the connection of the one before it is free
			// again; then it is a first call once more.
			for i := range 20 {
				resp, b := do(t, newPost(t, addr, "/x", []byte(c.body)))
				second := hit.Load() || c.bad == "" && i > 0
				if want := map[bool]int{true: c.code, false: 200}[second]; resp.StatusCode != want {
					t.Errorf("answer %d: %s %s, want %d", i, resp.Status, b, want)
				}
				if strings.Contains(string(b), "220 mail") {
					t.Errorf("the error quotes the upstream: %s", b)
				}
				if second {
					return
				}
				if c.bad == "" {
					<-closed
				}
			}
			t.Error("no connection was used again")
		})
	}
}

func TestLegKeepsConnections(t *testing.T) {
	conns := make(map[net.Conn]int)
	up := upstream(t, func(conn net.Conn, req rawRequest) error {
		conns[conn]++ // calls come one after the other
		_, err := io.WriteString(conn, chunked("text/plain", "a", "b"))
		return err
	})
	addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
	conn, r := dial(t, addr)
	for range 10 {
		send(t, conn, post("/x", "{}"))
		if m, err := readRaw(r); err != nil || string(m.body) != "ab" {
			t.Fatalf("body %q, %v", m.body, err)
		}
	}
	if len(conns) != 1 {
		t.Errorf("10 calls took %d connections", len(conns))
	}
}

func TestLegAnswers(t *testing.T) {
	for _, c := range []struct {
		name, in string
		status   string
		body     string
		err      error
	}{
		{name: "interim answers", in: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + sized(200, "text/plain", "ok"), status: "200", body: "ok"},
		{name: "trailer", in: "HTTP/1.1 200 OK\r\nTrailer: X-T\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-T: secret\r\n\r\n", status: "200", body: "ok"},
		{name: "chunk extension", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nok\r\n0;c\r\n\r\n", status: "200", body: "ok"},
		{name: "upper case and leading zeros", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n000A\r\n0123456789\r\n00\r\n\r\n", status: "200", body: "0123456789"},
		{name: "no chunk size", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nxyz\r\n", status: "200", body: "ok", err: io.ErrUnexpectedEOF},
		{name: "no line end behind a chunk", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n", status: "200", err: io.ErrUnexpectedEOF},
		{name: "huge chunk size", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nffffffffffffffff\r\n", status: "200", body: "ok", err: io.ErrUnexpectedEOF},
		{name: "endless chunk size", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n1;" + strings.Repeat("x", 5000), status: "200", body: "ok", err: io.ErrUnexpectedEOF},
		{name: "two lengths", in: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", status: "502"},
		{name: "unknown transfer encoding", in: "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", status: "502"},
		{name: "header too large", in: "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20_000) + "\r\n\r\n", status: "502"},
		{name: "nothing", in: "", status: "502"},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := upstream(t, func(conn net.Conn, _ rawRequest) error {
				_, _ = io.WriteString(conn, c.in)
				return io.EOF
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: up}})
			conn, r := dial(t, addr)
			send(t, conn, post("/x", "{}"))
			head, err := readHead(r)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(head.head, "HTTP/1.1 "+c.status+" ") {
				t.Errorf("status of %q, want %s", head.head, c.status)
			}
			if c.status == "502" {
				return
			}
			if h := head.header("Trailer"); h != nil {
				t.Errorf("trailer %q is announced", h)
			}
			var got string
			if len(head.header("Content-Length")) > 0 {
				m, err := readBodyOf(r, head)
				if err != nil {
					t.Fatal(err)
				}
				got = string(m.body)
			} else {
				chunks, err := readChunks(r)
				if (err == nil) != (c.err == nil) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				got = strings.Join(chunks, "")
			}
			if got != c.body {
				t.Errorf("body %q, want %q", got, c.body)
			}
			if c.err != nil {
				return
			}
			// What follows on the connection is the next answer.
			send(t, conn, "GET /-/healthz HTTP/1.1\r\nHost: h\r\n\r\n")
			if m, err := readRaw(r); err != nil || string(m.body) != "ok\n" {
				t.Errorf("next answer %q, %v", m.head, err)
			}
		})
	}
}

// An upstream that has seen enough of a large body answers and closes.
func TestLegEarlyAnswer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { // ends with the listener
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(c)
			if _, err := readHead(r); err == nil {
				_, _ = io.WriteString(c, strings.Replace(sized(413, "text/plain", "too much"), "\r\n", "\r\nConnection: close\r\n", 1))
			}
			_ = c.(*net.TCPConn).CloseWrite()
			_, _ = io.CopyN(io.Discard, r, 1<<20)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	addr := start(t, Options{Upstream: Upstreams{Gemini: "http://" + ln.Addr().String()}})
	conn, r := dial(t, addr)
	send(t, conn, "POST /upload/v1beta/files HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n")
	go func() { _, _ = io.Copy(conn, zeros{}) }() // ends with the connection
	m, err := readRaw(r)
	if err != nil || !strings.HasPrefix(m.head, "HTTP/1.1 413 ") || string(m.body) != "too much" {
		t.Errorf("answer %q %q, %v", m.head, m.body, err)
	}
	if h := m.header("Connection"); len(h) != 1 || h[0] != "close" {
		t.Errorf("connection %q: what is left of the body would be read as a request", h)
	}
}

// zeros is an endless body.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// A client that breaks off its upload must not look upstream as if it had
// finished.
func TestLegCutUpload(t *testing.T) {
	for _, head := range []string{"Content-Length: 1000000\r\n", "Transfer-Encoding: chunked\r\n"} {
		ended := make(chan error, 1)
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { // ends with its one connection
			c, err := ln.Accept()
			if err != nil {
				ended <- err
				return
			}
			defer c.Close()
			_, err = readRaw(bufio.NewReader(c))
			ended <- err
		}()
		addr := start(t, Options{Upstream: Upstreams{Gemini: "http://" + ln.Addr().String()}})
		conn, _ := dial(t, addr)
		send(t, conn, "POST /x HTTP/1.1\r\nHost: h\r\n"+head+"\r\n")
		if strings.HasPrefix(head, "T") {
			send(t, conn, "3\r\nabc\r\n")
		} else {
			send(t, conn, strings.Repeat("x", 100_000))
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil {
			t.Errorf("%q: the upstream read a whole request", head)
		}
		_ = ln.Close()
	}
}

func TestLegTLS(t *testing.T) {
	var protocols atomic.Value
	up := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols.Store(r.Proto)
		b, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s", r.RequestURI, b)
	}))
	up.EnableHTTP2 = true // which it offers, and we do not ask for
	up.Config.ErrorLog = log.New(io.Discard, "", 0)
	up.StartTLS()
	defer up.Close()
	roots := x509.NewCertPool()
	roots.AddCert(up.Certificate())
	addr := start(t, Options{Upstream: Upstreams{Gemini: up.URL}, TLS: &tls.Config{RootCAs: roots}})
	for range 3 {
		if _, b := do(t, newPost(t, addr, "/x?y", []byte("{}"))); string(b) != "/x?y {}" {
			t.Fatalf("body %q", b)
		}
	}
	if p := protocols.Load(); p != "HTTP/1.1" {
		t.Errorf("spoke %v", p)
	}
	// Without its root the certificate is refused, and the client is told.
	addr = start(t, Options{Upstream: Upstreams{Gemini: up.URL}})
	resp, b := do(t, newPost(t, addr, "/x?key=SECRET", []byte("{}")))
	checkError(t, resp, b, 502, "UPSTREAM_UNREACHABLE", "certificate")
}

// The environment's proxies: CONNECT for https, the whole URL for http.
func TestLegThroughProxy(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "secure "+r.RequestURI)
	}))
	defer secure.Close()
	roots := x509.NewCertPool()
	roots.AddCert(secure.Certificate())
	var lines []string // calls come one after the other
	via := upstream(t, func(conn net.Conn, req rawRequest) error {
		lines = append(lines, req.line()+" "+strings.Join(req.header("Proxy-Authorization"), ","))
		if !strings.HasPrefix(req.line(), "CONNECT ") {
			_, err := io.WriteString(conn, sized(200, "text/plain", "plain"))
			return err
		}
		if strings.Contains(req.line(), "refused") {
			_, err := io.WriteString(conn, sized(403, "text/plain", "no"))
			return err
		}
		to, err := net.Dial("tcp", secure.Listener.Addr().String())
		if err != nil {
			return err
		}
		defer to.Close()
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return err
		}
		go func() { _, _ = io.Copy(to, conn); _ = to.Close() }() // ends with conn
		_, _ = io.Copy(conn, to)
		return io.EOF
	})
	call := func(base string) (*http.Response, []byte) {
		s, addr := startServer(t, Options{Upstream: Upstreams{Gemini: base}, TLS: &tls.Config{RootCAs: roots, ServerName: "example.com"}})
		s.leg.proxy = func(*url.URL) (*url.URL, error) { return url.Parse(strings.Replace(via, "//", "//user:pass@", 1)) }
		return do(t, newPost(t, addr, "/x?y", []byte("{}")))
	}
	if resp, b := call("https://api.example/base"); string(b) != "secure /base/x?y" {
		t.Errorf("https: %s %s", resp.Status, b)
	}
	if resp, b := call("http://api.example/base"); string(b) != "plain" {
		t.Errorf("http: %s %s", resp.Status, b)
	}
	resp, b := call("https://refused.example")
	checkError(t, resp, b, 502, "UPSTREAM_UNREACHABLE", "403")
	want := []string{"CONNECT api.example:443 HTTP/1.1 Basic dXNlcjpwYXNz", "POST http://api.example/base/x?y HTTP/1.1 Basic dXNlcjpwYXNz", "CONNECT refused.example:443 HTTP/1.1 Basic dXNlcjpwYXNz"}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// answerOf makes an answer of a chunked body that comes in pieces.
func answerOf(r io.Reader) *answer {
	return &answer{conn: &upConn{br: bufio.NewReaderSize(r, 16<<10)}, length: chunkedBody, header: &fasthttp.ResponseHeader{}}
}

// sinkConn keeps what is written to it.
type sinkConn struct {
	net.Conn
	bytes.Buffer
}

func (c *sinkConn) Write(p []byte) (int, error) { return c.Buffer.Write(p) }
func (c *sinkConn) Read(p []byte) (int, error)  { return 0, io.EOF }

// relayed is what a client would have: the relay's bytes and what the front adds.
func relayed(r io.Reader) (string, int64, error) {
	to := &sinkConn{}
	front := &frontConn{Conn: to, hold: true}
	_, _ = front.Write([]byte("HEAD"))
	n, err := answerOf(r).relay(front, func() {})
	if front.hold {
		_ = front.release(nil)
	}
	if err == nil {
		_, _ = front.Write([]byte("0\r\n"))
		_, _ = front.Write([]byte("\r\nNEXT"))
	}
	return to.String(), n, err
}

// Relaying a body and reading it say the same, for every cut.
func FuzzRelay(f *testing.F) {
	f.Add([]byte("2\r\nok\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n"))
	f.Add([]byte("1\r\na\r\n0\r\nX: y\r\n\r\n"))
	f.Add([]byte("1\r\nab\r\n0\r\n\r\n"))
	f.Add([]byte("5\r\nab"))
	f.Add([]byte("0\r\n\r\nmore"))
	f.Fuzz(func(t *testing.T, in []byte) {
		want, werr := io.ReadAll(answerOf(bytes.NewReader(in)))
		for name, r := range map[string]io.Reader{"at once": bytes.NewReader(in), "byte by byte": iotest.OneByteReader(bytes.NewReader(in)), "in halves": iotest.HalfReader(bytes.NewReader(in))} {
			out, n, err := relayed(r)
			if (err == nil) != (werr == nil) {
				t.Fatalf("%s: relay ends with %v, read with %v", name, err, werr)
			}
			rest, ok := strings.CutPrefix(out, "HEAD")
			if !ok {
				t.Fatalf("%s: header lost: %q", name, out)
			}
			if err == nil {
				if rest, ok = strings.CutSuffix(rest, "NEXT"); !ok {
					t.Fatalf("%s: the next answer is lost: %q", name, out)
				}
			}
			got, rerr := io.ReadAll(answerOf(strings.NewReader(rest)))
			if err == nil && rerr != nil {
				t.Fatalf("%s: the client cannot read %q: %v", name, rest, rerr)
			}
			if err == nil && string(got) != string(want) || !strings.HasPrefix(string(want), string(got)) && err != nil {
				t.Fatalf("%s: body %q, want %q", name, got, want)
			}
			if err == nil && n != int64(len(want)) {
				t.Fatalf("%s: counted %d of %d bytes", name, n, len(want))
			}
		}
	})
}

// A call whose events are read here starts with a small buffer; a large header
// and what came with it must get through all the same.
func TestLegLargeHeader(t *testing.T) {
	up := upstream(t, always(strings.Replace(chunked("text/event-stream", "data: {\"a\":1}\r\n\r\n"), "\r\n", "\r\nX-Large: "+strings.Repeat("x", 10_000)+"\r\n", 1)))
	for name, o := range map[string]Options{"forwarded": {}, "hooked": hook(Options{}, relay)} {
		o.Upstream.Gemini = up
		conn, r := dial(t, start(t, o))
		for range 2 {
			send(t, conn, post(streamTarget, "{}"))
			m, err := readRaw(r)
			if err != nil || string(m.body) != "data: {\"a\":1}\r\n\r\n" || len(m.header("X-Large")) != 1 {
				t.Errorf("%s: %.100q %q, %v", name, m.head, m.body, err)
			}
		}
	}
}

func TestLegDialCancelled(t *testing.T) {
	dialing := make(chan struct{})
	ended := make(chan error, 1)
	addr := start(t, Options{
		Upstream: Upstreams{Gemini: "http://192.0.2.1"},
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			close(dialing)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return nil, ctx.Err()
		},
	})
	conn, _ := dial(t, addr)
	send(t, conn, post("/x", "{}"))
	<-dialing
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrClientGone) {
		t.Errorf("the dial ended with %v, want %v", err, ErrClientGone)
	}
}
