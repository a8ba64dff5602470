package redact

// Byte classes. A word is a run of bytes without cDelim; the classes of its
// bytes, or'ed together, say which detectors have to look at it.
const (
	cLower uint32 = 1 << iota
	cUpper
	cDigit
	cDash
	cDot
	cSlash
	cColon
	cPlus
	cParen
	cAt
	cUnder
	cHigh  // bytes of letters with accents, and continuation bytes
	cOther // any other visible character
	cDelim // ends a word
)

// A literals' table holds the classes of a byte and, above them, the
// automaton's.
const (
	clsShift  = 20
	classMask = 1<<clsShift - 1
)

const (
	cLetter = cLower | cUpper
	cAlnum  = cLetter | cDigit
	// cGroup is what identifiers written in groups are made of.
	cGroup = cAlnum | cDash | cDot | cSlash | cColon | cPlus | cParen
)

var class = func() (t [256]uint32) {
	for c := range t {
		switch {
		case c >= 'a' && c <= 'z':
			t[c] = cLower
		case c >= 'A' && c <= 'Z':
			t[c] = cUpper
		case c >= '0' && c <= '9':
			t[c] = cDigit
		case c <= ' ' || c == 0x7f || c == '"' || c == '`' || c == '<' || c == '>' || c == '\\':
			t[c] = cDelim
		case c >= 0xc3 && c <= 0xc9, c >= 0x80 && c < 0xc0:
			t[c] = cHigh // Latin letters with accents, U+00C0 to U+024F
		case c >= 0x80:
			t[c] = cDelim
		default:
			t[c] = cOther
		}
	}
	for c, k := range map[byte]uint32{'-': cDash, '.': cDot, '/': cSlash, ':': cColon, '+': cPlus, '(': cParen, ')': cParen, '@': cAt, '_': cUnder} {
		t[c] = k
	}
	return t
}()

func isDigit(c byte) bool { return c-'0' < 10 }
func isUpper(c byte) bool { return c-'A' < 26 }
func isLower(c byte) bool { return c-'a' < 26 }
func isLetter(c byte) bool {
	return (c|0x20)-'a' < 26
}
func isAlnum(c byte) bool { return isDigit(c) || isLetter(c) }
func isHex(c byte) bool   { return isDigit(c) || (c|0x20)-'a' < 6 }

// isToken reports the bytes that API keys and tokens are made of.
func isToken(c byte) bool {
	return isAlnum(c) || c == '-' || c == '_' || c == '.' || c == '+' || c == '/' || c == '=' || c == '~' || c == '%'
}
func toUpper(c byte) byte {
	if isLower(c) {
		return c - 32
	}
	return c
}
func toLower(c byte) byte {
	if isUpper(c) {
		return c + 32
	}
	return c
}
