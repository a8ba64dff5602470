package hooks

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// member is one member of a JSON object. Numbers and unknown members survive
// because values are carried as they were written.
type member struct {
	key string // decoded
	raw string // the key as written
	val json.RawMessage
}

// members reads a valid JSON object in order. Of several members with one key
// the last counts, as in JavaScript. It gives nil for what is no object.
func members(doc []byte) []member {
	r := gjson.ParseBytes(doc)
	if !r.IsObject() {
		return nil
	}
	ms := []member{}
	at := map[string]int{}
	r.ForEach(func(k, v gjson.Result) bool {
		m := member{key: k.String(), raw: k.Raw, val: json.RawMessage(v.Raw)}
		if i, ok := at[m.key]; ok {
			ms[i] = m
			return true
		}
		at[m.key] = len(ms)
		ms = append(ms, m)
		return true
	})
	return ms
}

func object(ms []member) json.RawMessage {
	n := 2
	for _, m := range ms {
		n += len(m.raw) + len(m.val) + 2
	}
	b := make([]byte, 0, n)
	b = append(b, '{')
	for i, m := range ms {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, m.raw...)
		b = append(b, ':')
		b = append(b, m.val...)
	}
	return append(b, '}')
}

func isNull(v json.RawMessage) bool { return string(v) == "null" }

// overlay puts the members of patch over those of base; combine, which may be
// nil, makes the new value of a member that both have.
func overlay(base, patch json.RawMessage, combine func(key string, was, is json.RawMessage) json.RawMessage) []member {
	ms := members(base)
	at := make(map[string]int, len(ms))
	for i, m := range ms {
		at[m.key] = i
	}
	for _, m := range members(patch) {
		i, ok := at[m.key]
		switch {
		case !ok:
			ms = append(ms, m)
		case combine != nil:
			ms[i].val = combine(m.key, ms[i].val, m.val)
		default:
			ms[i].val = m.val
		}
	}
	return ms
}

func withoutNulls(ms []member) []member {
	kept := ms[:0]
	for _, m := range ms {
		if !isNull(m.val) {
			kept = append(kept, m)
		}
	}
	return kept
}

// mergeInput joins two tool_input patches. Nulls stay: they remove a key of the
// model's arguments.
func mergeInput(a, b json.RawMessage) json.RawMessage {
	if a == nil {
		return b
	}
	return object(overlay(a, b, nil))
}

// applyInput is the arguments after a patch.
func applyInput(args, patch json.RawMessage) json.RawMessage {
	named := map[string]bool{}
	for _, m := range members(patch) {
		named[m.key] = isNull(m.val)
	}
	var kept []member
	for _, m := range overlay(args, patch, nil) {
		if !named[m.key] {
			kept = append(kept, m)
		}
	}
	return object(kept)
}

// mergeRequest joins two llm_request patches key by key, config one level
// deeper. A null beside config's members names nothing: the base stays.
func mergeRequest(a, b json.RawMessage) json.RawMessage {
	if a == nil {
		return b
	}
	return object(overlay(a, object(withoutNulls(members(b))), func(key string, was, is json.RawMessage) json.RawMessage {
		if key == "config" && members(was) != nil {
			return object(overlay(was, is, nil))
		}
		return is
	}))
}

// applyRequest is the llm_request after a patch, as the next hook is shown it.
func applyRequest(req, patch json.RawMessage) json.RawMessage {
	merged := members(mergeRequest(req, patch))
	for i, m := range merged {
		if config := members(m.val); m.key == "config" && config != nil {
			merged[i].val = object(withoutNulls(config))
		}
	}
	return object(merged)
}

// compact removes the white space between tokens of valid JSON. Documents that
// have none, which is the rule, are found out without a copy.
func compact(doc json.RawMessage) json.RawMessage {
	if isCompact(doc) {
		return doc
	}
	var b bytes.Buffer
	if json.Compact(&b, doc) != nil {
		return doc // not JSON: the caller's business
	}
	return b.Bytes()
}

func isCompact(doc []byte) bool {
	for i := 0; i < len(doc); i++ {
		switch doc[i] {
		case ' ', '\t', '\n', '\r':
			return false
		case '"':
			for i++; i < len(doc); i++ {
				n := bytes.IndexByte(doc[i:], '"')
				if n < 0 {
					return false // not JSON, which Compact finds out
				}
				i += n
				back := 0
				for doc[i-1-back] == '\\' {
					back++ // ends at the opening quote at the latest
				}
				if back%2 == 0 {
					break
				}
			}
		}
	}
	return true
}

const hexDigits = "0123456789abcdef"

// appendString writes s as JSON.stringify does: no escapes for < > & and none
// beyond ASCII, since hooks written in shell grep their input.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
