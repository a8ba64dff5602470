package hooks

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// timeLayout is ISO 8601 with milliseconds, what JavaScript's toISOString gives.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Encode writes the document that a hook of Gemini CLI's dialect gets: common
// members, then fields. Fields without a value are left out.
func Encode(in *Input) []byte {
	n := 256 + len(in.SessionID) + len(in.TranscriptPath) + len(in.Cwd)
	for _, f := range in.Fields {
		n += len(f.Key) + len(f.Value) + 4
	}
	b := make([]byte, 0, n)
	b = append(b, `{"session_id":`...)
	b = appendString(b, in.SessionID)
	b = append(b, `,"transcript_path":`...)
	b = appendString(b, in.TranscriptPath)
	b = append(b, `,"cwd":`...)
	b = appendString(b, in.Cwd)
	b = append(b, `,"hook_event_name":`...)
	b = appendString(b, string(in.Event))
	b = append(b, `,"timestamp":"`...)
	b = in.Time.UTC().AppendFormat(b, timeLayout)
	b = append(b, '"')
	for _, f := range in.Fields {
		if len(f.Value) == 0 {
			continue
		}
		b = append(b, ',')
		b = appendString(b, f.Key)
		b = append(b, ':')
		b = append(b, compact(f.Value)...)
	}
	return append(b, '}')
}

// shown is what the hooks of one firing are shown. A document is made once for
// all hooks that share it: one for each dialect, and once more for hooks that
// see the system instruction.
type shown struct {
	in     *Input
	system func() *Input // with the system instruction

	mu   sync.Mutex
	docs map[docKey]func() []byte
}

type docKey struct {
	listener *Listener
	system   bool
}

func newShown(in Input) *shown {
	if in.Time.IsZero() {
		in.Time = time.Now()
	}
	s := &shown{in: &in, docs: map[docKey]func() []byte{}}
	s.system = sync.OnceValue(func() *Input {
		with := in
		with.Fields = slices.Clone(in.Fields)
		for _, f := range in.System() {
			setField(&with.Fields, f.Key, f.Value)
		}
		return &with
	})
	return s
}

// sees reports whether a hook sees the system instruction in this firing.
func (s *shown) sees(h *Hook) bool { return h.System && s.in.System != nil }

// input is the unchanged input for a hook.
func (s *shown) input(h *Hook) *Input {
	if s.sees(h) {
		return s.system()
	}
	return s.in
}

// document is the unchanged input as a hook's dialect writes it.
func (s *shown) document(h *Hook) []byte {
	key := docKey{h.listener, s.sees(h)}
	s.mu.Lock()
	doc := s.docs[key]
	if doc == nil {
		in := s.in
		if key.system {
			in = s.system()
		}
		doc = sync.OnceValue(func() []byte { return h.listener.Encode(in) })
		s.docs[key] = doc
	}
	s.mu.Unlock()
	return doc()
}

// Field is the value of a field; nil for none.
func (in *Input) Field(key string) json.RawMessage { return field(in.Fields, key) }

// Text is the text of a field that is a string; "" for others.
func (in *Input) Text(key string) string {
	if v := field(in.Fields, key); len(v) > 1 && v[0] == '"' {
		return gjson.ParseBytes(v).String()
	}
	return ""
}

func field(fields []Field, key string) json.RawMessage {
	for _, f := range fields {
		if f.Key == key {
			return f.Value
		}
	}
	return nil
}

// setField replaces a field in place, or adds it at the end.
func setField(fields *[]Field, key string, value json.RawMessage) {
	for i, f := range *fields {
		if f.Key == key {
			(*fields)[i].Value = value
			return
		}
	}
	*fields = append(*fields, Field{Key: key, Value: value})
}
