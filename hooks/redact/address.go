package redact

import (
	"bytes"
	"net/netip"
)

func isAddr(c byte) bool { return isHex(c) || c == ':' || c == '.' }

// addresses finds IP and MAC addresses in b[a:e].
func (m *scanner) addresses(a, e int, mask uint32) {
	b := m.b
	for i := a; i < e; {
		if !isHex(b[i]) && b[i] != ':' {
			i++
			continue
		}
		s := i
		dots, colons := 0, 0
		for i < e && isAddr(b[i]) {
			switch b[i] {
			case '.':
				dots++
			case ':':
				colons++
			}
			i++
		}
		if i < e && (b[i] == '-' && mask&cDash != 0) && i-s == 2 && m.mac(s, e) {
			i = s + 17
			continue
		}
		switch {
		case colons == 5 && m.mac(s, e), dots >= 2 && colons == 0 && m.ciscoMAC(s, e):
		case colons >= 2:
			m.ipv6(s, i, a, e)
		case dots >= 3 && m.e.on[ipAddress]:
			end := i
			if k := bytes.IndexByte(b[s:i], ':'); k >= 0 { // a port
				end = s + k
			}
			m.ipv4(s, end, a, e)
		}
		for i < e && isAlnum(b[i]) {
			i++
		}
	}
}

// mac finds 00:1A:2B:3C:4D:5E at s.
func (m *scanner) mac(s, e int) bool {
	b := m.b
	if !m.e.on[macAddress] || e-s < 17 || s > m.floor && (isAlnum(b[s-1]) || b[s-1] == b[s+2] || b[s-1] == '_') {
		return false
	}
	sep := b[s+2]
	if sep != ':' && sep != '-' {
		return false
	}
	ones, zeros := true, true
	for k := range 17 {
		c := b[s+k]
		if k%3 == 2 {
			if c != sep {
				return false
			}
			continue
		}
		if !isHex(c) {
			return false
		}
		ones = ones && (c|0x20) == 'f'
		zeros = zeros && c == '0'
	}
	if ones || zeros || s+17 < e && (isAlnum(b[s+17]) || b[s+17] == sep && s+18 < e && isAlnum(b[s+18]) || b[s+17] == '_') {
		return false
	}
	m.add(found{s: s, e: s + 17, kind: int32(macAddress), score: 1})
	return true
}

// ciscoMAC finds 0012.3456.789A at s.
func (m *scanner) ciscoMAC(s, e int) bool {
	b := m.b
	if !m.e.on[macAddress] || e-s < 14 || s > m.floor && (isAlnum(b[s-1]) || b[s-1] == '.') {
		return false
	}
	for k := range 14 {
		if k%5 == 4 && b[s+k] != '.' || k%5 != 4 && !isHex(b[s+k]) {
			return false
		}
	}
	if s+14 < e && (isAlnum(b[s+14]) || b[s+14] == '.' && s+15 < e && isAlnum(b[s+15])) {
		return false
	}
	m.add(found{s: s, e: s + 14, kind: int32(macAddress), score: 0.9})
	return true
}

// prefixLen is the end of a "/24" at i, or i if there is none up to bits.
func prefixLen(b []byte, i, e, bits int) int {
	if i >= e || b[i] != '/' {
		return i
	}
	n, j := 0, i+1
	for ; j < e && isDigit(b[j]) && j-i < 5; j++ {
		n = n*10 + int(b[j]-'0')
	}
	if j == i+1 || n > bits || j < e && (isAlnum(b[j]) || b[j] == '/') {
		return i
	}
	return j
}

func (m *scanner) ipv4(s, i, a, e int) {
	b := m.b
	for i > s && b[i-1] == '.' {
		i--
	}
	if s > m.floor && (isAlnum(b[s-1]) || b[s-1] == '_' || b[s-1] == '-' || b[s-1] == '.' || b[s-1] == '+') {
		return
	}
	if i < e && (isAlnum(b[i]) || b[i] == '_' || b[i] == '-' && i+1 < e && isAlnum(b[i+1])) {
		return
	}
	ip, err := netip.ParseAddr(string(b[s:i]))
	if err != nil || !ip.Is4() {
		return
	}
	o := ip.As4()
	if o[0] == 127 || o[0] == 255 && o[3] != 255 {
		return // the machine itself, masks
	}
	end := prefixLen(b, i, e, 32)
	if end == i && i < e && b[i] == '/' && i+1 < e && isDigit(b[i+1]) {
		return
	}
	if m.versionBefore(s) { // a version or the number of a section has this form, too
		return
	}
	score := float32(0.6)
	if o[0] < 40 && o[1] < 40 && o[2] < 40 && o[3] < 40 && o[0] != 10 && o != [4]byte{} {
		if !m.near(ipAddress, s, i) && !m.bare {
			return
		}
	}
	m.add(found{s: s, e: end, kind: int32(ipAddress), score: score})
}

// versionBefore reports whether a word for versions or sections, or the number
// of a standard (RFC 5280, DWARF3), stands directly before i, be it at the end of
// the line of comment before.
func (m *scanner) versionBefore(i int) bool {
	low := bytes.TrimRight(bytes.ToLower(m.b[max(m.floor, i-24):i]), " :=\"'\n\r\t/*#,([")
	for _, w := range []string{"version", "section", "sections", "rfc", "v", "release", "chapter", "§", "build", "oid"} {
		if head, ok := bytes.CutSuffix(low, []byte(w)); ok && (len(head) == 0 || !isLetter(head[len(head)-1])) {
			return true
		}
	}
	head := bytes.TrimRight(low, "0123456789")
	if len(low)-len(head) < 1 || len(low)-len(head) > 5 {
		return false
	}
	head = bytes.TrimRight(head, " -")
	return bytes.HasSuffix(head, []byte("rfc")) || bytes.HasSuffix(head, []byte("iso")) || bytes.HasSuffix(head, []byte("dwarf"))
}

func (m *scanner) ipv6(s, i, a, e int) {
	if !m.e.on[ipAddress] {
		return
	}
	b := m.b
	for i > s && (b[i-1] == '.' || b[i-1] == ':' && !(i-s >= 2 && b[i-2] == ':')) {
		i--
	}
	for s < i && b[s] == ':' && !(s+1 < i && b[s+1] == ':') {
		s++ // "ip:2001:db8::1" begins with a label's colon
	}
	if s > m.floor && (isAlnum(b[s-1]) || b[s-1] == '_' || b[s-1] == ':' || b[s-1] == '.') {
		return
	}
	if i < e && (isAlnum(b[i]) || b[i] == '_' || b[i] == ':') {
		return
	}
	ip, err := netip.ParseAddr(string(b[s:i]))
	if err != nil || !ip.Is6() {
		return
	}
	o := ip.As16()
	end := prefixLen(b, i, e, 128)
	score := float32(0.6)
	switch groups := bytes.Count(b[s:i], []byte{':'}); {
	case o == [16]byte{}:
		if end == i || !m.near(ipAddress, s, i) && !m.bare {
			return
		}
		score = minScore
	case o[0]&0xe0 == 0x20, o[0] == 0xfe && o[1]&0xc0 == 0x80, o[0]&0xfe == 0xfc, o[0] == 0xff && o[1] < 0x40:
	case bytes.HasPrefix(o[:], []byte{0, 0x64, 0xff, 0x9b}), string(b[s:i]) == "::1":
	case groups >= 4 && shape(b[s:i]).digit > 0:
	case bytes.IndexByte(b[s:i], '.') > 0 && b[s] == ':':
	default:
		return // a::b, 6::add and other names in code
	}
	if ip.Is4In6() && i-s < 5 {
		return
	}
	m.add(found{s: s, e: end, kind: int32(ipAddress), score: score})
}
