package gemini

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestSyntaxErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1)
	tests := []struct {
		name, in string
		offset   int
	}{
		{"empty", "", 0},
		{"space only", " \n", 2},
		{"array", " []", 1},
		{"cut in a string", `{"contents":[{"role":"us`, 24},
		{"cut after a member", `{"contents":[]`, 14},
		{"no colon", `{"contents" []}`, 12},
		{"no value", `{"contents":}`, 12},
		{"trailing comma", `{"a":1,}`, 7},
		{"trailing comma in a list", `{"contents":[{},]}`, 16},
		{"two documents", `{} {}`, 3},
		{"raw line end in a string", "{\"a\":\"x\ny\"}", 7},
		{"bad escape", `{"a":"\u12g4"}`, 6},
		{"bad number", `{"a":-}`, 6},
		{"leading zero", `{"a":01}`, 6},
		{"open fraction", `{"a":1.}`, 7},
		{"open exponent", `{"a":1e}`, 7},
		{"bad word", `{"a":tru}`, 5},
		{"too deep", deep, 5 * maxDepth},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Wire{}.ParseRequest([]byte(tt.in), "m")
			var syntax *SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if syntax.Offset != tt.offset {
				t.Errorf("offset is %d (%s), want %d", syntax.Offset, syntax.Reason, tt.offset)
			}
		})
	}
}

func TestLiterals(t *testing.T) {
	tests := []struct{ lit, text, back string }{
		{`""`, "", `""`},
		{`"a\"\\\/\b\f\n\r\t\u0041"`, "a\"\\/\b\f\n\r\tA", `"a\"\\/\u0008\u000c\n\r\tA"`},
		{`"\ud83d\ude00"`, "😀", `"😀"`},
		{`"\ud83d x \ude00\ud83d"`, "\xed\xa0\xbd x \xed\xb8\x80\xed\xa0\xbd", `"\ud83d x \ude00\ud83d"`},
		{`"<>&'\u2028"`, "<>&'\u2028", `"<>&'\u2028"`},
		{"\"\u2029\u0085é\"", "\u2029\u0085é", `"\u2029\u0085é"`},
	}
	for _, tt := range tests {
		if got := unquote([]byte(tt.lit)); got != tt.text {
			t.Errorf("unquote(%s) is %q, want %q", tt.lit, got, tt.text)
		}
		if got := string(quoted(tt.text)); got != tt.back {
			t.Errorf("quoted(%q) is %s, want %s", tt.text, got, tt.back)
		}
	}
	if got := string(quoted("a\xffb")); got != `"a\ufffdb"` {
		t.Errorf("invalid UTF-8 becomes %s", got)
	}
}

func TestEscapeLineSeparatorsLeavesOthersAlone(t *testing.T) {
	doc := []byte(`{"a":"é€ and ` + "\u2027" + `"}`)
	if got := EscapeLineSeparators(doc); &got[0] != &doc[0] {
		t.Error("a document without separators was copied")
	}
}

func TestSplice(t *testing.T) {
	tests := []struct{ name, got, want string }{
		{"set", string(set([]byte(`{ "a" : 1 , "b":2}`), "a", []byte("9"), false)), `{ "a" : 9 , "b":2}`},
		{"set the last of duplicates", string(set([]byte(`{"a":1,"a":2}`), "a", []byte("9"), false)), `{"a":1,"a":9}`},
		{"set in the other spelling", string(set([]byte(`{"tool_config":1}`), "toolConfig", []byte("9"), false)), `{"tool_config":9}`},
		{"set a new one", string(set([]byte(`{"a":1 }`), "bC", []byte("9"), true)), `{"a":1 ,"b_c":9}`},
		{"set in an empty one", string(set([]byte(`{ }`), "b", []byte("9"), false)), `{ "b":9}`},
		{"escaped name", string(set([]byte(`{"\u0061":1}`), "a", []byte("9"), false)), `{"\u0061":9}`},
		{"drop the only", string(drop([]byte(`{ "a":1 }`), "a")), `{  }`},
		{"drop the first", string(drop([]byte(`{"a":1, "b":2}`), "a")), `{"b":2}`},
		{"drop the last", string(drop([]byte(`{"b":2 , "a":1}`), "a")), `{"b":2}`},
		{"drop several", string(drop([]byte(`{"aB":1,"a_b":2,"c":3,"aB":4,"aB":5,"d":6,"aB":7}`), "aB")), `{"c":3,"d":6}`},
		{"drop none", string(drop([]byte(`{"a":1}`), "b")), `{"a":1}`},
		{"not an object", string(drop([]byte(`[1]`), "b")), `[1]`},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, tt.got, tt.want)
		}
	}
	for camel, snake := range map[string]string{"toolConfig": "tool_config", "topK": "top_k", "text": "text"} {
		if snakeCase(camel) != snake || camelCase(snake) != camel || !isNamed([]byte(snake), camel) || !isNamed([]byte(camel), camel) {
			t.Errorf("%s and %s are not the same name", camel, snake)
		}
	}
	if isNamed([]byte("tool_Config"), "toolConfig") || isNamed([]byte("toolConfi"), "toolConfig") || isNamed([]byte("toolConfigs"), "toolConfig") {
		t.Error("names that differ are the same")
	}
}

// The scanner accepts what gjson and encoding/json accept, up to its depth.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,true,false,null,"\u00e9\n"]}`, `[]`, `"x`, "\"12345678\x01\"", `"1234567\"89"`, `{"a":1,}`, `01`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := scanner{b: b}
		s.space()
		err := s.skip()
		if err == nil {
			err = s.done()
		}
		if strings.HasSuffix(errText(err), "levels") {
			return
		}
		if valid := gjson.ValidBytes(b); valid != (err == nil) || valid && !json.Valid(b) {
			t.Errorf("got %v, gjson says %v, encoding/json %v", err, valid, json.Valid(b))
		}
		if err != nil {
			return
		}
		if out := appendCompact(nil, b); !json.Valid(out) || !sameDocument(out, b) {
			t.Errorf("compact %q is %q", b, out)
		}
	})
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func FuzzLiteral(f *testing.F) {
	f.Add("a\u2028\"\\\xed\xa0\xbd\xff")
	f.Fuzz(func(t *testing.T, s string) {
		lit := quoted(s)
		if !json.Valid(lit) {
			t.Fatalf("%q gives %s", s, lit)
		}
		if again := quoted(unquote(lit)); unquote(again) != unquote(lit) {
			t.Errorf("%s comes back as %s", lit, again)
		}
	})
}
