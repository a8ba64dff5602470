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
)

const (
	headerRequestID = "X-Hookline-Request-Id"
	headerSession   = "X-Hookline-Session"
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

// tenant is a hash of the request's credential. Requests without one share the
// tenant of the empty credential.
func tenant(h *fasthttp.RequestHeader, query string) string {
	cred := string(h.Peek("X-Goog-Api-Key"))
	if cred == "" {
		cred = string(h.Peek("Authorization"))
	}
	for p := range strings.SplitSeq(query, "&") {
		if cred != "" {
			break
		}
		if k, v, _ := strings.Cut(p, "="); k == "key" || k == "access_token" {
			cred = v
			if u, err := url.QueryUnescape(v); err == nil {
				cred = u // the same key as in a header is the same tenant
			}
		}
	}
	sum := sha256.Sum256([]byte("hookline tenant\x00" + cred))
	return hex.EncodeToString(sum[:16])
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
