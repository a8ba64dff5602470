package redact

import (
	"bytes"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// phoneChecks is how many numbers of one text are looked up in the numbering
// plans; further ones are taken by their shape.
const phoneChecks = 2000

// phoneRegions are tried for numbers without a country code.
var phoneRegions = []string{"US", "GB", "DE", "IL", "IN", "CA", "BR", "JP", "FR", "ES", "IT", "AU", "NL", "KR", "MX", "PL", "SE", "CH", "CN", "ZA"}

func isPhone(c byte) bool {
	return isDigit(c) || c == ' ' || c == '-' || c == '.' || c == '(' || c == ')' || c == '+' || c == '/' || c == noBreakLead || c == 0xa0
}

// phoneNumbers finds telephone numbers in b[a:e].
func (m *scanner) phoneNumbers(a, e int) {
	if !m.e.on[phoneNumber] && !m.e.on[trPhone] && !m.e.on[phMobile] {
		return
	}
	b := m.b
	for i := a; i < e; i++ {
		if !isDigit(b[i]) && b[i] != '+' && b[i] != '(' {
			continue
		}
		s, end, digits := i, i, 0
		open := 0
		for ; i < e && isPhone(b[i]); i++ {
			c := b[i]
			if c == '+' && i > s || c == '(' && open > 0 {
				break
			}
			if isDigit(c) {
				digits++
				end = i + 1
			}
			if c == '(' {
				open++
			}
		}
		if i < e && isAlnum(b[i]) && b[i-1] != ' ' { // glued to a word: end with the last blank
			for end > s && b[end-1] != ' ' {
				end--
				if isDigit(b[end]) {
					digits--
				}
			}
			for end > s && !isDigit(b[end-1]) {
				end--
			}
			for i < e && isAlnum(b[i]) {
				i++
			}
		}
		if digits >= 7 && end > s {
			m.phone(s, end, e)
		}
		i = max(i-1, s)
	}
}

// phone judges the run of digits and separators b[s:e]. A run may hold more
// than one number; then each part between blanks that fits is tried.
func (m *scanner) phone(s, e, end int) {
	if !m.phoneAt(s, e, end) && e-s > 16 {
		for i := s; i < e; i++ {
			if m.b[i] != ' ' {
				continue
			}
			if m.phoneAt(s, i, end) {
				s = i + 1
			}
		}
		if s < e {
			m.phoneAt(s, e, end)
		}
	}
}

// phoneShape is a run of digits as a telephone number.
type phoneShape struct {
	digits [16]byte
	n      int
	plus   bool
	groups [8]uint8
	ng     int
	paren  bool
	open   bool // a bracket is not closed
	date   bool
	bits   bool // ones and zeros only
	seps   int
	mixed  bool // separators of several kinds that no one mixes
}

func shapeOfPhone(v []byte) (p phoneShape, ok bool) {
	in := false
	var sep byte
	for i, c := range v {
		switch {
		case isDigit(c):
			if p.n == len(p.digits) {
				return p, false
			}
			p.digits[p.n] = c
			p.n++
			if !in {
				if p.ng == len(p.groups) {
					return p, false
				}
				p.ng++
			}
			in = true
			p.groups[p.ng-1]++
			continue
		case c == '+':
			if i > 0 {
				return p, false
			}
			p.plus = true
		case c == '(':
			p.paren, p.open = true, true
		case c == ')':
			p.open = false
		case c == noBreakLead:
			continue
		default:
			p.seps++
			if i > 0 && !isDigit(v[i-1]) && v[i-1] != ')' && !noBreak(v, i+1) {
				return p, false
			}
			if sep != 0 && sep != c && (sep == '.' || c == '.' || sep == '/' || c == '/') {
				p.mixed = true
			}
			sep = c
		}
		in = false
	}
	d := p.digits[:p.n]
	p.bits = len(bytes.Trim(d, "01")) == 0
	if p.ng == 3 && p.n == 8 && (p.groups[0] == 4 && (d[0] == '1' || d[0] == '2') && d[4] <= '1' || p.groups[2] == 4 && (d[4] == '1' || d[4] == '2')) {
		p.date = !p.plus
	}
	for i, n := range p.groups[:p.ng] {
		// "1 255 1 254" are numbers in a row, "192.0.2.123" is an address.
		p.mixed = p.mixed || n == 1 && i > 0 && !p.plus
	}
	if p.ng == 4 && sep == '.' && p.groups[0] <= 3 && p.groups[1] <= 3 && p.groups[2] <= 3 && p.groups[3] <= 3 {
		p.mixed = true
	}
	return p, true
}

func (m *scanner) phoneAt(s, e, end int) bool {
	for s < e && (m.b[s] == ' ' || m.b[s] == '.' || m.b[s] == '-' || m.b[s] == '/' || m.b[s] == ')') {
		s++
	}
	if s >= e {
		return false
	}
	v := m.b[s:e]
	p, ok := shapeOfPhone(v)
	if !ok || p.n < 7 || p.n > 15 || p.mixed || p.open || p.date || p.bits || !m.rightFree(e, end) {
		return false
	}
	if v[0] == '+' {
		if s > m.floor && (isAlnum(m.b[s-1]) || m.b[s-1] == '_' || m.b[s-1] == '/' || m.b[s-1] == '=' && s-2 >= m.floor && isAlnum(m.b[s-2]) && p.seps == 0 && !m.near(phoneNumber, s, e)) {
			return false
		}
	} else if v[0] != '(' && !m.leftFree(s) {
		return false
	}
	d := string(p.digits[:p.n])
	m.turkish(&p, d, s, e)
	m.philippine(&p, d, s, e)
	if !m.e.on[phoneNumber] {
		return false
	}
	score := m.phoneScore(&p, d, s, e)
	if score < m.e.threshold {
		return false
	}
	m.add(found{s: s, e: e, kind: int32(phoneNumber), score: score})
	return true
}

// phoneScore is 0 for what is no telephone number.
func (m *scanner) phoneScore(p *phoneShape, d string, s, e int) float32 {
	near := m.near(phoneNumber, s, e)
	sep := m.b[min(s+int(p.groups[0]), e-1)]
	switch {
	case p.plus:
		if m.valid("+"+d, "") {
			return 0.75
		}
	case p.northAmerican(d):
		if m.valid(d, "US") {
			return likely
		}
	case p.seps == 0 && !p.paren && (p.n < 10 || !m.near(phMobile, s, e) && !m.bare): // whose words all speak of telephones
		return 0
	case !near && !m.bare:
		return 0
	case p.ng > 6 || p.groups[p.ng-1] < 2 || sep == '.' && p.ng == 2:
		return 0
	default:
		if p.n >= 11 && m.valid("+"+d, "") {
			return 0.4
		}
		for _, r := range phoneRegions {
			if m.valid(d, r) {
				return 0.4
			}
		}
	}
	return 0
}

// northAmerican reports (415) 555-0132 and 415-555-0132, forms that hardly
// anything else has.
func (p *phoneShape) northAmerican(d string) bool {
	if p.n == 11 && d[0] == '1' && p.ng == 4 && p.groups[0] == 1 {
		return p.groups[1] == 3 && p.groups[2] == 3 && p.seps >= 2 && d[1] >= '2' && d[4] >= '2'
	}
	form := p.ng == 3 && p.groups[1] == 3 || p.ng == 2 && p.paren
	return p.n == 10 && form && p.groups[0] == 3 && d[0] >= '2' && d[3] >= '2'
}

func (m *scanner) valid(number, region string) bool {
	m.phones++
	if m.phones > phoneChecks {
		return true
	}
	n, err := phonenumbers.Parse(number, region)
	if err != nil {
		return false
	}
	if region == "" {
		return phonenumbers.IsValidNumber(n)
	}
	return phonenumbers.IsValidNumberForRegion(n, region)
}

func (m *scanner) turkish(p *phoneShape, d string, s, e int) {
	if !m.e.on[trPhone] {
		return
	}
	code := strings.HasPrefix(d, "90") && len(d) == 12
	switch {
	case p.plus && !code:
		return
	case code:
		d = d[2:]
	case len(d) == 11 && d[0] == '0':
		d = d[1:]
	}
	if len(d) != 10 || d[0] < '2' || d[0] > '5' || d[0] != '5' && d[1] == '0' {
		return
	}
	score := float32(bareScore)
	if p.plus || code && p.seps > 1 {
		score = likely
	}
	m.judge(trPhone, s, e, verdict{score: score})
}

func (m *scanner) philippine(p *phoneShape, d string, s, e int) {
	if !m.e.on[phMobile] {
		return
	}
	switch {
	case p.plus && len(d) == 12 && d[:3] == "639":
		m.judge(phMobile, s, e, verdict{score: likely})
	case !p.plus && len(d) == 11 && d[:2] == "09" && p.ng <= 4:
		m.judge(phMobile, s, e, verdict{score: bareScore})
	}
}
