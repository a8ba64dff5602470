package proxy

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/hooks/reported"
)

// asked is a Reporter that says what it was asked.
type asked struct{}

func (asked) Report(_ context.Context, dialect, event, session string, doc []byte) ([]byte, error) {
	switch string(doc) {
	case "bad":
		return nil, reported.ErrJSON
	}
	return []byte(strings.Join([]string{dialect, event, session, string(doc)}, "|")), nil
}

func (asked) Events() []byte { return []byte(`{"events":[]}`) }

func TestReport(t *testing.T) {
	open := start(t, Options{Reports: asked{}})
	closed := start(t, Options{Reports: asked{}, ReportToken: "s3cret"})
	for _, tc := range []struct {
		name, addr, method, target, body string
		header                           map[string]string
		status                           int
		want                             string // part of the answer
	}{
		{"event", open, "POST", "/hooks/v1/events", "{}", nil, 200, "|||{}"},
		{"name, dialect and session", open, "POST", "/s/run-1/hooks/v1/events/PreToolUse?dialect=claude", "{}", nil, 200, "claude|PreToolUse|run-1|{}"},
		{"session as a header", open, "POST", "/hooks/v1/events/Stop", "{}", map[string]string{"X-Hookline-Session": "h"}, 200, "|Stop|h|{}"},
		{"list", open, "GET", "/hooks/v1/events", "", nil, 200, `{"events":[]}`},
		{"bad JSON", open, "POST", "/hooks/v1/events", "bad", nil, 400, "no JSON object"},
		{"another method", open, "DELETE", "/hooks/v1/events", "", nil, 405, "by POST"},
		{"too large", open, "POST", "/hooks/v1/events", strings.Repeat("x", reported.MaxDocument+1), nil, 413, "at most 1048576 bytes"},
		{"web page", open, "POST", "/hooks/v1/events", "{}", map[string]string{"Origin": "https://evil.example"}, 403, "this machine alone"},
		{"rebound name", open, "POST", "/hooks/v1/events", "{}", map[string]string{"Host": "evil.example"}, 403, "this machine alone"},
		{"from behind a proxy", open, "POST", "/hooks/v1/events", "{}", map[string]string{"X-Forwarded-For": "192.0.2.1"}, 403, "this machine alone"},
		{"no token", closed, "POST", "/hooks/v1/events", "{}", nil, 401, "reportToken"},
		{"wrong token", closed, "POST", "/hooks/v1/events", "{}", map[string]string{"Authorization": "Bearer s3cre"}, 401, "reportToken"},
		{"token, from behind a proxy", closed, "POST", "/hooks/v1/events", "{}", map[string]string{"Authorization": "Bearer s3cret", "X-Forwarded-For": "192.0.2.1"}, 200, "|||{}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tc.method, "http://"+tc.addr+tc.target, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range tc.header {
				req.Header.Set(k, v)
				if k == "Host" {
					req.Host = v
				}
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tc.status || !strings.Contains(string(body), tc.want) {
				t.Errorf("got %d %.200q (%v), want %d with %q", res.StatusCode, body, err, tc.status, tc.want)
			}
			if strings.Contains(string(body), "s3cret") {
				t.Errorf("the token is in the answer: %s", body)
			}
		})
	}
	http.DefaultClient.CloseIdleConnections()
}
