package redact

import "bytes"

func isLocal(c byte) bool {
	return isAlnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-' || c == '\'' || c == '&' || c == '#' || c == '*' || c == '!' || c >= 0x80
}

// fileTypes look like top-level domains in names such as icon@2x.png.
var fileTypes = map[string]bool{
	"png": true, "jpg": true, "jpeg": true, "gif": true, "svg": true, "webp": true, "js": true, "css": true, "ts": true,
	"json": true, "html": true, "tgz": true, "tar": true, "gz": true, "zip": true, "yml": true, "yaml": true, "git": true,
	"service": true, "timer": true, "socket": true, "mount": true, "target": true, "pdf": true, "mjs": true, "cjs": true,
}

// emails finds the e-mail addresses in b[a:e].
func (m *scanner) emails(a, e int) {
	if !m.e.on[emailAddress] {
		return
	}
	b := m.b
	for i := a; i < e; i++ {
		k := bytes.IndexByte(b[i:e], '@')
		if k < 0 {
			return
		}
		i += k
		s := i
		for s > a && i-s < 64 && isLocal(b[s-1]) {
			s--
		}
		for s < i && (b[s] == '.' || b[s] == '\'' || b[s] == '-' || b[s] == '*' || b[s] == '#' || b[s] == '&' || b[s] == '%' || b[s] == '!') {
			s++
		}
		if s == i || b[i-1] == '.' {
			continue
		}
		end := emailDomain(b[:e], i+1)
		if end < 0 {
			continue
		}
		if end < e && (b[end] == ':' && end+1 < e && !isDigit(b[end+1]) && string(b[s:i]) == "git" || b[end] == '@') {
			continue // git@host:path
		}
		if s > a && b[s-1] == ':' && m.inURL(i) {
			continue // a password in a URL
		}
		m.add(found{s: s, e: end, kind: int32(emailAddress), score: 1})
		i = end - 1
	}
}

// emailDomain is the end of the host name at i, or -1 if there is none with a
// top-level domain.
func emailDomain(b []byte, i int) int {
	label, last, end := i, -1, -1
	for j := i; ; j++ {
		if j < len(b) && (isAlnum(b[j]) || b[j] == '-' && j > label || b[j] >= 0x80) && j-i < 253 {
			continue
		}
		t := j
		for t > label && b[t-1] == '-' {
			t--
		}
		if t == label {
			break
		}
		last, end = label, t
		if t < j || j >= len(b) || b[j] != '.' {
			break
		}
		label = j + 1
	}
	for last > i { // the top-level domain: letters, or an encoded name
		tld := b[last:end]
		if isTLD(tld) {
			return end
		}
		if shape(tld).digit == 0 || bytes.IndexByte(b[i:last-1], '.') < 0 {
			return -1
		}
		end = last - 1
		last = i + bytes.LastIndexByte(b[i:end], '.') + 1
	}
	return -1
}

func isTLD(t []byte) bool {
	if len(t) < 2 || len(t) > 24 {
		return false
	}
	if len(t) > 4 && (t[0]|0x20) == 'x' && (t[1]|0x20) == 'n' && t[2] == '-' && t[3] == '-' {
		return true
	}
	for _, c := range t {
		if !isLetter(c) && c < 0x80 {
			return false
		}
	}
	return !fileTypes[string(bytes.ToLower(t))]
}
