package proxy

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"net/url"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// modelUpstream makes the model calls of one hooked request: to the place and
// with the header of the request, but with other bodies.
type modelUpstream struct {
	x      *exchange
	target gemini.Target
	header []byte // lines; without accept-encoding and what follows
	params string // x-goog-request-params, by which Google routes; "" for none
}

// Generate implements [toolloop.Upstream].
func (u *modelUpstream) Generate(ctx context.Context, model string, body []byte) (*toolloop.Reply, error) {
	x := u.x
	// Events must be readable here: asking for no encoding saves the time that
	// decoding takes. An answer that is encoded all the same is decoded.
	m := message{to: x.to, method: fasthttp.MethodPost, body: body, expect: true, buffer: eventReaders}
	m.header = append(slices.Clone(u.header), "Accept-Encoding: identity\r\n"...)
	params := u.params
	if path := u.target.Path(model); path != x.to.path() {
		m.to.uri = path + strings.TrimPrefix(m.to.uri, m.to.path())
		params = strings.Replace(params, url.QueryEscape(u.target.Model), url.QueryEscape(model), 1)
	}
	if params != "" {
		m.header = append(append(append(m.header, headerParams+": "...), params...), "\r\n"...)
	}
	h := new(fasthttp.ResponseHeader)
	h.SetNoDefaultContentType(true)
	a, err := x.s.leg.do(ctx, &m, h)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && context.Cause(x.ctx) == nil {
			return nil, cause // the caller ended it, and knows why
		}
		return nil, x.upstreamError(err)
	}
	reply := &toolloop.Reply{Status: a.status, Opaque: a, Close: a.Close}
	if format, ok := u.format(a); ok {
		if r, err := decode(a, string(h.ContentEncoding())); err == nil {
			reply.Events = x.events(stream.Read(r, format, x.s.opt.Limits))
		} // else nobody can read it here; perhaps the client can
	}
	return reply, nil
}

// events says of errors on the way that they are the upstream's.
func (x *exchange) events(from iter.Seq2[stream.Event, error]) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		for ev, err := range from {
			if err != nil && context.Cause(x.ctx) == nil {
				err = &Error{
					Code: 502, Status: statusNames[502], Reason: "UPSTREAM_BROKEN", Upstream: true, Cause: err,
					Message: "the upstream's answer broke off or cannot be read",
				}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// format says how an answer is framed; ok is false for one that holds no
// documents.
func (u *modelUpstream) format(a *answer) (f stream.Format, ok bool) {
	if a.status < 200 || a.status > 299 {
		return "", false
	}
	kind, _, _ := mime.ParseMediaType(string(a.header.ContentType()))
	switch {
	case kind == "text/event-stream":
		return stream.SSE, true
	case kind != "" && kind != "application/json" && kind != "text/plain": // as Go's servers guess
		return "", false
	}
	return u.target.Format, true // SSE's reader takes JSON bodies as well
}

var errEncoding = errors.New("unknown content encoding")

// decode undoes a content encoding, streaming: a read returns what is there.
func decode(r io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return r, nil
	case "gzip", "x-gzip":
		return &lazyReader{open: func() (io.Reader, error) { return gzip.NewReader(r) }}, nil
	case "deflate":
		return &lazyReader{open: func() (io.Reader, error) { return inflate(r) }}, nil
	}
	return nil, fmt.Errorf("%w %q", errEncoding, encoding)
}

// inflate reads "deflate", which is zlib's format by the book and the raw one
// with some senders.
func inflate(r io.Reader) (io.Reader, error) {
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// lazyReader opens its reader at the first Read: opening reads, and must not
// hold up whoever only wants the header.
type lazyReader struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (l *lazyReader) Read(p []byte) (int, error) {
	if l.r == nil {
		r, err := l.open()
		if errors.Is(err, io.EOF) {
			return 0, io.EOF // an empty body
		}
		if err != nil {
			return 0, err
		}
		l.r = r
	}
	return l.r.Read(p)
}
