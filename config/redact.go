package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Redact says what is redacted of what passes, and how.
type Redact struct {
	// Enabled switches redaction on; true by default where "redact" stands in
	// the file at all.
	Enabled bool `json:"enabled"`
	// Requests redacts what goes to the model, Responses what the model says.
	// Default true.
	Requests  bool `json:"requests"`
	Responses bool `json:"responses"`

	Entities EntityActions `json:"entities"`
	// Default is the action for entities and rules that have none of their own.
	// Default placeholder.
	Default RedactAction `json:"default"`
	// Secrets is the action for keys, tokens and passwords. "" is Default.
	Secrets RedactAction `json:"secrets"`
	Rules   []RedactRule `json:"rules"`
	Allow   Allow        `json:"allow"`

	// InlineData says what becomes of pictures and other data that is no text.
	// Default pass: they go up unscanned.
	InlineData InlineData `json:"inlineData"`
	// FailMode says what becomes of a body that cannot be scanned. Default closed.
	FailMode FailMode `json:"failMode"`
	// SystemNote adds a sentence on placeholders to the system instruction where
	// values can be put back. Default true.
	SystemNote bool `json:"systemNote"`
	// HashKey names the environment variable that holds the secret, 16 bytes or
	// more, of the action hash. "" is a new one with each start.
	HashKey string `json:"hashKey"`
}

// EntityActions are actions by the name of an entity or a rule.
type EntityActions map[string]RedactAction

// RedactRule is a kind of data of the user's own.
type RedactRule struct {
	Name     string       `json:"name"`
	Regex    string       `json:"regex"` // RE2; the first group, if any, is what is redacted
	Keywords []string     `json:"keywords"`
	Validate Validator    `json:"validate"` // "" for none
	Action   RedactAction `json:"action"`   // "" for the default
}

// Allow lists what is never redacted.
type Allow struct {
	Values     []string `json:"values"`
	Regexes    []string `json:"regexes"`
	Domains    []string `json:"domains"`
	PrivateIPs bool     `json:"privateIPs"`
}

// RedactAction is what becomes of a value.
type RedactAction string

// InlineData is a policy for data that is no text.
type InlineData string

// Validator is a check of a rule's matches.
type Validator string

// EndpointPolicy is what becomes of a request that is no model call.
type EndpointPolicy string

// Endpoints are policies of requests that are no model calls. "" is the default:
// pass, and with redaction what fits the endpoint.
type Endpoints struct {
	CountTokens          EndpointPolicy `json:"countTokens"`
	EmbedContent         EndpointPolicy `json:"embedContent"`
	BatchEmbedContents   EndpointPolicy `json:"batchEmbedContents"`
	BatchGenerateContent EndpointPolicy `json:"batchGenerateContent"`
	CachedContents       EndpointPolicy `json:"cachedContents"`
	Interactions         EndpointPolicy `json:"interactions"`
	Predict              EndpointPolicy `json:"predict"`
	CodeAssist           EndpointPolicy `json:"codeAssist"` // its methods that are no model calls
	Files                EndpointPolicy `json:"files"`      // metadata of files and stores
	Upload               EndpointPolicy `json:"upload"`
	Live                 EndpointPolicy `json:"live"`
	OpenAI               EndpointPolicy `json:"openai"`
	Other                EndpointPolicy `json:"*"`
}

// Named are the policies that are set, by name.
func (e Endpoints) Named() map[string]EndpointPolicy {
	all := map[string]EndpointPolicy{
		"countTokens": e.CountTokens, "embedContent": e.EmbedContent, "batchEmbedContents": e.BatchEmbedContents,
		"batchGenerateContent": e.BatchGenerateContent, "cachedContents": e.CachedContents, "interactions": e.Interactions,
		"predict": e.Predict, "codeAssist": e.CodeAssist, "files": e.Files, "upload": e.Upload, "live": e.Live,
		"openai": e.OpenAI, "*": e.Other,
	}
	for k, p := range all {
		if p == "" {
			delete(all, k)
		}
	}
	return all
}

const (
	ActionMask        RedactAction = "mask"        // [EMAIL_ADDRESS]
	ActionPartial     RedactAction = "partial"     // j***@example.com
	ActionHash        RedactAction = "hash"        // [EMAIL_ADDRESS:5f1c0a7be94d]
	ActionPlaceholder RedactAction = "placeholder" // <EMAIL_ADDRESS_1>, and the value back for the agent (default)
	ActionBlock       RedactAction = "block"       // the call is refused
	ActionReport      RedactAction = "report"      // it is counted only
	ActionOff         RedactAction = "off"         // it is not looked for

	InlinePass InlineData = "pass" // default
	InlineDeny InlineData = "deny"

	PolicyPass   EndpointPolicy = "pass"
	PolicyRedact EndpointPolicy = "redact"
	PolicyDeny   EndpointPolicy = "deny"
)

func (RedactAction) values() []string {
	return []string{string(ActionMask), string(ActionPartial), string(ActionHash), string(ActionPlaceholder), string(ActionBlock), string(ActionReport), string(ActionOff)}
}
func (InlineData) values() []string { return []string{string(InlinePass), string(InlineDeny)} }
func (Validator) values() []string {
	return []string{"luhn", "mod97", "verhoeff", "iso7064", "ip", "email"}
}
func (EndpointPolicy) values() []string {
	return []string{string(PolicyPass), string(PolicyRedact), string(PolicyDeny)}
}

// Known says which names of entities there are. The file is read by a package
// that knows no detector, so whoever loads it tells.
type Known struct {
	// Entity reports whether there is an entity, or a kind of secret, of that
	// name. Nil leaves names unchecked.
	Entity func(name string) bool
	// Entities lists the names, for hints.
	Entities func() []string
}

var ruleName = regexp.MustCompile(`^[A-Z][A-Z0-9_]{0,60}$`)

// redact checks what types cannot say of the redaction that stands at path.
func (d *decoder) redact(path string, entities EntityActions, rules []RedactRule, allow Allow) {
	own := map[string]bool{}
	for i, r := range rules {
		p := fmt.Sprintf("%s.rules[%d]", path, i)
		own[r.Name] = true
		if !d.clean(p) {
			continue
		}
		switch {
		case !ruleName.MatchString(r.Name) && d.clean(p+".name"):
			d.fail(d.place(p+".name", p), p+".name", fmt.Sprintf("%q is no name for a rule", clip(r.Name)), `write it like "EMPLOYEE_ID": capital letters, digits and underscores`)
		case r.Regex == "" && d.clean(p+".regex"):
			d.fail(d.place(p+".regex", p), p+".regex", "the pattern is missing", `add "regex": "…" (RE2)`)
		}
		if _, err := regexp.Compile(r.Regex); err != nil {
			d.fail(d.at[p+".regex"], p+".regex", fmt.Sprintf("%q does not compile: %s", clip(r.Regex), clip(reason(err))), "patterns are RE2 regular expressions")
		}
		if slices.Contains(r.Keywords, "") {
			d.fail(d.at[p+".keywords"], p+".keywords", "a keyword is empty", "")
		}
	}
	for i, re := range allow.Regexes {
		if p := fmt.Sprintf("%s.allow.regexes[%d]", path, i); d.clean(p) {
			if _, err := regexp.Compile(re); err != nil {
				d.fail(d.at[p], p, fmt.Sprintf("%q does not compile: %s", clip(re), clip(reason(err))), "patterns are RE2 regular expressions")
			}
		}
	}
	if d.known.Entity == nil {
		return
	}
	for name := range entities {
		p := join(path+".entities", name)
		if own[name] || name == "SECRET" || d.known.Entity(name) {
			continue
		}
		hint := "hookline redact --help tells of the names"
		if n := nearest(strings.ToUpper(name), d.known.Entities()); n != "" {
			hint = fmt.Sprintf("did you mean %q?", n)
		}
		d.fail(d.at[p], p, fmt.Sprintf("there is no entity %q", clip(name)), hint)
	}
}

// hashKey checks the name of the variable with the secret for hashes.
func (d *decoder) hashKey(name string) {
	const key = "redact.hashKey"
	if d.has(key) && d.clean(key) && !envName.MatchString(name) {
		// What stands there may be the secret itself: it is not repeated.
		d.fail(d.at[key], key, "is no name of an environment variable", `put the secret into a variable and write its name: "HOOKLINE_HASH_KEY"`)
	}
}

// place is where a value stands, or what it should stand in.
func (d *decoder) place(path, in string) int {
	if off, ok := d.at[path]; ok {
		return off
	}
	return d.at[in]
}

// fillRedact gives redaction the defaults of what the file leaves out.
func (d *decoder) fillRedact(r *Redact) {
	if d.has("redact") && !d.has("redact.enabled") {
		r.Enabled = true
	}
}
