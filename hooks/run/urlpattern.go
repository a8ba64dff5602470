package run

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// urlPattern is one entry of the list of URLs that http hooks may be sent to.
// A * in the host stays in the host, so that https://*.example.com/* does not
// let https://evil.test/.example.com/ through.
type urlPattern struct {
	all                bool
	scheme, host, rest *regexp.Regexp
}

// newURLPattern reads "scheme://host[:port][/path[?query]]", or "*" for all. A
// pattern that is none of that matches nothing.
func newURLPattern(s string) urlPattern {
	if s == "*" {
		return urlPattern{all: true}
	}
	scheme, after, ok := strings.Cut(s, "://")
	if !ok {
		return urlPattern{}
	}
	host, rest := after, "/"
	if i := strings.IndexAny(after, "/?"); i >= 0 {
		host, rest = after[:i], after[i:]
		if rest[0] == '?' {
			rest = "/" + rest
		}
	}
	return urlPattern{
		scheme: starred(strings.ToLower(scheme), `[a-z]*`),
		host:   starred(withoutPort(strings.ToLower(scheme), strings.ToLower(host)), `[^/?#@]*`),
		rest:   starred(rest, `.*`),
	}
}

// starred is a pattern as a regular expression for the whole text.
func starred(pattern, star string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return regexp.MustCompile(`^(?s:` + strings.Join(parts, star) + `)$`)
}

// withoutPort takes the scheme's own port off.
func withoutPort(scheme, host string) string {
	switch scheme {
	case "http":
		return strings.TrimSuffix(host, ":80")
	case "https":
		return strings.TrimSuffix(host, ":443")
	}
	return host
}

func (p urlPattern) matches(u *url.URL) bool {
	if p.all || p.host == nil {
		return p.all
	}
	scheme := strings.ToLower(u.Scheme)
	rest := u.EscapedPath()
	if rest == "" {
		rest = "/"
	}
	if u.RawQuery != "" {
		rest += "?" + u.RawQuery
	}
	return p.scheme.MatchString(scheme) && p.host.MatchString(withoutPort(scheme, strings.ToLower(u.Host))) && p.rest.MatchString(rest)
}

// allowedURL reports whether some pattern lets a URL through. Nil patterns let
// all through, an empty list none.
func allowedURL(patterns []urlPattern, u *url.URL) bool {
	if patterns == nil {
		return true
	}
	if hasDots(u.Path) {
		return false // the service may read /allowed/../other as /other
	}
	return slices.ContainsFunc(patterns, func(p urlPattern) bool { return p.matches(u) })
}

func hasDots(path string) bool {
	for seg := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		if seg == "." || seg == ".." {
			return true
		}
	}
	return strings.Contains(strings.ToLower(path), "%2e") // encoded twice
}
