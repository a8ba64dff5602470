package hooks

import (
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// FuzzOutput throws any output at the parser, for every event and both fail
// modes, and at the merge with a hook that denies.
func FuzzOutput(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `null`, `[1]`, `x`, `{"decision":"deny","reason":"\ud800"}`, `{"continue":false}`, `{"decision":"ask"}`, "\xff{}", `{"a":1,"a":2}`,
		`{"hookSpecificOutput":{"additionalContext":"c","tool_input":{"a":null},"llm_request":{"messages":[{"role":"system"}],"config":{"a":1}},"llm_response":{"candidates":[{"content":{"parts":["x"]}}]},"toolConfig":{"mode":"ANY","allowedFunctionNames":["b","a"]},"tailToolCallRequest":{"name":"x","args":{}},"clearContext":true}}`,
		"{\"hookSpecificOutput\":{\"llm_response\":{ \"text\" :\n\"x\\\\\" }}}",
	} {
		f.Add([]byte(s), 0)
		f.Add([]byte(s), 2)
	}
	f.Fuzz(func(t *testing.T, out []byte, exit int) {
		for _, ev := range Events() {
			for _, mode := range []FailMode{FailOpen, FailClosed} {
				h := &Hook{Type: "command", FailMode: mode, listener: Gemini()[string(ev)]}
				o := outcome{hook: h, Answer: parse(ev, h, Result{Stdout: out, Exit: exit})}
				other := outcome{hook: h, Answer: parse(ev, h, Result{Stdout: []byte(`{"decision":"deny","reason":"no"}`)})}
				for _, outs := range [][]outcome{{o}, {o, other}, {other, o}, {o, o}} {
					checkDecision(t, merge(ev, outs, newReporter(nil)), len(outs) == 2 && decides(ev) && (outs[0].Reason == "no" || outs[1].Reason == "no"))
				}
				c := chain{shown: newShown(Input{Event: ev, Fields: []Field{{"prompt", json.RawMessage(`"p"`)}, {"tool_input", json.RawMessage(`{"a":{}}`)}, {"llm_request", json.RawMessage(`{"config":{"a":null}}`)}}})}
				c.take(h, &o)
				c.take(h, &o)
				if doc := c.document(h, c.input(h)); !json.Valid(doc) || !isCompact(doc) {
					t.Fatalf("the next hook would be shown %s", doc)
				}
			}
		}
	})
}

func checkDecision(t *testing.T, d Decision, denied bool) {
	t.Helper()
	if denied && !d.Deny || d.Deny && d.Reason == "" || d.Stop && d.StopReason == "" || d.Ask && (d.Deny || d.Stop) {
		t.Fatalf("got %+v", d)
	}
	for _, v := range []json.RawMessage{d.ToolInput, d.LLMRequest, d.LLMResponse} {
		if v != nil && (!json.Valid(v) || !isCompact(v) || v[0] != '{') {
			t.Fatalf("got a value %s that is no compact object", v)
		}
	}
	for _, s := range append([]string{d.Reason, d.StopReason}, d.Context...) {
		if !utf8.ValidString(s) {
			t.Fatalf("got text %q", s)
		}
	}
	for _, n := range d.Notices {
		if len(n.Text) > maxNotice+8 {
			t.Fatalf("got a notice of %d bytes", len(n.Text))
		}
	}
}

// FuzzObjects merges any two objects: the result is JSON, what the second names
// wins, and what nobody names stays.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"a":1,"config":{"x":1}}`), []byte(`{"config":{"x":null,"y":2},"a":null,"b":[ 1 ]}`))
	f.Add([]byte(`{"\u0061":1,"a":2}`), []byte(`{"":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if asObject(a) == nil || asObject(b) == nil {
			return
		}
		for _, m := range []json.RawMessage{mergeInput(a, b), applyInput(a, b), mergeRequest(a, b), applyRequest(a, b)} {
			if !json.Valid(m) {
				t.Fatalf("%s and %s make %s", a, b, m)
			}
		}
		merged := fieldsOf(mergeInput(a, b))
		for _, m := range members(b) {
			if got := field(merged, m.key); string(got) != string(m.val) {
				t.Fatalf("%s and %s: %q is %s", a, b, m.key, got)
			}
		}
		applied := fieldsOf(applyInput(a, b))
		for _, m := range members(b) {
			if isNull(m.val) && field(applied, m.key) != nil {
				t.Fatalf("%s after %s still has %q", a, b, m.key)
			}
		}
	})
}

func FuzzString(f *testing.F) {
	f.Add("a\"\\\n\x01é\xff\u2028<>&")
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		if err := json.Unmarshal(appendString(nil, s), &got); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		want, _ := json.Marshal(s)
		var same string
		if json.Unmarshal(want, &same) != nil || got != same {
			t.Fatalf("%q comes back as %q; want %q", s, got, same)
		}
	})
}
