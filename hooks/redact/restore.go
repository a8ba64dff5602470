package redact

import (
	"bytes"
	"strconv"
	"sync"
)

// maxPlaceholder is the longest placeholder (bytes), escapes included.
const maxPlaceholder = 120

// Restorer puts values back where a model's text has placeholders, as the text
// arrives. It takes them in any case, with Markdown's, HTML's, JSON's and the
// URL's escapes for the brackets and underscores, and cut anywhere. What the
// vault does not know stays as it is. It holds back only what may still be a
// placeholder. It is for one goroutine.
type Restorer struct {
	v    Vault
	json bool
	held []byte
	out  []byte
	nest *nesting // where in a document the text stands; nil when only one string is read
	once bool     // the value that was matched last is to be escaped once, wherever it stands
}

// Partly is a [Vault] that holds values as a string of a document has them, escapes
// of inner documents included: to write one back, one escape is enough.
type Partly interface {
	EscapedOnce(entity string, number int) bool
}

// NewRestorer makes a restorer for one lane. inJSON says that the text is a JSON
// document, from its beginning: values are escaped as its strings need it, and
// those of documents that stand in its strings.
func NewRestorer(v Vault, inJSON bool) *Restorer {
	r := &Restorer{v: v, json: inJSON}
	if inJSON {
		r.nest = &nesting{}
	}
	return r
}

// Push adds a chunk and returns what can be let out, valid until the next call.
func (r *Restorer) Push(chunk []byte) []byte {
	if len(r.held) == 0 && !bytes.ContainsAny(chunk, `<\&%`) {
		r.pass(chunk)
		return chunk
	}
	r.held = append(r.held, chunk...)
	return r.step(false)
}

// Flush returns the rest.
func (r *Restorer) Flush() []byte { return r.step(true) }

// Drop forgets what is held back.
func (r *Restorer) Drop() { r.held = r.held[:0] }

// Held is the number of bytes that are held back.
func (r *Restorer) Held() int { return len(r.held) }

// pass follows bytes that are let out as they came.
func (r *Restorer) pass(b []byte) {
	if r.nest != nil {
		r.nest.read(b)
	}
}

func (r *Restorer) step(final bool) []byte {
	b, i := r.held, 0
	r.out = r.out[:0]
	for i < len(b) {
		k := bytes.IndexAny(b[i:], `<\&%`)
		if k < 0 {
			break
		}
		r.out = append(r.out, b[i:i+k]...)
		r.pass(b[i : i+k])
		i += k
		n, value, state := r.match(b[i:])
		if state == partly && !final {
			r.held = append(r.held[:0], b[i:]...)
			return r.out
		}
		if state != wholly {
			n := 1
			if r.json && b[i] == '\\' { // an escape is one character
				if i+1 >= len(b) && !final {
					r.held = append(r.held[:0], b[i:]...)
					return r.out
				}
				n = min(2, len(b)-i)
			}
			r.out = append(r.out, b[i:i+n]...)
			r.pass(b[i : i+n])
			i += n
			continue
		}
		r.out = append(r.out, r.written(value)...)
		i += n
	}
	r.out = append(r.out, b[i:]...)
	r.pass(b[i:])
	r.held = r.held[:0]
	return r.out
}

// written is a value as its place needs it.
func (r *Restorer) written(value string) []byte {
	out := []byte(value)
	times := 0
	if r.json {
		times = 1
	}
	if r.nest != nil {
		if !r.once {
			times = r.nest.escapes()
		}
		r.nest.fresh = false
	}
	for range times {
		out = appendEscaped(nil, out)
	}
	return out
}

type matched uint8

const (
	never matched = iota
	partly
	wholly
)

// The brackets as models write them; in JSON a backslash is two.
var (
	opens      = []string{"<", `\<`, "&lt;", `\u003c`, "%3c", "&#60;"}
	closes     = []string{">", `\>`, "&gt;", `\u003e`, "%3e", "&#62;"}
	opensJSON  = []string{"<", `\\<`, "&lt;", `\u003c`, "%3c", "&#60;"}
	closesJSON = []string{">", `\\>`, "&gt;", `\u003e`, "%3e", "&#62;"}
)

// anyOf is the length of the one of words that b begins with, in any case.
func anyOf(b []byte, words []string) (int, matched) {
	state := never
	for _, w := range words {
		n := min(len(b), len(w))
		if !bytes.EqualFold(b[:n], []byte(w[:n])) {
			continue
		}
		if n == len(w) {
			return n, wholly
		}
		state = partly
	}
	return 0, state
}

// match reads the placeholder at the start of b.
func (r *Restorer) match(b []byte) (n int, value string, state matched) {
	open, end, under := opens, closes, `\_`
	if r.json {
		open, end, under = opensJSON, closesJSON, `\\_`
	}
	i, state := anyOf(b, open)
	if state != wholly {
		return 0, "", state
	}
	var name [maxPlaceholder]byte
	k := 0
	for ; ; i++ {
		if i >= len(b) {
			return 0, "", partly
		}
		c := b[i]
		if c == '\\' {
			n := min(len(under), len(b)-i)
			if string(b[i:i+n]) == under[:n] {
				if n < len(under) {
					return 0, "", partly
				}
				i += n - 2 // the underscore is read next
				continue
			}
		}
		if !isAlnum(c) && c != '_' {
			break
		}
		if k == maxPlaceholder {
			return 0, "", never
		}
		name[k] = toUpper(c)
		k++
	}
	u := bytes.LastIndexByte(name[:k], '_')
	if u <= 0 || u+1 == k || k-u > 9 || !isLetter(name[0]) {
		return 0, "", never
	}
	num, err := strconv.Atoi(string(name[u+1 : k]))
	if err != nil {
		return 0, "", never
	}
	w, state := anyOf(b[i:], end)
	if state != wholly {
		return 0, "", state
	}
	value, ok := r.v.Value(string(name[:u]), num)
	if !ok {
		return 0, "", never
	}
	partial, ok := r.v.(Partly)
	r.once = ok && partial.EscapedOnce(string(name[:u]), num)
	return i + w, value, wholly
}

// Restore puts the values back in a whole text. It returns s itself when there
// is nothing to restore.
func Restore(s []byte, v Vault) []byte {
	if !bytes.ContainsAny(s, `<\&%`) {
		return s
	}
	r := Restorer{v: v, held: s}
	return r.step(true)
}

// RestoreJSON puts the values back in the strings of a JSON document, keys
// left alone. It returns raw itself when there is nothing to restore; the
// error is [ErrJSON].
func RestoreJSON(raw []byte, v Vault) ([]byte, error) {
	out, err := edit(raw, func(tok, _ []byte) []byte {
		if tok[0] != '"' || !bytes.ContainsAny(tok, `<\&%`) {
			return nil
		}
		r := Restorer{v: v, json: true, held: bytes.Clone(tok[1 : len(tok)-1])}
		s := r.step(true)
		if bytes.Equal(s, tok[1:len(tok)-1]) {
			return nil
		}
		return append(append([]byte{'"'}, s...), '"')
	})
	if err != nil {
		return nil, err
	}
	if out == nil {
		return raw, nil
	}
	return out, nil
}

// MemoryVault is a [Vault] in memory, for one session. It is safe for
// concurrent use. The zero value holds any number of values.
type MemoryVault struct {
	// Max is how many values it holds; 0 for no limit.
	Max int

	mu     sync.Mutex
	values map[vaultKey]int
	back   map[string][]string // by entity
	n      int
}

type vaultKey struct{ entity, value string }

// Placeholder implements [Vault].
func (m *MemoryVault) Placeholder(entity string, value []byte) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n, ok := m.values[vaultKey{entity, string(value)}]; ok {
		return n
	}
	if m.Max > 0 && m.n >= m.Max {
		return 0
	}
	if m.values == nil {
		m.values, m.back = map[vaultKey]int{}, map[string][]string{}
	}
	m.n++
	m.back[entity] = append(m.back[entity], string(value))
	n := len(m.back[entity])
	m.values[vaultKey{entity, string(value)}] = n
	return n
}

// Value implements [Vault].
func (m *MemoryVault) Value(entity string, number int) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.back[entity]; number >= 1 && number <= len(b) {
		return b[number-1], true
	}
	return "", false
}
