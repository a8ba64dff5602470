package hooks

import (
	"encoding/json"
	"sync"
	"time"
)

// timeLayout is ISO 8601 with milliseconds, what JavaScript's toISOString gives.
const timeLayout = "2006-01-02T15:04:05.000Z"

// encode writes the document that a hook gets: common members, then fields.
// Fields without a value are left out.
func encode(in *Input, fields []Field) []byte {
	n := 256 + len(in.SessionID) + len(in.TranscriptPath) + len(in.Cwd)
	for _, f := range fields {
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
	for _, f := range fields {
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

// shown is what the hooks of one firing are shown. The document is made once
// for all hooks that share it, and once more for hooks that see the system
// instruction.
type shown struct {
	in     *Input
	fields func() []Field // with the system instruction
	plain  func() []byte
	system func() []byte
}

func newShown(in Input) *shown {
	if in.Time.IsZero() {
		in.Time = time.Now()
	}
	s := &shown{in: &in}
	s.plain = sync.OnceValue(func() []byte { return encode(s.in, s.in.Fields) })
	s.fields = sync.OnceValue(func() []Field {
		fields := append([]Field(nil), in.Fields...)
		for _, f := range in.System() {
			setField(&fields, f.Key, f.Value)
		}
		return fields
	})
	s.system = sync.OnceValue(func() []byte { return encode(s.in, s.fields()) })
	return s
}

// sees reports whether a hook sees the system instruction in this firing.
func (s *shown) sees(h *Hook) bool { return h.System && s.in.System != nil }

// document is the unchanged input for a hook.
func (s *shown) document(h *Hook) []byte {
	if s.sees(h) {
		return s.system()
	}
	return s.plain()
}

func (s *shown) base(h *Hook) []Field {
	if s.sees(h) {
		return s.fields()
	}
	return s.in.Fields
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
