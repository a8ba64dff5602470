package redact

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrJSON says that a document is no JSON, or nested too deeply. It never
// holds the document's bytes.
var ErrJSON = errors.New("redact: malformed JSON")

// maxDepth is how deep a JSON document may be nested.
const maxDepth = 1000

// JSONResult is what became of a JSON document.
type JSONResult struct {
	JSON    []byte
	Matches map[string]int // found, by entity; nil for none
	Leaves  int            // strings and numbers that were scanned
	Blocked bool
}

// JSON redacts the strings of a JSON document, and numbers of nine digits and
// more. Keys stay as they are and serve as context. Bytes outside what is
// replaced stay the same; JSON is raw itself when nothing changed. The error
// is [ErrJSON].
func (e *Engine) JSON(raw []byte, v Vault) (JSONResult, error) {
	if !json.Valid(raw) {
		return JSONResult{}, ErrJSON
	}
	r := JSONResult{JSON: raw}
	var l leaf
	out, err := edit(raw, func(tok, key []byte) []byte {
		r.Leaves++
		return e.leaf(&l, tok, key, v, &r)
	})
	if err != nil {
		return JSONResult{}, err
	}
	if out != nil {
		r.JSON = out
	}
	return r, nil
}

// leaf is the scratch space for one value of a JSON document.
type leaf struct {
	text []byte // the key, a sign, and the decoded value
	at   []int  // raw offset of each byte of text after the key
}

// leaf redacts one value, a string with its quotes or a number; nil for no
// change.
func (e *Engine) leaf(l *leaf, tok, key []byte, v Vault, r *JSONResult) []byte {
	quoted := tok[0] == '"'
	if !quoted && len(tok) < 9 {
		return nil
	}
	l.text = appendContext(l.text[:0], key)
	from := len(l.text)
	inner := tok
	if quoted {
		inner = tok[1 : len(tok)-1]
	}
	escaped := slices.Contains(inner, '\\')
	if escaped {
		l.text = unescape(l.text, inner, nil)
	} else {
		l.text = append(l.text, inner...)
	}
	m := e.scanLeaf(l.text, from)
	defer m.release()
	if len(m.spans) == 0 {
		return nil
	}
	l.at = l.at[:0]
	if escaped {
		_ = unescape(nil, inner, &l.at)
	} else {
		for i := range len(inner) {
			l.at = append(l.at, i)
		}
	}
	l.at = append(l.at, len(inner))
	if r.Matches == nil {
		r.Matches = map[string]int{}
	}
	var out, rep []byte
	done := 0
	for _, f := range e.resolve(m.spans, nil) {
		r.Matches[e.name(f.kind)]++
		act := e.acts.action(f.kind)
		r.Blocked = r.Blocked || act == Block
		if act == Report {
			continue
		}
		val := l.text[f.s:f.e]
		if len(val) > maxKept {
			val = nil
		}
		rep = e.replace(rep[:0], f.kind, val, v)
		if out == nil {
			out = append(out, '"')
		}
		out = append(out, inner[done:l.at[f.s-from]]...)
		out = appendEscaped(out, rep)
		done = l.at[f.e-from]
	}
	if out == nil {
		return nil
	}
	return append(append(out, inner[done:]...), '"')
}

// maxKey is how much (bytes) of a key is read as context.
const maxKey = 64

// appendContext appends the name of a field as the scanner wants to see it.
func appendContext(dst, key []byte) []byte {
	key = key[max(0, len(key)-maxKey):]
	return append(append(dst, key...), ` = "`...)
}

// scanLeaf scans text[from:] with what stands before it as context.
func (e *Engine) scanLeaf(text []byte, from int) *scanner {
	m := pool.Get().(*scanner)
	m.reset(e)
	m.b = text[:from]
	m.run(false)
	m.begin()
	m.b = text
	m.run(true)
	if value := text[from:]; m.password(from) && wholePassword(value) {
		m.spans = append(m.spans[:0], found{s: from, e: len(text), kind: int32(numEntities) + int32(m.e.ruleNumber["PASSWORD"]), score: 1})
	}
	return m
}

// wholePassword judges the value of a field that is named as a password.
func wholePassword(v []byte) bool { return len(v) >= 4 && (len(v) > maxKept || !isPlaceholder(v)) }

// begin starts the text proper after its context was read.
func (m *scanner) begin() {
	m.word, m.chain, m.swal, m.long = -1, -1, -1, longSecret{}
	m.hits, m.spans = m.hits[:0], m.spans[:0]
	m.named = m.assign
}

// password reports whether the field that ends at from is named as one that
// holds a password: then all of its value is one.
func (m *scanner) password(from int) bool {
	h := m.named
	return h.end > 0 && secretNames[m.e.literals[h.literal].index].kind == namesPassword && h.end >= from-len(` = "`)-1
}

// unescape appends the decoded inside of a JSON string to dst. at, if not nil,
// gets the offset in raw of each byte instead.
func unescape(dst, raw []byte, at *[]int) []byte {
	put := func(i int, bs ...byte) {
		if at != nil {
			for range bs {
				*at = append(*at, i)
			}
			return
		}
		dst = append(dst, bs...)
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			put(i, raw[i])
			continue
		}
		start := i
		i++
		switch c := raw[i]; c {
		case 'n':
			put(start, '\n')
		case 't':
			put(start, '\t')
		case 'r':
			put(start, '\r')
		case 'b':
			put(start, '\b')
		case 'f':
			put(start, '\f')
		case 'u':
			r := hex4(raw, i+1)
			i += 4
			if utf16.IsSurrogate(r) && i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				if p := utf16.DecodeRune(r, hex4(raw, i+3)); p != utf8.RuneError {
					r = p
					i += 6
				}
			}
			put(start, utf8.AppendRune(nil, r)...)
		default:
			put(start, c)
		}
	}
	return dst
}

func hex4(b []byte, i int) rune {
	if i+4 > len(b) {
		return utf8.RuneError
	}
	r := rune(0)
	for _, c := range b[i : i+4] {
		switch {
		case isDigit(c):
			r = r<<4 | rune(c-'0')
		case isHex(c):
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return utf8.RuneError
		}
	}
	return r
}

// appendEscaped appends s as the inside of a JSON string.
func appendEscaped(dst, s []byte) []byte {
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// edit calls change for every string and number that is a value, with the key
// it stands under (nil for none), and splices in what it returns. It returns
// nil if nothing changed.
func edit(raw []byte, change func(tok, key []byte) []byte) ([]byte, error) {
	var out []byte
	done := 0
	type level struct {
		object bool
		key    []byte
	}
	var stack []level
	wantKey, values := false, 0
	for i := 0; i < len(raw); {
		c := raw[i]
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			i++
			continue
		case c == '{' || c == '[':
			if len(stack) >= maxDepth {
				return nil, ErrJSON
			}
			var key []byte
			if n := len(stack); n > 0 {
				key = stack[n-1].key
			}
			stack = append(stack, level{c == '{', key})
			wantKey = c == '{'
			i++
			continue
		case c == '}' || c == ']':
			if len(stack) == 0 || stack[len(stack)-1].object != (c == '}') {
				return nil, ErrJSON
			}
			stack = stack[:len(stack)-1]
			wantKey = false
			i++
			continue
		case c == ',':
			if len(stack) == 0 {
				return nil, ErrJSON
			}
			wantKey = stack[len(stack)-1].object
			i++
			continue
		case c == ':':
			wantKey = false
			i++
			continue
		}
		end := tokenEnd(raw, i)
		if end < 0 {
			return nil, ErrJSON
		}
		tok := raw[i:end]
		if wantKey {
			if c != '"' {
				return nil, ErrJSON
			}
			stack[len(stack)-1].key = tok[1 : len(tok)-1]
			i = end
			continue
		}
		values++
		if c == '"' || isDigit(c) || c == '-' {
			var key []byte
			if n := len(stack); n > 0 {
				key = stack[n-1].key
			}
			if rep := change(tok, key); rep != nil {
				out = append(append(out, raw[done:i]...), rep...)
				done = end
			}
		}
		i = end
	}
	if len(stack) > 0 {
		return nil, ErrJSON
	}
	if done == 0 {
		return nil, nil
	}
	return append(out, raw[done:]...), nil
}

// tokenEnd is the end of the string, number or word at i, -1 if it has none.
func tokenEnd(raw []byte, i int) int {
	if raw[i] != '"' {
		j := i
		for j < len(raw) && (isAlnum(raw[j]) || raw[j] == '-' || raw[j] == '+' || raw[j] == '.') {
			j++
		}
		if j == i {
			return -1
		}
		return j
	}
	for j := i + 1; j < len(raw); j++ {
		switch raw[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return -1
}
