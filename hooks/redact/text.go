package redact

import (
	"slices"
	"sync"
)

// pool holds scanners between texts; their buffers are worth keeping.
var pool = sync.Pool{New: func() any { return new(scanner) }}

// Spans finds what is to be redacted in s, in the order of the text. Matches
// of different entities may overlap, as in Presidio.
func (e *Engine) Spans(s []byte) []Span {
	m := e.scanText(s)
	defer m.release()
	return e.report(m.spans, 0)
}

// Text redacts s without a vault: placeholders are masks. It returns s itself
// when there is nothing to redact.
func (e *Engine) Text(s []byte) ([]byte, []Span) {
	r := e.Redact(s, nil)
	return r.Text, r.Spans
}

// Result is what became of a text.
type Result struct {
	Text    []byte
	Spans   []Span
	Blocked bool // something was found whose action is block
}

// Redact redacts s. Result.Text is s itself when nothing changed.
func (e *Engine) Redact(s []byte, v Vault) Result {
	m := e.scanText(s)
	defer m.release()
	if len(m.spans) == 0 {
		return Result{Text: s}
	}
	r := Result{Text: s, Spans: e.report(m.spans, 0)}
	out, changed, at := make([]byte, 0, len(s)+64), false, 0
	for _, f := range e.resolve(m.spans, nil) {
		act := e.acts.action(f.kind)
		r.Blocked = r.Blocked || act == Block
		if act == Report {
			continue
		}
		val := s[f.s:f.e]
		if len(val) > maxKept {
			val = nil
		}
		out = e.replace(append(out, s[at:f.s]...), f.kind, val, v)
		at, changed = f.e, true
	}
	if changed {
		r.Text = append(out, s[at:]...)
	}
	return r
}

func (e *Engine) scanText(s []byte) *scanner {
	m := pool.Get().(*scanner)
	m.reset(e)
	m.b = s
	m.bare = bareness(s) == isBare
	m.run(true)
	return m
}

func (m *scanner) release() {
	m.b, m.e = nil, nil
	pool.Put(m)
}

// report turns matches into spans; base is the offset of the buffer.
func (e *Engine) report(fs []found, base int64) []Span {
	if len(fs) == 0 {
		return nil
	}
	spans := make([]Span, 0, len(fs))
	for _, f := range fs {
		if e.acts.action(f.kind) != Off {
			spans = append(spans, Span{int(base) + f.s - f.lost, int(base) + f.e, e.name(f.kind), float64(int(f.score*100+0.5)) / 100})
		}
	}
	return spans
}

// resolve makes matches that overlap one, under the name of the longest (of
// the surest, then of the first in the tables, among equals). What only is to
// be reported does not hide what is to be replaced.
func (e *Engine) resolve(fs []found, out []found) []found {
	for _, f := range fs {
		if e.acts.action(f.kind) == Off {
			continue
		}
		n := len(out) - 1
		if n < 0 || f.s >= out[n].e {
			out = append(out, f)
			continue
		}
		o := &out[n]
		better := f.e-f.s > o.e-o.s || f.e-f.s == o.e-o.s && f.score > o.score && o.kind != int32(phoneNumber)
		better = better || f.kind == int32(phoneNumber) && f.e-f.s == o.e-o.s // the plain name for a number of several countries
		if rf, ro := e.acts.action(f.kind) == Report, e.acts.action(o.kind) == Report; rf != ro {
			if rf {
				continue
			}
			*o = f
			continue
		}
		if better {
			o.kind, o.score = f.kind, f.score
		}
		o.e = max(o.e, f.e)
		o.lost = max(o.lost, f.lost)
	}
	return slices.Clip(out)
}

type bareState uint8

const (
	notBare bareState = iota
	maybeBare
	isBare
)

// bareCap is the longest text (bytes) that may be nothing but identifiers.
const bareCap = 64

// bareness reports whether s is nothing but identifiers: words with digits,
// words of at most three letters, and separators. Such a text is an answer or
// the content of a field, and needs no context word. maybeBare says that so
// far it is, without a digit.
func bareness(s []byte) bareState {
	if len(s) > bareCap {
		return notBare
	}
	letters, digits, any := 0, 0, false
	for _, c := range s {
		k := class[c]
		switch {
		case k&cLetter != 0:
			letters++
		case k&cDigit != 0:
			digits++
			any = true
		case c == ' ' || c == ',' || c == '\n' || c == ';':
			if letters > 3 && digits == 0 {
				return notBare
			}
			letters, digits = 0, 0
		case k&(cDash|cDot|cSlash|cColon|cPlus|cParen) != 0:
		default:
			return notBare
		}
		if letters > 16 {
			return notBare
		}
	}
	if letters > 3 && digits == 0 {
		return maybeBare
	}
	if any {
		return isBare
	}
	return maybeBare
}
