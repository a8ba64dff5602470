package redact

import "slices"

// found is a match in the buffer of a scanner.
type found struct {
	s, e  int
	kind  int32 // an entity, or numEntities plus the number of a secret rule
	score float32
	lost  int // bytes of it that the buffer has no more
}

// hit is a literal that ends at end.
type hit struct {
	literal int32
	end     int
}

// Limits of a scan, in bytes. They bound memory and work; they are part of
// what a match is, so that the size of chunks changes nothing.
const (
	softCut  = 64   // a word this long ends at the next punctuation mark
	wordCap  = 1024 // a word this long is looked at as it is
	chainCap = 128  // a chain of groups this long is looked at and shortened
	chainTip = 48   // what then stays
)

// scanner reads text once, from left to right, and finds what is to be
// redacted. It cuts text into segments - a word, or several short words that
// may be one identifier written in groups - at places that depend on the text
// alone, never on how it arrived. A segment is searched when it is complete,
// with the bytes before it and the one byte after it in view. Hence a stream
// finds exactly what a scan of the whole text finds.
type scanner struct {
	e    *Engine
	b    []byte
	base int64 // offset of b[0] in the text
	i    int   // next byte to read

	state   uint16 // of the literal automaton
	word    int    // start of the open word, -1 for none
	mask    uint32 // classes of its bytes
	chain   int    // start of the open chain, -1 for none
	end     int    // end of the chain's last word
	chained uint32 // classes of the chain's bytes
	join    uint8  // what may follow

	floor int  // nothing before is looked at
	bare  bool // the text is nothing but identifiers

	hits    []hit  // in the open segment
	waits   []wait // weak matches that a context word may follow
	pending []hit  // keywords whose values may follow
	assign  hit    // the last word that names a secret; end is 0 for none
	named   hit    // the one in the name of the field
	// context is where the last word for an entity ends, and doubt where one does
	// that may be in the name of a placeholder.
	context, doubt [numEntities]int64

	long   longSecret
	swal   int // index in spans of the match that goes on, -1 for none
	spans  []found
	local  []found // of the segment in work
	groups []group
	tried  []tried // rules, in the segment in work
	cand   candidate
	phones int // phone numbers checked so far
}

const (
	joinNone uint8 = iota
	joinDigit
	joinUpper // a digit or a capital letter
	joinAny   // letters too
)

func (m *scanner) reset(e *Engine) {
	old := *m
	*m = scanner{e: e, word: -1, chain: -1, swal: -1}
	m.spans, m.local, m.hits, m.pending = old.spans[:0], old.local[:0], old.hits[:0], old.pending[:0]
	m.groups, m.tried, m.waits = old.groups[:0], old.tried[:0], old.waits[:0]
}

// run reads b to its end; final says that nothing follows.
func (m *scanner) run(final bool) {
	b, lit := m.b, m.e.lit
	for m.i < len(b) {
		if m.long.state != longNone {
			if !m.runLong(final) {
				break
			}
			continue
		}
		if m.swal >= 0 {
			m.swallow()
			continue
		}
		m.scan(b, lit)
	}
	if !final {
		return
	}
	if m.long.state != longNone {
		m.endLong()
		if m.i < len(b) {
			m.run(true)
			return
		}
	}
	m.i = len(b)
	m.closeWord(m.i, '\n')
	m.closeChain()
	m.settle(m.i, '\n')
	m.swal = -1
}

// scan is the inner loop; it returns at the end of b or when a long secret
// begins. Its innermost part runs over the bytes of a word: one load for the
// classes of a byte, one for the automaton.
func (m *scanner) scan(b []byte, lit *literals) {
	state, mask := uint(m.state), m.mask
	next, shift, table := lit.next, lit.shift&31, &lit.table
	i := m.i
	for i < len(b) {
		end := i + 1
		switch c := b[i]; {
		case table[c]&cDelim != 0:
			if m.word >= 0 || m.chain >= 0 || c == '\n' && len(m.waits) > 0 {
				m.i, m.mask = i, mask
				m.delimiter(c)
			}
			mask = 0
		case m.word < 0 && (escaped(b, i+1) || noBreak(b, i+1)):
			mask = 0 // the letter of "\n" in a string, the rest of a blank
		case m.word < 0:
			if m.chain >= 0 && !m.mayJoin(c, class[c]) {
				m.i, m.mask = i, 0
				m.closeChain()
			}
			m.word, mask = i, 0
			end = min(len(b), i+softCut)
		case i-m.word < softCut:
			end = min(len(b), m.word+softCut)
		case i-m.word >= wordCap || isMark(c) && !m.inURL(i):
			m.i, m.mask = i, mask
			whole := i-m.word >= wordCap
			m.cut(whole)
			mask = 0
			if m.swal >= 0 {
				m.word, m.state, m.mask = -1, 0, 0
				return
			}
			m.word = -1 // a mark is let out, and still read by the automaton
			if whole {
				m.word = i
			}
		}
		for {
			k := table[b[i]]
			if k&cDelim != 0 && m.word >= 0 {
				break
			}
			mask |= k & classMask
			v := uint(next[state<<shift|uint(k>>clsShift)])
			state = v &^ acceptBit
			i++
			if v != state {
				m.i, m.mask = i, mask
				if m.sawLiterals(lit.out[state], i) {
					m.state = 0
					return
				}
			}
			if i >= end {
				break
			}
		}
	}
	m.i, m.state, m.mask = i, uint16(state), mask
}

// escaped reports whether b[:i] ends in an escape of a string for white space.
func escaped(b []byte, i int) bool {
	return i >= 2 && b[i-2] == '\\' && (b[i-1] == 'n' || b[i-1] == 'r' || b[i-1] == 't')
}

// noBreak reports whether b[:i] ends in a no-break space (U+00A0).
func noBreak(b []byte, i int) bool { return i >= 2 && b[i-1] == 0xa0 && b[i-2] == noBreakLead }

// noBreakLead is the first byte of a no-break space. As the byte that ends a
// word it counts as a blank; if another character follows, no chain goes on.
const noBreakLead = 0xc2

func isBlank(c byte) bool { return c == ' ' || c == noBreakLead }

// mayJoin reports whether a word that begins with c may belong to the chain.
func (m *scanner) mayJoin(c byte, k uint32) bool {
	switch {
	case m.e.lines:
		return true
	case k&cDigit != 0:
		return true
	case m.join >= joinUpper && k&cUpper != 0:
		return true
	case m.join == joinAny:
		return k&(cLower|cParen) != 0 || c == '+'
	}
	return c == '(' && m.chained&cDigit != 0
}

// delimiter ends the open word before byte c, which m.i points to.
func (m *scanner) delimiter(c byte) {
	switch {
	case m.word >= 0:
		m.closeWord(m.i, c)
	case !m.e.lines || c == '\n':
		m.closeChain() // a second blank
	}
	if len(m.waits) > 0 {
		m.settle(m.i, c)
	}
}

// closeWord ends the open word at e, before byte c, and decides what becomes
// of it: part of the open chain, the start of one, or a segment of its own.
func (m *scanner) closeWord(e int, c byte) {
	if m.word < 0 {
		return
	}
	w, mask := m.word, m.mask
	m.word = -1
	n := e - w
	if m.e.lines {
		m.line(w, e, mask, c)
		return
	}
	if m.chain >= 0 {
		if mask&cDigit == 0 && n > 4 || n > 40 {
			m.closeChain()
		} else if mask&^cGroup != 0 {
			// Its head may still belong to the chain ("1881," or "0132;").
			m.chained |= mask
			m.end = e
			m.closeChain()
			return
		} else {
			m.extend(w, e, mask, c)
			return
		}
	}
	if isBlank(c) && mask&^cGroup == 0 && n <= 40 && (mask&cDigit != 0 || mask&^cLetter == 0 && n <= 4) {
		m.chain, m.chained = w, 0
		m.extend(w, e, mask, c)
		return
	}
	if mask&(cDigit|cAt) != 0 || m.e.on[urlEntity] && mask&cDot != 0 || n >= 17 && mask&(cColon|cDash) != 0 || m.expectant() {
		m.segment(w, e, mask)
	}
}

// line makes the word part of the line, the segment of engines that have rules
// for more than a word.
func (m *scanner) line(w, e int, mask uint32, c byte) {
	if m.chain < 0 {
		m.chain, m.chained = w, 0
	}
	m.chained |= mask
	m.end = e
	if c == '\n' {
		m.closeChain()
	} else if e-m.chain > lineCap {
		m.shorten()
	}
}

// extend adds a word to the chain and says what may follow it.
func (m *scanner) extend(w, e int, mask uint32, c byte) {
	m.chained |= mask
	m.end = e
	last := m.b[e-1]
	if !isBlank(c) || !isAlnum(last) && last != ')' {
		m.closeChain()
		return
	}
	switch {
	case mask&cDigit != 0:
		m.join = joinAny
	case mask&cLower == 0:
		m.join = joinUpper
	default:
		m.join = joinDigit
	}
	if e-m.chain > chainCap {
		m.shorten()
	}
}

// closeChain searches the open chain.
func (m *scanner) closeChain() {
	if m.chain < 0 {
		return
	}
	a, e, mask := m.chain, m.end, m.chained
	m.chain = -1
	if mask&cDigit != 0 || m.expectant() {
		m.segment(a, e, mask)
	}
}

// shorten searches a chain that has become too long, and keeps its last words
// open, from a place that no match crosses.
func (m *scanner) shorten() {
	waiting := len(m.waits)
	m.search(m.chain, m.end, m.chained)
	cut := m.end - chainTip
	if m.e.lines {
		cut = m.end - lineTip
	}
	for moved := true; moved; {
		moved = false
		for _, f := range m.local {
			if f.s < cut && cut < f.e {
				cut, moved = f.s, true
			}
		}
	}
	for cut > m.chain && m.b[cut-1] != ' ' && !noBreak(m.b, cut) {
		cut--
	}
	if cut <= m.chain { // one match from the very start
		cut = m.end
	}
	kept := m.local[:0]
	for _, f := range m.local {
		if f.e <= cut {
			kept = append(kept, f)
		}
	}
	m.local = kept
	m.commit(cut)
	n := waiting
	for _, w := range m.waits[waiting:] {
		if w.e <= cut {
			m.waits[n] = w
			n++
		}
	}
	m.waits = m.waits[:n]
	m.chain = cut
	if cut == m.end {
		m.chain = -1
	}
}

// cut ends the open word at m.i though it goes on; whole says that it was cut
// for its length alone, so that a match at its end goes on, too.
func (m *scanner) cut(whole bool) {
	if m.chain >= 0 {
		m.closeChain()
	}
	w, e := m.word, m.i
	before := len(m.spans)
	m.segment(w, e, m.mask)
	if whole && len(m.spans) > before && m.spans[len(m.spans)-1].e == e && isToken(m.b[e]) {
		m.swal = len(m.spans) - 1
	}
}

// swallow extends the last match over the token that it is part of.
func (m *scanner) swallow() {
	b, i := m.b, m.i
	for i < len(b) && isToken(b[i]) {
		i++
	}
	m.spans[m.swal].e = i
	m.i = i
	if i < len(b) {
		m.swal = -1
		m.state = 0
	}
}

// expectant reports whether a segment is to be searched whatever it holds.
func (m *scanner) expectant() bool {
	return len(m.hits) > 0 || len(m.pending) > 0 || m.assign.end > 0 || m.e.wordRules
}

// isMark reports the punctuation at which a very long word may be cut.
func isMark(c byte) bool {
	switch c {
	case ',', ';', '{', '}', '[', ']', '|', '(', ')', '\'', '!':
		return true
	}
	return false
}

// inURL reports whether the open word is a URL, in which marks are common.
func (m *scanner) inURL(i int) bool {
	if m.mask&cColon == 0 && class[m.b[i-1]]&cColon == 0 {
		return false
	}
	for _, h := range m.hits {
		if m.e.literals[h.literal].use == useURL && h.end > m.word {
			return true
		}
	}
	return false
}

// segment searches b[a:e] and keeps what it finds.
func (m *scanner) segment(a, e int, mask uint32) {
	m.search(a, e, mask)
	m.commit(e)
}

// commit moves the matches of the segment in work to the spans, longest first
// where they overlap in the same kind, and forgets the hits before e.
func (m *scanner) commit(e int) {
	if len(m.local) > 0 {
		slices.SortFunc(m.local, func(x, y found) int {
			if x.s != y.s {
				return x.s - y.s
			}
			if x.e != y.e {
				return y.e - x.e
			}
			return int(x.kind - y.kind)
		})
		for _, f := range m.local {
			f.s = wholeRune(m.b, f.s, 0) // a word may begin behind the first byte of a character
			m.spans = append(m.spans, f)
		}
		m.local = m.local[:0]
	}
	if len(m.hits) > 0 {
		kept := m.hits[:0]
		for _, h := range m.hits {
			if h.end > e {
				kept = append(kept, h)
			}
		}
		m.hits = kept
	}
}

// add notes a match, unless one of its kind covers it already.
func (m *scanner) add(f found) {
	for i, o := range m.local {
		if o.kind == f.kind && o.s <= f.s && f.e <= o.e {
			return
		}
		if o.kind == f.kind && f.s <= o.s && o.e <= f.e {
			m.local[i] = f
			return
		}
	}
	m.local = append(m.local, f)
}

// search fills m.local with the matches in b[a:e].
func (m *scanner) search(a, e int, mask uint32) {
	m.local, m.tried = m.local[:0], m.tried[:0]
	m.floor = max(0, a-keepLeft)
	if len(m.hits) > 0 || len(m.pending) > 0 || m.assign.end > 0 {
		m.secrets(a, e, mask)
	}
	if mask&cAt != 0 {
		m.emails(a, e)
	}
	if mask&(cDot|cColon|cDash) != 0 && (mask&cDigit != 0 || e-a >= 17) {
		m.addresses(a, e, mask)
	}
	if mask&cDigit != 0 {
		m.groups = groupsOf(m.b, a, e, m.groups[:0])
		digits, longest := 0, 0
		for i := range m.groups {
			g := &m.groups[i]
			digits += g.digits
			longest = max(longest, g.e-g.s)
		}
		m.identifiers(e)
		if digits >= 7 {
			m.phoneNumbers(a, e)
		}
		if longest >= 26 {
			m.wallets(e)
		}
	}
	if m.e.on[urlEntity] && mask&cDot != 0 {
		m.urls(a, e, mask)
	}
	if len(m.e.user) > 0 {
		m.userRules(a, e)
	}
	if m.e.allow != nil {
		m.allowed()
	}
}

// uncut moves to back to the start of the matches that it cuts: a weak match
// that waits may begin within a sure one.
func (m *scanner) uncut(to int) int {
	for moved := true; moved; {
		moved = false
		for _, f := range m.spans {
			if f.s < to && to < f.e {
				to, moved = f.s, true
			}
		}
	}
	return to
}

// open is the first byte (an index of b) that may still become part of a
// match.
func (m *scanner) open() int {
	at := m.i
	switch {
	case m.swal >= 0:
		at = m.spans[m.swal].s
	case m.long.state != longNone:
		at = m.long.s
	case m.chain >= 0:
		at = m.chain
	case m.word >= 0:
		at = m.word
	}
	for _, w := range m.waits {
		at = min(at, w.s)
	}
	return at
}
