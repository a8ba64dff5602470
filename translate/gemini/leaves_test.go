package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// show writes leaves in short: kind, run, text.
func show(doc string, leaves []Leaf) []string {
	var out []string
	for _, l := range leaves {
		s := string(l.Kind)
		if l.Run > 0 {
			s += fmt.Sprint(l.Run)
		}
		if l.Model {
			s += "m"
		}
		if l.Candidate > 0 {
			s += fmt.Sprintf("#%d", l.Candidate)
		}
		if l.Tool != "" {
			s += "@" + l.Tool
		}
		out = append(out, s+" "+doc[l.Start:l.End])
	}
	return out
}

func TestLeaves(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     []string
	}{
		{"runs", `{"contents":[{"role":"user","parts":[{"text":"a"},{"text":"b"},{"inlineData":{"mimeType":"image/png","data":"AA"}},{"text":"c"}]},{"role":"user","parts":[{"text":"d"}]},{"parts":[{"text":"e"}],"role":"model"},{"role":"model","parts":[{"thought":true,"text":"f"},{"text":"g","thoughtSignature":"x"},{"text":""}]}]}`,
			[]string{`text1 "a"`, `text1 "b"`, `blob "AA"`, `text2 "c"`, `text2 "d"`, `text3m "e"`, `thought4m "f"`, `text5m "g"`, `text5m ""`}},
		{"protocol", `{"model":"models/x","contents":[{"role":"user","parts":[{"fileData":{"fileUri":"u","mimeType":"m","displayName":"d"}}]}],"generationConfig":{"responseMimeType":"a/b","stopSequences":["s"]},"safetySettings":[{"category":"c","threshold":"t"}],"cachedContent":"n"}`,
			[]string{`other "d"`, `other "s"`}},
		{"calls", `{"contents":[{"parts":[{"functionCall":{"args":{"a":"b","n":123456789,"m":5},"name":"f","id":"i"}},{"function_response":{"name":"g","response":{"role":"r"},"parts":[{"inline_data":{"mime_type":"text/plain","data":"AA"}}]}}]}]}`,
			[]string{`args@f "b"`, `args@f 123456789`, `result@g "r"`, `blob@g "AA"`}},
		{"partial", `{"candidates":[{"index":2,"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}]}}]}}]}`,
			[]string{`partialm#2 "x"`}},
		{"tools", `{"tools":[{"function_declarations":[{"name":"n","description":"d","parameters":{"type":"T","properties":{"type":{"type":"S","description":"p","enum":["e"]}},"required":["type"]},"parametersJsonSchema":{"title":"q"}}]}]}`,
			[]string{`tools "d"`, `tools "p"`, `tools "e"`, `tools "q"`}},
		{"envelope", `{"project":"p","request":{"contents":[{"parts":[{"text":"a"}]}],"session_id":"s","systemInstruction":{"parts":[{"text":"b"}]}}}`, []string{`text1 "a"`, `system2 "b"`}},
		{"embed", `{"requests":[{"content":{"parts":[{"text":"a"}]}},{"content":{"parts":[{"text":"b"}]},"title":"c"}]}`, []string{`text1 "a"`, `text2 "b"`, `other "c"`}},
		{"code", `{"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"a"}},{"codeExecutionResult":{"outcome":"OK","output":"b"}}]}}]}`, []string{`codem "a"`, `codem "b"`}},
		{"duplicates", `{"contents":[{"parts":[{"text":"a","text":"b"}]}],"contents":[{"parts":[{"text":"c"}]}]}`, []string{`text1 "a"`, `text2 "b"`, `text3 "c"`}},
		{"strange shapes", `{"contents":["a",{"parts":"b"},{"parts":[["c"],{"text":{"d":"e"}}]}],"functionCall":"f","args":"g","candidates":"h","inlineData":["i"]}`,
			[]string{`text "a"`, `text "b"`, `text "c"`, `other "e"`, `other "f"`, `other "g"`, `other "h"`, `other "i"`}},
		{"text beside data", `{"contents":[{"parts":[{"text":"a","functionCall":{"name":"f"}}]}]}`, []string{`text1 "a"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := Leaves([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, show(tt.in, b.Leaves)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestLeavesCount: what is no leaf is counted by why.
func TestLeavesCount(t *testing.T) {
	in := `{"contents":[{"role":"user","parts":[{"text":"abc"}]}],"labels":{"k":"v"},"x":[1,true,null]}`
	b, err := Leaves([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Skipped{Protocol: 0, Keys: 1, Numbers: 0}, b.Skipped); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestWithoutOffsets(t *testing.T) {
	in := `{"response":{"candidates":[{"index":1,"citationMetadata":{},"x":1},{"citationMetadata":{},"groundingMetadata":{"groundingSupports":[],"a":1}}]}}`
	want := `{"response":{"candidates":[{"index":1,"citationMetadata":{},"x":1},{"groundingMetadata":{"a":1}}]}}`
	got := Wire{Envelope: true}.WithoutOffsets([]byte(in), func(i int) bool { return i == 0 })
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}

// FuzzLeaves: no panic, leaves are literals in order, and a body whose strings
// are exchanged for others stays JSON with all else as it was.
func FuzzLeaves(f *testing.F) {
	for _, s := range []string{
		`{"contents":[{"role":"user","parts":[{"text":"a\u0040b"},{"functionCall":{"name":"f","args":{"x":[1234567890,"y"]}}}]}]}`,
		`{"candidates":[{"index":1,"content":{"parts":[{"text":"a","thought":true}]},"finishReason":"STOP"}]}`,
		`[{"a":"\ud800"}]`, `"x"`, `{"tools":[{"a":{}}],"inlineData":{"data":"AA"}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := Leaves(in)
		if err != nil || !utf8.Valid(in) {
			return
		}
		end := 0
		var edits []SpliceEdit
		for _, l := range b.Leaves {
			if l.Start < end || l.End > len(in) {
				t.Fatalf("leaf at %d after %d", l.Start, end)
			}
			end = l.End
			if l.Number {
				continue
			}
			text := Unquote(in[l.Start:l.End])
			if again := Unquote(Quote(text)); again != text {
				t.Fatalf("%q became %q", text, again)
			}
			edits = append(edits, SpliceEdit{l.Start, l.End, Quote(text + "<")})
		}
		out := Splice(in, edits)
		doc := bytes.TrimPrefix(out, []byte("\xEF\xBB\xBF"))
		if json.Valid(bytes.TrimPrefix(in, []byte("\xEF\xBB\xBF"))) && !json.Valid(doc) {
			t.Fatalf("no JSON any more: %q", out)
		}
		again, err := Leaves(out)
		if err != nil || len(again.Leaves) != len(b.Leaves) {
			t.Fatalf("%d leaves became %d (%v)", len(b.Leaves), len(again.Leaves), err)
		}
		for i, l := range again.Leaves {
			if !l.Number && !strings.HasSuffix(Unquote(out[l.Start:l.End]), "<") {
				t.Fatalf("leaf %d is %q", i, out[l.Start:l.End])
			}
		}
	})
}
