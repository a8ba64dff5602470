package run

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// TestHTTPBlockedURL: none of these leads to a connection, whatever its form.
func TestHTTPBlockedURL(t *testing.T) {
	never := []string{
		"169.254.169.254", "169.254.170.2", "169.254.1.1", "[fe80::1]", "[fe80::1%25eth0]", "[fd00:ec2::254]", "[fd20:ce::254]",
		"100.100.100.200", "168.63.129.16", "192.0.0.192", "metadata.google.internal", "METADATA.google.internal.", "metadata", "instance-data.ec2.internal",
		"[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[64:ff9b::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[::169.254.169.254]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]",
		"0.0.0.0", "0.1.2.3", "[::]", "[::ffff:0.0.0.0]", "224.0.0.1", "239.255.255.250", "[ff02::1]", "255.255.255.255", "240.0.0.1", "[2001:0:1::1]",
		"2852039166", "0xa9fea9fe", "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "169.254.43518", "169.16689662", "127.1", "127.0.0.01", "0", "0x7f.1",
		"１６９.254.169.254", "169。254。169。254", "metadata.google.internal%00.example.com", "a%20b", "ⓜetadata.google.internal",
	}
	private := []string{
		"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "[fc00::1]", "[fd12:3456::1]", "[fec0::1]", "198.18.0.1", "[::ffff:10.0.0.1]",
		"[64:ff9b::10.0.0.1]", "[64:ff9b:1::1]", "[2002:0a00:0001::1]", "192.0.2.1",
	}
	for _, open := range []bool{false, true} {
		h := newHTTP(t, HTTPOptions{AllowPrivate: open})
		h.dialer.Resolver = (&names{}).resolver(t) // knows nobody
		for _, host := range never {
			t.Run(fmt.Sprintf("%v %s", open, host), func(t *testing.T) {
				res := post(t, h, &hooks.Hook{URL: "http://user:" + secret + "@" + host + "/latest?key=" + secret})
				if _, err := url.Parse("http://" + host); err != nil {
					wantKind(t, res, hooks.FailureStart) // not even a URL
					return
				}
				wantKind(t, res, hooks.FailureBlocked)
			})
		}
		for _, host := range private {
			u, _ := url.Parse("http://" + host)
			if got := checkHost(u.Hostname(), open) == nil; got != open {
				t.Errorf("%s with allowPrivate %v: allowed %v", host, open, got)
			}
		}
	}
	for _, raw := range []string{"file:///etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/", "javascript://127.0.0.1/%0aalert(1)", "unix:///run/x.sock", "HTTPX://127.0.0.1"} {
		res := post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: raw})
		if res.Err == nil {
			t.Errorf("%s: got %q; want a failure", raw, res.Stdout)
		}
	}
	for _, raw := range []string{"", "http:", "http://", "http:opaque", "://x", "http://[::1", "http://127.0.0.1:99999999/", "/path"} {
		res := post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: raw})
		if res.Err == nil {
			t.Errorf("%s: got %q; want a failure", raw, res.Stdout)
		}
	}
}

// TestHTTPNames: what a name server says is checked at each connection.
func TestHTTPNames(t *testing.T) {
	served := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		served++
		w.Header().Set("Connection", "close")
		_, _ = io.WriteString(w, `{}`)
	}))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	tests := []struct {
		name    string
		answers [][]string // by dial
		want    []hooks.FailureKind
	}{
		{"metadata", [][]string{{"169.254.169.254"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"metadata, IPv6", [][]string{{"fd00:ec2::254"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"mapped", [][]string{{"::ffff:169.254.169.254"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"NAT64", [][]string{{"64:ff9b::a9fe:a9fe"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"private", [][]string{{"10.1.2.3"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"unspecified", [][]string{{"0.0.0.0"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"all blocked", [][]string{{"169.254.169.254", "10.0.0.1", "fe80::1"}}, []hooks.FailureKind{hooks.FailureBlocked}},
		{"loopback", [][]string{{"127.0.0.1"}}, []hooks.FailureKind{""}},
		{"a blocked one beside a good one", [][]string{{"169.254.169.254", "127.0.0.1"}}, []hooks.FailureKind{""}},
		{"rebinding", [][]string{{"127.0.0.1"}, {"169.254.169.254"}}, []hooks.FailureKind{"", hooks.FailureBlocked}},
		{"rebinding to IPv6", [][]string{{"127.0.0.1"}, {"fd00:ec2::254"}}, []hooks.FailureKind{"", hooks.FailureBlocked}},
		{"rebinding there and back", [][]string{{"169.254.169.254"}, {"127.0.0.1"}, {"192.168.0.1"}}, []hooks.FailureKind{hooks.FailureBlocked, "", hooks.FailureBlocked}},
		{"nobody", nil, []hooks.FailureKind{hooks.FailureStart}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHTTP(t, HTTPOptions{})
			h.dialer.Resolver = (&names{answers: map[string][][]string{"hooks.rebind.test": tt.answers}}).resolver(t)
			for _, want := range tt.want {
				before := served
				res := post(t, h, &hooks.Hook{URL: "http://hooks.rebind.test.:" + port + "/?key=" + secret})
				if want == "" {
					if res.Err != nil || string(res.Stdout) != "{}" || served != before+1 {
						t.Fatalf("got %q, %v; want an answer", res.Stdout, res.Err)
					}
					continue
				}
				wantKind(t, res, want)
			}
		})
	}
}

func gzipped(b []byte) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.String()
}

// TestHTTPHostileAnswer sends what no service should.
func TestHTTPHostileAnswer(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	sized := func(head, body string) string {
		return fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	}
	tests := []struct {
		name, answer string
		want         hooks.FailureKind
	}{
		{"redirect 301 to metadata", "HTTP/1.1 301 Moved\r\nLocation: http://169.254.169.254/latest/meta-data\r\nContent-Length: 0\r\n\r\n", hooks.FailureStatus},
		{"redirect 302 to a private host", "HTTP/1.1 302 Found\r\nLocation: http://10.0.0.1/\r\nContent-Length: 0\r\n\r\n", hooks.FailureStatus},
		{"redirect 307 to a file", "HTTP/1.1 307 Temporary\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n", hooks.FailureStatus},
		{"redirect 308 to itself", "HTTP/1.1 308 Permanent\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", hooks.FailureStatus},
		{"redirect with a deny in its body", sized("HTTP/1.1 303 See\r\nLocation: http://metadata.google.internal/\r\n", `{"decision":"deny"}`), hooks.FailureStatus},
		{"403 does not block", sized("HTTP/1.1 403 Forbidden\r\n", `{"decision":"deny","reason":"`+said+`"}`), hooks.FailureStatus},
		{"500 with an answer", sized("HTTP/1.1 500 "+said+"\r\n", `{"decision":"deny"}`), hooks.FailureStatus},
		{"status 999", sized("HTTP/1.1 999 "+said+"\r\n", `{}`), hooks.FailureStatus},
		{"status 0", sized("HTTP/1.1 000 "+said+"\r\n", `{}`), hooks.FailureStatus},
		{"101 switching protocols", "HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", hooks.FailureStatus},
		{"a web page", sized(ok+"Content-Type: text/html\r\n", "<html>"+said+"</html>"), hooks.FailureJSON},
		{"an array", sized(ok, `[{"decision":"deny"}]`), hooks.FailureJSON},
		{"null", sized(ok, "null"), hooks.FailureJSON},
		{"a string that holds JSON", sized(ok, `"{\"decision\":\"deny\"}"`), hooks.FailureJSON},
		{"two objects", sized(ok, `{"a":1}{"decision":"deny"}`), hooks.FailureJSON},
		{"text before the object", sized(ok, said+` {"decision":"deny"}`), hooks.FailureJSON},
		{"an object cut short", sized(ok, `{"decision":"de`), hooks.FailureJSON},
		{"too deep", sized(ok, strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000)), hooks.FailureJSON},
		{"UTF-16", sized(ok+"Content-Type: application/json; charset=utf-16\r\n", "\xff\xfe{\x00}\x00"), hooks.FailureJSON},
		{"binary", sized(ok, "\x00\x01\x02\xff"), hooks.FailureJSON},
		{"body shorter than announced", ok + "Content-Length: 500\r\n\r\n" + `{"decision":"deny"}`, hooks.FailureStart},
		{"10 MB", sized(ok, `{"a":"`+strings.Repeat("x", 10<<20)+`"}`), hooks.FailureSize},
		{"10 MB without a length", ok + "Connection: close\r\n\r\n" + `{"a":"` + strings.Repeat("x", 10<<20), hooks.FailureSize},
		{"gzip bomb", sized(ok+"Content-Encoding: gzip\r\n", gzipped(bytes.Repeat([]byte(" "), 50<<20))), hooks.FailureSize},
		{"gzip within gzip", sized(ok+"Content-Encoding: gzip, gzip\r\n", gzipped([]byte(gzipped([]byte("{}"))))), hooks.FailureJSON},
		{"gzip that is none", sized(ok+"Content-Encoding: gzip\r\n", `{"decision":"deny"}`), hooks.FailureStart},
		{"gzip cut short", sized(ok+"Content-Encoding: gzip\r\n", gzipped([]byte(`{"decision":"deny"}`))[:20]), hooks.FailureStart},
		{"unknown encoding", sized(ok+"Content-Encoding: br\r\n", said), hooks.FailureJSON},
		{"chunk size is no number", ok + "Transfer-Encoding: chunked\r\n\r\nzz " + said + "\r\n{}\r\n0\r\n\r\n", hooks.FailureStart},
		{"chunk size overflows", ok + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{}\r\n", hooks.FailureStart},
		{"chunks without an end", ok + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n", hooks.FailureStart},
		{"chunk extensions without an end", ok + "Transfer-Encoding: chunked\r\n\r\n2;" + strings.Repeat("x", 1<<20) + "\r\n{}\r\n0\r\n\r\n", hooks.FailureStart},
		{"unknown transfer encoding", ok + "Transfer-Encoding: gzip\r\n\r\n{}", hooks.FailureStart},
		{"two lengths", ok + "Content-Length: 2\r\nContent-Length: 30\r\n\r\n{}", hooks.FailureStart},
		{"negative length", ok + "Content-Length: -1\r\n\r\n{}", hooks.FailureStart},
		{"huge length", ok + "Content-Length: 9223372036854775807\r\n\r\n{}", hooks.FailureStart},
		{"header of 1 MB", ok + "X-Big: " + strings.Repeat("x", 1<<20) + "\r\nContent-Length: 2\r\n\r\n{}", hooks.FailureStart},
		{"a million small headers", ok + strings.Repeat("A: b\r\n", 1_000_000) + "\r\n{}", hooks.FailureStart},
		{"header without a colon", ok + said + "\r\n\r\n{}", hooks.FailureStart},
		{"header that folds", ok + " " + said + "\r\n\r\n{}", hooks.FailureStart},
		{"NUL in a header", ok + "X: a\x00" + said + "\r\nContent-Length: 2\r\n\r\n{}", hooks.FailureStart},
		{"flood of 1xx", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: <"+said+">\r\n\r\n", 100_000), hooks.FailureStart},
		{"flood of 100", strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 100_000), hooks.FailureStart},
		{"not HTTP", "SSH-2.0-" + said + "\r\n", hooks.FailureStart},
		{"HTTP/x", "HTTP/x.y 200 " + said + "\r\n\r\n{}", hooks.FailureStart},
		{"no version", "200 OK\r\n\r\n{}", hooks.FailureStart},
		{"hangs up", "", hooks.FailureStart},
		{"hangs up in the header", "HTTP/1.1 200 OK\r\nContent-Le", hooks.FailureStart},
		{"Go's preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + said, hooks.FailureStart},
	}
	t.Logf("%d cases", len(tests))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at := rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, tt.answer) })
			hook := hooks.Hook{Type: "http", URL: at + "/?key=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret}}
			h := newHTTP(t, HTTPOptions{})
			wantKind(t, post(t, h, &hook), tt.want)
			for _, mode := range []hooks.FailMode{hooks.FailOpen, hooks.FailClosed} {
				hook.FailMode = mode
				if d := fireHTTP(t, h, hook); d.Deny != (mode == hooks.FailClosed) || strings.Contains(d.Reason, secret) || strings.Contains(d.Reason, said) {
					t.Errorf("%s: got %+v", mode, d)
				}
			}
		})
	}
}

func fireHTTP(t *testing.T, h hooks.Handler, hook hooks.Hook) hooks.Decision {
	t.Helper()
	s, err := hooks.New(hooks.Options{
		Definitions: map[hooks.Event][]hooks.Definition{hooks.BeforeTool: {{Hooks: []hooks.Hook{hook}}}},
		Handlers:    map[string]hooks.Handler{hook.Type: h},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Fire(t.Context(), hooks.Input{Event: hooks.BeforeTool, Match: "t", Fields: []hooks.Field{{Key: "tool_name", Value: json.RawMessage(`"t"`)}}})
}

// TestHTTPSlow: the end of the time is the end, wherever the service stops.
func TestHTTPSlow(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":           "",
		"half a header":     "HTTP/1.1 200 OK\r\nX: ",
		"header, no body":   "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n",
		"half a body":       "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{\"decision\"",
		"half a chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"decision\"",
		"whole, never over": "HTTP/1.1 200 OK\r\n\r\n{\"decision\":\"deny\"}",
		"interim only":      "HTTP/1.1 103 Early Hints\r\n\r\n",
		"half gzip":         "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
	} {
		t.Run(name, func(t *testing.T) {
			at := rawServer(t, func(c net.Conn) {
				_, _ = io.WriteString(c, answer)
				untilHangUp(c)
			})
			d := fireHTTP(t, newHTTP(t, HTTPOptions{}), hooks.Hook{Type: "http", URL: at, Timeout: 50 * time.Millisecond, FailMode: hooks.FailClosed})
			if d.Runs[0].Failure != "timed out after 50ms" || !d.Deny || d.Runs[0].Duration > 2*time.Second {
				t.Errorf("got %+v", d)
			}
		})
	}
	t.Run("reads nothing", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		res := newHTTP(t, HTTPOptions{}).Handle(ctx, &hooks.Hook{URL: "http://" + ln.Addr().String()}, make([]byte, 64<<20), hooks.Env{})
		wantKind(t, res, hooks.FailureCanceled)
	})
	t.Run("a name server that never answers", func(t *testing.T) {
		h := newHTTP(t, HTTPOptions{})
		h.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		wantKind(t, h.Handle(ctx, &hooks.Hook{URL: "http://slow.test./"}, []byte(`{}`), hooks.Env{}), hooks.FailureCanceled)
	})
	t.Run("TLS that never answers", func(t *testing.T) {
		at := rawServer(t, untilHangUp)
		d := fireHTTP(t, newHTTP(t, HTTPOptions{}), hooks.Hook{Type: "http", URL: strings.Replace(at, "http:", "https:", 1), Timeout: 50 * time.Millisecond})
		if d.Runs[0].Failure == "" || d.Deny {
			t.Errorf("got %+v", d)
		}
	})
}

func TestHTTPBadTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { t.Error("a request came") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Run("unknown authority", func(t *testing.T) {
		wantKind(t, post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: server.URL + "/?key=" + secret}), hooks.FailureStart)
	})
	t.Run("other name", func(t *testing.T) {
		h := newHTTP(t, HTTPOptions{})
		h.transport.TLSClientConfig = server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		h.dialer.Resolver = (&names{answers: map[string][][]string{"other.test": {{"127.0.0.1"}}}}).resolver(t)
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		wantKind(t, post(t, h, &hooks.Hook{URL: "https://other.test.:" + port}), hooks.FailureStart)
	})
	t.Run("expired", func(t *testing.T) {
		h := newHTTP(t, HTTPOptions{})
		c := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		c.Time = func() time.Time { return time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) }
		h.transport.TLSClientConfig = c
		wantKind(t, post(t, h, &hooks.Hook{URL: server.URL}), hooks.FailureStart)
	})
	t.Run("old version", func(t *testing.T) {
		old := httptest.NewUnstartedServer(http.NotFoundHandler())
		old.Config.ErrorLog = log.New(io.Discard, "", 0)
		old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10} //nolint:gosec // what is refused
		old.StartTLS()
		t.Cleanup(old.Close)
		wantKind(t, post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: old.URL}), hooks.FailureStart)
	})
	t.Run("plain HTTP at an https URL", func(t *testing.T) {
		at := rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 no\r\n\r\n") })
		wantKind(t, post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: strings.Replace(at, "http:", "https:", 1)}), hooks.FailureStart)
	})
	t.Run("refused", func(t *testing.T) {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
		wantKind(t, post(t, newHTTP(t, HTTPOptions{}), &hooks.Hook{URL: "http://" + ln.Addr().String()}), hooks.FailureStart)
	})
}

// The proxy of the environment would connect past the check.
func TestHTTPNoProxy(t *testing.T) {
	proxied := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came to the proxy") }))
	t.Cleanup(proxied.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxied.URL)
	}
	h := newHTTP(t, HTTPOptions{})
	h.dialer.Resolver = (&names{}).resolver(t)
	for _, raw := range []string{"http://169.254.169.254/", "http://nobody.test./"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		if res := h.Handle(ctx, &hooks.Hook{URL: raw}, []byte("{}"), hooks.Env{}); res.Err == nil {
			t.Errorf("%s: got %q", raw, res.Stdout)
		}
		cancel()
	}
}
