package redact

import "unicode/utf8"

// Stream redacts one lane of text that arrives in chunks: the text of one
// candidate, its thoughts, one argument of a call. It holds back what may
// still become part of a match; what it lets out is, put together, exactly
// what [Engine.Redact] makes of the whole text, however the chunks were cut.
// It is for one goroutine.
type Stream struct {
	m     scanner
	vault Vault

	begun bool // past the first bytes that might be all there is
	from  int  // index in m.b of the first byte that was not let out
	out   []byte
	buf   []byte

	spans   []found
	prefix  int64 // bytes of context before the text, not part of it
	blocked bool
	field   bool // the lane is the value of a field for a password
	// keep collects the spans with offsets in the text if Collect was set.
	keep    []Span
	collect bool
}

// Stream begins a lane. v may be nil: placeholders are masks then.
func (e *Engine) Stream(v Vault) *Stream {
	s := &Stream{vault: v}
	s.m.reset(e)
	return s
}

// Reset makes the stream begin anew.
func (s *Stream) Reset() {
	e := s.m.e
	s.m.reset(e)
	s.begun, s.from, s.prefix, s.blocked, s.field = false, 0, 0, false, false
	s.out, s.buf, s.keep = s.out[:0], s.buf[:0], nil
}

// Context puts the name of a field before the text: it is not part of it, but
// it is read as if it stood there ("ssn" before a number). It is to be called
// before the first Push.
func (s *Stream) Context(name []byte) {
	s.buf = appendContext(s.buf, name)
	s.m.b = s.buf
	s.m.run(false)
	s.m.begin()
	s.from = len(s.buf)
	s.prefix = int64(len(s.buf))
	s.begun = true
	s.field = s.m.password(s.from)
}

// Collect makes the stream keep its spans for [Stream.Spans].
func (s *Stream) Collect() { s.collect = true }

// Spans are the matches so far (see [Stream.Collect]), with offsets in all
// that was pushed.
func (s *Stream) Spans() []Span { return s.keep }

// Blocked reports whether something was found whose action is block.
func (s *Stream) Blocked() bool { return s.blocked }

// Held is the number of bytes that are held back.
func (s *Stream) Held() int { return len(s.buf) - s.from }

// Push adds a chunk and returns what can be let out, which is valid until the
// next call.
func (s *Stream) Push(chunk []byte) []byte {
	if s.field {
		room := max(0, maxKept+1-s.Held())
		s.buf = append(s.buf, chunk[:min(room, len(chunk))]...)
		return nil
	}
	s.compact()
	s.buf = append(s.buf, chunk...)
	return s.step(false)
}

// Flush ends the lane and returns the rest.
func (s *Stream) Flush() []byte { return s.step(true) }

// Drop ends the lane and forgets what was held back, as after an abort.
func (s *Stream) Drop() { s.Reset() }

func (s *Stream) step(final bool) []byte {
	m := &s.m
	m.b = s.buf
	s.out = s.out[:0]
	if !s.begun {
		state := bareness(s.buf)
		if state != notBare && !final {
			return nil
		}
		m.bare = state == isBare
		s.begun = true
	}
	m.run(final)
	if s.field && wholePassword(s.buf[s.from:]) {
		m.spans = append(m.spans[:0], found{s: s.from, e: len(s.buf), kind: int32(numEntities) + int32(m.e.ruleNumber["PASSWORD"]), score: 1})
	}
	to := m.uncut(m.open())
	if !final {
		to = wholeRune(s.buf, to, s.from)
	}
	s.render(to)
	return s.out
}

// wholeRune moves to back to the start of the character that it cuts, be it that
// its rest has not come or that it stands in b.
func wholeRune(b []byte, to, from int) int {
	for i := to - 1; i >= from && to-i < utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if cutsRune(b, i, to) {
				return i
			}
			break
		}
	}
	return to
}

// cutsRune reports whether the character that starts at i goes on behind to.
func cutsRune(b []byte, i, to int) bool {
	if !utf8.FullRune(b[i:]) {
		return true
	}
	_, n := utf8.DecodeRune(b[i:])
	return i+n > to
}

// render lets out s.buf[s.from:to] with the matches in it replaced.
func (s *Stream) render(to int) {
	m := &s.m
	done := 0
	for done < len(m.spans) && m.spans[done].e <= to && m.swal != done {
		done++
	}
	if done > 0 {
		s.spans = m.e.resolve(m.spans[:done], s.spans[:0])
		if s.collect {
			s.keep = append(s.keep, m.e.report(m.spans[:done], m.base-s.prefix)...)
		}
		for _, f := range s.spans {
			act := m.e.acts.action(f.kind)
			s.blocked = s.blocked || act == Block
			if act == Report {
				continue
			}
			v := s.buf[f.s:f.e]
			if len(v)+f.lost > maxKept {
				v = nil
			}
			s.out = m.e.replace(append(s.out, s.buf[s.from:f.s]...), f.kind, v, s.vault)
			s.from = f.e
		}
		m.spans = append(m.spans[:0], m.spans[done:]...)
		if m.swal >= 0 {
			m.swal -= done
		}
	}
	if to > s.from {
		s.out = append(s.out, s.buf[s.from:to]...)
		s.from = to
	}
}

// forget drops the middle of a secret that has become too long to be kept.
func (s *Stream) forget() {
	m := &s.m
	k := m.swal
	if m.long.state == longBody {
		k = len(m.spans) - 1
	}
	if k < 0 {
		return
	}
	f := &m.spans[k]
	a, b := f.s+keepLeft, min(m.i, f.e)-keepLeft
	if b-a < 2*maxKept {
		return
	}
	n := b - a
	s.buf = append(s.buf[:a], s.buf[b:]...)
	m.i -= n
	m.base += int64(n)
	f.e -= n
	f.lost += n
	m.assign.end, m.pending, m.hits = 0, m.pending[:0], m.hits[:0]
}

// compactAt is how many released bytes a stream lets pile up.
const compactAt = 4096

// compact drops released bytes that no rule looks back at.
func (s *Stream) compact() {
	s.forget()
	n := s.from - keepLeft - 64
	if n < compactAt {
		return
	}
	m := &s.m
	s.buf = append(s.buf[:0], s.buf[n:]...)
	s.from -= n
	m.base += int64(n)
	m.i -= n
	m.floor = max(0, m.floor-n)
	for _, p := range []*int{&m.word, &m.chain, &m.end, &m.long.s, &m.long.key} {
		if *p >= n {
			*p -= n
		}
	}
	if m.assign.end > 0 {
		if m.assign.end -= n; m.assign.end < 1 {
			m.assign.end = 0
		}
	}
	for i := range m.waits {
		m.waits[i].s -= n
		m.waits[i].e -= n
	}
	for i := range m.hits {
		m.hits[i].end -= n
	}
	for i := range m.pending {
		m.pending[i].end -= n
	}
	for i := range m.spans {
		m.spans[i].s -= n
		m.spans[i].e -= n
	}
}
