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
	for _, k := range w.kinds {
		m.context[k] = at
	}
}

// near reports whether a context word of the kind stands near [s,e).
func (m *scanner) near(k entity, s, e int) bool {
	at := m.context[k]
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
		end := int(m.context[w.kind]>>1 - m.base)
		if end > w.e && end <= w.e+contextAhead && m.near(w.kind, end-contextBack, end) {
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
