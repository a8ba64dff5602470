package proxy

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// The upstream leg speaks HTTP/1.1 itself, on connections it owns, because that
// is what makes cancelling at any moment and passing bytes on as they stand cheap:
// docs/decisions/0004-upstream-leg.md has the figures.

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	maxIdlePerHost   = 256
	idleTimeout      = 90 * time.Second
)

// Read buffers of upstream connections. A connection has one while it carries a
// call. An answer's header has to fit into the larger.
var (
	relayReaders = readerPool(maxAnswerHeader) // one read and write of what is there
	eventReaders = readerPool(4 << 10)         // for answers that are read here
)

const maxAnswerHeader = 16 << 10

func readerPool(size int) *sync.Pool {
	return &sync.Pool{New: func() any { return bufio.NewReaderSize(nil, size) }}
}

// leg makes upstream connections and keeps idle ones.
type leg struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	tls   *tls.Config
	proxy func(*url.URL) (*url.URL, error)
	seen  func(Observed) io.WriteCloser // nil for none

	mu     sync.Mutex
	idle   map[string][]*upConn // by scheme and host, the latest last
	closed bool
	reaper *time.Timer // runs while there are idle connections
}

func newLeg(o Options) *leg {
	l := &leg{dial: o.Dial, seen: o.Observe, idle: make(map[string][]*upConn), proxy: httpproxy.FromEnvironment().ProxyFunc()}
	if l.dial == nil {
		l.dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	l.tls = o.TLS.Clone()
	if l.tls == nil {
		l.tls = &tls.Config{}
	}
	l.tls.NextProtos = []string{"http/1.1"}
	if l.tls.ClientSessionCache == nil {
		l.tls.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	}
	return l
}

// upConn is a connection to an upstream. It belongs to one call at a time.
type upConn struct {
	net.Conn
	br     *bufio.Reader // nil while it is idle
	key    string
	plain  net.Conn // under TLS: the TCP connection
	via    *url.URL // the HTTP proxy that wants the whole URL in the request line; nil for none
	used   bool     // has carried a call before
	parked time.Time
}

func legKey(base *url.URL) string { return base.Scheme + "://" + base.Host }

// get gives an idle connection, or a new one.
func (l *leg) get(ctx context.Context, base *url.URL, readers *sync.Pool, fresh bool) (*upConn, error) {
	key := legKey(base)
	for !fresh {
		c := l.pop(key)
		if c == nil {
			break
		}
		if time.Since(c.parked) < idleTimeout && stillOpen(c.plain) {
			c.used = true
			c.br = borrow(readers, c.Conn)
			return c, nil
		}
		_ = c.Close()
	}
	c, err := l.connect(ctx, base, key)
	if err != nil {
		return nil, err
	}
	c.br = borrow(readers, c.Conn)
	return c, nil
}

func borrow(readers *sync.Pool, from io.Reader) *bufio.Reader {
	br := readers.Get().(*bufio.Reader)
	br.Reset(from)
	return br
}

func (l *leg) pop(key string) *upConn {
	l.mu.Lock()
	defer l.mu.Unlock()
	conns := l.idle[key]
	if len(conns) == 0 {
		return nil
	}
	c := conns[len(conns)-1]
	conns[len(conns)-1] = nil
	l.idle[key] = conns[:len(conns)-1]
	return c
}

// put takes a connection back whose answer has been read whole.
func (l *leg) put(c *upConn) {
	l.mu.Lock()
	if l.closed || len(l.idle[c.key]) >= maxIdlePerHost {
		l.mu.Unlock()
		_ = c.Close()
		return
	}
	c.parked = time.Now()
	l.idle[c.key] = append(l.idle[c.key], c)
	if l.reaper == nil {
		l.reaper = time.AfterFunc(idleTimeout, l.reap)
	}
	l.mu.Unlock()
}

// reap closes connections that have been idle for too long.
func (l *leg) reap() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reaper = nil
	left := 0
	for key, conns := range l.idle {
		n := 0
		for n < len(conns) && time.Since(conns[n].parked) >= idleTimeout {
			_ = conns[n].Close()
			n++
		}
		if conns = slices.Delete(conns, 0, n); len(conns) == 0 {
			delete(l.idle, key)
			continue
		}
		l.idle[key] = conns
		left += len(conns)
	}
	if left > 0 && !l.closed {
		l.reaper = time.AfterFunc(idleTimeout/2, l.reap)
	}
}

// close closes idle connections, and those that come back from now on.
func (l *leg) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.reaper != nil {
		l.reaper.Stop()
	}
	for _, conns := range l.idle {
		for _, c := range conns {
			_ = c.Close()
		}
	}
	clear(l.idle)
}

// connect dials, through a proxy if the environment names one.
func (l *leg) connect(ctx context.Context, base *url.URL, key string) (*upConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+handshakeTimeout)
	defer cancel()
	via, err := l.proxy(base)
	if err != nil {
		return nil, fmt.Errorf("proxy of the environment: %w", err)
	}
	addr := withPort(base)
	if via != nil {
		if via.Scheme != "http" {
			return nil, fmt.Errorf("proxy of the environment: scheme %q is not supported, only http is", via.Scheme)
		}
		addr = withPort(via)
	}
	conn, err := l.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	c := &upConn{Conn: conn, plain: conn, key: key}
	if via != nil && base.Scheme == "http" {
		c.via = via
	}
	if base.Scheme == "https" {
		if via != nil {
			err = connectThrough(ctx, conn, via, withPort(base))
		}
		if err == nil {
			err = c.secure(ctx, l.tls, base.Hostname())
		}
		if err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return c, nil
}

func withPort(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	return net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func (c *upConn) secure(ctx context.Context, cfg *tls.Config, name string) error {
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName = name
	}
	t := tls.Client(c.plain, cfg)
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	if err := t.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	c.Conn = t
	return nil
}

// connectThrough asks an HTTP proxy for a tunnel.
func connectThrough(ctx context.Context, conn net.Conn, via *url.URL, addr string) error {
	defer abortOn(ctx, conn)()
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: proxyAuth(via)}
	if err := req.Write(conn); err != nil {
		return err
	}
	// Nothing follows the answer before the handshake: the buffer can be dropped.
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return fmt.Errorf("proxy %s: %w", via.Host, err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("proxy %s answered %s", via.Host, resp.Status)
	}
	return nil
}

func proxyAuth(via *url.URL) http.Header {
	h := http.Header{}
	if via.User != nil {
		pass, _ := via.User.Password()
		h.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(via.User.Username()+":"+pass)))
	}
	return h
}

// abortOn makes reads and writes of c fail when ctx ends. The function that it
// returns ends that; false means that it has happened, and c is of no use.
func abortOn(ctx context.Context, c net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
}

var errUnsolicited = errors.New("the upstream sent something that is no answer")
