package redact

import (
	"bytes"
	"encoding/base64"
)

// assigned looks in b[a:e] for the value that is given to the secret whose
// name ends at h.end.
func (m *scanner) assigned(h hit, a, e int) {
	l := m.e.literals[h.literal]
	kind := secretNames[l.index].kind
	if m.inName(h.end-l.n, h.end) && m.isName(h.end) {
		return // "<PASSWORD_1>" is no name of a field
	}
	s, quote, ok := m.valueStart(h, kind, e)
	if !ok || s < a || s >= e {
		return
	}
	end := s
	for end < e && !endsValue(m.b[end], quote) {
		end++
	}
	if quote == 0 {
		for end > s && bytes.IndexByte([]byte(".,;:!?'"), m.b[end-1]) >= 0 {
			end--
		}
	}
	if kind == namesUser {
		m.curlUser(h, s, end)
		return
	}
	v := m.b[s:end]
	called := end < e && m.b[end] == '('
	if called || !secretValue(v, kind, quote != 0) {
		return
	}
	name := "SECRET"
	switch kind {
	case namesPassword:
		name = "PASSWORD"
	case namesBearer, namesBasic:
		name = "BEARER_TOKEN"
	}
	m.addSecret(m.e.ruleNumber[name], s, end)
}

// curlUser finds the password in the value b[s:end] of curl's -u.
func (m *scanner) curlUser(h hit, s, end int) {
	i := bytes.IndexByte(m.b[s:end], ':')
	if i < 0 || !bytes.Contains(m.b[max(m.floor, h.end-200):h.end], []byte("curl")) {
		return
	}
	if v := m.b[s+i+1 : end]; len(v) >= 3 && v[0] != '$' && !isPlaceholder(v) {
		m.addSecret(m.e.ruleNumber["PASSWORD"], s+i+1, end)
	}
}

// isBasic reports whether v is Base64 of "user:password".
func isBasic(v []byte) bool {
	d := make([]byte, len(v))
	n, err := base64.StdEncoding.Decode(d, v)
	if err != nil {
		n, err = base64.RawStdEncoding.Decode(d, v)
	}
	if err != nil || bytes.IndexByte(d[:n], ':') < 0 {
		return false
	}
	for _, c := range d[:n] {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

func endsValue(c, quote byte) bool {
	if quote != 0 && quote != '\\' {
		return c == quote
	}
	switch c {
	case ',', ';', ')', '}', ']', '&', '|', '\'', '(', '{':
		return true
	}
	return false
}

// valueStart finds the value after the name that ends at h.end: the rest of
// the name, a sign of assignment, quotes. quote is the opening one, 0 for none.
func (m *scanner) valueStart(h hit, kind naming, e int) (s int, quote byte, ok bool) {
	b, i := m.b, h.end
	if kind == namesUser {
		if i < e && (b[i] == '"' || b[i] == '\'') {
			return i + 1, b[i], true
		}
		return i, '\n', true
	}
	if i < e && isLower(b[i]) && !(b[i] == 's' && i+1 < e && !isLetter(b[i+1])) {
		return 0, 0, false // "tokenizer", "passwordless"
	}
	if kind == namesBearer || kind == namesBasic {
		if i >= e || b[i] != ' ' && b[i] != ':' && b[i] != '+' {
			return 0, 0, false
		}
		return i + 1, 0, true
	}
	var name [20]byte
	k := copy(name[:], b[max(m.floor, h.end-len(name)):h.end])
	for t := range k {
		name[t] |= 0x20
	}
	if bytes.Contains(name[:k], []byte("public")) {
		return 0, 0, false
	}
	flag := false
	for t := h.end - 1; t > m.floor && t > h.end-40; t-- { // "--password x"
		if class[b[t]]&(cAlnum|cUnder|cDash) == 0 {
			break
		}
		flag = b[t] == '-' && b[t-1] == '-'
		if flag {
			break
		}
	}
	for n := 0; i < e && n < 20 && class[b[i]]&(cAlnum|cUnder|cDash|cDot) != 0; n++ {
		i++
	}
	blank := false
	for n := 0; i < e && n < 6 && (b[i] == ' ' || b[i] == '\t' || b[i] == '"' || b[i] == '\'' || b[i] == '`' || b[i] == '\\' || b[i] == ']' || b[i] == ')'); n++ {
		blank = blank || b[i] == ' '
		i++
	}
	if i < e && b[i] == ',' && i > h.end && class[b[i-1]]&cDelim != 0 && b[i-1] != ' ' {
		return m.afterQuotes(i+1, e, 1) // set("token", "value")
	}
	sign := 0
	for i < e && sign < 4 && (b[i] == '=' || b[i] == ':' || b[i] == '>' || b[i] == '?' && sign == 0) {
		i++
		sign++
	}
	if sign == 0 {
		switch {
		case flag && blank:
		case kind == namesPassword && blank && bytes.HasPrefix(b[i:e], []byte("is ")):
			i += 3
		default:
			return 0, 0, false
		}
	}
	return m.afterQuotes(i, e, 0)
}

// afterQuotes skips blanks and at least so many quotes.
func (m *scanner) afterQuotes(i, e, least int) (s int, quote byte, ok bool) {
	for n := 0; i < e && n < 6; n++ {
		switch c := m.b[i]; c {
		case ' ', '\t':
		case '"', '\'', '`', '\\':
			quote = c
		default:
			return i, quote, least == 0 || quote != 0
		}
		i++
	}
	return i, quote, least == 0 || quote != 0
}

// secretValue judges whether v, given to a secret's name, is one, and no
// variable, call, type or placeholder.
func secretValue(v []byte, kind naming, quoted bool) bool {
	n := len(v)
	if n < 6 || n > wordCap || isPlaceholder(v) || v[0] == '/' || v[0] == '.' || v[0] == '+' || v[0] == '=' || bytes.Contains(v, []byte("://")) {
		return false
	}
	s := shape(v)
	if s.lower+s.upper+s.digit < n/2 {
		return false
	}
	if n > 2 && v[0] == '0' && v[1] == 'x' && n < 34 {
		return false
	}
	switch kind {
	case namesBasic:
		return n >= 8 && isBasic(v) || n >= 16 && tokenLike(v) && s.digit > 0 && s.upper > 0 && s.lower > 0 && entropy(v) >= 3
	case namesPassword:
		if quoted {
			return s.lower+s.upper > 0 && (s.digit > 0 || s.mark > 0 || s.random(v)) && !dotted(v, s)
		}
		return n >= 8 && s.lower+s.upper > 0 && (s.digit > 1 || s.mark > 0 && s.digit > 0 || s.random(v)) && !dotted(v, s) && s.other < 3
	case namesKey:
		return n >= 24 && tokenLike(v) && s.digit >= 3 && s.lower > 2 && s.upper > 2 && s.other*8 < n && entropy(v) >= 4
	case namesBearer:
		return n >= 16 && tokenLike(v) && s.digit > 0 && s.lower+s.upper > 0 && entropy(v) >= 3
	}
	if n < 10 || !tokenLike(v) || dotted(v, s) {
		return false
	}
	if s.random(v) {
		return true
	}
	if quoted {
		return entropy(v) >= 3 && s.digit > 1 && s.mixed()
	}
	return n >= 16 && s.digit > 2 && s.mixed() && s.other*6 < n && entropy(v) >= 3.3
}

// random reports letters in both cases without the regularity of names.
func (s shapeOf) random(v []byte) bool {
	n := len(v)
	return n >= 12 && s.upper*5 >= n && s.lower*5 >= n && s.other*8 < n && entropy(v) >= 3.3
}

func tokenLike(v []byte) bool {
	for _, c := range v {
		if !isToken(c) {
			return false
		}
	}
	return true
}

// dotted reports selectors and file names: "cfg.Token2", "file1.go".
func dotted(v []byte, s shapeOf) bool {
	i := bytes.IndexByte(v, '.')
	return i > 0 && s.mark == 0 && len(v) < 40 && s.digit < 4
}
