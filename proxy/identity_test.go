package proxy

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp"
)

func TestTenant(t *testing.T) {
	header := func(kv ...string) *fasthttp.RequestHeader {
		h := &fasthttp.RequestHeader{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	key := tenant(header("X-Goog-Api-Key", "k+1"), "")
	for _, c := range []struct {
		name  string
		h     *fasthttp.RequestHeader
		query string
		same  bool
	}{
		{"the same header", header("x-goog-api-key", "k+1"), "", true},
		{"in the query", header(), "a=b&key=k%2B1", true},
		{"header before query", header("X-Goog-Api-Key", "k+1"), "key=other", true},
		{"another key", header("X-Goog-Api-Key", "k2"), "", false},
		{"a token of the same text", header("Authorization", "Bearer k+1"), "", false},
		{"none", header(), "", false},
	} {
		if got := tenant(c.h, c.query); (got == key) != c.same || len(got) != 32 || strings.Contains(got, "k+1") {
			t.Errorf("%s: tenant %s, that of the key is %s", c.name, got, key)
		}
	}
}

func TestAgent(t *testing.T) {
	for _, c := range []struct{ ua, api, want string }{
		{"GeminiCLI/0.61.0/gemini-2.5-pro (linux; x64) google-api-nodejs-client/9.15.1", "gl-node/22", "gemini-cli"},
		{"google-genai-sdk/2.32.0 gl-node/v20", "google-genai-sdk/2.32.0 gl-node/v20", "google-genai"},
		{"node", "genai-js/0.24.1", "generative-ai-js"},
		{"Go-http-client/1.1", "gl-go/1.26 gccl/v0.20.1 genai-go/0.20.1 gapic/x", "generative-ai-go"},
		{"ai-sdk/google/3.0.141 runtime/node.js", "", "ai-sdk"},
		{"curl/8", "", ""},
	} {
		h := &fasthttp.RequestHeader{}
		h.SetUserAgent(c.ua)
		h.Set("X-Goog-Api-Client", c.api)
		if got := agent(h); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.ua, c.api, got, c.want)
		}
	}
}

// lines is a log that tests read while the server writes it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Whatever happens to a request: its credentials are in no log line and in no
// answer.
func TestNoCredentialIsTold(t *testing.T) {
	var seen []rawRequest // calls come one after the other
	ok := upstream(t, func(conn net.Conn, req rawRequest) error {
		seen = append(seen, req)
		_, err := io.WriteString(conn, sized(200, "application/json", "{}"))
		return err
	})
	broken := upstream(t, func(conn net.Conn, _ rawRequest) error { return io.EOF })
	for name, up := range map[string]string{"ok": ok, "broken": broken, "unreachable": "http://127.0.0.1:1"} {
		for _, hooked := range []bool{false, true} {
			log := &lines{}
			o := Options{Upstream: Upstreams{Gemini: up}, Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
			if hooked {
				o = hook(o, relay)
			}
			addr := start(t, o)
			for _, target := range []string{unaryTarget + "?key=SECRET1&x=y", "/upload/v1beta/files?upload_id=SECRET2&access_token=SECRET3", "/s/S1/v1/x?key=SECRET1"} {
				conn, r := dial(t, addr)
				send(t, conn, strings.Replace(post(target, "{}"), "Host:", "X-Goog-Api-Key: SECRET4\r\nAuthorization: Bearer SECRET5\r\nCookie: SECRET6\r\nConnection: close\r\nHost:", 1))
				all, err := io.ReadAll(r)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(all), "SECRET") {
					t.Errorf("%s, hooked %v, %s: the answer tells a credential: %s", name, hooked, target, all)
				}
			}
			if text := log.String(); strings.Contains(text, "SECRET") || !strings.Contains(text, "path=") {
				t.Errorf("%s, hooked %v: the log:\n%s", name, hooked, text)
			}
		}
	}
	if len(seen) == 0 || !strings.Contains(seen[0].head, "SECRET4") {
		t.Error("the credentials did not go up")
	}
}
