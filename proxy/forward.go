package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/translate/gemini"
)

// exchange is one request and its answer. It lives until the answer's last byte
// is written, which is after the front's handler has returned.
type exchange struct {
	s        *Server
	set      *settings            // those that it began with
	fc       *fasthttp.RequestCtx // valid as long as the exchange is
	id       string
	start    time.Time
	to       target
	session  string
	prefixed bool // the session came as a path prefix

	ctx    context.Context //nolint:containedctx // an in-flight call holds its context
	cancel context.CancelCauseFunc
	watch  *watch
	up     *upload // the request body if it streams up, else nil

	sent   int64 // bytes of the answer's body
	closed bool
}

// handle is the front's handler for every request.
func (s *Server) handle(fc *fasthttp.RequestCtx) {
	x := &exchange{s: s, set: s.set.Load(), fc: fc, id: s.ids.next(), start: time.Now()}
	x.ctx, x.cancel = context.WithCancelCause(s.base)
	x.watch = newWatch(fc.Conn(), func() { x.cancel(ErrClientGone) })
	defer func() {
		if p := recover(); p != nil {
			// One request's bug must not end all others.
			s.log.Error("panic", "request", x.id, "panic", p, "stack", string(debug.Stack()))
			x.fail(asError(fmt.Errorf("panic: %v", p)))
			fc.SetConnectionClose()
		}
	}()
	uri := originForm(string(fc.Request.Header.RequestURI()))
	if strings.HasPrefix(uri, "/-/") {
		s.own(x, uri)
		x.end(nil)
		return
	}
	x.session, x.to.uri = cutSession(uri)
	if x.session != "" {
		x.prefixed = true
	} else if h := string(fc.Request.Header.Peek(headerSession)); validSession(h) {
		x.session = h
	}
	if s.opt.Reports != nil && reports(x.to.path()) {
		x.report()
		return
	}
	x.to.base = x.set.upstream(x.to.path())

	// WebSockets begin with a GET. Others that offer another protocol (Java's
	// HTTP/2 does, on its first call) can do without.
	upgrade := fc.IsGet() && fc.Request.Header.ConnectionUpgrade() && len(fc.Request.Header.Peek("Upgrade")) > 0
	if s.guarded && x.guard(upgrade) {
		return
	}
	if upgrade {
		x.tunnel()
		return
	}
	if r := s.opt.Runner; strings.EqualFold(string(fc.Method()), fasthttp.MethodPost) && (r != nil && r.Active() || s.opt.Shield.Active()) {
		if t := gemini.Route(fasthttp.MethodPost, x.to.path(), x.to.query()); t.Hooked {
			x.hooked(t)
			return
		}
	}
	x.forward()
}

// own answers hookline's own paths.
func (s *Server) own(x *exchange, uri string) {
	fc := x.fc
	path, _, _ := strings.Cut(uri, "?")
	x.to.uri = path
	begin(&fc.Response.Header, x.id, http.StatusOK, "")
	fc.SetContentType("text/plain; charset=utf-8")
	switch path {
	case "/-/healthz":
		fc.SetBodyString("ok\n")
	case "/-/readyz":
		if s.opt.Ready != nil {
			if err := s.opt.Ready(); err != nil {
				fc.SetStatusCode(http.StatusServiceUnavailable)
				fc.SetBodyString("not ready: " + err.Error() + "\n")
				return
			}
		}
		fc.SetBodyString("ok\n")
	default:
		fail(fc, x.id, &Error{Code: 404, Status: statusNames[404], Reason: "NO_SUCH_PATH", Message: "hookline has no page " + path + "; paths under /-/ are its own, as /-/healthz and /-/readyz"})
	}
}

// smallBody is up to which size a body is read before it goes up: below it the
// upstream call can be repeated on a fresh connection when the pooled one turns
// out to be dead, and the transport never reads from the client's connection.
const smallBody = 64 << 10

// forward passes the request through.
func (x *exchange) forward() {
	scratch := scratches.Get().(*[]byte)
	defer scratches.Put(scratch)
	m := message{to: x.to, method: string(x.fc.Method()), expect: !x.fc.IsHead()}
	m.header = appendUpHeader((*scratch)[:0], &x.fc.Request.Header, nil)
	*scratch = m.header
	if e := x.attachBody(&m, scratch); e != nil {
		x.fail(e)
		return
	}
	if x.up == nil {
		x.watch.start()
	}
	a, err := x.s.leg.do(x.ctx, &m, &x.fc.Response.Header)
	if err != nil {
		x.fail(x.upstreamError(err))
		return
	}
	x.answer(a)
}

// scratches hold a request's header lines and small body until they are sent.
var scratches = sync.Pool{New: func() any { return new(make([]byte, 0, 4<<10)) }}

// attachBody gives m the client's body; a small one goes behind what is in
// scratch.
func (x *exchange) attachBody(m *message, scratch *[]byte) *Error {
	n := x.fc.Request.Header.ContentLength()
	body := x.fc.RequestBodyStream()
	switch {
	case n == 0 || body == nil:
	case n > 0 && n <= smallBody:
		at := len(*scratch)
		*scratch = slices.Grow(*scratch, n)[:at+n]
		m.header, m.body = (*scratch)[:at:at], (*scratch)[at:]
		if _, err := io.ReadFull(body, m.body); err != nil {
			return clientError(err)
		}
	default:
		x.up = &upload{r: body, conn: x.fc.Conn(), onEnd: x.watch.start}
		m.up, m.upLen = x.up, int64(max(n, -1))
	}
	return nil
}

func clientError(err error) *Error {
	return &Error{Code: 400, Status: statusNames[400], Reason: "BODY_CUT", Message: "the request's body ended before its announced length", Cause: err}
}

// upstreamError says why there is no answer.
func (x *exchange) upstreamError(err error) *Error {
	switch cause := context.Cause(x.ctx); {
	case errors.Is(cause, ErrClientGone):
		return &Error{Code: 499, Status: statusNames[499], Reason: "CLIENT_GONE", Message: ErrClientGone.Error(), Cause: err}
	case errors.Is(cause, ErrShutdown):
		return &Error{Code: 503, Status: statusNames[503], Reason: "SHUTDOWN", Message: ErrShutdown.Error(), Cause: err}
	}
	if x.up != nil {
		if e := x.up.failure(); e != nil {
			return clientError(e)
		}
	}
	where := x.to.base.Scheme + "://" + x.to.base.Host
	e := &Error{Code: 502, Status: statusNames[502], Reason: "UPSTREAM_UNREACHABLE", Upstream: true, Cause: err}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		e.Code, e.Status, e.Reason = 504, statusNames[504], "UPSTREAM_TIMEOUT"
	}
	e.Message = fmt.Sprintf("hookline got no answer from the upstream %s (%s). Check that it is up and reachable from here, and that upstream.%s.baseUrl in the config (or --upstream) names it",
		where, shortCause(err), x.set.name(x.to.base))
	return e
}

// shortCause is the innermost reason of a transport error: what is round it
// repeats the URL, and that may hold a key.
func shortCause(err error) string {
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return "the name " + dns.Name + " cannot be resolved"
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

// answer passes an upstream answer on, as it comes. Its header is the front's
// response header already.
func (x *exchange) answer(a *answer) {
	resp := &x.fc.Response
	x.cleanDown()
	if x.up != nil && !x.up.whole() {
		// What is left of the body cannot be told from a next request.
		x.fc.SetConnectionClose()
	}
	if a.eof {
		if x.fc.IsHead() && a.length == chunkedBody {
			resp.Header.SetContentLength(-1)
		}
		resp.SkipBody = x.fc.IsHead()
		x.end(a.Close())
		return
	}
	if a.length < 0 && x.old() {
		x.gather(a)
		return
	}
	// The header waits for the body's first bytes if they are at hand, and not
	// otherwise: models think between the two. What is not relayed as it stands is
	// framed by the front.
	resp.ImmediateHeaderFlush = true
	if conn, ok := x.fc.Conn().(*frontConn); ok && (a.length >= 0 || a.length == chunkedBody && a.along == nil) {
		conn.hold = true
	}
	resp.SetBodyStream(&answerBody{x: x, a: a}, int(max(a.length, -1)))
}

// old reports whether the client speaks HTTP/1.0: it cannot read chunks, so a
// body of unknown length is gathered for it.
func (x *exchange) old() bool { return !x.fc.Request.Header.IsHTTP11() }

// gather passes an answer on when it is whole.
func (x *exchange) gather(a *answer) {
	body, err := io.ReadAll(io.LimitReader(a, int64(x.set.maxBody)+1))
	err = errors.Join(err, a.Close())
	switch {
	case err != nil:
		x.fail(x.upstreamError(err))
	case len(body) > x.set.maxBody:
		x.fail(&Error{Code: 502, Status: statusNames[502], Reason: "ANSWER_TOO_LARGE", Message: fmt.Sprintf("the answer is over the %d bytes that hookline gathers for a client of HTTP/1.0; use HTTP/1.1", x.set.maxBody)})
	default:
		x.sent = int64(len(body))
		x.fc.Response.SetBodyRaw(body)
		x.end(nil)
	}
}

// answerBody streams an upstream body down. fasthttp calls WriteTo on the
// connection's goroutine, or Close if there is nothing to write to.
type answerBody struct {
	x *exchange
	a *answer
}

var (
	_ fasthttp.BodyWriterTo = (*answerBody)(nil)

	smallBuffers = sync.Pool{New: func() any { return new([4 << 10]byte) }}
	largeBuffers = sync.Pool{New: func() any { return new([64 << 10]byte) }}
)

func (b *answerBody) SupportsBodyWriteTo() bool { return true }

// Read is not used: the front prefers WriteTo.
func (b *answerBody) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func (b *answerBody) WriteTo(w io.Writer) (int64, error) {
	a, x := b.a, b.x
	b.a = nil
	conn, _ := x.fc.Conn().(*frontConn)
	gone := func() { x.cancel(ErrClientGone) }
	var err error
	switch {
	case conn == nil || !conn.hold:
		cw := &countingWriter{w: w, failed: gone}
		err = pump(cw, a)
		x.sent = cw.n
	case a.length == chunkedBody:
		x.sent, err = a.relay(conn, gone)
	default:
		x.sent, err = a.relaySized(conn, gone)
	}
	if conn != nil && conn.hold {
		_ = conn.release(nil) // the answer broke before its first byte
	}
	err = errors.Join(err, a.Close())
	x.end(err)
	return x.sent, err
}

func (b *answerBody) Close() error {
	if b.a != nil {
		b.x.cancel(ErrClientGone)
		_ = b.a.Close()
		b.a = nil
		b.x.end(ErrClientGone)
	}
	return nil
}

// fail answers with an error of ours.
func (x *exchange) fail(e *Error) {
	if x.up != nil && !x.up.stop() {
		x.refuse(e)
		return
	}
	fail(x.fc, x.id, e)
	if e.Code == 499 {
		x.fc.SetConnectionClose()
	}
	x.end(e)
}

// end frees what the exchange holds and writes the access log. The request's
// body is no longer read by anyone when it returns.
func (x *exchange) end(err error) {
	if x.closed {
		return
	}
	x.closed = true
	x.cancel(errDone)
	x.watch.stop()
	if x.up != nil && !x.up.stop() {
		x.fc.SetConnectionClose()
	}
	x.log(err)
}

// log writes one line per request. It holds no query: keys travel there.
func (x *exchange) log(err error) {
	cause := context.Cause(x.ctx)
	ours := errors.Is(cause, ErrClientGone) || errors.Is(cause, ErrShutdown)
	level := slog.LevelDebug
	if err != nil && !ours {
		level = slog.LevelInfo
	}
	if !x.s.log.Enabled(context.Background(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", x.id),
		slog.String("method", string(x.fc.Method())),
		slog.String("path", x.to.path()),
		slog.Int("status", x.fc.Response.StatusCode()),
		slog.Int64("bytes", x.sent),
		slog.Duration("took", time.Since(x.start)),
	}
	switch {
	case ours: // what else went wrong is its consequence
		attrs = append(attrs, slog.String("ended", cause.Error()))
	case err != nil:
		attrs = append(attrs, slog.String("error", scrub(err.Error())))
	}
	x.s.log.LogAttrs(context.Background(), level, "request", attrs...)
}

// upload is a request body on its way up. The transport reads it from a
// goroutine of its own, perhaps still when the answer has been given.
type upload struct {
	r     io.Reader
	conn  net.Conn
	onEnd func() // called once, when the body has been read whole

	mu    sync.Mutex  // held during a read
	err   error       // what the client's side failed with
	all   atomic.Bool // the body has been read to its end
	ended atomic.Bool // nobody may read any more
}

func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended.Load() {
		return 0, errDone
	}
	if u.all.Load() {
		return 0, io.EOF
	}
	n, err := u.r.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		u.all.Store(true)
		u.onEnd()
	case err != nil:
		u.err = err
	}
	return n, err
}

// whole reports whether the body has been read to its end.
func (u *upload) whole() bool { return u.all.Load() }

func (u *upload) failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// stop makes sure that nobody reads from the client any more, and reports
// whether the body had been read whole.
func (u *upload) stop() bool {
	u.ended.Store(true)
	if u.mu.TryLock() {
		defer u.mu.Unlock()
		return u.whole()
	}
	// A read waits for the client: make it give up. The connection cannot be
	// used again.
	_ = u.conn.SetReadDeadline(time.Unix(1, 0))
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.whole()
}
