package proxy

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen; only failing tests
// wait that long.
const patience = 10 * time.Second

// start runs a Server with these options and returns its address.
func start(t *testing.T, o Options) string {
	t.Helper()
	_, addr := startServer(t, o)
	return addr
}

func startServer(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, serve(t, s)
}

func serve(t *testing.T, s *Server) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1) // one Serve
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return ln.Addr().String()
}

// rawRequest is a request as its bytes stand on the wire.
type rawRequest struct {
	head string // up to the blank line, included
	body []byte // chunking undone
}

func (r rawRequest) line() string {
	line, _, _ := strings.Cut(r.head, "\r\n")
	return line
}

// header gives the values of a header, in order.
func (r rawRequest) header(name string) (values []string) {
	for line := range strings.SplitSeq(r.head, "\r\n") {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.EqualFold(k, name) {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

// readRaw reads one message head and its body.
func readRaw(r *bufio.Reader) (m rawRequest, err error) {
	if m, err = readHead(r); err != nil {
		return m, err
	}
	return readBodyOf(r, m)
}

func readHead(r *bufio.Reader) (m rawRequest, err error) {
	for {
		line, err := r.ReadString('\n')
		m.head += line
		if err != nil {
			return m, err
		}
		if line == "\r\n" {
			return m, nil
		}
	}
}

func readBodyOf(r *bufio.Reader, m rawRequest) (rawRequest, error) {
	if v := m.header("Content-Length"); len(v) == 1 {
		n, err := strconv.Atoi(v[0])
		if err != nil {
			return m, err
		}
		m.body = make([]byte, n)
		_, err = io.ReadFull(r, m.body)
		return m, err
	}
	if v := m.header("Transfer-Encoding"); len(v) == 1 {
		chunks, err := readChunks(r)
		m.body = []byte(strings.Join(chunks, ""))
		return m, err
	}
	return m, nil
}

// readChunks reads a chunked body and keeps the chunks apart.
func readChunks(r *bufio.Reader) (chunks []string, err error) {
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return chunks, noEOF(err)
		}
		line, _, _ = strings.Cut(line, ";")
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return chunks, err
		}
		b := make([]byte, n+2)
		if _, err := io.ReadFull(r, b); err != nil {
			return chunks, noEOF(err)
		}
		if n == 0 {
			return chunks, nil
		}
		chunks = append(chunks, string(b[:n]))
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// upstream is a TCP server that answers with bytes. serve is called for each
// request; its connection is closed when serve returns an error.
func upstream(t *testing.T, serve func(c net.Conn, req rawRequest) error) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{}) // closed when the accept loop has ended
	conns := make(chan net.Conn, 1<<16)
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			conns <- c
			go func() { // ends when its connection does
				defer c.Close()
				r := bufio.NewReader(c)
				for {
					req, err := readRaw(r)
					if err != nil || serve(c, req) != nil {
						return
					}
				}
			}()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
		close(conns)
		for c := range conns {
			_ = c.Close()
		}
	})
	return "http://" + ln.Addr().String()
}

// always sends the same bytes to every request.
func always(b string) func(net.Conn, rawRequest) error {
	return func(c net.Conn, _ rawRequest) error {
		_, err := io.WriteString(c, b)
		return err
	}
}

func dial(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

func send(t *testing.T, c net.Conn, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// post is a POST with a body of JSON.
func post(target, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: proxy.example\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", target, len(body), body)
}

const (
	streamTarget = "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
	arrayTarget  = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
	unaryTarget  = "/v1beta/models/gemini-2.5-flash:generateContent"
)

func chunked(contentType string, chunks ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", contentType)
	for _, c := range chunks {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(c), c)
	}
	return b.String() + "0\r\n\r\n"
}

func sized(status int, contentType, body string) string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", status, http.StatusText(status), contentType, len(body), body)
}

// do sends a request by net/http and reads the answer whole.
func do(t *testing.T, req *http.Request) (*http.Response, []byte) {
	t.Helper()
	tr := &http.Transport{DisableCompression: true}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("body: %v after %q", err, b)
	}
	return resp, b
}

func newPost(t *testing.T, addr, target string, body []byte) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+target, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// promptly repeats a measurement until it is within the limit that we promise: a
// busy machine may be late, but not five times in a row.
func promptly(t *testing.T, limit time.Duration, measure func(t *testing.T) time.Duration) {
	t.Helper()
	var took []time.Duration
	for range 5 {
		d := measure(t)
		if d <= limit {
			return
		}
		took = append(took, d)
	}
	t.Errorf("took %v, want %v at most", took, limit)
}
