package run

import (
	"net/http"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// ownHeaders are those that a hook's configuration cannot set: they say how the
// message is framed and where it goes.
var ownHeaders = []string{
	"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Expect", "Host", "Keep-Alive",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// headersOf makes the headers of a hook's request. Those that it may not set,
// and those that are no headers, are left out.
func headersOf(h *hooks.Hook, lookup func(string) (string, bool)) http.Header {
	out := make(http.Header, len(h.Headers)+4)
	for name, value := range h.Headers {
		name = http.CanonicalHeaderKey(name)
		if isToken(name) && !slices.Contains(ownHeaders, name) {
			out.Set(name, cleanHeader(expandEnv(value, h.AllowedEnvVars, lookup)))
		}
	}
	return out
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isWord(c) && strings.IndexByte("!#$%&'*+-.^`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// cleanHeader takes out what could end a header line or hide something in it.
func cleanHeader(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s))
}

// expandEnv replaces $NAME and ${NAME}: by the variable's value when it is
// allowed and set, else by nothing. What is no name after a $ stays.
func expandEnv(s string, allowed []string, lookup func(string) (string, bool)) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, rest, ok := envReference(after)
		if !ok {
			b.WriteByte('$')
			s = after
			continue
		}
		if value, set := lookup(name); set && slices.Contains(allowed, name) {
			b.WriteString(value)
		}
		s = rest
	}
}

// envReference reads NAME or {NAME}.
func envReference(s string) (name, rest string, ok bool) {
	if inner, braced := strings.CutPrefix(s, "{"); braced {
		if name, rest, ok = strings.Cut(inner, "}"); !ok || nameLength(name) != len(name) || name == "" {
			return "", s, false
		}
		return name, rest, true
	}
	n := nameLength(s)
	return s[:n], s[n:], n > 0
}

// nameLength is how many bytes of s are a variable's name.
func nameLength(s string) int {
	n := 0
	for n < len(s) && isWord(s[n]) && (n > 0 || s[0] < '0' || s[0] > '9') {
		n++
	}
	return n
}
