package proxy

import (
	"net/url"
	"regexp"
	"strings"
)

// target is where a request goes.
type target struct {
	base *url.URL // scheme, host, and a path prefix without trailing slash
	uri  string   // raw path and query behind the prefix, as the client wrote them
}

func (t target) path() string {
	p, _, _ := strings.Cut(t.uri, "?")
	return p
}

func (t target) query() string {
	_, q, _ := strings.Cut(t.uri, "?")
	return q
}

// originForm drops scheme and host of a request target in absolute form.
func originForm(uri string) string {
	if strings.HasPrefix(uri, "/") {
		return uri
	}
	if i := strings.Index(uri, "://"); i >= 0 {
		rest := uri[i+3:]
		if j := strings.IndexAny(rest, "/?"); j < 0 {
			return "/"
		} else if rest[j] == '?' {
			return "/" + rest[j:]
		} else {
			return rest[j:]
		}
	}
	return uri
}

// cutSession takes a session prefix /s/ID off a raw request target.
func cutSession(uri string) (session, rest string) {
	after, ok := strings.CutPrefix(uri, "/s/")
	if !ok {
		return "", uri
	}
	end := strings.IndexAny(after, "/?")
	if end < 0 {
		end = len(after)
	}
	id, err := url.PathUnescape(after[:end])
	if err != nil || !validSession(id) {
		return "", uri
	}
	rest = after[end:]
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return id, rest
}

// validSession keeps session ids printable and short: they name files and
// environment variables of hooks.
func validSession(id string) bool {
	if id == "" || len(id) > 200 {
		return false
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`/\"'$;&|<>`+"`", c) >= 0 {
			return false
		}
	}
	return id != "." && id != ".."
}

// upstream chooses the base URL for a path.
func (b *bases) upstream(path string) *url.URL {
	switch {
	case strings.Contains(path, "/v1internal:") || strings.HasSuffix(path, "/v1internal"):
		return b.codeAssist
	case strings.Contains(path, "/projects/"), strings.Contains(path, "/publishers/"),
		strings.HasPrefix(path, "/ws/google.cloud.aiplatform"):
		if b.vertex != nil {
			return b.vertex
		}
		return &url.URL{Scheme: "https", Host: vertexHost(path)}
	default:
		return b.gemini
	}
}

// vertexHost is Google's host for the location that a path names.
// https://cloud.google.com/vertex-ai/docs/reference/rest (read 2026-11-30)
func vertexHost(path string) string {
	const global = "aiplatform.googleapis.com"
	_, after, ok := strings.Cut(path, "/locations/")
	if !ok {
		return global
	}
	loc, _, _ := strings.Cut(after, "/")
	switch {
	case loc == "global", !location.MatchString(loc):
		return global
	case loc == "us", loc == "eu":
		return "aiplatform." + loc + ".rep.googleapis.com"
	}
	return loc + "-" + global
}

// location keeps a hostile path from naming a host of its own.
var location = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
