package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/translate"
)

func mustChunk(t testing.TB, w Wire, doc string) *translate.Chunk {
	t.Helper()
	c, err := w.ParseChunk([]byte(doc))
	if err != nil {
		t.Fatalf("%v in %s", err, doc)
	}
	return c
}

func TestEdit(t *testing.T) {
	const doc = `{"candidates": [{"content": {"parts": [{"text": "a"}],"role": "model"},"finishReason": "STOP","futureX": 1,"index": 0}],"usageMetadata": {"totalTokenCount": 3},"modelStatus": {}}`
	w := Wire{}
	text, call := w.TextPart("b"), w.CallPart("", "f", nil, "S")
	parts := func(index int, p ...translate.Part) map[int][]translate.Part {
		return map[int][]translate.Part{index: p}
	}
	tests := []struct {
		name string
		wire Wire
		doc  string
		edit translate.Edit
		want string
	}{
		{"parts", w, doc, translate.Edit{Parts: parts(0, text, call)},
			`{"candidates": [{"content": {"parts": [{"text":"b"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"S"}],"role": "model"},"finishReason": "STOP","futureX": 1,"index": 0}],"usageMetadata": {"totalTokenCount": 3},"modelStatus": {}}`},
		{"no parts", w, doc, translate.Edit{Parts: parts(0)},
			`{"candidates": [{"content": {"role": "model"},"finishReason": "STOP","futureX": 1,"index": 0}],"usageMetadata": {"totalTokenCount": 3},"modelStatus": {}}`},
		{"finish and usage removed", w, doc, translate.Edit{Finish: map[int]string{0: ""}, Usage: json.RawMessage{}},
			`{"candidates": [{"content": {"parts": [{"text": "a"}],"role": "model"},"futureX": 1,"index": 0}],"modelStatus": {}}`},
		{"finish and usage replaced", w, doc, translate.Edit{Finish: map[int]string{0: "MAX_TOKENS"}, Usage: json.RawMessage(`{"totalTokenCount":9}`)},
			`{"candidates": [{"content": {"parts": [{"text": "a"}],"role": "model"},"finishReason": "MAX_TOKENS","futureX": 1,"index": 0}],"usageMetadata": {"totalTokenCount":9},"modelStatus": {}}`},
		{"a number stays one", w, `{"candidates":[{"finishReason":1}]}`, translate.Edit{Finish: map[int]string{0: "SAFETY"}}, `{"candidates":[{"finishReason":3}]}`},
		{"a candidate without content", w, `{"candidates":[{"finishReason":"STOP","index":1}]}`, translate.Edit{Parts: parts(1, text)},
			`{"candidates":[{"finishReason":"STOP","index":1,"content":{"role":"model","parts":[{"text":"b"}]}}]}`},
		{"a candidate that is not there", w, `{"usageMetadata":{}}`, translate.Edit{Parts: parts(0, text), Finish: map[int]string{0: "STOP"}},
			`{"usageMetadata":{},"candidates":[{"content":{"parts":[{"text":"b"}],"role":"model"},"finishReason":"STOP","index":0}]}`},
		{"the same in enum numbers", Wire{IntEnums: true}, `{}`, translate.Edit{Finish: map[int]string{2: "STOP"}},
			`{"candidates":[{"content":{"role":"model"},"finishReason":1,"index":2}]}`},
		{"a call gets args", w, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"text":"x"}]}}]}`,
			translate.Edit{Parts: parts(0, w.Part([]byte(`{"functionCall":{"name":"f"}}`)))},
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]}}]}`},
		{"nothing for a call that stays", w, `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}`,
			translate.Edit{Parts: parts(0, w.Part([]byte(`{"functionCall":{"name":"f"}}`)))},
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}`},
		{"in an envelope", Wire{Envelope: true}, `{"response": {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}, "traceId":"t"}`, translate.Edit{Parts: parts(0, text)},
			`{"response": {"candidates":[{"content":{"parts":[{"text":"b"}]}}]}, "traceId":"t"}`},
		{"in an envelope without a response", Wire{Envelope: true}, `{"traceId":"t"}`, translate.Edit{Parts: parts(0, text)},
			`{"traceId":"t","response":{"candidates":[{"content":{"parts":[{"text":"b"}],"role":"model"},"index":0}]}}`},
		{"one index twice", w, `{"candidates":[{"content":{"parts":[{"text":"x"}]}},{"content":{"parts":[{"text":"y"}]}}]}`, translate.Edit{Parts: parts(0, text)},
			`{"candidates":[{"content":{"parts":[{"text":"b"}]}},{"content":{}}]}`},
		{"snake_case", w, `{"candidates":[{"finish_reason":"STOP"}],"usage_metadata":{}}`, translate.Edit{Finish: map[int]string{0: "OTHER"}, Usage: json.RawMessage(`{"a":1}`)},
			`{"candidates":[{"finish_reason":"OTHER"}],"usage_metadata":{"a":1}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.wire.Edit(mustChunk(t, tt.wire, tt.doc), tt.edit)
			if err != nil {
				t.Fatal(err)
			}
			if string(got.Raw) != tt.want {
				t.Errorf("got  %s\nwant %s", got.Raw, tt.want)
			}
			fresh := mustChunk(t, tt.wire, string(got.Raw))
			if diff := cmp.Diff(fresh, got); diff != "" {
				t.Errorf("the chunk is not what it says: -parsed +got\n%s", diff)
			}
		})
	}
	if _, err := w.Edit(mustChunk(t, w, `{"error":{}}`), translate.Edit{Usage: json.RawMessage(`{}`)}); err == nil {
		t.Error("an error document was edited")
	}
}

func TestParseChunkErrors(t *testing.T) {
	tests := []struct {
		doc   string
		isErr bool // the document is an error document
		fails bool
	}{
		{`{"error":{"code":503}}`, true, false},
		{`[{"error":{"code":400}}]`, true, false},
		{`{"error":null,"candidates":[]}`, false, false},
		{`{"candidates":{"a":1}}`, false, false},
		{`{"candidates":[null,7,{"index":"2","content":null}]}`, false, false},
		{`[]`, false, true}, {`"x"`, false, true}, {``, false, true}, {`{"candidates":[}`, false, true}, {`{}{}`, false, true},
	}
	for _, tt := range tests {
		for _, w := range []Wire{{}, {Envelope: true}} {
			c, err := w.ParseChunk([]byte(tt.doc))
			if (err != nil) != tt.fails || err == nil && c.Error != tt.isErr {
				t.Errorf("%s gives %+v, %v", tt.doc, c, err)
			}
		}
	}
	if c := mustChunk(t, Wire{}, `{"candidates":[null,7,{"index":"2"}]}`); len(c.Candidates) != 1 || c.Candidates[0].Index != 2 {
		t.Errorf("got %+v", c.Candidates)
	}
}

func TestParts(t *testing.T) {
	w := Wire{}
	call := w.CallPart("i", "f\"", json.RawMessage(`{"a": 1}`), "S")
	snake := w.Part([]byte(`{"function_call":{"name":"f","x":1}}`))
	result := w.ResultPart("", "f", json.RawMessage(`{"output":"x"}`))
	tests := []struct{ name, got, want string }{
		{"text", string(w.TextPart("a\n<\u2028").Raw), `{"text":"a\n<\u2028"}`},
		{"call", string(call.Raw), `{"functionCall":{"id":"i","name":"f\"","args":{"a": 1}},"thoughtSignature":"S"}`},
		{"call without args", string(w.CallPart("", "f", nil, "").Raw), `{"functionCall":{"name":"f","args":{}}}`},
		{"call with args that are no JSON", string(w.CallPart("", "f", json.RawMessage(`{"a"`), "").Raw), `{"functionCall":{"name":"f","args":{}}}`},
		{"call with args that are no object", string(w.CallPart("", "f", json.RawMessage(` [1]`), "").Raw), `{"functionCall":{"name":"f","args":{}}}`},
		{"result", string(result.Raw), `{"functionResponse":{"name":"f","response":{"output":"x"}}}`},
		{"args", string(w.WithArgs(call, json.RawMessage(`{"b":2}`)).Raw), `{"functionCall":{"id":"i","name":"f\"","args":{"b":2}},"thoughtSignature":"S"}`},
		{"args that were not there", string(w.WithArgs(snake, json.RawMessage(`{"b":2}`)).Raw), `{"function_call":{"name":"f","x":1,"args":{"b":2}}}`},
		{"args of a result", string(w.WithArgs(result, nil).Raw), string(result.Raw)},
		{"response", string(w.WithResponse(result, json.RawMessage(`{"error":"e"}`)).Raw), `{"functionResponse":{"name":"f","response":{"error":"e"}}}`},
		{"signature", string(w.WithSignature(call, "T").Raw), `{"functionCall":{"id":"i","name":"f\"","args":{"a": 1}},"thoughtSignature":"T"}`},
		{"signature removed", string(w.WithSignature(call, "").Raw), `{"functionCall":{"id":"i","name":"f\"","args":{"a": 1}}}`},
		{"signature in snake_case", string(w.WithSignature(snake, "T").Raw), `{"function_call":{"name":"f","x":1},"thought_signature":"T"}`},
		{"id and name", string(w.WithCall(call, "j", "g").Raw), `{"functionCall":{"id":"j","name":"g","args":{"a": 1}},"thoughtSignature":"S"}`},
		{"id removed", string(w.WithCall(call, "", "f\"").Raw), `{"functionCall":{"name":"f\"","args":{"a": 1}},"thoughtSignature":"S"}`},
		{"id and name of a result", string(w.WithCall(result, "j", "g").Raw), `{"functionResponse":{"name":"g","response":{"output":"x"},"id":"j"}}`},
		{"id of a text", string(w.WithCall(w.TextPart("a"), "j", "g").Raw), `{"text":"a"}`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	if call.Kind != translate.KindCall || call.ID != "i" || call.Name != `f"` || call.Signature != "S" || string(call.Body) != `{"a": 1}` {
		t.Errorf("a built call is %+v", call)
	}
}

func TestAnswer(t *testing.T) {
	like := mustChunk(t, Wire{}, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"v","responseId":"r"}`)
	tests := []struct {
		name  string
		wire  Wire
		like  *translate.Chunk
		index int
		parts []translate.Part
		want  string
	}{
		{"like another", Wire{}, like, 1, []translate.Part{Wire{}.TextPart("no")}, `{"candidates":[{"content":{"parts":[{"text":"no"}],"role":"model"},"finishReason":"STOP","index":1}],"modelVersion":"v","responseId":"r"}`},
		{"like none", Wire{IntEnums: true}, nil, 0, []translate.Part{Wire{}.TextPart("no")}, `{"candidates":[{"content":{"parts":[{"text":"no"}],"role":"model"},"finishReason":1,"index":0}]}`},
		{"like an error", Wire{}, &translate.Chunk{Raw: []byte(`{"error":{}}`), Error: true}, 0, nil, `{"candidates":[{"content":{"role":"model"},"finishReason":"STOP","index":0}]}`},
		{"in an envelope", Wire{Envelope: true}, nil, 0, []translate.Part{Wire{}.TextPart("no")}, `{"response":{"candidates":[{"content":{"parts":[{"text":"no"}],"role":"model"},"finishReason":"STOP","index":0}]}}`},
		{"of broken parts", Wire{}, nil, 0, []translate.Part{{Raw: []byte(`{`)}}, `{"candidates":[{"content":{"parts":[{],"role":"model"},"finishReason":"STOP","index":0}]}`},
	}
	for _, tt := range tests {
		if got := tt.wire.Answer(tt.like, tt.index, tt.parts, "STOP"); string(got.Raw) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got.Raw, tt.want)
		}
	}
}

func TestJoinNothing(t *testing.T) {
	for want, w := range map[string]Wire{`{}`: {}, `{"response":{}}`: {Envelope: true}} {
		got, err := w.Join(nil)
		if err != nil || string(got.Raw) != want {
			t.Errorf("got %s (%v), want %s", got.Raw, err, want)
		}
	}
}

func TestAddUsage(t *testing.T) {
	tests := []struct{ name, a, b, want string }{
		{"nothing", "", "", ""},
		{"left", `{"a":1}`, "", `{"a":1}`},
		{"right", "", `{"a":1}`, `{"a":1}`},
		{"whole floats", `{"a":1.0}`, `{"a":2e1}`, `{"a":21}`},
		{"a limit", `{"a":"9223372036854775807"}`, `{"a":5}`, `{"a":9223372036854775807}`},
		{"spellings", `{"total_token_count":1}`, `{"totalTokenCount":2}`, `{"total_token_count":3}`},
		{"null", `{"a":1}`, `{"a":null}`, `{"a":1}`},
		{"odd details", `{"d":[7,{"modality":"TEXT"}]}`, `{"d":[8,{"modality":"TEXT","tokenCount":2}]}`, `{"d":[7,{"modality":"TEXT","tokenCount":2},8]}`},
		{"negative", `{"a":-1}`, `{"a":-2}`, `{"a":-2}`},
	}
	for _, tt := range tests {
		if got := (Wire{}).AddUsage([]byte(tt.a), []byte(tt.b)); string(got) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestAssembleKeepsOthers(t *testing.T) {
	w := Wire{}
	read := func(raws ...string) (parts []translate.Part) {
		for _, r := range raws {
			parts = append(parts, w.Part([]byte(r)))
		}
		return parts
	}
	for name, parts := range map[string][]translate.Part{
		"whole parts":       read(`{"text":"a"}`, `{"functionCall":{"name":"f","args":{}}}`),
		"pieces of no call": read(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"b"}]}}`, `{"functionCall":{}}`),
	} {
		if diff := cmp.Diff(parts, w.Assemble(parts)); diff != "" {
			t.Errorf("%s change: -want +got\n%s", name, diff)
		}
	}
	got := w.Assemble(read(`{"functionCall":{"name":"f","willContinue":true}}`, `{"text":"between"}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}`,
		`{"functionCall":{"partialArgs":[{"jsonPath":"a"},{"jsonPath":"$"},{"jsonPath":"$..a"},{"jsonPath":"$['a"},{"jsonPath":"$[x]"},{"jsonPath":"$.a","stringValue":"y"}]}}`,
		`{"functionCall":{}}`))
	want := []string{`{"functionCall":{"name":"f","args":{"a":"xy"}}}`, `{"text":"between"}`, `{"functionCall":{}}`}
	for i := range want {
		if len(got) != len(want) || string(got[i].Raw) != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}

func FuzzParseChunk(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","willContinue":true}}]},"finishReason":1}],"usageMetadata":{}}`), []byte(`{"candidates":[{"content":{"parts":["b"]}}]}`), false)
	f.Add([]byte(`{"response":{"candidates":[{},{"index":1}]},"traceId":"t"}`), []byte(`{"text":"x"}`), true)
	f.Fuzz(func(t *testing.T, doc, response []byte, envelope bool) {
		w := Wire{Envelope: envelope}
		c, err := w.ParseChunk(doc)
		if err != nil {
			return
		}
		if same, err := w.Edit(c, translate.Edit{}); err != nil || !bytes.Equal(same.Raw, doc) {
			t.Fatalf("an empty edit changes the document (%v)", err)
		}
		shown := w.LLMResponse(c)
		if !json.Valid(shown) {
			t.Fatalf("LLMResponse is no JSON: %s", shown)
		}
		if c.Error {
			return
		}
		if echo, err := w.ApplyLLMResponse(c, shown); err != nil || !bytes.Equal(echo.Raw, doc) {
			t.Fatalf("an echo changes the document to %s (%v)", echo.Raw, err)
		}
		for _, made := range []func() (*translate.Chunk, error){
			func() (*translate.Chunk, error) { return w.ApplyLLMResponse(c, response) },
			func() (*translate.Chunk, error) { return w.Synthesize(c, response) },
			func() (*translate.Chunk, error) { return w.Join([]*translate.Chunk{c, c}) },
		} {
			if got, err := made(); err == nil && !json.Valid(got.Raw) {
				t.Fatalf("no JSON: %s", got.Raw)
			}
		}
		for _, cand := range c.Candidates {
			w.Assemble(cand.Parts)
		}
		one := Wire{Envelope: envelope, OnePart: true}
		for _, doc := range one.Emit(c) {
			if !json.Valid(doc) || bytes.ContainsAny(doc, "\n\r\u2028\u2029\u0085") {
				t.Fatalf("not fit to send: %q", doc)
			}
		}
		w.AddUsage(c.Usage, c.Usage)
	})
}

func ExampleWire_ApplyLLMResponse() {
	w := Wire{}
	c, _ := w.ParseChunk([]byte(`{"candidates":[{"content":{"parts":[{"text":"call jane@example.com"},{"functionCall":{"name":"dial","args":{"n":1}}}]}}]}`))
	c, _ = w.ApplyLLMResponse(c, []byte(`{"candidates":[{"content":{"parts":["call [redacted]"]}}]}`))
	fmt.Println(string(c.Raw))
	// Output: {"candidates":[{"content":{"parts":[{"text":"call [redacted]"},{"functionCall":{"name":"dial","args":{"n":1}}}]}}]}
}
