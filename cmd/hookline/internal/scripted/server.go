// Package scripted is a model that says what a script tells it, and refuses
// what the Gemini API refuses. Tests put it behind hookline to judge every
// request; hookline demo talks to it in place of the real API.
//
// Invariants: each request is judged by package rules before the script is
// asked; what the model said is remembered for the next judgement; no key is
// kept or logged.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hookline-proxy/hookline/translate/gemini/rules"
)

// maxBody is the longest request that is read, in bytes.
const maxBody = 256 << 20

// Options describe a model. Script is needed, the rest may be zero.
type Options struct {
	Script Script
	// Gemini3 says which models have the Gemini 3 manner; nil: those named
	// gemini-3 and up.
	Gemini3 func(model string) bool
	// Chunk is how many bytes of text a streamed event holds; 0 for 12.
	Chunk int
	// Log gets each request as a JSON line; nil for none.
	Log io.Writer
}

// Server is a scripted model. Serve it with net/http.
type Server struct {
	options Options
	serial  atomic.Int64
	memory  rules.Memory

	mu       sync.Mutex
	requests []Request // in the order in which they came
}

// Request is a request that the model got, and what became of it.
type Request struct {
	Method    string           `json:"method"`
	Path      string           `json:"path"`
	Query     string           `json:"query,omitempty"` // raw, the key left out
	Header    http.Header      `json:"header"`          // credentials left out
	Model     string           `json:"model,omitempty"`
	Verb      string           `json:"verb,omitempty"` // "streamGenerateContent"
	Body      json.RawMessage  `json:"body,omitempty"` // as it came, envelope included; a JSON string if it is no JSON
	Contents  json.RawMessage  `json:"-"`              // the history in Body
	Side      bool             `json:"side,omitempty"` // a call beside the conversation
	Violation *rules.Violation `json:"violation,omitempty"`
}

// New makes a model.
func New(o Options) *Server { return &Server{options: o} }

// Requests are the model calls so far, in the order in which they came.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Violations are the requests that broke a rule.
func (s *Server) Violations() []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Violation == nil })
}

// Forget empties the list of requests. What the model said stays remembered.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}

func (s *Server) chunk() int {
	if s.options.Chunk > 0 {
		return s.options.Chunk
	}
	return 12
}

func (s *Server) gemini3(model string) bool {
	if s.options.Gemini3 != nil {
		return s.options.Gemini3(model)
	}
	var n int
	_, err := fmt.Sscanf(model, "gemini-%d", &n)
	return err == nil && n >= 3
}

// ServeHTTP answers as the Gemini API does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		fail(w, Failure{Code: http.StatusRequestEntityTooLarge, Message: err.Error()}, false)
		return
	}
	path, verb, _ := cutLast(r.URL.Path, ":")
	f := queryFormat(r.URL.RawQuery)
	f.stream = verb == "streamGenerateContent"
	f.gzip = strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	req := Request{
		Method: r.Method, Path: r.URL.Path, Query: withoutKey(r.URL.RawQuery), Header: withoutCredentials(r.Header),
		Model: path[strings.LastIndexByte(path, '/')+1:], Verb: verb, Body: asJSON(body),
	}
	if strings.HasSuffix(path, "/v1internal") {
		f.wrapped, f.sse = true, f.stream
		body, req.Model = envelope(body)
	}
	switch verb {
	case "generateContent", "streamGenerateContent":
		s.generate(w, r, body, req, f)
	case "countTokens":
		s.record(req)
		reply(w, map[string]any{"totalTokens": len(body) / 4})
	case "embedContent":
		s.record(req)
		reply(w, map[string]any{"embedding": map[string]any{"values": []float64{0.1, 0.2}}})
	default:
		s.record(req)
		if strings.HasSuffix(r.URL.Path, "/models") {
			reply(w, map[string]any{"models": []any{map[string]any{"name": "models/gemini-2.5-flash", "supportedGenerationMethods": []string{"generateContent"}}}})
			return
		}
		fail(w, Failure{Code: http.StatusNotFound, Message: "no such method: " + verb}, false)
	}
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request, body []byte, req Request, f format) {
	three := s.gemini3(req.Model)
	req.Violation = rules.Check(body, rules.Options{Gemini3: three, Issued: &s.memory})
	var doc struct{ Contents json.RawMessage }
	if json.Unmarshal(body, &doc) == nil {
		req.Contents = doc.Contents
	}
	var a Answer
	if side, ok := sideCall(body); ok {
		req.Side, a = true, Answer{Text: side}
	}
	s.record(req)
	if v := req.Violation; v != nil {
		fail(w, Failure{Code: http.StatusBadRequest, Message: v.Message}, f.stream && !f.sse)
		return
	}
	if !req.Side {
		v := view(req.Model, body)
		a = s.options.Script(v)
		if !wantsThoughts(body) {
			a.Thoughts = nil
		}
		if a.Echo {
			a.Text += echo(v.Results)
		}
	}
	if a.Fail != nil && a.Fail.After == 0 && a.Fail.Code != 0 {
		fail(w, *a.Fail, f.stream && !f.sse)
		return
	}
	a.StreamArgs = a.StreamArgs && f.stream
	t := s.compose(a, three)
	parts := t.chunks
	if !f.stream {
		parts = [][]part{t.whole}
	}
	s.send(r.Context(), newFramer(w, f), a, t.documents(parts, req.Model, s.responseID(), len(body)/4))
}

// send writes the documents of an answer, and its failure if it has one.
func (s *Server) send(ctx context.Context, fr *framer, a Answer, docs []document) {
	for i, d := range docs {
		if a.Hold != nil {
			a.Hold(i)
		}
		if a.Delay > 0 {
			select {
			case <-time.After(a.Delay):
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return
		}
		raw := fr.encode(d, d.ResponseID)
		if a.Fail != nil && i == a.Fail.After {
			if a.Fail.Code == 0 {
				fr.half(raw)
				panic(http.ErrAbortHandler) // the way to cut a connection in net/http
			}
			fr.failure(a.Fail.body())
			break
		}
		fr.document(raw)
	}
	fr.close()
}

func (s *Server) responseID() string { return "resp-" + strconv.FormatInt(s.serial.Add(1), 10) }

func (s *Server) record(req Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	if s.options.Log != nil {
		line, err := json.Marshal(req)
		if err != nil {
			panic("scripted: log a request: " + err.Error()) // Body is valid JSON, the rest is plain
		}
		_, _ = s.options.Log.Write(append(line, '\n'))
	}
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// envelope opens a Code Assist request.
func envelope(body []byte) (inner []byte, model string) {
	var e struct {
		Model   string
		Request json.RawMessage
	}
	if json.Unmarshal(body, &e) != nil || e.Request == nil {
		return body, ""
	}
	return e.Request, strings.TrimPrefix(e.Model, "models/")
}

func echo(results []Result) string {
	out := make([]string, len(results))
	for i, r := range results {
		out[i] = r.Name + " " + string(r.Response)
	}
	return strings.Join(out, " | ")
}

func asJSON(body []byte) json.RawMessage {
	if json.Valid(body) || len(body) == 0 {
		return body
	}
	return encode(string(body))
}

func withoutKey(raw string) string {
	pairs := strings.Split(raw, "&")
	pairs = slices.DeleteFunc(pairs, func(p string) bool {
		k, _, _ := strings.Cut(p, "=")
		un, err := url.QueryUnescape(k)
		return err != nil || un == "key" || un == "access_token"
	})
	return strings.Join(pairs, "&")
}

func withoutCredentials(h http.Header) http.Header {
	h = h.Clone()
	for _, k := range []string{"Authorization", "X-Goog-Api-Key", "Cookie"} {
		h.Del(k)
	}
	return h
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_, _ = w.Write(pretty(encode(v)))
}

// statuses are Google's names of the HTTP codes that it answers with.
var statuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 413: "INVALID_ARGUMENT",
	429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (f Failure) body() []byte {
	status, message := f.Status, f.Message
	if status == "" {
		status = statuses[f.Code]
	}
	if message == "" {
		message = "scripted failure"
	}
	if f.Retry == 0 {
		return rules.ErrorBody(f.Code, status, message)
	}
	return rules.ErrorBody(f.Code, status, message, map[string]string{
		"@type":      "type.googleapis.com/google.rpc.RetryInfo",
		"retryDelay": fmt.Sprintf("%gs", f.Retry.Seconds()),
	})
}

// fail answers with an error before anything else; array is the JSON array
// stream, whose errors are a list of one.
func fail(w http.ResponseWriter, f Failure, array bool) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if f.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.Retry.Seconds())))
	}
	w.WriteHeader(f.Code)
	body := f.body()
	if array {
		body = slices.Concat([]byte("["), body, []byte("]\n"))
	}
	_, _ = w.Write(body)
}
