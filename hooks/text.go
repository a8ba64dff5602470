package hooks

import "encoding/json"

// What dialects of other packages need to read and write documents as this one
// does.

// Members are the members of a JSON object in order, nil for what is no object.
// Of several with one key the last counts. Values are as they were written.
func Members(doc json.RawMessage) []Field {
	if asObject(doc) == nil {
		return nil
	}
	return fieldsOf(doc)
}

// Object writes a JSON object on one line. Members without a value are left out.
func Object(fields []Field) json.RawMessage {
	b := []byte{'{'}
	for _, f := range fields {
		if len(f.Value) == 0 {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = appendString(b, f.Key)
		b = append(b, ':')
		b = append(b, compact(f.Value)...)
	}
	return append(b, '}')
}

// Quote writes a JSON string, with no more escapes than JSON.stringify has.
func Quote(s string) json.RawMessage { return appendString(nil, s) }

// CleanText is what a process printed, as text: valid UTF-8 without white space
// and byte order mark round it.
func CleanText(b []byte) []byte { return cleanText(b) }

// NoticeText makes a message for people safe for logs and terminals.
func NoticeText(s string) string { return noticeText(s) }

// HoldsObject finds the JSON answer that somebody printed other text with.
func HoldsObject(text []byte) bool { return holdsObject(text) }
