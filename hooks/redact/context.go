package redact

import (
	"slices"
	"strings"
)

const (
	// contextReach is how far (bytes) a context word works to its right, and
	// contextBack how far to its left, if it has been read by then.
	contextReach = 100
	contextBack  = 24
	// keepLeft is how many released bytes a stream keeps for looking back.
	keepLeft = 320
)

// contextWord is a literal that supports entities.
type contextWord struct {
	kinds []entity
	n     int // bytes
}

// contextWords inverts the entity table.
func contextWords(on func(entity) bool) (words []string, of []contextWord) {
	at := map[string]int{}
	for i := range entities {
		if !on(entity(i)) && (entity(i) != phMobile || !on(phoneNumber)) {
			continue
		}
		names := strings.ToLower(strings.ReplaceAll(entities[i].name, "_", " "))
		for _, w := range append(strings.Split(entities[i].context, "|"), names, strings.ReplaceAll(names, " ", "_")) {
			if w == "" {
				continue
			}
			k, ok := at[w]
			if !ok {
				k = len(words)
				at[w] = k
				words = append(words, w)
				of = append(of, contextWord{n: len(w)})
			}
			if l := of[k].kinds; len(l) == 0 || l[len(l)-1] != entity(i) {
				of[k].kinds = append(l, entity(i))
			}
		}
	}
	return words, of
}

// sawContext notes a context word that ends before end.
func (m *scanner) sawContext(w *contextWord, end int) {
	if s := end - w.n; w.n < 6 && s > m.floor {
		p, c := m.b[s-1], m.b[s]
		if isAlnum(p) && !(isUpper(c) && isLower(p)) || p >= 0x80 && letterBefore(m.b[m.floor:s]) {
			return
		}
	}
	at := int64(end)<<1 + m.base<<1
	if w.n < 6 {
		at |= 1
	}
	to := &m.context
	if m.inName(end-w.n, end) {
		to = &m.doubt
	}
	for _, k := range w.kinds {
		to[k] = at
	}
}

// nameReach is how far (bytes) the bracket before a word in a placeholder is.
const nameReach = 64

// inName reports whether the word b[s:end] may stand in the name of a
// placeholder (<PHONE_NUMBER_1>) or a mask ([PHONE_NUMBER]), as far as what
// stands before it tells. Names tell nothing about what stands beside them: a
// text that was redacted once would be read differently the next time.
func (m *scanner) inName(s, end int) bool {
	for i := end - 1; i >= max(0, s-nameReach); i-- {
		switch c := m.b[i]; {
		case isUpper(c) || isDigit(c) || c == '_':
		default:
			return i < s && (c == '<' || c == '[')
		}
	}
	return false
}

// isName reports whether the word that ends at end, which may stand in a name,
// does.
func (m *scanner) isName(end int) bool {
	b := m.b[:min(m.i+1, len(m.b))]
	i := min(end, len(b))
	for i < len(b) && (isUpper(b[i]) || isDigit(b[i]) || b[i] == '_') {
		i++
	}
	if i >= len(b) {
		return true
	}
	switch b[i] {
	case ']':
		return true
	case ':': // [PHONE_NUMBER:5f1c0a7be94d]
		k := i + 1
		for k < len(b) && isHex(b[k]) {
			k++
		}
		return k == i+1+2*hashBytes && k < len(b) && b[k] == ']'
	case '>':
		k := i
		for k > 0 && isDigit(b[k-1]) {
			k--
		}
		return k < i && k > 0 && b[k-1] == '_'
	}
	return false
}

// near reports whether a context word of the kind stands near [s,e).
func (m *scanner) near(k entity, s, e int) bool {
	if m.nearTo(m.context[k], s, e) {
		return true
	}
	at := m.doubt[k]
	return m.nearTo(at, s, e) && !m.isName(int(at>>1-m.base))
}

// nearTo reports whether the context word that was noted as at is near.
func (m *scanner) nearTo(at int64, s, e int) bool {
	if at == 0 {
		return false
	}
	end := int(at>>1 - m.base)
	if end > s+contextBack+(e-s) || end < s-contextReach || end <= m.floor {
		return false
	}
	if at&1 != 0 && end < len(m.b) && end < m.i {
		// A short word must stand alone, but for a plural.
		if c := m.b[end]; isLetter(c) {
			plural := c == 's' && (end+1 >= m.i || !isLetter(m.b[end+1]))
			if !plural && !(isUpper(c) && isLower(m.b[end-1])) {
				return false
			}
		}
	}
	return true
}

// wait is a weak match that a context word after it may still confirm ("078051121
// is my SSN").
type wait struct {
	kind entity
	s, e int
	v    verdict
}

const (
	// contextAhead is how far (bytes) behind a match, on its line, a context
	// word may end.
	contextAhead = 40
	maxWaits     = 64
)

// settle decides, when a word ends before byte c at i, about the matches that
// wait.
func (m *scanner) settle(i int, c byte) {
	kept := m.waits[:0]
	for _, w := range m.waits {
		if m.followed(w) {
			score := max(w.v.score+0.35, minScore)
			f := w.v.match(w.kind, w.s, w.e, score)
			if score >= m.e.threshold && (m.e.allow == nil || !m.e.allow.passes(f.kind, m.b[f.s:f.e])) {
				m.insert(f)
			}
			continue
		}
		if i <= w.e+contextAhead && c != '\n' {
			kept = append(kept, w)
		}
	}
	m.waits = kept
}

// followed reports whether a context word stands behind a match that waits.
func (m *scanner) followed(w wait) bool {
	for _, at := range [2]int64{m.context[w.kind], m.doubt[w.kind]} {
		end := int(at>>1 - m.base)
		if end > w.e && end <= w.e+contextAhead && m.near(w.kind, end-contextBack, end) {
			return true
		}
	}
	return false
}

// insert puts a match where it belongs among the spans.
func (m *scanner) insert(f found) {
	k := len(m.spans)
	for k > 0 && (m.spans[k-1].s > f.s || m.spans[k-1].s == f.s && m.spans[k-1].e < f.e) {
		k--
	}
	m.spans = slices.Insert(m.spans, k, f)
	if m.swal >= k {
		m.swal++
	}
}
