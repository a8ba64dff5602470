package gemini

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// plainKey resolves the escapes of a member name given without its quotes.
func plainKey(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return appendUnescaped(nil, key)
}

// unquote is the text of a JSON string literal. Lone surrogates, which Go
// strings cannot hold, become the three bytes that UTF-8 would give them, and
// appendQuoted turns these back: no text changes by passing through.
func unquote(lit []byte) string {
	if len(lit) < 2 {
		return ""
	}
	lit = lit[1 : len(lit)-1]
	if bytes.IndexByte(lit, '\\') < 0 {
		return string(lit)
	}
	return string(appendUnescaped(make([]byte, 0, len(lit)), lit))
}

func appendUnescaped(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		n, ok := 0, false
		if i >= 0 {
			n, ok = escapeLen(s[i:])
		}
		if !ok {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		esc := s[i : i+n]
		s = s[i+n:]
		switch esc[1] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r := hex4(esc)
			if utf16.IsSurrogate(r) {
				if len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
					if both := utf16.DecodeRune(r, hex4(s)); both != utf8.RuneError {
						dst, s = utf8.AppendRune(dst, both), s[6:]
						continue
					}
				}
				dst = append(dst, 0xED, 0x80|byte(r>>6)&0x3F, 0x80|byte(r)&0x3F)
				continue
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, esc[1])
		}
	}
}

func hex4(esc []byte) rune {
	var r rune
	for _, c := range esc[2:6] {
		r = r<<4 | rune(hexValue(c))
	}
	return r
}

const hexDigits = "0123456789abcdef"

// appendQuoted appends text as a JSON string literal: nothing escaped for HTML,
// but the line separators that clients of event streams trip over.
func appendQuoted(dst []byte, text string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, text[from:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if len(text)-i >= 3 && c == 0xED && text[i+1] >= 0xA0 && text[i+1] <= 0xBF && text[i+2]&0xC0 == 0x80 {
				r, n = 0xD000|rune(text[i+1]&0x3F)<<6|rune(text[i+2]&0x3F), 3
			}
		case r != '\u0085' && r != '\u2028' && r != '\u2029':
			i += n
			continue
		}
		dst = append(dst, text[from:i]...)
		dst = append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		i += n
		from = i
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

func quoted(text string) []byte {
	return appendQuoted(make([]byte, 0, len(text)+2), text)
}

// separators are the characters that line-based readers of event streams take
// for line ends although JSON allows them raw, and what they are sent as.
// (httpx's and Node's line readers; a regular expression's '.'.)
var separators = [...]struct{ raw, escaped []byte }{
	{[]byte("\u2028"), []byte(`\u2028`)},
	{[]byte("\u2029"), []byte(`\u2029`)},
	{[]byte("\u0085"), []byte(`\u0085`)},
}

// EscapeLineSeparators escapes U+2028, U+2029 and U+0085 in a JSON document.
// Where there are none, doc itself is returned.
func EscapeLineSeparators(doc []byte) []byte {
	for _, s := range separators {
		if bytes.Contains(doc, s.raw) {
			doc = bytes.ReplaceAll(doc, s.raw, s.escaped)
		}
	}
	return doc
}

// appendCompact appends a valid JSON value without the space between tokens.
func appendCompact(dst, v []byte) []byte {
	from := 0
	for i := 0; i < len(v); {
		switch v[i] {
		case '"':
			s := scanner{b: v, i: i}
			if s.str() != nil {
				return append(dst, v[from:]...)
			}
			i = s.i
		case ' ', '\n', '\r', '\t':
			dst = append(dst, v[from:i]...)
			for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t') {
				i++
			}
			from = i
		default:
			i++
		}
	}
	return append(dst, v[from:]...)
}

// oneLine gives a document without line ends, which only stand between tokens.
func oneLine(doc []byte) []byte {
	if bytes.IndexByte(doc, '\n') < 0 && bytes.IndexByte(doc, '\r') < 0 {
		return doc
	}
	return appendCompact(make([]byte, 0, len(doc)), doc)
}
