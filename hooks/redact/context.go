package redact

import "strings"

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
