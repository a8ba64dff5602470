// Package redact finds personal data and secrets in text and replaces them:
// in whole texts, in the strings of JSON documents, and in streams that arrive
// in pieces. It needs no model and no service: patterns, check digits, words
// of context, and the rules for secrets that gitleaks ships.
//
// Invariants: the result does not depend on how the text was cut into chunks;
// nothing that is redacted leaves a stream before it has been recognised;
// what is found appears in no error and in no log.
package redact

import (
	"fmt"
	"slices"
	"strings"
)

// Options says what to find and what to do with it. The zero value finds every
// entity but URL and every kind of secret, and masks them.
type Options struct {
	// Entities to find, by Presidio's names or those of Google DLP and AWS;
	// nil for all but URL. "all" stands for every entity, "default" for the
	// default ones. Entities are found only if named here.
	Entities []string
	// NoSecrets turns the rules for secrets off.
	NoSecrets bool
	// MinScore is the least score of a match, 0 for 0.4.
	MinScore float64
	// Rules are the user's own.
	Rules []Rule
	// Allow lists what is never redacted.
	Allow Allow

	// Action is what happens to a match; "" for [Mask].
	Action Action
	// Actions overrides Action by the name of an entity or a rule; "SECRET"
	// stands for all secrets that have no action of their own.
	Actions map[string]Action
	// Key is the secret of the hash action. A nil Key makes one per Engine.
	Key []byte
}

// Span is a match. Start and End are byte offsets in the input.
type Span struct {
	Start  int     `json:"start"`
	End    int     `json:"end"`
	Entity string  `json:"entity"`
	Score  float64 `json:"score"`
}

// Engine finds and replaces. It is safe for concurrent use; it holds no text.
type Engine struct {
	lit        *literals
	literals   []literal
	context    []contextWord
	recs       *recogniserTable
	on         [numEntities]bool
	rules      []*rule // of secrets, ours first, then gitleaks', then the user's
	ruleNumber map[string]int
	tokens     []token
	user       []userRule
	allow      *allowList
	threshold  float32
	// wordRules: some rule needs every word, not only those with a digit, an
	// '@' or a keyword.
	wordRules bool
	// lines: some rule may match more than a word, so segments are lines.
	lines bool

	acts actions
}

// ownNames are the kinds of secrets that plain code finds.
var ownNames = []string{"SECRET", "PASSWORD", "BEARER_TOKEN", "URL_PASSWORD", "JWT", "PRIVATE_KEY"}

// New makes an engine. It fails for an unknown entity or action, and for a
// pattern that does not compile.
func New(o Options) (*Engine, error) {
	e := &Engine{ruleNumber: map[string]int{}, threshold: minScore}
	if o.MinScore > 0 {
		e.threshold = float32(o.MinScore)
	}
	if err := e.choose(o.Entities); err != nil {
		return nil, err
	}
	on := func(k entity) bool { return e.on[k] }
	e.recs = newRecogniserTable(on)
	words, of := contextWords(on)
	e.context = of
	for i, w := range words {
		e.literals = append(e.literals, literal{useContext, i, len(w)})
	}
	if !o.NoSecrets {
		more, err := e.addSecretRules()
		if err != nil {
			return nil, err
		}
		words = append(words, more...)
	}
	more, err := e.addUserRules(o.Rules)
	if err != nil {
		return nil, err
	}
	words = append(words, more...)
	e.lit = newLiterals(words)
	if e.allow, err = newAllowList(o.Allow); err != nil {
		return nil, err
	}
	if err := e.acts.set(e, o); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Engine) choose(names []string) error {
	if names == nil {
		names = []string{"default"}
	}
	for _, n := range names {
		switch n {
		case "all", "default":
			for i := range e.on {
				e.on[i] = e.on[i] || n == "all" || entity(i) != urlEntity
			}
			continue
		}
		k, ok := entityByName[strings.ToUpper(n)]
		if !ok {
			return fmt.Errorf("unknown entity %q", n)
		}
		e.on[k] = true
	}
	return nil
}

// addSecretRules adds the kinds of secrets and returns their literals, in the
// order of e.literals.
func (e *Engine) addSecretRules() (words []string, err error) {
	word := func(w string, u use, index int) {
		words = append(words, strings.ToLower(w))
		e.literals = append(e.literals, literal{u, index, len(w)})
	}
	for _, n := range ownNames {
		e.number(n)
	}
	e.tokens = tokens
	for i, t := range tokens {
		e.number(t.name)
		word(t.prefix, useToken, i)
	}
	for i, s := range secretNames {
		word(s.word, useAssign, i)
	}
	word("://", useURL, 0)
	word("eyj", useJWT, 0)
	word("-----begin", usePEM, 0)
	rules, err := leakRules()
	if err != nil {
		return nil, err
	}
	for i := range rules {
		src := rules[i]
		n := e.number(src.name)
		r := e.rules[n]
		r.pattern, r.keywords, r.group, r.entropy, r.allow = src.pattern, src.keywords, src.group, src.entropy, src.allow
		r.starts, r.exact, r.bound, r.prefix, r.minLen, r.secretMin = src.starts, src.exact, src.bound, src.prefix, src.minLen, src.secretMin
		for _, k := range r.keywords {
			word(k, useRule, n)
		}
	}
	return words, nil
}

// number is the index of the rule of that name, made if there is none.
func (e *Engine) number(name string) int {
	if i, ok := e.ruleNumber[name]; ok {
		return i
	}
	i := len(e.rules)
	e.ruleNumber[name] = i
	e.rules = append(e.rules, &rule{name: name})
	return i
}

// Rules lists the kinds of secrets and the user's rules, sorted.
func (e *Engine) Rules() []string {
	names := make([]string, 0, len(e.rules))
	for i := range e.rules {
		names = append(names, e.rules[i].name)
	}
	slices.Sort(names)
	return names
}

// name is that of a match's kind.
func (e *Engine) name(kind int32) string {
	if kind < int32(numEntities) {
		return entities[kind].name
	}
	return e.rules[kind-int32(numEntities)].name
}
