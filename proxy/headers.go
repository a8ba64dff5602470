package proxy

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"
)

// hopByHop headers concern one connection only.
// https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1 (read 2026-11-30)
var hopByHop = map[string]bool{
	"Connection":          true,
	"Proxy-Connection":    true,
	"Keep-Alive":          true,
	"Proxy-Authenticate":  true,
	"Proxy-Authorization": true,
	"Te":                  true,
	"Trailer":             true,
	"Transfer-Encoding":   true,
	"Upgrade":             true,
}

// notUp are request headers that do not go upstream besides: they are the
// transport's to write, they have been answered, or they are for hookline.
var notUp = map[string]bool{
	"Host":           true,
	"Content-Length": true,
	"Expect":         true,
	headerRequestID:  true,
	headerSession:    true,
}

// notDown are response headers that do not reach the client. With Alt-Svc it
// would leave the proxy for the upstream's HTTP/3.
var notDown = map[string]bool{
	"Content-Length": true,
	"Alt-Svc":        true,
	"Date":           true, // set by begin
	headerRequestID:  true,
}

// upHeader copies what goes upstream out of the front's buffers.
func upHeader(h *fasthttp.RequestHeader) http.Header {
	named := connectionTokens(h.PeekAll("Connection"))
	up := make(http.Header, 12)
	for k, v := range h.AllInOrder() {
		if hopByHop[string(k)] || notUp[string(k)] || named[string(k)] {
			continue
		}
		key := string(k)
		up[key] = append(up[key], string(v))
	}
	if _, ok := up["User-Agent"]; !ok {
		up["User-Agent"] = nil // or the transport names itself
	}
	return up
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

// downHeader makes an upstream answer's header the front's. encoded says whether
// the body goes down as the upstream encoded it.
func (x *exchange) downHeader(status int, from http.Header, encoded bool) {
	h := &x.fc.Response.Header
	begin(h, x.id, status, from.Get("Date"))
	var named map[string]bool
	if vs := from["Connection"]; len(vs) > 0 {
		for _, v := range vs {
			for k := range connectionTokens([][]byte{[]byte(v)}) {
				if named == nil {
					named = make(map[string]bool)
				}
				named[k] = true
			}
		}
	}
	for k, vs := range from {
		if hopByHop[k] || notDown[k] || named[k] || !encoded && k == "Content-Encoding" {
			continue
		}
		for _, v := range vs {
			if k == "X-Goog-Upload-Url" {
				v = x.homeURL(v)
			}
			h.Add(k, v)
		}
	}
}

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
