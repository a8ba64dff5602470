package tally

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func zipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTally(t *testing.T) {
	const sse = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"x\"},{\"functionCall\":{\"name\":\"a\"}}]}},{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"b\"}}]}}],\"usageMetadata\":{\"promptTokenCount\":7}}\r\n\r\n" +
		"data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":7,\"candidatesTokenCount\":2,\"thoughtsTokenCount\":3}}\r\n\r\n"
	tests := []struct {
		name, path, typ, encoding, body string
		status                          int
		want                            Counts
	}{
		{"sse", "/v1beta/models/m:streamGenerateContent", "text/event-stream", "", sse, 200,
			Counts{Calls: 1, Tools: map[string]int{"a": 1, "b": 1}, Input: 7, Output: 5}},
		{"gzip", "/v1beta/models/m:streamGenerateContent", "text/event-stream", "gzip", zipped(t, sse), 200,
			Counts{Calls: 1, Tools: map[string]int{"a": 1, "b": 1}, Input: 7, Output: 5}},
		{"array", "/v1beta/models/m:streamGenerateContent", "application/json", "", `[{"usageMetadata":{"promptTokenCount":1}},{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":4}}]`, 200,
			Counts{Calls: 1, Tools: map[string]int{}, Input: 1, Output: 4}},
		{"envelope", "/v1internal:generateContent", "application/json", "", `{"response":{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}}]}}],"usageMetadata":{"promptTokenCount":1}}}`, 200,
			Counts{Calls: 1, Tools: map[string]int{"a": 1}, Input: 1}},
		{"error", "/v1beta/models/m:generateContent", "application/json", "", `{"error":{}}`, 429, Counts{Calls: 1, Errors: 1, Tools: map[string]int{}}},
		{"no JSON", "/v1beta/models/m:generateContent", "application/json", "", "<html>" + strings.Repeat("x", 1<<16), 200, Counts{Calls: 1, Tools: map[string]int{}}},
		{"no gzip", "/v1beta/models/m:generateContent", "application/json", "gzip", strings.Repeat("x", 1<<16), 200, Counts{Calls: 1, Tools: map[string]int{}}},
		{"unknown encoding", "/v1beta/models/m:generateContent", "application/json", "br", strings.Repeat("x", 1<<16), 200, Counts{Calls: 1, Tools: map[string]int{}}},
		{"another call", "/v1beta/models/m:countTokens", "application/json", "", `{"usageMetadata":{"promptTokenCount":1}}`, 200, Counts{Tools: map[string]int{}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tally := New(transport(func(*http.Request) (*http.Response, error) {
				h := http.Header{"Content-Type": {tt.typ}, "Content-Encoding": {tt.encoding}}
				return &http.Response{StatusCode: tt.status, Header: h, Body: io.NopCloser(strings.NewReader(tt.body))}, nil
			}))
			r, err := http.NewRequest(http.MethodPost, "http://h"+tt.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			res, err := tally.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(res.Body)
			if err != nil || string(got) != tt.body {
				t.Errorf("body: %d bytes, %v, want the %d that were sent", len(got), err, len(tt.body))
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
			if d := cmp.Diff(tt.want, tally.Counts()); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}

func TestTallyClosedEarly(t *testing.T) {
	tally := New(transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader("[{"))}, nil
	}))
	r, err := http.NewRequest(http.MethodPost, "http://h/v1/models/m:generateContent", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tally.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if c := tally.Counts(); c.Calls != 1 {
		t.Errorf("counts %+v, want one call", c)
	}
}

func TestCountsString(t *testing.T) {
	for want, c := range map[string]Counts{
		"0 model calls, 0 tool calls, 0 tokens in, 0 out": {},
		"1 model call (1 failed), 1 tool call (a 1), 5 tokens in, 6 out": {
			Calls: 1, Errors: 1, Tools: map[string]int{"a": 1}, Input: 5, Output: 6,
		},
		"3 model calls, 9 tool calls (b 3, a 2, c 1, d 1, e 1, and 1 more), 0 tokens in, 0 out": {
			Calls: 3, Tools: map[string]int{"a": 2, "b": 3, "c": 1, "d": 1, "e": 1, "f": 1},
		},
	} {
		if got := c.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
