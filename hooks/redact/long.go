package redact

import "bytes"

// longSecret is a PEM private key on its way through the scanner. From its
// header on nothing of it is kept but the header.
type longSecret struct {
	state longState
	s     int // where the header begins
	key   int // where its first line of key material begins
}

type longState uint8

const (
	longNone   longState = iota
	longHeader           // in "-----BEGIN ... PRIVATE KEY-----"
	longLead             // before the first line of key material
	longBody             // in the key
)

const (
	pemHeaderCap = 120
	pemLeadCap   = 600
	pemFirst     = 16 // characters of key material that make it sure
)

// beginLong starts a PEM block at s, after searching what is open before it.
func (m *scanner) beginLong(s int) bool {
	i := m.i
	if m.word >= 0 && m.word < s {
		m.i = s
		m.closeWord(s, '\n')
	}
	m.closeChain()
	m.word, m.mask = -1, 0
	m.i = i
	m.long = longSecret{state: longHeader, s: s}
	return true
}

// runLong reads on in a PEM block. It reports false when b is used up.
func (m *scanner) runLong(final bool) bool {
	switch m.long.state {
	case longHeader:
		return m.pemHeader(final)
	case longLead:
		return m.pemLead(final)
	}
	return m.pemBody(final)
}

// giveUp reads on as ordinary text from i.
func (m *scanner) giveUp(i int) bool {
	m.long = longSecret{}
	m.i, m.state, m.word = i, 0, -1
	return true
}

func (m *scanner) pemHeader(bool) bool {
	for m.i < len(m.b) {
		c := m.b[m.i]
		m.i++
		n := m.i - m.long.s
		if c == '-' && n > 26 && bytes.HasSuffix(m.b[m.long.s:m.i], []byte("-----")) {
			h := m.b[m.long.s:m.i]
			if bytes.HasSuffix(h, []byte("PRIVATE KEY-----")) || bytes.HasSuffix(h, []byte("PRIVATE KEY BLOCK-----")) {
				m.long.state, m.long.key = longLead, m.i
				return true
			}
			return m.giveUp(m.i)
		}
		if class[c]&(cUpper|cDigit|cDash|cUnder) == 0 && c != ' ' || n > pemHeaderCap {
			return m.giveUp(m.i - 1)
		}
	}
	return false
}

func isB64(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

// pemLead skips line ends, as such or escaped, quotes, and the header lines of
// encrypted keys, up to key material.
func (m *scanner) pemLead(bool) bool {
	b := m.b
	for {
		i := m.long.key
		for i < len(b) && isLineGlue(b[i]) {
			if b[i] == '\\' {
				if i+1 >= len(b) {
					m.i = len(b)
					return false
				}
				if b[i+1] == 'n' || b[i+1] == 'r' || b[i+1] == 't' {
					i++
				}
			}
			i++
		}
		m.long.key = i
		if i-m.long.s > pemLeadCap {
			return m.giveUp(m.long.s + len("-----BEGIN"))
		}
		run := i
		for run < len(b) && isB64(b[run]) && run-i < pemFirst {
			run++
		}
		if run-i >= pemFirst {
			m.spans = append(m.spans, found{s: m.long.s, e: run, kind: int32(numEntities) + int32(m.e.ruleNumber["PRIVATE_KEY"]), score: 1})
			m.long.state, m.i = longBody, run
			return true
		}
		// A header line: "DEK-Info: AES-128-CBC,0A1B...". Its end must be seen.
		line := run
		for line < len(b) && b[line] != '\n' && b[line] != '\\' && line-m.long.s <= pemLeadCap+200 {
			line++
		}
		if line-m.long.s > pemLeadCap+200 || line > run && b[run] != ':' && class[b[run]]&cDash == 0 || line > i && b[i] == '-' {
			return m.giveUp(m.long.s + len("-----BEGIN"))
		}
		if line >= len(b) {
			m.i = len(b)
			return false
		}
		if bytes.IndexByte(b[i:line], ':') < 0 {
			return m.giveUp(m.long.s + len("-----BEGIN"))
		}
		m.long.key = line
	}
}

// isLineGlue reports what stands between the lines of a key, also where it is
// a string in source code or JSON.
func isLineGlue(c byte) bool {
	switch c {
	case '\n', '\r', '\t', ' ', '"', '\'', '`', '\\', ',', '>', '#', '*', '+':
		return true
	}
	return false
}

// pemBody swallows lines of key material up to the END line, or up to text
// that cannot be part of a key.
func (m *scanner) pemBody(final bool) bool {
	b := m.b
	last := &m.spans[len(m.spans)-1]
	i := m.i
	for i < len(b) {
		// Between lines: line ends, escaped ones, quotes and joining signs.
		t := i
		for t < len(b) && isLineGlue(b[t]) && b[t] != '+' && t-i < 160 {
			if b[t] == '\\' {
				if t+1 >= len(b) {
					m.i = i
					return m.shortOf(final)
				}
				if b[t+1] == 'n' || b[t+1] == 'r' {
					t++
				}
			}
			t++
		}
		if t >= len(b) {
			break
		}
		if b[t] == '-' {
			return m.pemEnd(i, t, final)
		}
		run := t
		for run < len(b) && isB64(b[run]) && run-t < pemFirst {
			run++
		}
		switch {
		case run-t >= pemFirst:
			for run < len(b) && isB64(b[run]) {
				run++
			}
			last.e, i = run, run
			continue
		case i == t && run > t:
			last.e, i = run, run // the line goes on
			continue
		case run >= len(b):
			m.i = i
			return m.shortOf(final)
		}
		// A short line belongs to the key if the END line or a checksum follows.
		if run > t && m.shortLine(run) {
			last.e, i = run, run
			continue
		}
		if run > t && !m.decided(run) && !final {
			m.i = i
			return false
		}
		return m.giveUp(last.e)
	}
	m.i = i
	return m.shortOf(final)
}

// shortOf is the result when b is used up within the body.
func (m *scanner) shortOf(final bool) bool {
	if final {
		return m.giveUp(m.spans[len(m.spans)-1].e)
	}
	return false
}

// decided reports whether enough is known behind i to tell the END line.
func (m *scanner) decided(i int) bool { return len(m.b)-i >= 16 }

// shortLine reports whether "-----" comes after i.
func (m *scanner) shortLine(i int) bool {
	b := m.b[i:min(len(m.b), i+16)]
	for len(b) > 0 && (b[0] == '\n' || b[0] == '\r' || b[0] == ' ' || b[0] == '"' || b[0] == '\\' || b[0] == '+' || b[0] == ',') {
		if b[0] == '\\' && len(b) > 1 && (b[1] == 'n' || b[1] == 'r') {
			b = b[1:]
		}
		b = b[1:]
	}
	return bytes.HasPrefix(b, []byte("-----")) || len(b) > 0 && b[0] == '='
}

// pemEnd reads the END line, which begins at t; i is the end of what came
// before it.
func (m *scanner) pemEnd(i, t int, final bool) bool {
	b := m.b
	last := &m.spans[len(m.spans)-1]
	const mark = "-----END"
	n := min(len(b)-t, len(mark))
	if string(b[t:t+n]) != mark[:n] {
		return m.giveUp(last.e)
	}
	if n == len(mark) {
		if k := bytes.Index(b[t+n:min(len(b), t+pemHeaderCap)], []byte("-----")); k >= 0 {
			last.e = t + n + k + 5
			return m.giveUp(last.e)
		}
		if len(b)-t >= pemHeaderCap {
			last.e = t + n
			return m.giveUp(last.e)
		}
	}
	m.i = i
	return m.shortOf(final)
}

// endLong closes a PEM block that the text broke off.
func (m *scanner) endLong() {
	switch m.long.state {
	case longNone:
	case longBody:
		m.giveUp(m.spans[len(m.spans)-1].e)
	default:
		m.giveUp(m.long.s + len("-----BEGIN"))
	}
}
