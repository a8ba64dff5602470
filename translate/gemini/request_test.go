package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/translate"
)

func mustRequest(t testing.TB, w Wire, body string) *translate.Request {
	t.Helper()
	r, err := w.ParseRequest([]byte(body), "m")
	if err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return r
}

func TestParseParts(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	tests := []struct {
		name, part string
		want       translate.Part
	}{
		{"text", `{"text":"a"}`, translate.Part{Kind: translate.KindText, Text: raw(`"a"`)}},
		{"empty signed text", `{"text":"","thoughtSignature":"S"}`, translate.Part{Kind: translate.KindText, Text: raw(`""`), Signature: "S"}},
		{"thought", `{"thought":true,"text":"a"}`, translate.Part{Kind: translate.KindThought, Text: raw(`"a"`)}},
		{"no thought", `{"thought":false,"text":"a"}`, translate.Part{Kind: translate.KindText, Text: raw(`"a"`)}},
		{"null text", `{"text":"a","text":null}`, translate.Part{Kind: translate.KindOther}},
		{"number as text", `{"text":1}`, translate.Part{Kind: translate.KindOther}},
		{"call", `{"functionCall":{"id":"i","name":"f","args":{"a":1}},"thoughtSignature":"S"}`,
			translate.Part{Kind: translate.KindCall, ID: "i", Name: "f", Body: raw(`{"a":1}`), Signature: "S"}},
		{"call in snake_case", `{"function_call":{"name":"f"},"thought_signature":"S"}`, translate.Part{Kind: translate.KindCall, Name: "f", Signature: "S"}},
		{"piece with a name", `{"functionCall":{"name":"f","willContinue":true}}`, translate.Part{Kind: translate.KindCall, Name: "f", Partial: true}},
		{"piece with arguments", `{"functionCall":{"partial_args":[{"jsonPath":"$.a","stringValue":"b"}]}}`, translate.Part{Kind: translate.KindCall, Partial: true}},
		{"closing piece", `{"functionCall":{}}`, translate.Part{Kind: translate.KindCall, Partial: true}},
		{"whole call with empty pieces", `{"functionCall":{"name":"f","args":{},"partialArgs":[],"willContinue":false}}`, translate.Part{Kind: translate.KindCall, Name: "f", Body: raw(`{}`)}},
		{"result", `{"functionResponse":{"id":"i","name":"f","response":{"output":1}}}`, translate.Part{Kind: translate.KindResult, ID: "i", Name: "f", Body: raw(`{"output":1}`)}},
		{"no call", `{"functionCall":null,"text":"a"}`, translate.Part{Kind: translate.KindText, Text: raw(`"a"`)}},
		{"server-side call", `{"toolCall":{"id":"x"},"thoughtSignature":"S"}`, translate.Part{Kind: translate.KindOther, Signature: "S"}},
		{"nothing", `{}`, translate.Part{Kind: translate.KindOther}},
		{"null", `null`, translate.Part{Kind: translate.KindOther}},
		{"a string", `"x"`, translate.Part{Kind: translate.KindOther}},
		{"skip token, not base64", `{"functionCall":{"name":"f"},"thoughtSignature":"skip_thought_signature_validator"}`,
			translate.Part{Kind: translate.KindCall, Name: "f", Signature: "skip_thought_signature_validator"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustRequest(t, Wire{}, `{"contents":[{"parts":[`+tt.part+`]}]}`)
			tt.want.Raw = raw(tt.part)
			got := r.Turns[0].Parts[0]
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if alone := (Wire{}).Part([]byte(tt.part)); cmp.Diff(got, alone) != "" {
				t.Errorf("alone it is %+v, in a turn %+v", alone, got)
			}
		})
	}
}

// What different readers of JSON take for different things is refused: a hook would
// be shown one of them, and the upstream or the agent might go by the other.
func TestParseRefusesTheAmbiguous(t *testing.T) {
	for _, tt := range []struct {
		wire Wire
		body string
	}{
		{Wire{}, `{"contents":[{"parts":[{"text":"a"}]}],"contents":[]}`},
		{Wire{}, `{"contents":[{"parts":[{"text":"a"}],"parts":[]}]}`},
		{Wire{}, `{"contents":[{"parts":[{"functionCall":{"name":"a"},"function_call":null}]}]}`},
		{Wire{}, `{"contents":[{"parts":[{"function_response":{"name":"a"},"functionResponse":{"name":"b"}}]}]}`},
		{Wire{Envelope: true}, `{"request":{"contents":[]},"request":{"contents":[]}}`},
	} {
		if _, err := tt.wire.ParseRequest([]byte(tt.body), "m"); err == nil {
			t.Errorf("%s was read", tt.body)
		}
	}
	answer := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"rm"},"function_call":{"name":"ls"}}]}}]}`
	if _, err := (Wire{}).ParseChunk([]byte(answer)); err == nil {
		t.Errorf("%s was read", answer)
	}
}

func TestParseTolerates(t *testing.T) {
	for _, body := range []string{
		"\xEF\xBB\xBF {\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}]}]} \n",
		`{"contents":{"role":"user","parts":{"text":"a"}}}`,
		`{"contents":[null,{"role":"user","parts":[{"text":"a"}],"x":[{}]}],"future":{"contents":[]}}`,
		`{"contents":[{"role":"x","role":"user","parts":null,"parts":[{"text":"a"}]}],"tools":null}`,
	} {
		r := mustRequest(t, Wire{}, body)
		if len(r.Turns) != 1 || r.Turns[0].Role != "user" || len(r.Turns[0].Parts) != 1 || string(r.Turns[0].Parts[0].Text) != `"a"` {
			t.Errorf("%s gives %+v", body, r.Turns)
		}
		same, err := Wire{}.WithTurns(r, r.Turns)
		if err != nil || string(same.Raw) != body {
			t.Errorf("%s comes back as %s (%v)", body, same.Raw, err)
		}
	}
	for _, body := range []string{`{}`, `{"contents":null}`, `{"contents":[]}`, `{"request":{"contents":[{}]}}`} {
		if r := mustRequest(t, Wire{}, body); len(r.Turns) != 0 {
			t.Errorf("%s gives %d turns", body, len(r.Turns))
		}
	}
}

// What goes upstream for a longer history begins with what went for the shorter one.
func TestWithTurnsKeepsPrefix(t *testing.T) {
	styles := map[string]func(turns []string) string{
		"compact": func(turns []string) string { return `{"contents":[` + strings.Join(turns, ",") + `],"x":1}` },
		"python":  func(turns []string) string { return `{"contents": [` + strings.Join(turns, ", ") + `], "x": 1}` },
		"pretty": func(turns []string) string {
			return "{\n  \"contents\": [\n    " + strings.Join(turns, ",\n    ") + "\n  ]\n}"
		},
	}
	w := Wire{}
	for name, body := range styles {
		var turns []string
		var before []byte
		for n := range 6 {
			turns = append(turns, fmt.Sprintf(`{"role":"user","parts":[{"text":"t%d"}]}`, n))
			r := mustRequest(t, w, body(turns))
			history := []translate.Turn{{Role: "user", Parts: []translate.Part{w.TextPart("in front")}}}
			got, err := w.WithTurns(r, append(history, r.Turns...))
			if err != nil {
				t.Fatal(err)
			}
			checkDoc(t, name, got)
			at := got.Doc.(*Doc).fields[fieldContents].val
			contents := bytes.TrimRight(bytes.TrimSuffix(at.of(got.Raw), []byte("]")), " \n")
			if !bytes.HasPrefix(contents, before) {
				t.Errorf("%s, %d turns: %s does not begin with %s", name, n+1, contents, before)
			}
			before = contents
			same, err := w.WithTurns(got, got.Turns)
			if err != nil || same != got {
				t.Errorf("%s: the same turns make another request (%v)", name, err)
			}
		}
	}
}

func TestWithTurnsErrors(t *testing.T) {
	w := Wire{Envelope: true}
	r := mustRequest(t, w, `{"model":"m"}`)
	if _, err := w.WithTurns(r, []translate.Turn{{Raw: []byte(`{}`)}}); err == nil {
		t.Error("an envelope without a request took a history")
	}
	r = mustRequest(t, Wire{}, `{}`)
	if _, err := w.WithTurns(r, []translate.Turn{{Parts: []translate.Part{{Kind: translate.KindText}}}}); err == nil {
		t.Error("a part without bytes was rendered")
	}
	if _, err := w.WithTurns(&translate.Request{}, nil); err == nil {
		t.Error("another family's request was taken")
	}
}

// Fields that are added, changed and removed in any order stay found.
func TestSetFieldKeepsPlaces(t *testing.T) {
	for _, w := range []Wire{{}, {Envelope: true}} {
		for _, body := range []string{
			`{"contents":[{"parts":[{"text":"a"}]}]}`,
			`{ "system_instruction" : {} , "contents" : [ ] , "generation_config" : {"a":1} , "tools" : [ ] }`,
			`{}`,
		} {
			if w.Envelope {
				body = `{"project":"p","request":` + body + `,"model":"x"}`
			}
			r := mustRequest(t, w, body)
			d := r.Doc.(*Doc)
			for step := range 60 {
				val := []byte(fmt.Sprintf(`{"n":%d}`, step))
				if step%3 == 2 {
					val = nil
				}
				r, d = d.setField(r, 1+(step*7)%6, val)
				fresh := mustRequest(t, w, string(r.Raw)).Doc.(*Doc)
				if d.object != fresh.object || d.outer != fresh.outer || d.fields != fresh.fields {
					t.Fatalf("step %d: places are %+v, want %+v in %s", step, d, fresh, r.Raw)
				}
			}
		}
	}
}

func TestTraits(t *testing.T) {
	w := Wire{}
	tests := []struct {
		body string
		want translate.Traits
	}{
		{`{}`, translate.Traits{}},
		{`{"tools":[{"googleSearch":{}}],"system_instruction":{"parts":[{"text":"a"},{"text":"b"}]}}`, translate.Traits{System: "ab"}},
		{`{"tools":[{"function_declarations":[{"name":"f"}]}],"generation_config":{"response_mime_type":"application/json"}}`, translate.Traits{Tools: true, JSON: true}},
		{`{"generationConfig":{"responseJsonSchema":{}}}`, translate.Traits{JSON: true}},
	}
	assist := Wire{Envelope: true}
	if got := assist.Traits(mustRequest(t, assist, `{"request":{"session_id":"s"}}`)); got.Session != "s" {
		t.Errorf("the session is %q", got.Session)
	}
	for _, tt := range tests {
		if got := w.Traits(mustRequest(t, w, tt.body)); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.body, got, tt.want)
		}
	}
}

// A hostile patch or body costs no more than its size warrants.
func TestHostileSizes(t *testing.T) {
	w := Wire{}
	many := strings.Repeat(`{"role":"user","content":"x"},`, 20_000)
	r := mustRequest(t, w, `{"contents":[`+strings.Repeat(`{"parts":[{"text":"y"}]},`, 3000)+`{}]}`)
	if _, err := w.ApplyLLMRequest(r, []byte(`{"messages":[`+many[:len(many)-1]+`]}`), false); err != nil {
		t.Error(err)
	}
	keys := strings.Repeat(`"a":1,`, 2000)
	if _, err := w.ApplyLLMRequest(r, []byte(`{"config":{`+keys[:len(keys)-1]+`}}`), false); err == nil {
		t.Error("a config of 2000 keys was merged")
	}
	var config strings.Builder
	for n := range 10_000 {
		fmt.Fprintf(&config, `"k%d":1,`, n)
	}
	r = mustRequest(t, w, `{"generationConfig":{`+config.String()+`"z":1}}`)
	if shown := w.LLMRequest(r, false); !json.Valid(shown) {
		t.Error("not JSON")
	}
	parts := strings.Repeat(`{"text":"y"},`, 10_000)
	r = mustRequest(t, w, `{"contents":[{"parts":[`+parts[:len(parts)-1]+`]}]}`)
	if _, err := w.ApplyLLMRequest(r, []byte(`{"messages":[{"role":"user","content":"z"}]}`), false); err != nil {
		t.Error(err)
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"contents":[{"role":"user","parts":[{"text":"a"}]},null,{"role":"model","parts":{"functionCall":{"name":"f"}}}],"tool_config":{}}`), false)
	f.Add([]byte(`{"model":"models/m","request":{"contents":{"parts":[]},"contents":[]}}`), true)
	f.Add([]byte("\xEF\xBB\xBF{}"), false)
	f.Fuzz(func(t *testing.T, body []byte, envelope bool) {
		w := Wire{Envelope: envelope}
		r, err := w.ParseRequest(body, "")
		if err != nil {
			return
		}
		same, err := w.WithTurns(r, r.Turns)
		if err != nil || !bytes.Equal(same.Raw, body) {
			t.Fatalf("the same turns change the body (%v)", err)
		}
		for _, system := range []bool{false, true} {
			shown := w.LLMRequest(r, system)
			if !json.Valid(shown) {
				t.Fatalf("LLMRequest is no JSON: %s", shown)
			}
			echo, err := w.ApplyLLMRequest(r, shown, system)
			if err != nil || !bytes.Equal(echo.Raw, body) {
				t.Fatalf("an echo changes the body to %s (%v)", echo.Raw, err)
			}
		}
		w.Traits(r)
	})
}

func FuzzApplyLLMRequest(f *testing.F) {
	body := `{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"},{"functionCall":{"name":"f"}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{}}}]},{"role":"model","parts":[{"text":"c"}]}],"tools":[{"functionDeclarations":[{"name":"f"}]}]}`
	f.Add([]byte(body), []byte(`{"messages":[{"role":"model","content":"c"},{"role":"user","content":"A"}],"config":{"topK":1}}`), true)
	f.Add([]byte(body), []byte(`{"model":"x","toolConfig":{"mode":"AUTO","allowedFunctionNames":["g"]},"messages":[]}`), false)
	f.Fuzz(func(t *testing.T, body, patch []byte, system bool) {
		w := Wire{}
		r, err := w.ParseRequest(body, "m")
		if err != nil {
			return
		}
		got, err := w.ApplyLLMRequest(r, patch, system)
		if err != nil {
			return
		}
		checkDoc(t, "patched", got)
		again, err := w.ApplyLLMRequest(r, patch, system)
		if err != nil || !bytes.Equal(again.Raw, got.Raw) {
			t.Fatalf("not deterministic: %s and %s (%v)", got.Raw, again.Raw, err)
		}
	})
}
