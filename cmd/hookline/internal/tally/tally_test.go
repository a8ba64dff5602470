package tally

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/proxy"
)

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
			tally := New()
			w := tally.Observe(proxy.Observed{Path: tt.path, Status: tt.status, ContentType: tt.typ, ContentEncoding: tt.encoding})
			if w != nil {
				if n, err := io.WriteString(w, tt.body); n != len(tt.body) || err != nil {
					t.Errorf("took %d bytes, %v", n, err)
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}
			if d := cmp.Diff(tt.want, tally.Counts()); d != "" {
				t.Errorf("counts (-want +got):\n%s", d)
			}
		})
	}
}

func TestTallyClosedEarly(t *testing.T) {
	tally := New()
	w := tally.Observe(proxy.Observed{Path: "/v1/models/m:generateContent", Status: 200})
	if _, err := io.WriteString(w, "[{"); err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
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
