package run

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	secret = "s3cr3t" // stands in URLs and headers, and nowhere else
	said   = "HOSTILE-WORDS"
)

// newHTTP makes a handler that is watched: at the end of the test no connection
// may have gone to a blocked address.
func newHTTP(t *testing.T, o HTTPOptions) *HTTP {
	t.Helper()
	h := NewHTTP(o)
	var mu sync.Mutex
	var reached []netip.Addr
	h.transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := h.dialer.DialContext(ctx, network, addr)
		if err == nil {
			mu.Lock()
			reached = append(reached, c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr())
			mu.Unlock()
		}
		return c, err
	}
	t.Cleanup(func() {
		h.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, a := range reached {
			if b := checkAddr(a, o.AllowPrivate); b != nil {
				t.Errorf("a connection went out: %v", b)
			}
		}
	})
	return h
}

// rawServer answers every connection by script, after the request was read. It
// gives the URL. What the script sends need not be HTTP.
func rawServer(t *testing.T, script func(net.Conn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { // ends with the listener
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { // ends when the script does: clients hang up
				defer c.Close()
				req, err := http.ReadRequest(bufio.NewReader(c))
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				script(c)
			})
		}
	})
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	return "http://" + ln.Addr().String()
}

// untilHangUp waits for the other side to close.
func untilHangUp(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// names is a name server: each question for a name gets the next of its answers,
// and the last one again and again.
type names struct {
	mu      sync.Mutex
	answers map[string][][]string
	asked   int
}

// resolver asks the name server over pipes.
func (n *names) resolver(t *testing.T) *net.Resolver {
	var wg sync.WaitGroup
	t.Cleanup(wg.Wait)
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		wg.Go(func() { n.serve(server) }) // ends when the resolver closes its end
		return client, nil
	}}
}

func (n *names) serve(c net.Conn) {
	defer c.Close()
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		raw := make([]byte, binary.BigEndian.Uint16(size[:]))
		var m dnsmessage.Message
		if _, err := io.ReadFull(c, raw); err != nil || m.Unpack(raw) != nil {
			return
		}
		n.answer(&m)
		out, err := m.AppendPack([]byte{0, 0})
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(out, uint16(len(out)-2))
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

func (n *names) answer(m *dnsmessage.Message) {
	q := m.Questions[0]
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	if q.Type != dnsmessage.TypeA && q.Type != dnsmessage.TypeAAAA {
		return
	}
	name := strings.TrimSuffix(q.Name.String(), ".")
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.answers[name]
	if list == nil {
		m.RCode = dnsmessage.RCodeNameError
		return
	}
	for _, s := range list[0] {
		ip := netip.MustParseAddr(s)
		h := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET}
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	// Each dial asks for both kinds of address; the next dial gets the next answer.
	n.asked++
	if n.asked%2 == 0 && len(list) > 1 {
		n.answers[name] = list[1:]
	}
}

func post(t *testing.T, h hooks.Handler, hook *hooks.Hook) hooks.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return h.Handle(ctx, hook, []byte(`{"hook_event_name":"BeforeTool"}`), hooks.Env{Event: hooks.BeforeTool})
}

// wantKind checks a failure, and that it tells neither secrets nor what the
// service said.
func wantKind(t *testing.T, res hooks.Result, kind hooks.FailureKind) {
	t.Helper()
	var f *hooks.Failure
	if !errors.As(res.Err, &f) || f.Kind != kind || f.Text == "" || len(res.Stdout) > 0 {
		t.Fatalf("got %q, %#v; want a failure %q", res.Stdout, res.Err, kind)
	}
	for _, leak := range []string{secret, said} {
		if strings.Contains(f.Error(), leak) {
			t.Errorf("the failure tells %q: %v", leak, f)
		}
	}
	t.Log(f)
}
