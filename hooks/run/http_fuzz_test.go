package run

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/hooks"
)

// FuzzTarget: a URL that passes names no host that is blocked by its form, and
// no failure repeats the URL's query.
func FuzzTarget(f *testing.F) {
	for _, s := range []string{
		"http://127.0.0.1:8080/x", "https://h.test/?" + secret, "http://[::ffff:169.254.169.254]/", "http://0x7f.1", "http://u:p@[fe80::1%25lo]/", "//x", "http://a b/", "http://%31%30.0.0.1/",
	} {
		f.Add(s)
	}
	h := NewHTTP(HTTPOptions{AllowedURLs: []string{"http://*/*", "https://*"}})
	f.Fuzz(func(t *testing.T, raw string) {
		u, failure := h.target(raw)
		if failure != nil {
			if _, query, found := strings.Cut(raw, "?"); found && len(query) > 30 && strings.Contains(failure.Error(), query) {
				t.Errorf("%q: %v", raw, failure)
			}
			return
		}
		host := u.Hostname()
		if ip, err := netip.ParseAddr(host); err == nil && checkAddr(ip, false) != nil {
			t.Errorf("%q passes with the address %s", raw, host)
		}
		if u.Scheme != "http" && u.Scheme != "https" || host == "" || strings.ContainsAny(host, " /?#@\r\n") {
			t.Errorf("%q passes as %q", raw, u)
		}
	})
}

// FuzzHeaders: whatever is configured, what is sent is a header, holds no
// variable that is not allowed, and frames nothing.
func FuzzHeaders(f *testing.F) {
	f.Add("Authorization", "Bearer ${OPEN} $OPEN ${CLOSED}$CLOSED", "x\r\ny")
	f.Add("Content-Length", "1", "")
	f.Add("A", "${", "$CLOSED")
	f.Add("A", "$$OPEN${OPEN}", "${CLOSED}")
	f.Fuzz(func(t *testing.T, name, value, open string) {
		got := headersOf(&hooks.Hook{Headers: map[string]string{name: value}, AllowedEnvVars: []string{"OPEN"}}, func(n string) (string, bool) {
			return map[string]string{"OPEN": open, "CLOSED": secret}[n], true
		})
		var wire strings.Builder
		if err := got.Write(&wire); err != nil {
			t.Fatal(err)
		}
		if strings.Count(wire.String(), "\r\n") != len(got) || strings.Contains(wire.String(), secret) && !strings.Contains(name+value+open, secret) {
			t.Errorf("got %q", wire.String())
		}
		for _, own := range ownHeaders {
			if len(got[http.CanonicalHeaderKey(own)]) > 0 {
				t.Errorf("%s is set", own)
			}
		}
	})
}

// FuzzPatterns: patterns of URLs and files compile or are refused.
func FuzzPatterns(f *testing.F) {
	f.Add("https://*.h.test/*", "https://a.h.test/b", "**/{a,b}[!c].go")
	f.Add("*://[::1]:*", "http://[::1]:8/", "[")
	f.Fuzz(func(_ *testing.T, pattern, raw, glob string) {
		if u, err := url.Parse(raw); err == nil {
			newURLPattern(pattern).matches(u)
		}
		_, _ = compileGlob(glob)
	})
}

// FuzzPrompt: an event is always shown, as it is.
func FuzzPrompt(f *testing.F) {
	f.Add(`a $ARGUMENTS \$ARGUMENTS $`, `{"a":"$ARGUMENTS"}`)
	f.Fuzz(func(t *testing.T, prompt, in string) {
		if got := fillPrompt(prompt, in); !strings.Contains(got, in) {
			t.Errorf("%q with %q: got %q", prompt, in, got)
		}
	})
}
