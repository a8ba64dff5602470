package rules

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Memory remembers what a model said: its calls and its signatures. The zero
// value is empty and ready. It may be used from several goroutines.
type Memory struct {
	mu    sync.Mutex
	sigs  map[string]string // signature -> fingerprint of its call, "" for other parts
	ids   map[string]string // call id -> fingerprint
	calls map[string]bool   // fingerprints
	names map[string]bool
}

// Issue remembers one part of an answer, in its final form: a call whose
// arguments are streamed is to be given whole. What is no part is ignored.
func (m *Memory) Issue(raw json.RawMessage) {
	doc, v := object(raw)
	if v != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sigs == nil {
		m.sigs, m.ids, m.calls, m.names = map[string]string{}, map[string]string{}, map[string]bool{}, map[string]bool{}
	}
	fp := ""
	if call, ok := member(doc, "functionCall").(map[string]any); ok {
		fp = fingerprint(call)
		m.calls[fp] = true
		m.names[text(call, "name")] = true
		if id := text(call, "id"); id != "" {
			m.ids[id] = fp
		}
	}
	if sig := text(doc, "thoughtSignature"); sig != "" {
		m.sigs[sig] = fp
	}
}

// check holds one part of a history against the memory. position is the one
// that the API names in its messages, from 1.
func (m *Memory) check(p part, declared map[string]bool, position int) *Violation {
	m.mu.Lock()
	defer m.mu.Unlock()
	skip := skips(p.sig)
	signed, issued := m.sigs[p.sig]
	if p.sig != "" && !skip && !issued {
		return broken(CorruptedSig, corruptedMessage)
	}
	if p.kind != "functionCall" {
		if signed != "" && p.sig != "" {
			return broken(CorruptedSig, corruptedMessage) // a call's signature on another part
		}
		return nil
	}
	call := message(p)
	name, fp := text(call, "name"), fingerprint(call)
	if len(declared) > 0 && !declared[name] && !m.names[name] {
		return broken(Undeclared, "Function call `default_api:%s` , position %d, names a function that is not declared.", name, position)
	}
	if skip {
		return nil
	}
	if signed != "" && p.sig != "" && signed != fp {
		return broken(CorruptedSig, corruptedMessage)
	}
	if byID, ok := m.ids[text(call, "id")]; ok && byID != fp || !m.calls[fp] {
		return broken(Altered, "Function call `default_api:%s` , position %d, is not as the model made it.", name, position)
	}
	return nil
}

// fingerprint is the name and the arguments of a call, without what agents are
// free to change: the order of keys and the form of numbers.
func fingerprint(call map[string]any) string {
	args := member(call, "args")
	if args == nil {
		args = map[string]any{}
	}
	var b strings.Builder
	b.WriteString(text(call, "name"))
	canonical(&b, args)
	return b.String()
}

func canonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for _, k := range keys {
			b.WriteString(strconv.Quote(k))
			b.WriteByte(':')
			canonical(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			canonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case json.Number:
		// a Struct holds doubles: 1, 1.0 and 1e0 are one number on the wire
		f, err := v.Float64()
		if err != nil {
			b.WriteString(v.String())
			return
		}
		b.WriteString(strconv.FormatFloat(f, 'g', -1, 64))
	case string:
		b.WriteString(strconv.Quote(v))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}
