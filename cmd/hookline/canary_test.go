package main_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// canaries makes n different values of the right shape; none is anybody's.
func canaries(n int) []string {
	r := rand.New(rand.NewPCG(4, 2026))
	digits := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = '0' + byte(r.IntN(10))
		}
		return string(b)
	}
	word := func(n int, of string) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = of[r.IntN(len(of))]
		}
		return string(b)
	}
	const lower, upper, number = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	makers := []func() string{
		func() string { return word(6, lower) + "." + word(8, lower) + "@" + word(9, lower) + ".example" },
		func() string { return withLuhn("4" + digits(14)) },
		func() string { return withMod97("DE", digits(18)) },
		func() string { return "ghp_" + word(36, lower+upper+number) },
		func() string {
			h := word(12, "0123456789abcdef")
			return strings.Join([]string{"3c", h[:2], h[2:4], h[4:6], h[6:8], h[8:10]}, ":")
		},
	}
	all := make([]string, n)
	for i := range all {
		all[i] = makers[i%len(makers)]()
	}
	return all
}

// withLuhn adds the check digit of a card's number.
func withLuhn(d string) string {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 0 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return d + fmt.Sprint((10-sum%10)%10)
}

// withMod97 makes an IBAN.
func withMod97(country, account string) string {
	rest := 0
	for _, c := range account + country + "00" {
		switch {
		case c >= 'A':
			rest = (rest*100 + int(c-'A') + 10) % 97
		default:
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return fmt.Sprintf("%s%02d%s", country, 98-rest, account)
}

// listener is an upstream that keeps every byte it was sent, and answers with
// the words of the last user turn, with a call and with a thought.
type listener struct {
	mu  sync.Mutex
	got []string // headers and bodies, raw and as their strings read
}

func (l *listener) keep(r *http.Request) []byte {
	body, _ := io.ReadAll(r.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got = append(l.got, string(body), plainOf(body, 0))
	for k, v := range r.Header {
		l.got = append(l.got, k+": "+strings.Join(v, ","))
	}
	return body
}

// plainOf is what a body says: its strings one after the other with nothing
// between, once more with spaces, and what is in them.
func plainOf(body []byte, depth int) string {
	leaves, err := gemini.DataLeaves(body)
	if err != nil || depth > 5 {
		return ""
	}
	var joined, apart strings.Builder
	for _, f := range leaves {
		s := string(body[f.Start:f.End])
		if !f.Number {
			s = gemini.Unquote(body[f.Start:f.End])
		}
		joined.WriteString(s)
		apart.WriteString(s + " " + plainOf([]byte(s), depth+1) + " ")
		if b, err := base64.StdEncoding.DecodeString(s); err == nil {
			apart.Write(b)
		}
	}
	return joined.String() + "\n" + apart.String()
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := l.keep(r)
	path := r.URL.Path
	var words []string
	if b, err := gemini.Leaves(body); err == nil {
		for _, f := range b.Leaves {
			if f.Kind == gemini.LeafText {
				words = append(words, gemini.Unquote(body[f.Start:f.End]))
			}
		}
	}
	last := strings.Join(words, "")
	candidate := func(parts string, more string) string {
		doc := `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}` + more + `}]}`
		if strings.Contains(path, "v1internal") {
			doc = `{"response":` + doc + `}`
		}
		return doc
	}
	text := func(s string) string { return `{"text":` + string(gemini.Quote(s)) + `}` }
	call := `{"functionCall":{"name":"save","args":{"all":` + string(gemini.Quote(last)) + `,"list":[` + string(gemini.Quote(last)) + `]}}}`
	thought := `{"thought":true,"text":` + string(gemini.Quote(last)) + `}`
	switch {
	case strings.Contains(last, "FAIL"):
		w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"code":400,"message":%s,"status":"INVALID_ARGUMENT"}}`, gemini.Quote("cannot read "+last))
	case strings.HasSuffix(path, ":generateContent"):
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, candidate(thought+","+text(last)+","+call, `,"finishReason":"STOP"`))
	case strings.HasSuffix(path, ":streamGenerateContent"):
		rnd := rand.New(rand.NewPCG(1, uint64(len(last))))
		docs := []string{candidate(thought, "")}
		for s := last; s != ""; {
			n := min(len(s), 1+rnd.IntN(23))
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n++
			}
			docs = append(docs, candidate(text(s[:n]), ""))
			s = s[n:]
		}
		docs = append(docs, candidate(call, ""), candidate(text(""), `,"finishReason":"STOP"`))
		if r.URL.Query().Get("alt") == "sse" {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, d := range docs {
				io.WriteString(w, "data: "+d+"\r\n\r\n")
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "["+strings.Join(docs, "\n,\r\n")+"]")
	case strings.HasPrefix(path, "/upload/") && r.Header.Get("X-Goog-Upload-Command") == "start":
		w.Header().Set("X-Goog-Upload-Url", "http://"+r.Host+"/upload/v1beta/files?upload_id=7")
	default:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"ok":true,"echo":%s}`, gemini.Quote(last))
	}
}

// places puts values into every place of a request's body. Each takes as many as
// it likes from next.
func places(next func() string) (body string, said string) {
	q := func(s string) string { return string(gemini.Quote(s)) }
	text := func(s string) string { return `{"text":` + q(s) + `}` }
	var user []string // the last turn's texts
	say := func(parts ...string) string {
		user = append(user, parts...)
		var out []string
		for _, p := range parts {
			out = append(out, text(p))
		}
		return strings.Join(out, ",")
	}
	cut := func(s string) (string, string, string) { return s[:3], s[3:7], s[7:] }
	escaped := func(s string) string { // every byte that may be is \u00..
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, `\u%04x`, c)
		}
		return b.String()
	}
	nested := func(s string) string {
		inner := `{"found":{"value":` + q("is "+s+" here") + `}}`
		return `{"output":` + q(`{"again":`+q(inner)+`,"esc":"`+escaped(s)+`"}`) + `}`
	}
	a1, a2, a3 := cut(next())
	b1, b2, b3 := cut(next())
	c1, c2, c3 := cut(next())
	contents := []string{
		`{"role":"user","parts":[` + text("first: "+next()) + `,{"text":` + q("twice "+next()) + `,"text":` + q(next()+" said") + `}]}`,
		`{"role":"model","parts":[{"thought":true,"text":` + q("I think of "+next()) + `},` + text("so "+c1) + `,` + text(c2) + `]}`,
		`{"role":"model","parts":[` + text(c3+" it was.") + `,{"functionCall":{"name":"f","args":{"a":{"b":[` + q(next()) + `]},"n":1}}},{"functionCall":{"name":"g","args":{"json":` + q(`{"k":`+q(next())+`}`) + `}},"thoughtSignature":"c2lnbmF0dXJl"}]}`,
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":` + nested(next()) + `}},{"functionResponse":{"name":"g","response":{"result":` + q("it is "+next()) + `,"note":"` + escaped(next()) + `"}}}]}`,
		`{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":` + q("print('"+next()+"')") + `}},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":` + q(next()+"\n") + `}}]}`,
		`{"role":"user","parts":[` + say("Now "+next()+" and ", "mind "+a1, a2, a3+" please; ") + `,{"inlineData":{"mimeType":"text/plain","data":"` + base64.StdEncoding.EncodeToString([]byte("file: "+next())) + `"}},` + say("look: "+b1) + `]}`,
		`{"role":"user","parts":[` + say(b2) + `,` + say(b3+". And `"+next()+"`, ("+next()+") \""+next()+"\" \u2028 done") + `],"newThing":{"deep":[` + q(next()) + `]}}`,
	}
	body = `{"contents":[` + strings.Join(contents, ",") + `],"systemInstruction":{"parts":[` + text("You serve "+next()+".") + `]},` +
		`"tools":[{"functionDeclarations":[{"name":"f","description":` + q("Sends mail, as to "+next()) + `,"parameters":{"type":"OBJECT","properties":{"a":{"type":"OBJECT","description":` + q("like "+next()) + `}}}},{"name":"g","description":"G"},{"name":"save","description":"S"}]}],` +
		`"labels":{"owner":` + q(next()) + `}}`
	return body, strings.Join(user, "")
}

// TestCanary sends values through every endpoint and place and then looks for
// them: the upstream, the log, hooks, the ledger and the transcripts have none,
// and the agent gets back all that it sent.
func TestCanary(t *testing.T) {
	values := canaries(200)
	used := 0
	next := func() string { used++; return values[(used-1)%len(values)] }
	up := &listener{}
	server := httptest.NewServer(up)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	seen := filepath.Join(dir, "hooks")
	spy := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "name": "spy", "command": "cat >> " + seen + "; echo >> " + seen}}}}
	h, err := launch(configure(t, server.URL, map[string]any{
		"upstream":  map[string]any{"gemini": map[string]any{"baseUrl": server.URL}, "codeAssist": map[string]any{"baseUrl": server.URL}},
		"redact":    map[string]any{},
		"state":     map[string]any{"dir": filepath.Join(dir, "state")},
		"log":       map[string]any{"level": "debug"},
		"hooks":     map[string]any{"BeforeAgent": spy, "BeforeModel": spy, "BeforeTool": spy, "AfterTool": spy},
		"endpoints": map[string]any{"*": "redact", "openai": "redact"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	end := func() { once.Do(func() { h.end(t) }) }
	t.Cleanup(end)
	do := func(path, contentType string, body []byte, header ...string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, h.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(got)
	}
	const models = "/v1beta/models/gemini-2.5-flash"
	for _, c := range []struct {
		name, path string
		format     stream.Format
		edit       func(string) string
		gzip       bool
		client     string
	}{
		{"unary", models + ":generateContent", stream.Unary, nil, false, ""},
		{"events", models + ":streamGenerateContent?alt=sse", stream.SSE, nil, false, ""},
		{"one part a document", models + ":streamGenerateContent?alt=sse", stream.SSE, nil, false, "genai-js/0.24.1"},
		{"array", models + ":streamGenerateContent", stream.Array, nil, false, ""},
		{"gzip", models + ":streamGenerateContent?alt=sse", stream.SSE, nil, true, ""},
		{"snake case", models + ":streamGenerateContent?alt=sse", stream.SSE, strings.NewReplacer("systemInstruction", "system_instruction", "functionCall", "function_call", "functionResponse", "function_response", "inlineData", "inline_data", "mimeType", "mime_type", "functionDeclarations", "function_declarations", "executableCode", "executable_code", "codeExecutionResult", "code_execution_result").Replace, false, ""},
		{"Code Assist", "/v1internal:streamGenerateContent?alt=sse", stream.SSE, func(s string) string { return `{"model":"m","request":` + s + `}` }, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, said := places(next)
			if c.edit != nil {
				body = c.edit(body)
			}
			sent := []byte(body)
			header := []string{"X-Goog-Api-Client", c.client}
			if c.gzip {
				var b bytes.Buffer
				w := gzip.NewWriter(&b)
				_, _ = w.Write(sent)
				_ = w.Close()
				sent, header = b.Bytes(), append(header, "Content-Encoding", "gzip")
			}
			status, got := do(c.path, "application/json", sent, header...)
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, got)
			}
			text, thought, args := reads(t, got, c.format)
			if !strings.HasSuffix(text, said) {
				t.Errorf("text\ngot  %q\nwant …%q", text, said)
			}
			if thought != text {
				t.Errorf("thought\ngot  %q\nwant %q", thought, text)
			}
			for _, a := range args {
				if a != text {
					t.Errorf("argument\ngot  %q\nwant %q", a, text)
				}
			}
			if len(args) != 2 {
				t.Errorf("%d arguments came", len(args))
			}
		})
	}
	body, said := places(next)
	short := func() string {
		return `{"role":"user","parts":[{"text":` + string(gemini.Quote("of "+next()+".")) + `}]}`
	}
	for _, c := range []struct{ name, path, body, want string }{
		{"countTokens", models + ":countTokens", body, said},
		{"countTokens, whole request", models + ":countTokens", `{"generateContentRequest":` + body + `}`, said},
		{"embedContent", "/v1beta/models/embed:embedContent", `{"content":` + short() + `,"title":` + string(gemini.Quote(next())) + `}`, ""},
		{"batchEmbedContents", "/v1beta/models/embed:batchEmbedContents", `{"requests":[{"content":` + short() + `},{"content":` + short() + `}]}`, ""},
		{"batchGenerateContent", models + ":batchGenerateContent", `{"batch":{"displayName":` + string(gemini.Quote(next())) + `,"inputConfig":{"requests":{"requests":[{"request":` + body + `}]}}}}`, said},
		{"cachedContents", "/v1beta/cachedContents", `{"model":"m","displayName":` + string(gemini.Quote(next())) + `,"contents":[` + short() + `]}`, ""},
		{"interactions", "/v1beta/interactions", `{"model":"m","input":[{"type":"text","text":` + string(gemini.Quote(next())) + `},{"role":"user","content":` + string(gemini.Quote(next())) + `}]}`, ""},
		{"predict", models + ":predict", `{"instances":[{"prompt":` + string(gemini.Quote(next())) + `}],"parameters":{"x":1}}`, ""},
		{"OpenAI's", "/v1beta/openai/chat/completions", `{"model":"m","messages":[{"role":"user","content":` + string(gemini.Quote(next())) + `},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":` + string(gemini.Quote(`{"a":`+string(gemini.Quote(next()))+`}`)) + `}}]}]}`, ""},
		{"unknown", "/v1beta/newThings", `{"any":{"thing":` + string(gemini.Quote(next())) + `}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, got := do(c.path, "application/json", []byte(c.body))
			if status != http.StatusOK {
				t.Fatalf("status %d: %s", status, got)
			}
			if plain := plainOf([]byte(got), 0); !strings.Contains(plain, c.want) {
				t.Errorf("got %q, want it to hold %q", plain, c.want)
			}
		})
	}
	t.Run("upload", func(t *testing.T) {
		status, got := do("/upload/v1beta/files", "application/json", []byte(`{"file":{"displayName":`+string(gemini.Quote(next()))+`}}`),
			"X-Goog-Upload-Protocol", "resumable", "X-Goog-Upload-Command", "start", "X-Goog-Upload-Header-Content-Type", "text/plain")
		if status != http.StatusOK {
			t.Fatalf("start: status %d: %s", status, got)
		}
		status, got = do("/upload/v1beta/files?upload_id=7", "text/plain", []byte("a file of "+next()+"\n"), "X-Goog-Upload-Command", "upload, finalize", "X-Goog-Upload-Offset", "0")
		if status != http.StatusOK {
			t.Fatalf("bytes: status %d: %s", status, got)
		}
		status, _ = do("/upload/v1beta/files", "application/json", []byte(`{"file":{}}`),
			"X-Goog-Upload-Protocol", "resumable", "X-Goog-Upload-Command", "start", "X-Goog-Upload-Header-Content-Type", "application/pdf")
		if status != http.StatusForbidden {
			t.Errorf("a PDF: status %d", status)
		}
	})
	t.Run("error", func(t *testing.T) {
		said := "FAIL with " + next()
		status, got := do(models+":generateContent", "application/json", []byte(`{"contents":[{"role":"user","parts":[{"text":`+string(gemini.Quote(said))+`}]}]}`))
		var e struct{ Error struct{ Message string } }
		if err := json.Unmarshal([]byte(got), &e); status != http.StatusBadRequest || err != nil || e.Error.Message != "cannot read "+said {
			t.Errorf("status %d, %s", status, got)
		}
	})
	if used < len(values) {
		t.Errorf("only %d of %d values were used", used, len(values))
	}
	end()
	up.mu.Lock()
	places := map[string]string{"the log": h.log.String(), "the upstream": strings.Join(up.got, "\n")}
	up.mu.Unlock()
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		places[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, got := range places {
		if got == "" {
			t.Errorf("%s is empty", place)
		}
		for i, v := range values {
			if at := strings.Index(got, v); at >= 0 {
				t.Errorf("%s holds canary %d (%s): …%.90q", place, i, v, got[max(0, at-40):])
			}
		}
	}
}

// reads is what an agent reads of an answer: text, thoughts, and the strings
// among arguments.
func reads(t *testing.T, got string, f stream.Format) (text, thought string, args []string) {
	t.Helper()
	for ev, err := range stream.Read(strings.NewReader(got), f, stream.Limits{}) {
		if err != nil {
			t.Fatalf("%v in %s", err, got)
		}
		b, err := gemini.Leaves(ev.Data)
		if err != nil {
			t.Fatalf("%v in %s", err, ev.Data)
		}
		for _, l := range b.Leaves {
			switch s := gemini.Unquote(ev.Data[l.Start:l.End]); l.Kind {
			case gemini.LeafText:
				text += s
			case gemini.LeafThought:
				thought += s
			case gemini.LeafArgs:
				args = append(args, s)
			}
		}
	}
	return text, thought, args
}
