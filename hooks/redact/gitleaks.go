package redact

import (
	"fmt"
	stdregexp "regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
	re2 "github.com/wasilibs/go-re2"
	"github.com/zricethezav/gitleaks/v8/config"
)

// rule finds one kind of secret. The zero pattern stands for the kinds that
// plain code finds.
type rule struct {
	name     string
	pattern  string
	keywords []string
	group    int     // of the secret; 0: the first group that matched, or all
	entropy  float64 // bits per byte a secret has at least
	allow    []*stdregexp.Regexp

	// starts: every match begins with a keyword, which prefix spells in its
	// true case if exact; minLen is its least length, in bytes.
	starts    bool
	exact     bool
	bound     bool // no letter or digit before it
	prefix    string
	minLen    int
	secretMin int

	once sync.Once
	re   *re2.Regexp
}

// The rules of gitleaks that are not taken: for paths, for whole files, or
// because plain code here does their work (and knows what may follow a value
// in a sentence).
var ownRules = map[string]bool{
	"pkcs12-file": true, "jwt": true, "private-key": true, "generic-api-key": true, "kubernetes-secret-yaml": true,
	"hashicorp-tf-password": true, "nuget-config-password": true, "curl-auth-header": true, "curl-auth-user": true,
}

// In gitleaks a value ends at white space, a quote or the end of a line; in
// chat it may also end at a comma, a full stop or a closing bracket.
const (
	strictEnd = `(?:[\x60'"\s;]|\\[nr]|$)`
	laxEnd    = `(?:[^A-Za-z0-9_=+/~(-]|$)`
)

// leakRules parses the rules that gitleaks ships, once.
var leakRules = sync.OnceValues(func() ([]*rule, error) {
	var file struct {
		Rules []struct {
			ID          string
			Regex       string
			SecretGroup int
			Entropy     float64
			Keywords    []string
			Allowlists  []struct {
				RegexTarget string
				Regexes     []string
			}
		}
	}
	if err := toml.Unmarshal([]byte(config.DefaultConfig), &file); err != nil {
		return nil, fmt.Errorf("read gitleaks' rules: %w", err)
	}
	var rules []*rule
	for _, f := range file.Rules {
		if ownRules[f.ID] || f.Regex == "" || len(f.Keywords) == 0 {
			continue
		}
		r := &rule{
			name:     strings.ToUpper(strings.ReplaceAll(f.ID, "-", "_")),
			pattern:  strings.ReplaceAll(f.Regex, strictEnd, laxEnd),
			keywords: slices.DeleteFunc(f.Keywords, func(k string) bool { return k == "s." }), // in code a method of s
			group:    f.SecretGroup,
			entropy:  f.Entropy,
		}
		for _, a := range f.Allowlists {
			for _, x := range a.Regexes {
				if re, err := stdregexp.Compile(x); err == nil && a.RegexTarget == "" {
					r.allow = append(r.allow, re)
				}
			}
		}
		tree, err := syntax.Parse(r.pattern, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("read gitleaks' rule %s: %w", f.ID, err)
		}
		r.analyse(tree)
		rules = append(rules, r)
	}
	return rules, nil
})

// analyse derives from the pattern what can be checked without running it.
func (r *rule) analyse(tree *syntax.Regexp) {
	r.minLen = minLen(tree)
	r.secretMin = r.minLen
	if g := findGroup(tree, max(r.group, 1)); g != nil {
		r.secretMin = minLen(g)
	}
	r.bound = strings.HasPrefix(strings.TrimPrefix(r.pattern, "(?i)"), `\b`)
	prefix, exact := leading(tree)
	for _, k := range r.keywords {
		if !strings.HasPrefix(strings.ToLower(prefix), k) && !strings.HasPrefix(k, strings.ToLower(prefix)) || prefix == "" {
			return
		}
	}
	r.starts, r.prefix, r.exact = true, prefix, exact
}

func findGroup(t *syntax.Regexp, n int) *syntax.Regexp {
	if t.Op == syntax.OpCapture && t.Cap == n {
		return t
	}
	for _, s := range t.Sub {
		if g := findGroup(s, n); g != nil {
			return g
		}
	}
	return nil
}

// minLen is the length of the shortest match, in characters.
func minLen(t *syntax.Regexp) int {
	switch t.Op {
	case syntax.OpLiteral:
		return len(t.Rune)
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpPlus:
		return minLen(t.Sub[0])
	case syntax.OpRepeat:
		return t.Min * minLen(t.Sub[0])
	case syntax.OpConcat:
		n := 0
		for _, s := range t.Sub {
			n += minLen(s)
		}
		return n
	case syntax.OpAlternate:
		n := minLen(t.Sub[0])
		for _, s := range t.Sub[1:] {
			n = min(n, minLen(s))
		}
		return n
	}
	return 0
}

// leading is the text that every match begins with, and whether its case is
// fixed.
func leading(t *syntax.Regexp) (prefix string, exact bool) {
	switch t.Op {
	case syntax.OpLiteral:
		return string(t.Rune), t.Flags&syntax.FoldCase == 0
	case syntax.OpCapture:
		return leading(t.Sub[0])
	case syntax.OpConcat:
		exact = true
		for _, s := range t.Sub {
			if s.Op == syntax.OpWordBoundary || s.Op == syntax.OpEmptyMatch {
				continue
			}
			p, x := leading(s)
			prefix, exact = prefix+p, exact && x
			if s.Op != syntax.OpLiteral {
				break
			}
		}
		return prefix, exact
	}
	return "", true
}

// begins reports whether a match may begin at s, as far as the keyword goes.
func (r *rule) begins(b []byte, s int) bool {
	if r.bound && s > 0 && (isAlnum(b[s-1]) || b[s-1] == '_') && !escaped(b, s) {
		return false
	}
	k := min(len(r.prefix), len(b)-s)
	if r.exact {
		for i := range min(k, len(r.keywords[0])) {
			if b[s+i] != r.prefix[i] {
				return false
			}
		}
	}
	return true
}

func (r *rule) regexp() *re2.Regexp {
	r.once.Do(func() { r.re = re2.MustCompile(r.pattern) })
	return r.re
}

// tried says that a rule has no further match before until.
type tried struct {
	rule  *rule
	until int
}

// rule runs a rule's pattern over b[a:e] and what stands before it; its
// keyword is at s.
func (m *scanner) rule(r *rule, s, a, e int) {
	if s < m.floor {
		return
	}
	for _, t := range m.tried {
		if t.rule == r && s < t.until {
			return
		}
	}
	from := s
	if r.starts {
		if s < a || e-s < r.minLen || run(m.b[s:s+r.minLen]) < r.minLen {
			return
		}
	} else {
		// The keyword need not be where the match begins.
		from = max(m.floor, s-ruleBack)
		if a <= s && escaped(m.b, a) {
			from = a // the letter of "\n" is no part of a word
		}
	}
	if e-from < r.minLen {
		return
	}
	if r.starts && from > m.floor && r.bound && !escaped(m.b, from) {
		from-- // for \b
	}
	end := min(e+1, len(m.b))
	until := e
	for _, g := range r.regexp().FindAllSubmatchIndex(m.b[from:end], 8) {
		if r.starts {
			until = from + g[1]
		}
		if m.ruleMatch(r, g, from, a, e) && r.starts {
			break
		}
	}
	m.tried = append(m.tried, tried{r, until})
}

// ruleBack is how far (bytes) before a keyword a match may begin.
const ruleBack = 64

// ruleMatch judges the match g of a window that begins at from.
func (m *scanner) ruleMatch(r *rule, g []int, from, a, e int) bool {
	lo, hi := g[0], g[1]
	if r.group > 0 && 2*r.group+1 < len(g) && g[2*r.group] >= 0 {
		lo, hi = g[2*r.group], g[2*r.group+1]
	} else {
		for k := 2; k+1 < len(g); k += 2 {
			if g[k] >= 0 {
				lo, hi = g[k], g[k+1]
				break
			}
		}
	}
	lo, hi = max(from+lo, a), min(from+hi, e)
	if lo >= hi {
		return false
	}
	v := m.b[lo:hi]
	if r.entropy > 0 && entropy(v) <= r.entropy || repetitive(v) || isPlaceholder(v) {
		return false
	}
	for _, x := range r.allow {
		if x.Match(v) {
			return false
		}
	}
	m.addSecret(m.e.ruleNumber[r.name], lo, hi)
	return true
}

// run is the length of the token at the start of b.
func run(b []byte) int {
	for i, c := range b {
		if !isToken(c) && c != ':' && c != '@' {
			return i
		}
	}
	return len(b)
}
