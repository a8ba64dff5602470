package proxy

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/proxy/shield"
	"github.com/hookline-proxy/hookline/toolloop"
)

// engines are made once: they compile many rules.
var engines = map[string]func() *shield.Redactor{
	"placeholder": sync.OnceValue(func() *shield.Redactor { return redactor(redact.Options{Action: redact.Placeholder}) }),
	"block":       sync.OnceValue(func() *shield.Redactor { return redactor(redact.Options{Action: redact.Block}) }),
}

func redactor(o redact.Options) *shield.Redactor {
	r, err := shield.NewRedactor(o)
	if err != nil {
		panic(err)
	}
	return r
}

func shielded(action string, more ...func(*shield.Options)) *shield.Shield {
	r := engines[action]()
	o := shield.Options{Rules: []shield.Rule{{Redactor: r, Direction: shield.ToModel}, {Redactor: r, Direction: shield.ToAgent}}, Note: "-"}
	for _, f := range more {
		f(&o)
	}
	return shield.New(o)
}

const mail = "jane.roe@example.org"

// TestPolicy: what goes up where, and what is refused.
func TestPolicy(t *testing.T) {
	const body = `{"contents":[{"parts":[{"text":"` + mail + `"}]}]}`
	const models = "/v1beta/models/m"
	for _, c := range []struct {
		name, method, target, body string
		header                     []string
		endpoints                  map[string]Policy
		open                       bool
		status                     int
		up                         string // part of what went up; "" for nothing
		says                       string // part of the answer
	}{
		{name: "count", target: models + ":countTokens", body: body, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "count that passes", target: models + ":countTokens", body: body, endpoints: map[string]Policy{"countTokens": PolicyPass}, status: 200, up: mail},
		{name: "count that is denied", target: models + ":countTokens", body: body, endpoints: map[string]Policy{"countTokens": PolicyDeny}, status: 403, says: `endpoints[\"countTokens\"]`},
		{name: "list", method: "GET", target: "/v1beta/models", status: 200, up: "GET "},
		{name: "a list with a body", method: "GET", target: "/v1beta/models", body: body, status: 403, says: `endpoints[\"*\"]`},
		{name: "a model call in lower case", method: "post", target: models + ":generateContent", body: body, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "a deletion with a body", method: "DELETE", target: "/v1beta/cachedContents/7", body: body, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "deletion", method: "DELETE", target: "/v1beta/newThings/7", status: 200, up: "DELETE "},
		{name: "unknown path", target: "/v1beta/newThings", body: body, status: 403, says: `endpoints[\"*\"]`},
		{name: "unknown path that is redacted", target: "/v1beta/newThings", body: body, endpoints: map[string]Policy{"*": PolicyRedact}, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "a model call by PUT", method: "PUT", target: models + ":generateContent", body: body, status: 403, says: `endpoints[\"*\"]`},
		{name: "OpenAI's", target: "/v1beta/openai/chat/completions", body: body, status: 403, says: `endpoints[\"openai\"]`},
		{name: "OpenAI's stream", target: "/v1beta/openai/chat/completions", body: `{"stream":true}`, endpoints: map[string]Policy{"openai": PolicyRedact}, status: 403, says: "streamed answers"},
		{name: "Live", method: "GET", target: "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", header: []string{"Connection", "Upgrade", "Upgrade", "websocket"}, status: 403, says: `endpoints[\"live\"]`},
		{name: "no JSON", target: models + ":countTokens", body: `{"contents":`, status: 400, says: "redact.failMode"},
		{name: "no JSON, open", target: models + ":countTokens", body: `{"contents":`, open: true, status: 200, up: `{"contents":`},
		{name: "another kind", target: models + ":countTokens", body: "x=1", header: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 403, says: "x-www-form-urlencoded"},
		{name: "gzip", target: models + ":countTokens", body: string(gzipped(body)), header: []string{"Content-Encoding", "gzip"}, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "a bomb", target: models + ":countTokens", body: string(gzipped(strings.Repeat(" ", 1<<20))), header: []string{"Content-Encoding", "gzip"}, status: 413, says: "limits.maxBody"},
		{name: "unknown encoding", target: models + ":countTokens", body: "x", header: []string{"Content-Encoding", "br"}, status: 415, says: "content-encoding"},
		{name: "too large", target: models + ":countTokens", body: strings.Repeat(" ", 200<<10), status: 413, says: "limits.maxBody"},
		{name: "a picture to upload", target: "/upload/v1beta/files", body: `{}`, header: []string{"X-Goog-Upload-Command", "start", "X-Goog-Upload-Header-Content-Type", "image/png"}, status: 403, says: "image/png"},
		{name: "a picture that passes", target: "/upload/v1beta/files", body: `{}`, header: []string{"X-Goog-Upload-Command", "start", "X-Goog-Upload-Header-Content-Type", "image/png"}, endpoints: map[string]Policy{"upload": PolicyPass}, status: 200, up: "image/png"},
		{name: "a text to upload", target: "/upload/v1beta/files", body: `{"file":{"displayName":"` + mail + `"}}`, header: []string{"X-Goog-Upload-Command", "start", "X-Goog-Upload-Header-Content-Type", "text/csv", "X-Goog-Upload-Header-Content-Length", "20"}, status: 200, up: "<EMAIL_ADDRESS_1>"},
		{name: "its bytes", target: "/upload/v1beta/files?upload_id=1", body: "a;" + mail + "\n", header: []string{"Content-Type", "text/csv", "X-Goog-Upload-Command", "upload, finalize", "X-Goog-Upload-Offset", "0"}, status: 200, up: "a;<EMAIL_ADDRESS_1>\n"},
		{name: "its bytes in pieces", target: "/upload/v1beta/files?upload_id=1", body: "a;", header: []string{"X-Goog-Upload-Command", "upload"}, status: 403, says: "form of upload"},
		{name: "bytes that are no text", target: "/upload/v1beta/files?upload_id=1", body: "a\x00b", header: []string{"X-Goog-Upload-Command", "upload, finalize"}, status: 403, says: "no text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var mu sync.Mutex
			var up string
			url := upstream(t, func(conn net.Conn, req rawRequest) error {
				mu.Lock()
				up += req.head + string(req.body)
				mu.Unlock()
				_, err := io.WriteString(conn, sized(200, "application/json", `{"totalTokens":3}`))
				return err
			})
			addr := start(t, Options{Upstream: Upstreams{Gemini: url}, MaxBody: 100 << 10, Endpoints: c.endpoints,
				Shield: shielded("placeholder", func(o *shield.Options) { o.FailOpen = c.open })})
			method := c.method
			if method == "" {
				method = http.MethodPost
			}
			req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+c.target, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(c.header); i += 2 {
				req.Header.Set(c.header[i], c.header[i+1])
			}
			resp, got := do(t, req)
			if resp.StatusCode != c.status || !strings.Contains(string(got), c.says) {
				t.Errorf("got %d %s", resp.StatusCode, got)
			}
			mu.Lock()
			defer mu.Unlock()
			if c.up == "" && up != "" || !strings.Contains(up, c.up) {
				t.Errorf("went up: %q", up)
			}
			if c.up != mail && strings.Contains(up, mail) {
				t.Errorf("the value went up: %q", up)
			}
			if strings.Contains(up, "Header-Content-Length") {
				t.Error("the length of a text that is redacted went up")
			}
		})
	}
}

// TestPolicyWithoutShield: nothing changes unless something is denied.
func TestPolicyWithoutShield(t *testing.T) {
	url := upstream(t, sends(sized(200, "application/json", `{}`)))
	addr := start(t, Options{Upstream: Upstreams{Gemini: url}, Endpoints: map[string]Policy{"countTokens": PolicyDeny}})
	for target, want := range map[string]int{"/v1beta/models/m:countTokens": 403, "/v1beta/models/m:embedContent": 200, "/v1beta/x": 200} {
		if resp, got := do(t, newPost(t, addr, target, []byte(`{`))); resp.StatusCode != want {
			t.Errorf("%s: %d %s", target, resp.StatusCode, got)
		}
	}
}

// sends gives the same bytes to every request.
func sends(b string) func(net.Conn, rawRequest) error {
	return func(c net.Conn, _ rawRequest) error {
		_, err := io.WriteString(c, b)
		return err
	}
}

// TestShieldedCalls: model calls with and without a runner.
func TestShieldedCalls(t *testing.T) {
	const said = `{"contents":[{"role":"user","parts":[{"text":"mail ` + mail + `"}]}]}`
	event := func(s string) string {
		return `data: {"candidates":[{"content":{"parts":[{"text":"` + s + `"}]}}]}` + "\r\n\r\n"
	}
	blocked := `it holds data of the kind EMAIL_ADDRESS`
	for _, c := range []struct {
		name, target, body, up string
		action                 string
		as                     toolloop.DenyAs
		status                 int
		want                   string
		quiet                  bool // nothing goes up
	}{
		{name: "events", target: streamTarget, up: chunked("text/event-stream", event("to <EMAIL_"), event("ADDRESS_1>!")), want: event("to ") + event(mail) + `data: {"candidates":[{"content":{"parts":[{"text":"!"}]`},
		{name: "array", target: arrayTarget, up: chunked("application/json", `[{"candidates":[{"content":{"parts":[{"text":"<EMAIL_ADDRESS_1>"}]}}]}]`), want: `[{"candidates":[{"content":{"parts":[{"text":"` + mail + `"}]}}]}` + "\n]\n"},
		{name: "unary", target: unaryTarget, up: sized(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"<EMAIL_ADDRESS_1>"}]}}]}`), want: `{"candidates":[{"content":{"parts":[{"text":"` + mail + `"}]}}]}`},
		{name: "error", target: streamTarget, up: sized(400, "application/json", `{"error":{"message":"not <EMAIL_ADDRESS_1>"}}`), status: 400, want: `{"error":{"message":"not ` + mail + `"}}`},
		{name: "error page", target: streamTarget, up: sized(404, "text/html", `<p>no &lt;EMAIL_ADDRESS_1&gt;</p>`), status: 404, want: `<p>no ` + mail + `</p>`},
		{name: "error after events", target: streamTarget, up: chunked("text/event-stream", event("so"), "{\n \"error\": {\"message\":\"<EMAIL_ADDRESS_1>\"}\n}\n"), want: "{\n \"error\": {\"message\":\"" + mail + "\"}\n}\n"},
		{name: "no JSON", target: streamTarget, body: "{", status: 400, want: "redact.failMode", quiet: true},
		{name: "blocked", target: streamTarget, action: "block", want: blocked, quiet: true},
		{name: "blocked, as an error", target: streamTarget, action: "block", as: toolloop.DenyAsError, status: 403, want: "REDACT_BLOCKED", quiet: true},
		{name: "blocked answer", target: streamTarget, body: `{}`, action: "block", up: chunked("text/event-stream", event("well, "), event(mail+" it is"), event("more")), want: blocked},
		{name: "answer blocked at once", target: unaryTarget, body: `{}`, action: "block", up: sized(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"`+mail+`"}]}}]}`), want: blocked},
		{name: "answer blocked at once, as an error", target: unaryTarget, body: `{}`, action: "block", as: toolloop.DenyAsError, up: sized(200, "application/json", `{"candidates":[{"content":{"parts":[{"text":"`+mail+`"}]}}]}`), status: 403, want: "REDACT_BLOCKED"},
	} {
		for _, runner := range []Runner{nil, runnerFunc(relay)} {
			t.Run(c.name, func(t *testing.T) {
				var mu sync.Mutex
				var up string
				url := upstream(t, func(conn net.Conn, req rawRequest) error {
					mu.Lock()
					up += string(req.body)
					mu.Unlock()
					_, err := io.WriteString(conn, c.up)
					return err
				})
				if c.action == "" {
					c.action = "placeholder"
				}
				if c.status == 0 {
					c.status = 200
				}
				if c.body == "" {
					c.body = said
				}
				if runner != nil && strings.HasPrefix(c.name, "answer blocked") && c.as == "" {
					t.Skip("this runner begins its answer before the first event")
				}
				addr := start(t, Options{Upstream: Upstreams{Gemini: url}, Shield: shielded(c.action), Runner: runner, DenyAs: c.as})
				resp, got := do(t, newPost(t, addr, c.target, []byte(c.body)))
				if resp.StatusCode != c.status || !bytes.Contains(got, []byte(c.want)) {
					t.Errorf("got %d %s\nwant %s", resp.StatusCode, got, c.want)
				}
				if strings.HasPrefix(c.name, "blocked") && (bytes.Contains(got, []byte(mail)) || bytes.Contains(got, []byte("more"))) {
					t.Errorf("got %s", got)
				}
				if c.target == unaryTarget && !json.Valid(got) {
					t.Errorf("no JSON: %s", got)
				}
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(up, mail) || c.quiet != (up == "") {
					t.Errorf("went up: %q", up)
				}
			})
		}
	}
}
