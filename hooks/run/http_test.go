package run

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/hookstest"
)

func serveHTTP(t *testing.T, f http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s
}

func TestHTTPSuite(t *testing.T) {
	hookstest.TestHandler(t, func(t *testing.T, b hookstest.Behaviour) (hooks.Handler, *hooks.Hook) {
		s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			in, _ := io.ReadAll(r.Body)
			switch b {
			case hookstest.Echo:
				_, _ = io.WriteString(w, `{"echo":`+string(in)+`}`)
			case hookstest.Hang:
				<-r.Context().Done()
			case hookstest.Flood:
				_, _ = w.Write(make([]byte, 10<<20))
			case hookstest.Die:
				panic(http.ErrAbortHandler)
			}
		})
		return newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: s.URL}
	})
}

func TestHTTPRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	s := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
		got, body = r, nil
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	h := newHTTP(t, HTTPOptions{Lookup: func(name string) (string, bool) {
		v, ok := map[string]string{"TOKEN": "t1", "EVIL": "a\r\nX-Injected: 1\x00\x7f", "OTHER": "o", "EMPTY": ""}[name]
		return v, ok
	}})
	tests := []struct {
		name    string
		headers map[string]string
		allowed []string
		want    http.Header
	}{
		{"none", nil, nil, http.Header{}},
		{"variables", map[string]string{"Authorization": "Bearer ${TOKEN}", "X-Two": "$TOKEN-$TOKEN"}, []string{"TOKEN"}, http.Header{"Authorization": {"Bearer t1"}, "X-Two": {"t1-t1"}}},
		{"no list: nothing is put in", map[string]string{"X-A": "a${TOKEN}b$OTHER"}, nil, http.Header{"X-A": {"ab"}}},
		{"not in the list", map[string]string{"X-A": "<$OTHER><$TOKEN>"}, []string{"TOKEN"}, http.Header{"X-A": {"<><t1>"}}},
		{"not set", map[string]string{"X-A": "<$NOT_SET>"}, []string{"NOT_SET"}, http.Header{"X-A": {"<>"}}},
		{"no names", map[string]string{"X-A": "$ $1 ${} ${A-B} ${TOKEN $"}, []string{"TOKEN"}, http.Header{"X-A": {"$ $1 ${} ${A-B} ${TOKEN $"}}},
		{"values are not read again", map[string]string{"X-A": "$A"}, []string{"A", "TOKEN"}, http.Header{"X-A": {""}}},
		{"a line end in a variable", map[string]string{"X-A": "$EVIL"}, []string{"EVIL"}, http.Header{"X-A": {"aX-Injected: 1"}}},
		{"a line end in the configuration", map[string]string{"X-A": "a\r\nHost: b\n\n{}"}, nil, http.Header{"X-A": {"aHost: b{}"}}},
		{"bad names", map[string]string{"X A": "1", "X:B": "1", "": "1", "X\r\nY": "1", "Ä": "1"}, nil, http.Header{}},
		{"framing", map[string]string{"content-length": "0", "Transfer-Encoding": "chunked", "HOST": "evil", "Connection": "X-Y", "Te": "x", "Expect": "100-continue", "Upgrade": "h2c", "Content-Type": "text/plain", "Accept-Encoding": "br"}, nil, http.Header{}},
		{"Unicode", map[string]string{"X-A": "é"}, nil, http.Header{"X-A": {"é"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const in = `{"hook_event_name":"BeforeTool"}`
			res := post(t, h, &hooks.Hook{URL: s.URL + "/p?q=1#f", Headers: tt.headers, AllowedEnvVars: tt.allowed})
			if res.Err != nil || len(res.Stdout) > 0 {
				t.Fatalf("got %+v", res)
			}
			tt.want.Set("Content-Type", "application/json")
			tt.want.Set("User-Agent", "hookline")
			tt.want.Set("Accept-Encoding", "gzip")
			tt.want.Set("Content-Length", "32")
			if diff := cmp.Diff(tt.want, got.Header); diff != "" {
				t.Errorf("header (-want +got):\n%s", diff)
			}
			if got.Method != "POST" || got.RequestURI != "/p?q=1" || got.Host != strings.TrimPrefix(s.URL, "http://") || string(body) != in {
				t.Errorf("got %s %s for %s with %s", got.Method, got.RequestURI, got.Host, body)
			}
		})
	}
	t.Run("user and password", func(t *testing.T) {
		post(t, h, &hooks.Hook{URL: strings.Replace(s.URL, "//", "//u:p@", 1)})
		if u, p, _ := got.BasicAuth(); u != "u" || p != "p" {
			t.Errorf("got %q, %q", u, p)
		}
	})
}

func TestHTTPAnswer(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		zip        bool
		want       hooks.Decision // without Runs
	}{
		{name: "deny", body: ` {"decision":"deny","reason":"r"} `, status: 200, want: hooks.Decision{Deny: true, Reason: "r"}},
		{name: "deny, gzip", body: `{"decision":"block","reason":"r"}`, status: 200, zip: true, want: hooks.Decision{Deny: true, Reason: "r"}},
		{name: "byte order mark, 201", body: "\xef\xbb\xbf{\"continue\":false,\"stopReason\":\"s\"}", status: 201, want: hooks.Decision{Stop: true, StopReason: "s"}},
		{name: "input", body: `{"hookSpecificOutput":{"tool_input":{"a":1}}}`, status: 200, want: hooks.Decision{ToolInput: json.RawMessage(`{"a":1}`)}},
		{name: "empty", body: " \n", status: 200},
		{name: "no opinion", body: "{}", status: 200},
		{name: "no content", status: 204},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveHTTP(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/plain") // small services do not mind
				if tt.zip {
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					defer z.Close()
					_, _ = io.WriteString(z, tt.body)
					return
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			d := fireHTTP(t, newHTTP(t, HTTPOptions{}), hooks.Hook{Type: "http", URL: s.URL, FailMode: hooks.FailClosed})
			d.Runs, tt.want.Fired = nil, true
			if diff := cmp.Diff(tt.want, d); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Connections are used again, over HTTP/2 as well.
func TestHTTPConnections(t *testing.T) {
	for _, two := range []bool{false, true} {
		var conns atomic.Int32
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if (r.ProtoMajor == 2) != two {
				t.Errorf("got %s", r.Proto)
			}
			_, _ = io.WriteString(w, `{}`)
		}))
		h := newHTTP(t, HTTPOptions{})
		if s.EnableHTTP2 = two; two {
			s.StartTLS()
			h.transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		dial := h.transport.DialContext
		h.transport.DialContext = func(ctx context.Context, network, addr string) (c net.Conn, err error) {
			conns.Add(1)
			return dial(ctx, network, addr)
		}
		for range 5 {
			if res := post(t, h, &hooks.Hook{URL: s.URL}); res.Err != nil {
				t.Fatal(res.Err)
			}
		}
		if got := conns.Load(); got != 1 {
			t.Errorf("HTTP/2 %v: %d connections for 5 requests; want 1", two, got)
		}
	}
}

func TestAllowedURLs(t *testing.T) {
	tests := []struct {
		patterns []string
		url      string
		want     bool
	}{
		{nil, "https://any.test/x", true},
		{[]string{}, "https://any.test/x", false},
		{[]string{"*"}, "https://any.test/x", true},
		{[]string{"https://hooks.test/*"}, "https://hooks.test/a/b?c=d", true},
		{[]string{"https://hooks.test/*"}, "HTTPS://HOOKS.TEST:443/a", true},
		{[]string{"https://hooks.test:443/*"}, "https://hooks.test/a", true},
		{[]string{"https://hooks.test/*"}, "http://hooks.test/a", false},
		{[]string{"https://hooks.test/*"}, "https://hooks.test:8443/a", false},
		{[]string{"https://hooks.test/*"}, "https://hooks.test@evil.test/a", false},
		{[]string{"https://hooks.test/*"}, "https://hooks.test.evil.test/a", false},
		{[]string{"https://hooks.test/*"}, "https://evil.test/https://hooks.test/a", false},
		{[]string{"https://*.hooks.test/*"}, "https://a.b.hooks.test/a", true},
		{[]string{"https://*.hooks.test/*"}, "https://evil.test/.hooks.test/a", false},
		{[]string{"https://*.hooks.test/*"}, "https://evil.test?.hooks.test/a", false},
		{[]string{"https://*.hooks.test/*"}, "https://evil.test#.hooks.test/a", false},
		{[]string{"https://hooks.test/in/*"}, "https://hooks.test/in/../out", false},
		{[]string{"https://hooks.test/in/*"}, "https://hooks.test/in/%2e%2e/out", false},
		{[]string{"https://hooks.test/in/*"}, "https://hooks.test/in/%252e%252e/out", false},
		{[]string{"https://hooks.test/in/*"}, `https://hooks.test/in/..\..\out`, false},
		{[]string{"https://hooks.test"}, "https://hooks.test/", true},
		{[]string{"https://hooks.test"}, "https://hooks.test/a", false},
		{[]string{"https://hooks.test/a"}, "https://hooks.test/a?b", false},
		{[]string{"*://127.0.0.1:*/hook"}, "http://127.0.0.1:8080/hook", true},
		{[]string{"hooks.test", "https://h(o+.test/*"}, "https://hooks.test/", false},
	}
	for _, tt := range tests {
		h := NewHTTP(HTTPOptions{AllowedURLs: tt.patterns})
		u, err := url.Parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := allowedURL(h.allowed, u); got != tt.want {
			t.Errorf("%q, %s: got %v, want %v", tt.patterns, tt.url, got, tt.want)
		}
	}
}

// Hooks beyond the limit wait, and their waiting counts into their time.
func TestGate(t *testing.T) {
	g := NewGate(2)
	started, release := make(chan string, 3), make(chan struct{})
	h := g.Handler(hooks.HandlerFunc(func(_ context.Context, h *hooks.Hook, _ []byte, _ hooks.Env) hooks.Result {
		started <- h.Name
		<-release
		return hooks.Result{}
	}))
	done := make(chan hooks.Result, 3)
	handle := func(ctx context.Context, name string) {
		done <- h.Handle(ctx, &hooks.Hook{Name: name}, nil, hooks.Env{})
	}
	go handle(t.Context(), "a")
	go handle(t.Context(), "b")
	first := []string{<-started, <-started}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	handle(ctx, "impatient")
	wantKind(t, <-done, hooks.FailureTimeout)
	go handle(t.Context(), "c")
	release <- struct{}{}
	if third := <-started; third != "c" || slices.Contains(first, "c") {
		t.Errorf("got %q after %q", third, first)
	}
	close(release)
	for range 3 {
		if res := <-done; res.Err != nil {
			t.Error(res.Err)
		}
	}
}
