// Package proxy is hookline's HTTP side: a fasthttp server in front, the API
// behind. A request is either a model call that somebody hooks - its body is
// read whole and handed to a [Runner] - or it passes through, streamed both
// ways. Which of the two is decided once, in [Server.handle].
//
// Invariants: what passes through arrives byte for byte, path and query as they
// were written, end-to-end headers all kept; an answer that breaks upstream
// breaks downstream; a client that hangs up ends the upstream call; credentials
// appear in no log, no error and no file.
package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/proxy/shield"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
)

// DefaultMaxBody is the size limit of a hooked call's body in bytes.
const DefaultMaxBody = 100 << 20

// Runner runs model calls through hooks; [toolloop.Loop] is the real one.
type Runner interface {
	// Active reports whether any hook is there at all. While it reports
	// false, model calls pass through like everything else.
	Active() bool
	// Run serves one call. An error before out was started becomes an error
	// answer; afterwards it cuts the stream.
	Run(ctx context.Context, c toolloop.Call, out toolloop.Sink) error
}

// Upstreams are base URLs, a path prefix included; "" means Google's own.
type Upstreams struct {
	Gemini     string // default https://generativelanguage.googleapis.com
	Vertex     string // default: the endpoint of the location that the path names
	CodeAssist string // default https://cloudcode-pa.googleapis.com
}

// Options configure a Server. The zero value passes everything through to Google.
type Options struct {
	Upstream Upstreams
	Runner   Runner // nil: no hooks
	// MaxBody limits the body of a hooked call, in bytes, compressed and
	// not; 0 means [DefaultMaxBody]. Bodies that pass through have no limit.
	MaxBody int
	Limits  stream.Limits // of upstream streams that are hooked
	Log     *slog.Logger  // nil: discards
	// Dial makes upstream connections; nil means TCP with a time limit of 10 s.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// TLS is how https upstreams are spoken to; nil means the system's roots.
	TLS *tls.Config
	// Observe, if set, is called for each upstream answer. What it returns, nil
	// for nothing, is given the body as it is read, its framing undone, and then
	// closed; it must not hold up whoever reads. Upgraded connections (Live)
	// are not shown to it.
	Observe func(Observed) io.WriteCloser
	// Shield redacts what goes to the model and restores what comes back; nil
	// for none.
	Shield *shield.Shield
	// Endpoints say what becomes of requests that are no model calls, by the
	// names of [EndpointNames]. What is not named has the default: pass without a
	// shield, else see [DefaultPolicy].
	Endpoints map[string]Policy
	// DenyAs is the form in which a call that the shield stops is answered; "" is
	// [toolloop.DenyAsAnswer].
	DenyAs toolloop.DenyAs
	// Reports answers events that agents report; nil for nobody: their path then
	// passes through like every other.
	Reports Reporter
	// ReportToken is what reports must bear; "" takes them from this machine alone.
	ReportToken string
	// Ready says what /-/readyz answers: nil for ready, an error for not yet.
	// A nil func is always ready.
	Ready func() error
}

// Observed is an upstream answer whose header has come.
type Observed struct {
	Path            string // raw, without the query
	Status          int
	ContentType     string
	ContentEncoding string
}

const (
	headerTimeout = time.Minute
	bodyTimeout   = 24 * time.Hour
)

// Server is hookline's front. Make one with [New].
type Server struct {
	opt   Options
	log   *slog.Logger
	set   atomic.Pointer[settings]
	front *fasthttp.Server
	leg   *leg
	ids   requestIDs
	// guarded: requests that are no model calls may be stopped or redacted.
	guarded bool

	// base is the parent of all requests' contexts; cancel ends them when a
	// shutdown's patience does.
	base   context.Context //nolint:containedctx // the server's life, not a call's
	cancel context.CancelCauseFunc

	tunnels sync.WaitGroup // hijacked connections, which the front has let go of
}

// Causes of a request context's end, as context.Cause gives them.
var (
	ErrClientGone = errors.New("the client hung up")
	ErrShutdown   = errors.New("hookline is shutting down")
	errDone       = errors.New("the request is done")
)

// New makes a Server. The error names the upstream URL that cannot be used.
func New(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{opt: o, log: o.Log, ids: newRequestIDs()}
	if err := s.Update(o.Upstream, o.MaxBody); err != nil {
		return nil, err
	}
	s.leg = newLeg(o)
	s.guarded = o.Shield.Active() || len(o.Endpoints) > 0
	s.base, s.cancel = context.WithCancelCause(context.Background())
	s.front = &fasthttp.Server{
		Handler:           s.handle,
		ErrorHandler:      s.badRequest,
		StreamRequestBody: true,
		// Streams are many and mostly idle, so buffers are small. The first
		// limits the header, too.
		ReadBufferSize:  8 << 10,
		WriteBufferSize: 2 << 10,
		// No limit, as bodies are streamed: it keeps the front from reading
		// their beginning into a buffer of its own.
		MaxRequestBodySize:           1,
		DisablePreParseMultipartForm: true,
		NoDefaultServerHeader:        true,
		NoDefaultContentType:         true,
		NoDefaultDate:                true, // begin sets it
		CloseOnShutdown:              true,
		SecureErrorLogMessage:        true,
		IdleTimeout:                  5 * time.Minute, // longer than the clients' pools keep theirs
		// For the header alone: bodies may take as long as they move, and
		// answers as long as models think.
		ReadTimeout: headerTimeout,
		HeaderReceived: func(*fasthttp.RequestHeader) fasthttp.RequestConfig {
			return fasthttp.RequestConfig{ReadTimeout: bodyTimeout}
		},
		Logger: frontLog{s.log},
	}
	return s, nil
}

// settings are what may change while the server runs.
type settings struct {
	bases
	maxBody int
}

// Update changes upstreams and the limit of a hooked call's body for requests
// that come from now on. The error names the URL that cannot be used; nothing is
// changed then.
func (s *Server) Update(u Upstreams, maxBody int) error {
	b, err := parseBases(u)
	if err != nil {
		return err
	}
	if maxBody <= 0 {
		maxBody = DefaultMaxBody
	}
	s.set.Store(&settings{bases: b, maxBody: maxBody})
	return nil
}

// Serve accepts connections until Shutdown, and then returns nil.
func (s *Server) Serve(ln net.Listener) error {
	if err := s.front.Serve(frontListener{ln}); err != nil {
		return fmt.Errorf("serve on %s: %w", ln.Addr(), err)
	}
	return nil
}

// Shutdown stops accepting, and waits for requests under way until ctx ends.
// Then it cancels what is left; streams that were cut look cut to their clients.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.front.ShutdownWithContext(ctx)
	s.cancel(ErrShutdown)
	s.tunnels.Wait()
	s.leg.close()
	return err
}

// frontLog passes the front's complaints on.
type frontLog struct{ log *slog.Logger }

func (l frontLog) Printf(format string, args ...any) {
	l.log.Debug("connection", "problem", fmt.Sprintf(format, args...))
}

// bases are the parsed upstream URLs.
type bases struct{ gemini, vertex, codeAssist *url.URL }

func parseBases(u Upstreams) (b bases, err error) {
	for _, e := range []struct {
		to              **url.URL
		name, raw, deft string
	}{
		{&b.gemini, "gemini", u.Gemini, "https://generativelanguage.googleapis.com"},
		{&b.vertex, "vertex", u.Vertex, ""},
		{&b.codeAssist, "codeAssist", u.CodeAssist, "https://cloudcode-pa.googleapis.com"},
	} {
		raw := e.raw
		if raw == "" {
			raw = e.deft
		}
		if raw == "" {
			continue
		}
		p, err := url.Parse(raw)
		if err != nil || p.Host == "" || p.Scheme != "http" && p.Scheme != "https" {
			return b, fmt.Errorf("upstream %s: %q is no http or https URL", e.name, redactURL(raw))
		}
		if p.RawQuery != "" || p.User != nil || p.Fragment != "" {
			return b, fmt.Errorf("upstream %s: %q must have no query, user or fragment", e.name, redactURL(raw))
		}
		*e.to = &url.URL{Scheme: p.Scheme, Host: p.Host, Path: strings.TrimRight(p.EscapedPath(), "/")}
	}
	return b, nil
}

// name is the config's word for a base.
func (b *bases) name(u *url.URL) string {
	switch u {
	case b.gemini:
		return "gemini"
	case b.codeAssist:
		return "codeAssist"
	}
	return "vertex"
}

// redactURL cuts off where a URL may hold secrets.
func redactURL(raw string) string {
	raw, _, _ = strings.Cut(raw, "?")
	if i := strings.LastIndexByte(raw, '@'); i >= 0 {
		raw = raw[i+1:]
	}
	return raw
}
