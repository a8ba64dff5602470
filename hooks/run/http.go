package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// maxHeader is the most bytes of a service's response header.
	maxHeader = 64 << 10
	// idleTimeout is how long a connection waits for the next event. Many
	// servers close theirs after 5 s (Node.js), and a request that crosses
	// with that is lost.
	idleTimeout = 4 * time.Second
)

// HTTPOptions of an HTTP handler. The zero value works.
type HTTPOptions struct {
	// AllowedURLs are the only URLs that hooks are sent to; a * stands for
	// anything. Nil allows all, an empty list none.
	AllowedURLs []string
	// AllowPrivate lets hooks reach private networks. Link-local, metadata and
	// multicast addresses stay blocked; this machine is always allowed.
	AllowPrivate bool
	// Lookup finds environment variables for headers; nil for os.LookupEnv.
	Lookup func(string) (string, bool)
	// MaxOutput is the most bytes of an answer's body, decompressed; zero for
	// DefaultMaxOutput.
	MaxOutput int
}

// HTTP is the handler of http hooks: an event is a POST, the answer's body what
// a command would print to stdout. A status decides nothing: an answer counts
// when it is 2xx and a JSON object, an empty one is no opinion, and all else is
// a failure.
//
// It never follows a redirect, uses no proxy, and connects to no address that
// is blocked: each one is checked at the time of connecting, so that no name
// server can swap it after the check.
type HTTP struct {
	allowed   []urlPattern // nil: all
	private   bool
	lookup    func(string) (string, bool)
	maxOutput int
	dialer    *net.Dialer
	transport *http.Transport
}

var _ hooks.Handler = (*HTTP)(nil)

// NewHTTP makes an HTTP handler.
func NewHTTP(o HTTPOptions) *HTTP {
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	h := &HTTP{private: o.AllowPrivate, lookup: o.Lookup, maxOutput: o.MaxOutput}
	if o.AllowedURLs != nil {
		h.allowed = make([]urlPattern, len(o.AllowedURLs))
		for i, s := range o.AllowedURLs {
			h.allowed[i] = newURLPattern(s)
		}
	}
	h.dialer = &net.Dialer{ControlContext: h.control}
	h.transport = &http.Transport{
		Proxy:                  nil, // it would connect for us, past the check
		DialContext:            h.dialer.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
	}
	return h
}

// Close closes the connections that wait for the next event.
func (h *HTTP) Close() error {
	h.transport.CloseIdleConnections()
	return nil
}

// control sees the address that is about to be connected to.
func (h *HTTP) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &blocked{addr: "the address", what: "of an unknown kind"}
	}
	if b := checkAddr(ap.Addr(), h.private); b != nil {
		return b
	}
	return nil
}

// Handle implements [hooks.Handler].
func (h *HTTP) Handle(ctx context.Context, hook *hooks.Hook, in []byte, _ hooks.Env) hooks.Result {
	req, failure := h.request(ctx, hook, in)
	if failure != nil {
		return hooks.Result{Err: failure}
	}
	// Not by a Client: it would follow redirects, and its errors show the URL.
	resp, err := h.transport.RoundTrip(req)
	if err != nil {
		return hooks.Result{Err: netFailure(ctx, err)}
	}
	defer resp.Body.Close()
	if failure := statusFailure(resp.StatusCode); failure != nil {
		return hooks.Result{Err: failure}
	}
	if resp.Header.Get("Content-Encoding") != "" {
		return hooks.Result{Err: &hooks.Failure{Kind: hooks.FailureJSON, Text: "its answer is encoded in a way that it was not asked for",
			Hint: "answer as it is, or with gzip"}}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(h.maxOutput)+1))
	switch {
	case len(body) > h.maxOutput:
		return hooks.Result{Err: &hooks.Failure{Kind: hooks.FailureSize, Text: "answered more than " + size(h.maxOutput),
			Hint: "a hook answers with one JSON object"}}
	case err != nil:
		return hooks.Result{Err: netFailure(ctx, err)}
	}
	body = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(body), []byte("\ufeff")))
	if len(body) > 0 && (body[0] != '{' || !json.Valid(body)) {
		return hooks.Result{Err: &hooks.Failure{Kind: hooks.FailureJSON, Text: "its answer is not a JSON object",
			Hint: "answer 2xx with one JSON object, or with an empty body for no opinion"}}
	}
	return hooks.Result{Stdout: body}
}

// request makes the request of an event.
func (h *HTTP) request(ctx context.Context, hook *hooks.Hook, in []byte) (*http.Request, *hooks.Failure) {
	u, failure := h.target(hook.URL)
	if failure != nil {
		return nil, failure
	}
	user := u.User
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unused", bytes.NewReader(in))
	if err != nil {
		return nil, hooks.Failuref(hooks.FailureInternal, "no request can be made")
	}
	req.URL, req.Host = u, u.Host
	req.Header = headersOf(hook, h.lookup)
	if user != nil && req.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	req.Header.Set("Content-Type", "application/json")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "hookline")
	}
	return req, nil
}

// target reads a hook's URL and refuses those that it may not be sent to. No
// failure shows the URL, which may hold a secret in any of its parts.
func (h *HTTP) target(raw string) (*url.URL, *hooks.Failure) {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return nil, &hooks.Failure{Kind: hooks.FailureStart, Text: "its URL is none", Hint: "write it like https://hooks.example.com/path"}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, &hooks.Failure{Kind: hooks.FailureBlocked, Text: "its URL is blocked: it is neither http nor https"}
	}
	if b := checkHost(u.Hostname(), h.private); b != nil {
		return nil, blockedFailure(b)
	}
	if !allowedURL(h.allowed, u) {
		return nil, &hooks.Failure{Kind: hooks.FailureBlocked, Text: "its URL is blocked: no pattern of the allowed URLs matches it",
			Hint: "add one to hooksConfig.allowedHttpHookUrls"}
	}
	return u, nil
}

func blockedFailure(b *blocked) *hooks.Failure {
	f := hooks.Failuref(hooks.FailureBlocked, "%s", b.Error())
	if b.private {
		f.Hint = "hooksConfig.allowPrivateNetworkHooks opens private networks"
	}
	return f
}

func statusFailure(code int) *hooks.Failure {
	switch {
	case code >= 200 && code <= 299:
		return nil
	case code >= 300 && code <= 399:
		return &hooks.Failure{Kind: hooks.FailureStatus, Text: fmt.Sprintf("answered with status %d, a redirect", code),
			Hint: "redirects are not followed: write the URL that it ends at"}
	}
	return &hooks.Failure{Kind: hooks.FailureStatus, Text: fmt.Sprintf("answered with status %d", code),
		Hint: "a status decides nothing: to block, answer 200 with {\"decision\":\"deny\",\"reason\":\"…\"}"}
}
