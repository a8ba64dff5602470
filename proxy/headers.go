package proxy

import (
	"bytes"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// hopByHop headers concern one connection only.
// https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 (read 2026-11-30)
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// notUp are request headers that do not go upstream: hop-by-hop ones, those that
// are the leg's to write or have been answered, and those for hookline.
var notUp = set(append([]string{"Host", "Content-Length", "Expect", headerRequestID, headerSession}, hopByHop...))

// notUpHooked are those that do not go up with a body that was read here, or
// that the call's own code writes.
var notUpHooked = set([]string{"Accept-Encoding", "Content-Encoding", headerParams})

// notDown are response headers that do not reach the client. With Alt-Svc it
// would leave the proxy for the upstream's HTTP/3.
var notDown = set(append([]string{"Alt-Svc", headerRequestID}, hopByHop...))

const headerParams = "X-Goog-Request-Params"

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// appendUpHeader appends the header lines that go upstream. also names more that
// do not; nil for none.
func appendUpHeader(dst []byte, h *fasthttp.RequestHeader, also map[string]bool) []byte {
	var named map[string]bool
	if vs := h.PeekAll("Connection"); len(vs) > 0 {
		named = connectionTokens(vs)
	}
	for k, v := range h.AllInOrder() {
		if notUp[string(k)] || also[string(k)] || named[string(k)] {
			continue
		}
		dst = append(dst, k...)
		dst = append(dst, ": "...)
		dst = append(dst, v...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// connectionTokens are the headers that a Connection header names: they are
// hop-by-hop, too.
func connectionTokens(values [][]byte) map[string]bool {
	var named map[string]bool
	for _, v := range values {
		for tok := range bytes.SplitSeq(v, []byte(",")) {
			if tok = bytes.TrimSpace(tok); len(tok) > 0 && !bytes.EqualFold(tok, []byte("close")) && !bytes.EqualFold(tok, []byte("keep-alive")) {
				if named == nil {
					named = make(map[string]bool)
				}
				named[textproto.CanonicalMIMEHeaderKey(string(tok))] = true
			}
		}
	}
	return named
}

// cleanDown makes an upstream answer's header, which the front's response holds,
// one for the client. The body's framing is set with the body.
func (x *exchange) cleanDown() {
	h := &x.fc.Response.Header
	h.ResetConnectionClose() // the upstream's connection is not the client's
	var drop []string
	var named map[string]bool
	for k, v := range h.All() {
		if notDown[string(k)] {
			drop = append(drop, string(k))
			if string(k) == "Connection" {
				named = connectionTokens([][]byte{v})
			}
		}
	}
	for _, k := range drop {
		h.Del(k)
	}
	for k := range named {
		h.Del(k)
	}
	if u := h.Peek("X-Goog-Upload-Url"); len(u) > 0 {
		h.Set("X-Goog-Upload-Url", x.homeURL(string(u)))
	}
	h.SetProtocol(http11)
	h.Set(headerRequestID, x.id)
}

var http11 = []byte("HTTP/1.1")

// homeURL makes an upload URL on the upstream's host one on this proxy, else
// the client would send the file past it.
func (x *exchange) homeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || !strings.EqualFold(u.Host, x.to.base.Host) {
		return raw
	}
	rest, ok := strings.CutPrefix(raw, u.Scheme+"://"+u.Host)
	if !ok {
		return raw
	}
	rest = strings.TrimPrefix(rest, x.to.base.Path)
	scheme := "http"
	if x.fc.IsTLS() || string(x.fc.Request.Header.Peek("X-Forwarded-Proto")) == "https" {
		scheme = "https"
	}
	prefix := ""
	if x.prefixed {
		prefix = "/s/" + url.PathEscape(x.session)
	}
	return scheme + "://" + string(x.fc.Host()) + prefix + rest
}
