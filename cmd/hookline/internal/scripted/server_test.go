package scripted

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/translate/gemini/rules"
)

func serve(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	s := New(o)
	ts := httptest.NewServer(s)
	t.Cleanup(ts.Close)
	return s, ts.URL
}

// post sends a body without asking for gzip; the answer's body may end early.
func post(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp, string(b) + "<" + err.Error() + ">"
	}
	return resp, string(b)
}

type seenPart struct {
	Text, Sig, Call, Args, ID string
	Thought                   bool
}

// parts reads the parts of a document, and whether it ends the answer.
func parts(t *testing.T, doc string) (out []seenPart, finish string) {
	t.Helper()
	var d document
	if err := json.Unmarshal([]byte(doc), &d); err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	c := d.Candidates[0]
	for _, p := range c.Content.Parts {
		s := seenPart{Sig: p.ThoughtSignature, Thought: p.Thought}
		if p.Text != nil {
			s.Text = *p.Text
		}
		if p.FunctionCall != nil {
			s.Call, s.Args, s.ID = p.FunctionCall.Name, string(p.FunctionCall.Args), p.FunctionCall.ID
		}
		out = append(out, s)
	}
	finish, _ = c.FinishReason.(string)
	return out, finish
}

func events(t *testing.T, sse string) (out [][]seenPart, finish []string) {
	t.Helper()
	for e := range strings.SplitSeq(strings.TrimSuffix(sse, "\r\n\r\n"), "\r\n\r\n") {
		doc, ok := strings.CutPrefix(e, "data: ")
		if !ok {
			t.Fatalf("no event: %q", e)
		}
		p, f := parts(t, doc)
		out, finish = append(out, p), append(finish, f)
	}
	return out, finish
}

var two = Lines(Line{Prompt: "go", Steps: []Answer{
	{Thoughts: []string{"hm"}, Text: "Reading both.", Calls: []Call{{Name: "read", Args: `{"path":"<a>"}`}, {Name: "stat"}}},
	{Text: "Done: ", Echo: true},
}})

const prompt = `{"contents":[{"role":"user","parts":[{"text":"go"}]}],"tools":[{"functionDeclarations":[{"name":"read"},{"name":"stat"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`

func TestManner25(t *testing.T) {
	s, url := serve(t, Options{Script: two, Chunk: 8})
	resp, body := post(t, url+"/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse&key=k", prompt)
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	got, finish := events(t, body)
	want := [][]seenPart{
		{{Text: "hm", Thought: true}},
		{{Text: "Reading "}},
		{{Text: "both."}},
		{{Call: "read", Args: `{"path": "\u003ca\u003e"}`}, {Call: "stat", Args: "{}"}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"", "", "", "STOP"}, finish); d != "" {
		t.Error(d)
	}
	if q := s.Requests()[0].Query; q != "alt=sse" {
		t.Errorf("query %q: the key is not for the log", q)
	}
}

func TestManner3(t *testing.T) {
	s, url := serve(t, Options{Script: two, Chunk: 100})
	endpoint := url + "/v1beta/models/gemini-3-flash-preview:streamGenerateContent?alt=sse"
	_, body := post(t, endpoint, prompt)
	got, _ := events(t, body)
	if len(got) != 5 || len(got[2]) != 1 || len(got[2][0].ID) != 8 || got[2][0].Sig == "" || got[3][0].Sig != "" || got[3][0].ID == got[2][0].ID {
		t.Fatalf("want thought, text, a signed call, an unsigned one, and empty text; got %+v", got)
	}
	if d := cmp.Diff([]seenPart{{}}, got[4]); d != "" {
		t.Error(d)
	}
	next := func(sig string) string {
		var b bytes.Buffer
		b.WriteString(strings.Replace(prompt, `"go"}]}`, `"go"}]},{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"<a>"}}`+sig+`},{"functionCall":{"name":"stat"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"A"}}},{"functionResponse":{"name":"stat","response":{"output":"S"}}}]}`, 1))
		return b.String()
	}
	resp, body := post(t, endpoint, next(""))
	if resp.StatusCode != 400 || !strings.Contains(body, "missing a thought_signature") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
	resp, body = post(t, endpoint, next(`,"thoughtSignature":"`+got[2][0].Sig+`"`))
	if resp.StatusCode != 200 {
		t.Fatalf("got %d %s", resp.StatusCode, body)
	}
	last, finish := events(t, body)
	if p := last[0][0]; p.Text != `Done: read {"output":"A"} | stat {"output":"S"}` {
		t.Errorf("got %q", p.Text)
	}
	if p := last[1][0]; p.Text != "" || p.Sig == "" || finish[1] != "STOP" {
		t.Errorf("want signed empty text at the end, got %+v", p)
	}
	if v := s.Violations(); len(v) != 1 || v[0].Violation.Rule != rules.MissingSig {
		t.Errorf("violations: %+v", v)
	}
}

func TestArrayWithNumbers(t *testing.T) {
	_, url := serve(t, Options{Script: Lines(Line{Steps: []Answer{{Text: "one two"}}}), Chunk: 4})
	for _, query := range []string{"%24alt=json%3Benum-encoding%3Dint&key=k", "$alt=json;enum-encoding=int"} {
		_, body := post(t, url+"/v1beta/models/gemini-2.5-flash:streamGenerateContent?"+query, prompt)
		var docs []struct {
			Candidates []struct{ FinishReason int }
		}
		if err := json.Unmarshal([]byte(body), &docs); err != nil {
			t.Fatal(err)
		}
		if len(docs) != 2 || docs[1].Candidates[0].FinishReason != 1 {
			t.Errorf("got %+v", docs)
		}
		if !strings.HasPrefix(body, "[{\n  \"candidates\": [\n") || !strings.Contains(body, "}\n,\r\n{\n") || !strings.HasSuffix(body, "}\n]\n") {
			t.Errorf("not framed as Google does it: %q", body)
		}
	}
}

func TestUnary(t *testing.T) {
	_, url := serve(t, Options{Script: two})
	_, body := post(t, url+"/v1beta/models/gemini-2.5-flash:generateContent", prompt)
	got, finish := parts(t, body)
	if len(got) != 4 || got[1].Text != "Reading both." || got[3].Call != "stat" || finish != "STOP" {
		t.Errorf("got %+v %q", got, finish)
	}
	_, body = post(t, url+"/v1internal:generateContent", `{"model":"gemini-2.5-flash","request":`+prompt+`}`)
	var wrapped struct{ Response json.RawMessage }
	if err := json.Unmarshal([]byte(body), &wrapped); err != nil {
		t.Fatal(err)
	}
	if got, _ := parts(t, string(wrapped.Response)); len(got) != 4 {
		t.Errorf("got %+v", got)
	}
}

func TestStreamedArguments(t *testing.T) {
	_, url := serve(t, Options{Script: Lines(Line{Steps: []Answer{{StreamArgs: true, Calls: []Call{{Name: "read", Args: `{"deep":{"list":[1,true,null]},"path":"abcd"}`}}}}})})
	_, body := post(t, url+"/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", prompt)
	for _, want := range []string{
		`"functionCall": {"name": "read","id": "`,
		`{"jsonPath": "$.deep.list[0]","numberValue": 1}`,
		`{"jsonPath": "$.deep.list[1]","boolValue": true}`,
		`{"jsonPath": "$.deep.list[2]","nullValue": "NULL_VALUE"}`,
		`{"jsonPath": "$.path","stringValue": "ab","willContinue": true}`,
		`{"jsonPath": "$.path","stringValue": "cd"}`,
		`{"functionCall": {}}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
}

func TestFailures(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		fail        Failure
		status      int
		want        string // in the body
		end         string
	}{
		{"refused", "alt=sse", Failure{Code: 429, Retry: 2e9}, 429, `"retryDelay": "2s"`, "}\n"},
		{"refused, array", "", Failure{Code: 503}, 503, `"status": "UNAVAILABLE"`, "]\n"},
		{"in the midst", "alt=sse", Failure{Code: 503, After: 1}, 200, "\r\n\r\n{\n  \"error\"", "}\n"},
		{"in the midst, array", "", Failure{Code: 503, After: 1}, 200, "}\n,\r\n{\n  \"error\"", "}\n]\n"},
		{"cut", "alt=sse", Failure{After: 1}, 200, "one ", "<unexpected EOF>"},
		{"cut, array", "", Failure{After: 1}, 200, "one ", "<unexpected EOF>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, url := serve(t, Options{Script: Lines(Line{Steps: []Answer{{Text: "one two", Fail: &tt.fail}}}), Chunk: 4})
			resp, body := post(t, url+"/v1beta/models/gemini-2.5-flash:streamGenerateContent?"+tt.query, prompt)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) || !strings.HasSuffix(body, tt.end) {
				t.Errorf("got %d %q", resp.StatusCode, body)
			}
		})
	}
}

func TestSideCallAndGzip(t *testing.T) {
	s, url := serve(t, Options{Script: two})
	body := `{"contents":[{"role":"user","parts":[{"text":"rate"}]}],"generationConfig":{"responseMimeType":"application/json",
		"responseJsonSchema":{"type":"object","properties":{"score":{"type":"integer"},"why":{"type":"string"},"kind":{"enum":["simple","hard"]}},"required":["score","why","kind"]}}}`
	// the default client asks for gzip, and unpacks it
	resp, err := http.Post(url+"/v1beta/models/gemini-2.5-flash-lite:generateContent", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !resp.Uncompressed {
		t.Error("not gzipped")
	}
	p, _ := parts(t, string(got))
	if want := `{"kind": "simple","score": 1,"why": "scripted"}`; p[0].Text != want {
		t.Errorf("got %s, want %s", p[0].Text, want)
	}
	if !s.Requests()[0].Side {
		t.Error("not seen as a side call")
	}
}

func TestSteps(t *testing.T) {
	v := view("m", []byte(`{"contents":[
		{"role":"user","parts":[{"text":"first"}]},{"role":"model","parts":[{"text":"ok"}]},
		{"role":"user","parts":[{"text":"context"},{"text":"second"}]},
		{"role":"model","parts":[{"function_call":{"name":"a"}}]},{"role":"user","parts":{"function_response":{"name":"a","response":{}}}},
		{"role":"model","parts":[{"functionCall":{"name":"b"}}]},{"role":"user","parts":[{"functionResponse":{"id":"i","name":"b","response":{"x":1}}}]}]}`))
	v.Body = nil
	want := View{Model: "m", Prompt: "context\nsecond", Step: 2, Turn: 1, Results: []Result{{ID: "i", Name: "b", Response: json.RawMessage(`{"x":1}`)}}}
	if d := cmp.Diff(want, v); d != "" {
		t.Error(d)
	}
}

func FuzzServe(f *testing.F) {
	f.Add([]byte(prompt))
	f.Add([]byte(`{"contents":[{"parts":[{"text":"a"}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"object","required":[1]}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(Options{Script: two, Log: io.Discard})
		for _, verb := range []string{"streamGenerateContent", "countTokens"} {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1beta/models/gemini-3:"+verb, bytes.NewReader(b)))
			if w.Code != 200 && w.Code != 400 {
				t.Errorf("status %d", w.Code)
			}
		}
	})
}
