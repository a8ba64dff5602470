package redact

import (
	"fmt"
	"net/netip"
	"regexp"
	"regexp/syntax"
	"strings"

	re2 "github.com/wasilibs/go-re2"
)

// Rule is a user's own kind of data. Its pattern sees one word at a time, or,
// if it can match white space, one line (a stream then holds back up to 512
// bytes of a line).
type Rule struct {
	Name  string // of the entity, upper case by custom
	Regex string // RE2 syntax; the first group, if any, is what is redacted
	// Keywords are literals of which one must stand in the match or at most
	// 100 bytes before it; none: the pattern runs on every word.
	Keywords []string
	// Validate is a further check: "", "luhn", "mod97", "verhoeff", "iso7064",
	// "ip" or "email".
	Validate string
	Score    float64 // 0 for 1
}

type userRule struct {
	re       *re2.Regexp
	number   int // in Engine.rules
	score    float32
	validate func([]byte) bool
	keyed    bool
	reach    int
}

const (
	lineCap = 512 // a line this long is looked at and shortened
	lineTip = 200
)

var validators = map[string]func([]byte) bool{
	"":         nil,
	"luhn":     func(v []byte) bool { d := compact(v); return len(d) > 1 && luhn(d) },
	"mod97":    func(v []byte) bool { return mod97(compact(v)) },
	"verhoeff": func(v []byte) bool { d := compact(v); return digitsOnly(d) && verhoeff(d) },
	"iso7064":  func(v []byte) bool { d := compact(v); return digitsOnly(d) && iso7064(d) },
	"ip":       func(v []byte) bool { _, err := netip.ParseAddr(string(v)); return err == nil },
	"email": func(v []byte) bool {
		i := strings.IndexByte(string(v), '@')
		return i > 0 && emailDomain(v, i+1) == len(v)
	},
}

// compact is v in upper case without separators.
func compact(v []byte) []byte {
	var d []byte
	for _, c := range v {
		if isAlnum(c) {
			d = append(d, toUpper(c))
		}
	}
	return d
}

func digitsOnly(d []byte) bool {
	for _, c := range d {
		if !isDigit(c) {
			return false
		}
	}
	return len(d) > 1
}

// addUserRules compiles the user's rules and returns the keywords' literals.
func (e *Engine) addUserRules(rules []Rule) (words []string, err error) {
	for _, r := range rules {
		if r.Name == "" || r.Regex == "" {
			return nil, fmt.Errorf("rule %q: name and regex are needed", r.Name)
		}
		// RE2 would print its own message on standard error.
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		re, err := re2.Compile(r.Regex)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		check, ok := validators[r.Validate]
		if !ok {
			return nil, fmt.Errorf("rule %s: unknown validator %q", r.Name, r.Validate)
		}
		u := userRule{re: re, number: e.number(r.Name), score: 1, validate: check, keyed: len(r.Keywords) > 0, reach: contextReach}
		if r.Score > 0 {
			u.score = float32(r.Score)
		}
		e.lines = e.lines || matchesBlank(tree)
		e.wordRules = e.wordRules || !u.keyed
		for _, k := range r.Keywords {
			if k == "" {
				return nil, fmt.Errorf("rule %s: empty keyword", r.Name)
			}
			words = append(words, strings.ToLower(k))
			e.literals = append(e.literals, literal{useUser, len(e.user), len(k)})
		}
		e.user = append(e.user, u)
	}
	return words, nil
}

// matchesBlank reports whether a pattern may match white space or another
// byte that ends a word.
func matchesBlank(t *syntax.Regexp) bool {
	switch t.Op {
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		for _, r := range t.Rune {
			if r >= 0x80 || class[r]&cDelim != 0 {
				return true
			}
		}
	case syntax.OpCharClass:
		for i := 0; i < len(t.Rune); i += 2 {
			for r := t.Rune[i]; r <= t.Rune[i+1] && r < 0x80; r++ {
				if class[r]&cDelim != 0 && r != '\n' && r >= ' ' || r == '\t' {
					return true
				}
			}
		}
	}
	for _, s := range t.Sub {
		if matchesBlank(s) {
			return true
		}
	}
	return false
}

// userRules runs the user's rules over b[a:e].
func (m *scanner) userRules(a, e int) {
	for i := range m.e.user {
		u := &m.e.user[i]
		if u.keyed && !m.awaits(i) {
			continue
		}
		for _, g := range u.re.FindAllSubmatchIndex(m.b[a:e], -1) {
			lo, hi := g[0], g[1]
			if len(g) > 2 && g[2] >= 0 {
				lo, hi = g[2], g[3]
			}
			if lo == hi || u.validate != nil && !u.validate(m.b[a+lo:a+hi]) || u.score < m.e.threshold {
				continue
			}
			m.add(found{s: a + lo, e: a + hi, kind: int32(numEntities) + int32(u.number), score: u.score})
		}
	}
}

// awaits reports whether a keyword of user rule i was seen.
func (m *scanner) awaits(i int) bool {
	for _, p := range m.pending {
		if l := m.e.literals[p.literal]; l.use == useUser && l.index == i {
			return true
		}
	}
	return false
}

// Allow lists what is never redacted.
type Allow struct {
	Values     []string // whole values, in any case
	Regexes    []string // RE2, must match the whole value
	PrivateIPs bool     // addresses of private, loopback and link-local networks
	Domains    []string // e-mail addresses and URLs of these domains
}

type allowList struct {
	values  map[string]bool
	regexes []*regexp.Regexp
	private bool
	domains []string
}

func newAllowList(a Allow) (*allowList, error) {
	if len(a.Values) == 0 && len(a.Regexes) == 0 && !a.PrivateIPs && len(a.Domains) == 0 {
		return nil, nil
	}
	l := &allowList{values: map[string]bool{}, private: a.PrivateIPs}
	for _, v := range a.Values {
		l.values[strings.ToLower(v)] = true
	}
	for _, r := range a.Regexes {
		re, err := regexp.Compile(`^(?:` + r + `)$`)
		if err != nil {
			return nil, fmt.Errorf("allow list: %w", err)
		}
		l.regexes = append(l.regexes, re)
	}
	for _, d := range a.Domains {
		l.domains = append(l.domains, strings.ToLower(strings.TrimPrefix(d, "@")))
	}
	return l, nil
}

// allowed drops the matches that the allow list lets pass.
func (m *scanner) allowed() {
	kept := m.local[:0]
	for _, f := range m.local {
		if !m.e.allow.passes(f.kind, m.b[f.s:f.e]) {
			kept = append(kept, f)
		}
	}
	m.local = kept
}

func (l *allowList) passes(kind int32, v []byte) bool {
	if l.values[strings.ToLower(string(v))] {
		return true
	}
	for _, re := range l.regexes {
		if re.Match(v) {
			return true
		}
	}
	switch entity(min(kind, int32(numEntities))) {
	case ipAddress:
		if !l.private {
			return false
		}
		s, _, _ := strings.Cut(string(v), "/")
		ip, err := netip.ParseAddr(s)
		return err == nil && (ip.Unmap().IsPrivate() || ip.Unmap().IsLoopback() || ip.Unmap().IsLinkLocalUnicast() || ip.IsUnspecified())
	case emailAddress:
		s := strings.ToLower(string(v))
		for _, d := range l.domains {
			if strings.HasSuffix(s, "@"+d) || strings.HasSuffix(s, "."+d) {
				return true
			}
		}
	}
	return false
}
