package toolloop

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// quote makes a JSON string literal. Unlike json.Marshal it leaves <, > and &
// alone, as the API does; U+2028 and U+2029 are escaped, since some parsers of
// agents take them for line ends.
func quote(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("toolloop: a string does not encode: " + err.Error())
	}
	return bytes.ReplaceAll(bytes.TrimSuffix(b.Bytes(), []byte("\n")), []byte("\u0085"), []byte(`\u0085`))
}

// errorResponse is a function response that tells the model of an error.
func errorResponse(text string) json.RawMessage {
	return append(append(json.RawMessage(`{"error":`), quote(text)...), '}')
}

// contextBlock wraps what a hook adds to a conversation, so that the model can
// tell it from the user's words; the text can't close the block.
func contextBlock(texts []string) string {
	t := strings.Join(texts, "\n")
	return "<hook_context>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(t) + "</hook_context>"
}

// joinBlocks puts one context block after another.
func joinBlocks(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// replaceOutput puts a value in the place of what the model reads of a response:
// its output, else its result, else the whole. Nothing else of it stays, since
// what a hook replaced must not stand beside its replacement in another form.
func replaceOutput(body, output json.RawMessage) json.RawMessage {
	key := "output"
	if !gjson.GetBytes(body, key).Exists() {
		if gjson.GetBytes(body, "result").Exists() {
			key = "result"
		} else if len(output) > 0 && output[0] == '{' {
			return output
		}
	}
	return append(append([]byte(`{"`+key+`":`), output...), '}')
}

// object is a raw JSON object, {} for anything else.
func object(raw json.RawMessage) json.RawMessage {
	if v := bytes.TrimSpace(raw); len(v) > 1 && v[0] == '{' {
		return v
	}
	return json.RawMessage("{}")
}

// toolResponse shows hooks a function response: what the model reads of it, and
// its error.
func toolResponse(response json.RawMessage) json.RawMessage {
	body := object(response)
	content := []byte(body)
	for _, key := range []string{"output", "result"} {
		if v := gjson.GetBytes(body, key); v.Exists() {
			content = []byte(v.Raw)
			break
		}
	}
	out := append([]byte(`{"llmContent":`), content...)
	out = append(append(out, `,"returnDisplay":`...), content...)
	if e := gjson.GetBytes(body, "error"); e.Exists() && e.Type != gjson.Null {
		text := e.Raw
		if e.Type == gjson.String {
			text = e.Str
		}
		out = append(append(append(out, `,"error":{"message":`...), quote(text)...), '}')
	}
	return append(out, '}')
}

// mergePatch lays a hook's tool_input over the model's arguments, key by key; a
// null removes the key. Keys that stay keep their bytes and their order. changed
// is false when the outcome means the same as args.
func mergePatch(args, patch json.RawMessage) (merged json.RawMessage, changed bool) {
	type member struct{ key, val string }
	var ms []member
	at := map[string]int{}
	set := func(k, v gjson.Result) bool {
		if i, ok := at[k.Str]; ok {
			ms[i].val = v.Raw
		} else {
			at[k.Str] = len(ms)
			ms = append(ms, member{k.Raw, v.Raw})
		}
		return true
	}
	gjson.ParseBytes(object(args)).ForEach(set)
	gjson.ParseBytes(object(patch)).ForEach(func(k, v gjson.Result) bool {
		if v.Type != gjson.Null {
			return set(k, v)
		}
		if i, ok := at[k.Str]; ok {
			ms[i].key = ""
			delete(at, k.Str)
		}
		return true
	})
	out := []byte{'{'}
	for _, m := range ms {
		if m.key == "" {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.key...), ':'), m.val...)
	}
	out = append(out, '}')
	return out, !bytes.Equal(appendCanonical(nil, out), appendCanonical(nil, object(args)))
}
