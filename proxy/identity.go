package proxy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

const (
	headerRequestID = "X-Hookline-Request-Id"
	headerSession   = "X-Hookline-Session"

	headerAPIKey        = "X-Goog-Api-Key"
	headerAuthorization = "Authorization"
)

// requestIDs hands out ids that are unique across processes: a random prefix
// and a counter.
type requestIDs struct {
	prefix string
	n      *atomic.Uint64
}

func newRequestIDs() requestIDs {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return requestIDs{prefix: hex.EncodeToString(b[:]) + "-", n: new(atomic.Uint64)}
}

func (r requestIDs) next() string { return r.prefix + strconv.FormatUint(r.n.Add(1), 36) }

// presented is the credential of a request, and in which manner it was given;
// both are "" when there is none.
func presented(h *fasthttp.RequestHeader, query string) (manner, cred string) {
	for _, name := range []string{headerAPIKey, headerAuthorization} {
		if v := string(h.Peek(name)); v != "" {
			return name, v
		}
	}
	for p := range strings.SplitSeq(query, "&") {
		if k, v, _ := strings.Cut(p, "="); v != "" && (k == "key" || k == "access_token") {
			if u, err := url.QueryUnescape(v); err == nil {
				v = u // the same key as in a header is the same tenant
			}
			return k, v
		}
	}
	return "", ""
}

// tenant is a hash of the request's credential. Requests without one share the
// tenant of the empty credential.
func tenant(h *fasthttp.RequestHeader, query string) string {
	_, cred := presented(h, query)
	sum := sha256.Sum256([]byte("hookline tenant\x00" + cred))
	return hex.EncodeToString(sum[:16])
}

// credential is the request's credential, for hooks that ask a model of the
// Gemini API themselves. Those of other families are not good for that.
func credential(h *fasthttp.RequestHeader, query string, family gemini.Family) hooks.Credential {
	if family != gemini.FamilyGemini {
		return hooks.Credential{}
	}
	switch manner, cred := presented(h, query); manner {
	case "key":
		return hooks.NewCredential(headerAPIKey, cred)
	case "access_token":
		return hooks.NewCredential(headerAuthorization, "Bearer "+cred)
	default:
		return hooks.NewCredential(manner, cred)
	}
}

// agents maps what clients say of themselves to names; the first that is found
// in the user agent or in x-goog-api-client wins, so wrappers stand before what
// they wrap.
var agents = []struct{ mark, name string }{
	{"GeminiCLI", "gemini-cli"},
	{"gemini-cli", "gemini-cli"},
	{"QwenCode", "qwen-code"},
	{"google-adk/", "google-adk"},
	{"langchain", "langchain"},
	{"pydantic-ai", "pydantic-ai"},
	{"ai-sdk/", "ai-sdk"},
	{"genai-js/", "generative-ai-js"},
	{"genai-go/", "generative-ai-go"},
	{"google-genai-sdk/", "google-genai"},
}

// agent names the client that made a request; "" when it is none we know.
func agent(h *fasthttp.RequestHeader) string {
	ua, api := string(h.UserAgent()), string(h.Peek("X-Goog-Api-Client"))
	for _, a := range agents {
		if hasProduct(ua, a.mark) || hasProduct(api, a.mark) {
			return a.name
		}
	}
	return ""
}

// hasProduct looks for a word of s that starts with mark.
func hasProduct(s, mark string) bool {
	for word := range strings.FieldsSeq(s) {
		if strings.HasPrefix(word, mark) {
			return true
		}
	}
	return false
}
