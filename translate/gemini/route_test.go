package gemini

import (
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/stream"
)

func TestRoute(t *testing.T) {
	tests := []struct {
		name, method, path, query string
		want                      Target
	}{
		{"unary", "POST", "/v1beta/models/gemini-2.5-flash:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "gemini-2.5-flash", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"sse", "POST", "/v1/models/m:streamGenerateContent", "key=k&alt=sse",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1", Model: "m", Verb: "streamGenerateContent", Hooked: true, Format: stream.SSE}},
		{"array stream, escaped enum encoding (query-dollar-alt)", "POST", "/v1beta/models/gemini-2.5-flash:streamGenerateContent", "%24alt=json%3Benum-encoding%3Dint",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "gemini-2.5-flash", Verb: "streamGenerateContent", Hooked: true, Format: stream.Array, IntEnums: true}},
		{"raw semicolon, which url.ParseQuery drops (query-raw-semicolon)", "POST", "/v1beta/models/m:generateContent", "$alt=json;enum-encoding=int",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "generateContent", Hooked: true, Format: stream.Unary, IntEnums: true}},
		{"prefix (url-prefix-base)", "POST", "/p/v1beta/models/gemini-2.5-flash:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "gemini-2.5-flash", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"session prefix", "POST", "/s/abc/v1beta/models/m:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"double slash (url-double-slash)", "POST", "//v1beta/models/m:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"tuned model", "POST", "/v1alpha/tunedModels/t-1:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1alpha", Model: "tunedModels/t-1", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"escaped colon", "POST", "/v1beta/models/m%3AgenerateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"colon in the model", "POST", "/v1beta/models/a:b:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "a:b", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"no version", "POST", "/models/m:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Model: "m", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"vertex", "POST", "/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro:streamGenerateContent", "alt=sse",
			Target{Kind: KindGenerate, Family: FamilyVertex, Version: "v1", Model: "gemini-2.5-pro", Verb: "streamGenerateContent", Hooked: true, Format: stream.SSE}},
		{"vertex express (url-vertex)", "POST", "/v1beta1/publishers/google/models/gemini-3-flash-preview:streamGenerateContent", "alt=sse",
			Target{Kind: KindGenerate, Family: FamilyVertex, Version: "v1beta1", Model: "gemini-3-flash-preview", Verb: "streamGenerateContent", Hooked: true, Format: stream.SSE}},
		{"vertex endpoint", "POST", "/v1/projects/p/locations/l/endpoints/77:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyVertex, Version: "v1", Model: "endpoints/77", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"code assist", "POST", "/v1internal:streamGenerateContent", "",
			Target{Kind: KindGenerate, Family: FamilyCodeAssist, Version: "v1internal", Verb: "streamGenerateContent", Hooked: true, Format: stream.SSE}},
		{"code assist unary", "POST", "/x/v1internal:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyCodeAssist, Version: "v1internal", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
		{"code assist, something else", "POST", "/v1internal:loadCodeAssist", "",
			Target{Kind: KindOther, Family: FamilyCodeAssist, Version: "v1internal", Verb: "loadCodeAssist"}},
		{"count", "POST", "/v1beta/models/m:countTokens", "",
			Target{Kind: KindCount, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "countTokens"}},
		{"embed", "POST", "/v1beta/models/m:batchEmbedContents", "",
			Target{Kind: KindEmbed, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "batchEmbedContents"}},
		{"batch", "POST", "/v1beta/models/m:batchGenerateContent", "",
			Target{Kind: KindBatch, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "batchGenerateContent"}},
		{"not a POST", "GET", "/v1beta/models/m:generateContent", "",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m", Verb: "generateContent"}},
		{"model list", "GET", "/v1beta/models/m", "", Target{Kind: KindOther}},
		{"cache", "POST", "/v1beta/cachedContents", "", Target{Kind: KindCache}},
		{"vertex cache", "POST", "/v1/projects/p/locations/l/cachedContents/1", "", Target{Kind: KindCache}},
		{"interactions", "POST", "/v1beta/interactions", "", Target{Kind: KindInteractions}},
		{"upload", "POST", "/upload/v1beta/files", "", Target{Kind: KindFiles}},
		{"download", "GET", "/v1beta/files/x:download", "alt=media", Target{Kind: KindFiles}},
		{"live (url-unknown)", "GET", "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent", "key=k", Target{Kind: KindLive}},
		{"openai", "POST", "/v1beta/openai/chat/completions", "", Target{Kind: KindOther}},
		{"root", "GET", "/", "", Target{Kind: KindOther}},
		{"empty", "GET", "", "", Target{Kind: KindOther}},
		{"no verb", "POST", "/generateContent", "", Target{Kind: KindOther}},
		{"broken escape", "POST", "/v1beta/models/m%zz:generateContent", "alt=%zz",
			Target{Kind: KindGenerate, Family: FamilyGemini, Version: "v1beta", Model: "m%zz", Verb: "generateContent", Hooked: true, Format: stream.Unary}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Route(tt.method, tt.path, tt.query)
			if same := got.Path(got.Model); same != tt.path {
				t.Errorf("the path with its own model is %q, want %q", same, tt.path)
			}
			got.path, got.model = "", span{}
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// What is no model call by the book, but may be one to a lenient upstream, is hooked.
func TestRouteNearlyGenerate(t *testing.T) {
	for _, path := range []string{
		"/endpoints/7:generateContent", "/v1beta/m:generateContent", "/v1beta/agents/m:streamGenerateContent", "/v1beta/models/:generateContent",
		"/v1beta/models/m:generateContent/", "/v1beta/models/m:generatecontent", "/v1beta/models/m:generateContent;x=1",
		"/v1beta/models/m:generateContent%20", "/v1beta/models/m:generateContent%3Fx", "/v1internal:generateContent/",
	} {
		got := Route("POST", path, "alt=sse")
		want := map[bool]stream.Format{true: stream.SSE, false: stream.Unary}[strings.Contains(path, "stream")]
		if !got.Hooked || got.Format != want || got.Path("") != path {
			t.Errorf("%s: hooked %v, format %q, path %q", path, got.Hooked, got.Format, got.Path(""))
		}
		if enveloped := strings.Contains(path, "internal"); got.Wire().Envelope != enveloped {
			t.Errorf("%s: envelope is %v", path, !enveloped)
		}
	}
}

func TestTargetPath(t *testing.T) {
	tests := []struct{ path, model, want string }{
		{"/p//v1beta/models/a:generateContent", "b", "/p//v1beta/models/b:generateContent"},
		{"/v1beta/models/a%3AgenerateContent", "models/b", "/v1beta/models/b%3AgenerateContent"},
		{"/v1%62eta/models/a:generateContent", "b c", "/v1%62eta/models/b%20c:generateContent"},
		{"/v1beta/models/a:generateContent", "tunedModels/t", "/v1beta/tunedModels/t:generateContent"},
		{"/v1beta/tunedModels/t:generateContent", "b", "/v1beta/models/b:generateContent"},
		{"/v1/projects/p/locations/l/publishers/google/models/a:generateContent", "b", "/v1/projects/p/locations/l/publishers/google/models/b:generateContent"},
		{"/v1/projects/p/locations/l/endpoints/7:generateContent", "b", "/v1/projects/p/locations/l/publishers/google/models/b:generateContent"},
		{"/v1internal:generateContent", "b", "/v1internal:generateContent"},
		{"/v1beta/models/a:generateContent", "x?y#z", "/v1beta/models/x%3Fy%23z:generateContent"},
		{"/v1beta/models/a:generateContent", "", "/v1beta/models/a:generateContent"},
		{"/v1beta/files", "b", "/v1beta/files"},
	}
	for _, tt := range tests {
		if got := Route("POST", tt.path, "").Path(tt.model); got != tt.want {
			t.Errorf("Path(%q) of %s is %s, want %s", tt.model, tt.path, got, tt.want)
		}
	}
}

func FuzzRoute(f *testing.F) {
	f.Add("/v1beta/models/m:generateContent", "alt=sse", "b")
	f.Add("/%2f/v1internal:%", "%24alt=;", "tunedModels/x")
	f.Fuzz(func(t *testing.T, path, query, model string) {
		got := Route("POST", path, query)
		got.Path(model)
		if got.Path(got.Model) != path {
			t.Errorf("the path with its own model is %q, want %q", got.Path(got.Model), path)
		}
	})
}
