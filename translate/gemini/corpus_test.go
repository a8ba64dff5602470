package gemini

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/translate"
)

// corpus gives the recorded files of the given kinds. The tests that use it
// skip where the recordings are not at hand.
func corpus(t *testing.T, kinds ...string) map[string][]byte {
	t.Helper()
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: the recorded traffic is not tested")
	}
	f, err := os.Open(filepath.Join(shared, "corpus", "index.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, row := range rows[1:] {
		for _, k := range kinds {
			if row[3] != k {
				continue
			}
			b, err := os.ReadFile(filepath.Join(shared, "corpus", row[0]))
			if err != nil {
				t.Fatal(err)
			}
			files[row[0]] = b
		}
	}
	if len(files) == 0 {
		t.Fatalf("the corpus has no files of kind %v", kinds)
	}
	return files
}

func TestCorpusRequests(t *testing.T) {
	turns := 0
	for name, body := range corpus(t, "request") {
		turns += checkRequest(t, name, body)
	}
	for name, body := range corpus(t, "full-exchange") {
		eachObject(body, func(obj []byte) {
			if get(obj, "contents") != nil {
				turns += checkRequest(t, name, obj)
			}
		})
	}
	t.Logf("%d turns", turns)
}

// checkRequest holds a body to what must be true of every body.
func checkRequest(t *testing.T, name string, body []byte) int {
	t.Helper()
	w := Wire{}
	r, err := w.ParseRequest(body, "m")
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	same, err := w.WithTurns(r, r.Turns)
	if err != nil || !bytes.Equal(same.Raw, body) {
		t.Errorf("%s: WithTurns of the same turns changed the body (%v)", name, err)
	}
	for _, system := range []bool{false, true} {
		shown := w.LLMRequest(r, system)
		if !json.Valid(shown) || bytes.ContainsAny(shown, "\n\r") {
			t.Errorf("%s: LLMRequest is not one line of JSON: %.200s", name, shown)
		}
		echo, err := w.ApplyLLMRequest(r, shown, system)
		if err != nil || !bytes.Equal(echo.Raw, body) {
			t.Errorf("%s: an echoed llm_request changed the body (%v)", name, err)
		}
	}
	// Built anew of its parts the history means the same.
	built := make([]translate.Turn, len(r.Turns))
	for i, turn := range r.Turns {
		built[i] = translate.Turn{Role: turn.Role, Parts: turn.Parts}
	}
	again, err := w.WithTurns(r, built)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return 0
	}
	if !sameDocument(again.Raw, body) && bytes.Contains(body, []byte(`"parts"`)) {
		t.Errorf("%s: a rebuilt history means something else:\n%.400s", name, again.Raw)
	}
	checkDoc(t, name, again)
	return len(r.Turns)
}

// checkDoc compares the bookkeeping that was moved along with that of a fresh parse.
func checkDoc(t *testing.T, name string, r *translate.Request) {
	t.Helper()
	fresh, err := Wire{}.ParseRequest(r.Raw, r.Model)
	if err != nil {
		t.Errorf("%s: %v in %.400s", name, err, r.Raw)
		return
	}
	got, want := r.Doc.(*Doc), fresh.Doc.(*Doc)
	if got.object != want.object || got.outer != want.outer || got.fields != want.fields {
		t.Errorf("%s: places are %+v, want %+v in %.400s", name, got, want, r.Raw)
	}
	if len(r.Turns) != len(fresh.Turns) {
		t.Errorf("%s: %d turns, parsed %d", name, len(r.Turns), len(fresh.Turns))
		return
	}
	for i := range r.Turns {
		if !bytes.Equal(r.Turns[i].Raw, fresh.Turns[i].Raw) {
			t.Errorf("%s: turn %d is %s, parsed %s", name, i, r.Turns[i].Raw, fresh.Turns[i].Raw)
		}
	}
}

func sameDocument(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// eachObject calls f for every object in a document, however deep.
func eachObject(doc []byte, f func(obj []byte)) {
	doc = bytes.TrimSpace(doc)
	switch {
	case isObject(doc):
		f(doc)
		eachMember(doc, func(_ []byte, at field) { eachObject(at.val.of(doc), f) })
	case isArray(doc):
		for _, v := range elements(doc) {
			eachObject(v, f)
		}
	}
}

// responses gives the response documents of a recorded file.
func responses(name string, b []byte) [][]byte {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	var docs [][]byte
	if strings.HasSuffix(name, ".txt") || strings.HasSuffix(name, ".jsonl") {
		var tail []byte
		for _, line := range bytes.Split(b, []byte("\n")) {
			line = bytes.TrimSpace(line)
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				line = bytes.TrimSpace(data)
			} else if !isObject(line) || !json.Valid(line) {
				tail = append(append(tail, line...), '\n')
				continue
			}
			if json.Valid(line) {
				docs = append(docs, line)
			}
		}
		if tail = bytes.TrimSpace(tail); json.Valid(tail) {
			docs = append(docs, tail)
		}
		return docs
	}
	if doc := bytes.TrimSpace(b); isArray(doc) {
		return elements(doc)
	}
	return append(docs, b)
}

func TestCorpusResponses(t *testing.T) {
	docs, parts := 0, 0
	check := func(name string, doc []byte) {
		if c := bytes.TrimSpace(doc); !isObject(c) && !isArray(c) {
			return // an HTML error page, an empty body: nobody's JSON
		}
		docs++
		parts += checkChunk(t, name, Wire{}, doc)
		env := append(append([]byte(`{"traceId":"t","response":`), doc...), '}')
		if isObject(bytes.TrimSpace(doc)) {
			checkChunk(t, name+" in an envelope", Wire{Envelope: true}, env)
		}
	}
	for name, b := range corpus(t, "stream-response", "unary-response", "unary-error", "stream-error", "stream-events-jsonl", "json-array-stream") {
		for _, doc := range responses(name, b) {
			check(name, doc)
		}
	}
	for name, b := range corpus(t, "full-exchange", "fake-responses-jsonl") {
		for _, line := range bytes.Split(b, []byte("\n")) {
			if strings.HasSuffix(name, ".json") {
				line = b
			}
			eachObject(line, func(obj []byte) {
				if get(obj, "candidates") != nil {
					check(name, obj)
				}
			})
			if strings.HasSuffix(name, ".json") {
				break
			}
		}
	}
	t.Logf("%d documents, %d parts", docs, parts)
}

// checkChunk holds a response document to what must be true of every one.
func checkChunk(t *testing.T, name string, w Wire, doc []byte) (parts int) {
	t.Helper()
	c, err := w.ParseChunk(doc)
	if err != nil {
		t.Errorf("%s: %v in %.200s", name, err, doc)
		return 0
	}
	same, err := w.Edit(c, translate.Edit{})
	if err != nil || !bytes.Equal(same.Raw, doc) {
		t.Errorf("%s: an empty edit changed the document (%v)", name, err)
	}
	shown := w.LLMResponse(c)
	if !json.Valid(shown) || bytes.ContainsAny(shown, "\n\r") {
		t.Errorf("%s: LLMResponse is not one line of JSON: %.200s", name, shown)
	}
	if !c.Error {
		echo, err := w.ApplyLLMResponse(c, shown)
		if err != nil || !bytes.Equal(echo.Raw, doc) {
			t.Errorf("%s: an echoed llm_response changed the document (%v)", name, err)
		}
	}
	for _, out := range w.Emit(c) {
		if !sameDocument(out, bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF"))) {
			t.Errorf("%s: what is emitted means something else: %.200s", name, out)
		}
	}
	e := translate.Edit{Parts: map[int][]translate.Part{}}
	for _, cand := range c.Candidates {
		parts += len(cand.Parts)
		if _, twice := e.Parts[cand.Index]; !twice {
			e.Parts[cand.Index] = cand.Parts
		}
	}
	if edited, err := w.Edit(c, e); !c.Error && (err != nil || !sameDocument(edited.Raw, doc)) {
		t.Errorf("%s: an edit to the same parts changed the document (%v)", name, err)
	}
	w.OnePart = true
	var split []*translate.Chunk
	for _, out := range w.Emit(c) {
		one, err := w.ParseChunk(out)
		if err != nil {
			t.Errorf("%s: %v in %s", name, err, out)
			return parts
		}
		for _, cand := range one.Candidates {
			if len(cand.Parts) > 1 {
				t.Errorf("%s: %d parts in one document", name, len(cand.Parts))
			}
		}
		split = append(split, one)
	}
	if len(split) > 1 {
		joined, err := w.Join(split)
		if err != nil || string(w.LLMResponse(joined)) == "" || len(joined.Candidates) != len(c.Candidates) {
			t.Errorf("%s: split and joined again there are %d candidates, want %d (%v)", name, len(joined.Candidates), len(c.Candidates), err)
		}
	}
	return parts
}
