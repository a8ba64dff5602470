package proxy

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/translate/gemini"
)

// The credential that hooks may use is the one that makes the tenant, in the
// form of a header, and only where it is one for the Gemini API.
func TestCredential(t *testing.T) {
	tests := []struct {
		name   string
		header map[string]string
		query  string
		family gemini.Family
		want   http.Header
	}{
		{"key", map[string]string{"X-Goog-Api-Key": "k"}, "", gemini.FamilyGemini, http.Header{"X-Goog-Api-Key": {"k"}}},
		{"token", map[string]string{"Authorization": "Bearer t"}, "key=k", gemini.FamilyGemini, http.Header{"Authorization": {"Bearer t"}}},
		{"key of the query", nil, "alt=sse&key=a%2Bb", gemini.FamilyGemini, http.Header{"X-Goog-Api-Key": {"a+b"}}},
		{"token of the query", nil, "access_token=t", gemini.FamilyGemini, http.Header{"Authorization": {"Bearer t"}}},
		{"none", nil, "key=&alt=sse", gemini.FamilyGemini, http.Header{}},
		{"another family's", map[string]string{"Authorization": "Bearer t"}, "", gemini.FamilyVertex, http.Header{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h fasthttp.RequestHeader
			for k, v := range tt.header {
				h.Set(k, v)
			}
			got := http.Header{}
			credential(&h, tt.query, tt.family).SetOn(got)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
