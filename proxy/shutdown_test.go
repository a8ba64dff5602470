package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A shutdown waits for answers under way, and cuts them when its patience ends.
func TestShutdown(t *testing.T) {
	for _, c := range []struct {
		name    string
		patient bool
		runner  runnerFunc
	}{
		{name: "drains", patient: true},
		{name: "cuts"},
		{name: "drains a hooked call", patient: true, runner: relay},
		{name: "cuts a hooked call", runner: relay},
	} {
		t.Run(c.name, func(t *testing.T) {
			goOn := make(chan struct{})
			up := upstream(t, func(conn net.Conn, _ rawRequest) error {
				whole := chunked("text/event-stream", "data: 1\r\n\r\n", "data: 2\r\n\r\n")
				half := strings.Index(whole, "1\r\n\r\n\r\n") + len("1\r\n\r\n\r\n")
				if _, err := io.WriteString(conn, whole[:half]); err != nil {
					return err
				}
				<-goOn
				_, err := io.WriteString(conn, whole[half:])
				return err
			})
			o := Options{Upstream: Upstreams{Gemini: up}}
			if c.runner != nil {
				o = hook(o, c.runner)
			}
			s, addr := startServer(t, o)
			conn, r := dial(t, addr)
			send(t, conn, post(streamTarget, "{}"))
			head, err := readHead(r)
			if err != nil || len(head.header("Transfer-Encoding")) != 1 {
				t.Fatalf("%q, %v", head.head, err)
			}
			if _, err := r.Peek(5); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- s.Shutdown(ctx) }() // ends with ctx at the latest
			if c.patient {
				close(goOn)
			} else {
				cancel()
			}
			chunks, err := readChunks(r)
			if c.patient {
				if err != nil || strings.Join(chunks, "") != "data: 1\r\n\r\ndata: 2\r\n\r\n" {
					t.Errorf("the answer ended with %q, %v", chunks, err)
				}
				if err := <-ended; err != nil {
					t.Errorf("shutdown: %v", err)
				}
				return
			}
			if err == nil {
				t.Errorf("a cut answer looks whole: %q", chunks)
			}
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("shutdown: %v, want %v", err, context.Canceled)
			}
			close(goOn)
		})
	}
}

// The clients' connections that wait for nothing end with a shutdown.
func TestShutdownIdle(t *testing.T) {
	s, addr := startServer(t, Options{})
	conn, r := dial(t, addr)
	send(t, conn, "GET /-/healthz HTTP/1.1\r\nHost: h\r\n\r\n")
	if _, err := readRaw(r); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("the connection ended with %v", err)
	}
	if _, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		t.Error("it still accepts connections")
	}
}
