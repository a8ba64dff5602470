package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRedactProblems(t *testing.T) {
	known := Known{
		Entity:   func(n string) bool { return strings.ToUpper(n) == "EMAIL_ADDRESS" },
		Entities: func() []string { return []string{"EMAIL_ADDRESS", "CREDIT_CARD"} },
	}
	for _, tt := range []struct {
		name, in string
		want     []string
		hint     string
	}{
		{"all", `{"redact": {"entities": {"email_address": "mask", "MINE": "block", "SECRET": "off"}, "rules": [{"name": "MINE", "regex": "m\\d+", "validate": "luhn"}], "allow": {"privateIPs": true, "regexes": ["a.*"]}, "inlineData": "deny", "failMode": "open"}, "endpoints": {"*": "pass", "live": "deny"}}`, nil, ""},
		{"unknown entity", `{"redact": {"entities": {"EMAIL_ADRESS": "mask"}}}`, []string{`f:1:42: error: redact.entities.EMAIL_ADRESS: there is no entity "EMAIL_ADRESS"`}, `did you mean "EMAIL_ADDRESS"?`},
		{"unknown action", `{"redact": {"default": "hide"}}`, []string{`f:1:24: error: redact.default: "hide" is not known, must be one of "mask", "partial", "hash", "placeholder", "block", "report", "off"`}, ""},
		{"rule", `{"redact": {"rules": [{"name": "my rule", "regex": "("}]}}`, []string{
			`f:1:32: error: redact.rules[0].name: "my rule" is no name for a rule`, "f:1:52: error: redact.rules[0].regex: \"(\" does not compile: missing closing ): `(`"}, "capital letters"},
		{"rule without a pattern", `{"redact": {"rules": [{"name": "A"}]}}`, []string{`f:1:23: error: redact.rules[0].regex: the pattern is missing`}, "RE2"},
		{"endpoint", `{"endpoints": {"countToken": "deny"}}`, []string{`f:1:16: error: endpoints.countToken: unknown key "countToken"`}, `did you mean "countTokens"?`},
		{"hook", `{"hooks": {"AfterTool": [{"hooks": [{"type": "builtin", "builtin": "redact", "default": "mask"}]}]}}`, nil, ""},
		{"hook of another event", `{"hooks": {"AfterAgent": [{"hooks": [{"type": "builtin", "builtin": "redact"}]}]}}`, []string{"f:1:38: error: hooks.AfterAgent[0].hooks[0]: redact is for BeforeModel, AfterModel, BeforeTool and AfterTool hooks"}, ""},
		{"hook with a command", `{"hooks": {"AfterTool": [{"hooks": [{"type": "builtin", "builtin": "redact", "command": "x"}]}]}}`, []string{`f:1:89: error: hooks.AfterTool[0].hooks[0].command: "command" does nothing for a hook of type "builtin"`}, "its own keys are builtin"},
		{"command with options", `{"hooks": {"AfterTool": [{"hooks": [{"type": "command", "command": "x", "default": "mask"}]}]}}`, []string{`f:1:84: error: hooks.AfterTool[0].hooks[0].default: "default" does nothing for a hook of type "command"`}, "its own keys"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ps := known.Parse("f", []byte(tt.in))
			var got []string
			for _, p := range ps {
				got = append(got, line(p))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if tt.hint != "" && (len(ps) == 0 || !strings.Contains(ps[0].Hint, tt.hint)) {
				t.Errorf("no hint %q in %v", tt.hint, ps)
			}
			if strings.Contains(tt.in, `"redact":`) != c.Redact.Enabled {
				t.Errorf("enabled is %v", c.Redact.Enabled)
			}
		})
	}
}
