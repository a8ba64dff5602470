package rules

import (
	"encoding/json"
	"strings"
	"testing"
)

const declared = `"tools":[{"functionDeclarations":[{"name":"read"},{"name":"write"}]}]`

// body makes a request of contents, a comma-separated list.
func body(contents string, extra ...string) string {
	return `{"contents":[` + contents + `],` + strings.Join(append(extra, declared), ",") + `}`
}

const (
	ask    = `{"role":"user","parts":[{"text":"go"}]}`
	say    = `{"role":"model","parts":[{"text":"well"}]}`
	callA  = `{"role":"model","parts":[{"functionCall":{"name":"read","args":{"n":1,"p":"x"}}}]}`
	callAB = `{"role":"model","parts":[{"functionCall":{"name":"read","args":{}}},{"functionCall":{"name":"write","args":{}}}]}`
	callS  = `{"role":"model","parts":[{"functionCall":{"name":"read","id":"id1","args":{"n":1,"p":"x"}},"thoughtSignature":"c2ln"}]}`
	resA   = `{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"a"}}}]}`
	resB   = `{"role":"user","parts":[{"functionResponse":{"name":"write","response":{"output":"b"}}}]}`
	resAB  = `{"role":"user","parts":[{"functionResponse":{"name":"read","response":{}}},{"functionResponse":{"name":"write","response":{}}}]}`
	resBA  = `{"role":"user","parts":[{"functionResponse":{"name":"write","response":{}}},{"functionResponse":{"name":"read","response":{}}}]}`
)

func join(contents ...string) string { return strings.Join(contents, ",") }

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name string
		body string
		want Rule
	}{
		{"one prompt", body(ask), ""},
		{"no role, one content", body(`{"parts":[{"text":"go"}]}`), ""},
		{"no role, several contents", body(join(ask, say, `{"parts":[{"text":"go"}]}`)), Role},
		{"contents and parts as objects", `{"contents":{"role":"user","parts":{"text":"go"}}}`, ""},
		{"snake case", `{"system_instruction":{"parts":[{"text":"s"}]},` + body(ask)[1:], ""},
		{"call and result", body(join(ask, callA, resA)), ""},
		{"role function", body(join(ask, callA, strings.Replace(resA, "user", "function", 1))), ""},
		{"role function without a result", body(`{"role":"function","parts":[{"text":"go"}]}`), Role},
		{"parallel", body(join(ask, callAB, resAB)), ""},
		{"several model contents", body(join(ask, say, callA, `{"role":"model","parts":[{"text":""}]}`, resA, say, say, ask)), ""},
		{"text after results", body(join(ask, callA, strings.Replace(resA, `]}`, `,{"text":"more"}]}`, 1))), ""},
		{"no history of declared tools", `{"contents":[` + join(ask, callA, resA) + `]}`, ""},
		{"a signature alone", body(join(ask, `{"role":"model","parts":[{"thoughtSignature":"c2ln"}]}`, ask)), ""},

		{"not JSON", `{`, JSON},
		{"two documents", body(ask) + `{}`, JSON},
		{"no object", `[]`, JSON},
		{"no contents", `{"contents":[]}`, EmptyContents},
		{"unknown member", body(ask, `"x_hookline":1`), UnknownField},
		{"unknown member of a call", body(join(ask, strings.Replace(callA, `"args"`, `"arguments"`, 1), resA)), UnknownField},
		{"unknown member of a part", body(`{"role":"user","parts":[{"text":"a","note":1}]}`), UnknownField},
		{"text is a number", body(`{"role":"user","parts":[{"text":1}]}`), Type},
		{"args is a list", body(join(ask, `{"role":"model","parts":[{"functionCall":{"name":"read","args":[]}}]}`, resA)), Type},
		{"system instruction is a string", body(ask, `"systemInstruction":"be good"`), Type},
		{"two data members", body(join(ask, `{"role":"model","parts":[{"text":"a","functionCall":{"name":"read"}}]}`, resA)), Oneof},
		{"no parts", body(join(ask, `{"role":"model","parts":[]}`, ask)), EmptyParts},
		{"no parts member", body(join(ask, `{"role":"model"}`, ask)), EmptyParts},
		{"empty part", body(join(ask, `{"role":"model","parts":[{}]}`, ask)), EmptyPart},
		{"null part", body(join(ask, `{"role":"model","parts":[null]}`, ask)), EmptyPart},
		{"role system", body(`{"role":"system","parts":[{"text":"go"}]}`), Role},
		{"model last", body(join(ask, say)), LastTurn},
		{"model alone", body(say), LastTurn},
		{"call without a name", body(join(ask, `{"role":"model","parts":[{"functionCall":{}}]}`, resA)), Name},
		{"bad name", body(join(ask, `{"role":"model","parts":[{"functionCall":{"name":"a b"}}]}`, resA)), Name},
		{"bad declaration", `{"contents":[` + ask + `],"tools":[{"functionDeclarations":[{"name":"1"}]}]}`, Name},
		{"declared twice", `{"contents":[` + ask + `],"tools":[{"functionDeclarations":[{"name":"a"}]},{"functionDeclarations":[{"name":"a"}]}]}`, Duplicate},
		{"ANY and names", body(ask, `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["read"]}}`), ""},
		{"ANY by number", body(ask, `"tool_config":{"function_calling_config":{"mode":2,"allowed_function_names":["read"]}}`), ""},
		{"AUTO and names", body(ask, `"toolConfig":{"functionCallingConfig":{"mode":"AUTO","allowedFunctionNames":["read"]}}`), AllowedNames},
		{"name not declared", body(ask, `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["rm"]}}`), AllowedNames},
		{"ANY without declarations", `{"contents":[` + ask + `],"toolConfig":{"functionCallingConfig":{"mode":"ANY"}}}`, ToolConfig},
		{"unknown mode", body(ask, `"toolConfig":{"functionCallingConfig":{"mode":"SOME"}}`), Type},
		{"response is text", body(join(ask, callA, strings.Replace(resA, `{"output":"a"}`, `"a"`, 1))), ResponseObject},
		{"no response", body(join(ask, callA, strings.Replace(resA, `,"response":{"output":"a"}`, ``, 1))), ResponseObject},
		{"image in a response", body(join(ask, callA, strings.Replace(resA, `"response"`, `"parts":[{"inlineData":{}}],"response"`, 1))), Multimodal},
		{"starts with a call", body(join(callA, resA)), CallTurn},
		{"user makes a call", body(join(ask, strings.Replace(callA, "model", "user", 1), resA)), CallTurn},
		{"result without a call", body(join(ask, resA)), ResponseTurn},
		{"result twice", body(join(ask, callA, resA, resA)), ResponseTurn},
		{"model gives a result", body(join(ask, callA, strings.Replace(resA, "user", "model", 1))), ResponseTurn},
		{"one result missing", body(join(ask, callAB, resA)), Counts},
		{"results one by one", body(join(ask, callAB, resA, resB)), Counts},
		{"calls in two contents", body(join(ask, callA, callA, resAB)), Counts},
		{"call left open", body(join(ask, callA)), Counts},
		{"text in place of a result", body(join(ask, callA, ask)), Counts},
		{"results swapped", body(join(ask, callAB, resBA)), Pairing},
		{"id of another call", body(join(ask, callS, strings.Replace(resA, `"name"`, `"id":"id2","name"`, 1))), Pairing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := Check([]byte(tt.body), Options{})
			got := Rule("")
			if v != nil {
				got = v.Rule
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q\n%s", got, v, tt.want, tt.body)
			}
		})
	}
}

// What Gemini 3 asks for, and what a model that remembers finds.
func TestCheckGemini3(t *testing.T) {
	unsigned := strings.Replace(callS, `,"thoughtSignature":"c2ln"`, "", 1)
	second := `{"role":"model","parts":[{"functionCall":{"name":"read","id":"id1","args":{"n":1,"p":"x"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"write","args":{}}}]}`
	for _, tt := range []struct {
		name string
		body string
		want Rule
	}{
		{"signed", body(join(ask, callS, resA)), ""},
		{"second call unsigned", body(join(ask, second, resAB)), ""},
		{"keys in another order, numbers in another form", body(join(ask, strings.Replace(callS, `{"n":1,"p":"x"}`, `{"p":"x","n":1.0}`, 1), resA)), ""},
		{"id dropped", body(join(ask, strings.Replace(callS, `"id":"id1",`, "", 1), resA)), ""},
		{"skipped", body(join(ask, strings.Replace(callS, "c2ln", SkipValidator, 1), resA)), ""},
		{"skipped in base64", body(join(ask, strings.Replace(callS, "c2ln", "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=", 1), resA)), ""},
		{"skipped in other words", body(join(ask, strings.Replace(callS, "c2ln", SkipContext, 1), resA)), ""},
		{"unsigned in an earlier turn", body(join(ask, unsigned, resA, say, ask)), ""},
		{"unsigned in the current turn", body(join(ask, unsigned, resA)), MissingSig},
		{"parallel calls in two contents", body(join(ask, callS, strings.Replace(unsigned, "id1", "id2", 1), resAB)), MissingSig},
		{"unsigned second step", body(join(ask, callS, resA, unsigned, resA)), MissingSig},
		{"signature of nobody", body(join(ask, strings.Replace(callS, "c2ln", "b3RoZXI=", 1), resA)), CorruptedSig},
		{"signature re-encoded", body(join(ask, strings.Replace(callS, "c2ln", "c2ln=", 1), resA)), CorruptedSig},
		{"signature of a call on text", body(join(ask, `{"role":"model","parts":[{"text":"a","thoughtSignature":"c2ln"}]}`, ask)), CorruptedSig},
		{"signature of text on a call", body(join(ask, strings.Replace(callS, "c2ln", "dGV4dA==", 1), resA)), ""},
		{"arguments changed", body(join(ask, strings.Replace(callS, `"x"`, `"y"`, 1), resA)), CorruptedSig},
		{"arguments changed, no signature", body(join(ask, strings.Replace(unsigned, `"x"`, `"y"`, 1), resA, ask)), Altered},
		{"a call of nobody", body(join(ask, strings.Replace(callS, `"read"`, `"write"`, 1), resB)), CorruptedSig},
		{"neither declared nor called", body(join(ask, `{"role":"model","parts":[{"functionCall":{"name":"rm"}}]}`, `{"role":"user","parts":[{"functionResponse":{"name":"rm","response":{}}}]}`, ask)), Undeclared},
		{"image in a response", body(join(ask, callS, strings.Replace(resA, `"response"`, `"parts":[{"inlineData":{}}],"response"`, 1))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m Memory
			m.Issue(json.RawMessage(`{"functionCall":{"name":"read","id":"id1","args":{"n":1,"p":"x"}},"thoughtSignature":"c2ln"}`))
			m.Issue(json.RawMessage(`{"functionCall":{"name":"write","id":"id2"}}`))
			m.Issue(json.RawMessage(`{"text":"","thoughtSignature":"dGV4dA=="}`))
			v := Check([]byte(tt.body), Options{Gemini3: true, Issued: &m})
			got := Rule("")
			if v != nil {
				got = v.Rule
			}
			if got != tt.want {
				t.Errorf("got %q (%v), want %q\n%s", got, v, tt.want, tt.body)
			}
		})
	}
}

func TestBody(t *testing.T) {
	v := Check([]byte(body(join(ask, resA))), Options{})
	var got struct {
		Error struct {
			Code            int
			Message, Status string
		}
	}
	if err := json.Unmarshal(v.Body(), &got); err != nil {
		t.Fatal(err)
	}
	if e := got.Error; e.Code != 400 || e.Status != "INVALID_ARGUMENT" || e.Message != responseMessage {
		t.Errorf("got %+v", e)
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{body(ask), body(join(ask, callAB, resAB, say, ask)), body(join(ask, callS, resA)), `{"contents":[null]}`, `{"contents":{"parts":[[]]}}`, `{"tools":[{"functionDeclarations":[null]}],"contents":[]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m Memory
		m.Issue(b)
		for _, o := range []Options{{}, {Gemini3: true, Issued: &m}} {
			if v := Check(b, o); v != nil && (v.Rule == "" || v.Message == "") {
				t.Errorf("a violation without rule or message: %+v", v)
			}
		}
	})
}
