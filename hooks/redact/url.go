package redact

import "bytes"

// bareTLDs are the top-level domains that make a host name a URL without a
// scheme; others are too often names in code.
var bareTLDs = map[string]bool{"com": true, "org": true, "net": true, "edu": true, "gov": true, "io": true, "co": true, "de": true, "uk": true, "fr": true, "site": true, "eu": true, "dev": true, "ai": true, "ch": true, "nl": true, "ru": true, "jp": true, "cn": true, "br": true, "us": true, "ca": true}

// urls finds URLs with a scheme, and host names that stand alone, in b[a:e].
func (m *scanner) urls(a, e int, mask uint32) {
	b := m.b
	scheme := mask&cColon != 0 && mask&cSlash != 0
	if !scheme && mask&(cUpper|cParen|cSlash|cUnder|cPlus|cAt) != 0 {
		return // names in code
	}
	for i := a; i < e; i++ {
		if !isAlnum(b[i]) || i > m.floor && (isAlnum(b[i-1]) || b[i-1] == '.' || b[i-1] == '@' || b[i-1] == '/' || b[i-1] == '-' || b[i-1] == '_') {
			continue
		}
		p := i
		scheme := false
		for _, s := range []string{"https://", "http://", "ftp://"} {
			if n := min(len(s), e-i); n == len(s) && bytes.EqualFold(b[i:i+n], []byte(s)) {
				p, scheme = i+n, true
			}
		}
		end := emailDomain(b[:e], p)
		if end < 0 {
			continue
		}
		tld := bytes.ToLower(b[bytes.LastIndexByte(b[:end], '.')+1 : end])
		if !scheme {
			next := byte(' ')
			if end < e {
				next = b[end]
			}
			if !bareTLDs[string(tld)] || next == '(' || next == '/' || next == '@' || next == ':' || next == '.' && end+1 < e && isAlnum(b[end+1]) {
				i = end
				continue
			}
			m.add(found{s: i, e: end, kind: int32(urlEntity), score: likely})
			i = end
			continue
		}
		if len(tld) == 4 && string(tld) == "test" {
			i = end
			continue
		}
		for end < e && b[end] != '\'' && b[end] != ')' && b[end] != ']' && b[end] != '}' && b[end] != ',' && b[end] != '|' {
			end++
		}
		for end > p && (b[end-1] == '.' || b[end-1] == ';' || b[end-1] == '!' || b[end-1] == ':') {
			end--
		}
		s := i
		if s > a && b[s-1] == '\'' && end < e && b[end] == '\'' { // Presidio takes the quotes, too
			s, end = s-1, end+1
		}
		m.add(found{s: s, e: end, kind: int32(urlEntity), score: 0.6})
		i = end
	}
}
