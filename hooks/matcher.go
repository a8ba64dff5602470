package hooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// matcher is a compiled Definition.Matcher.
type matcher struct {
	all   bool
	re    *regexp.Regexp
	names []string
}

// subject says what an event's matchers are tested against.
type subject int

const (
	subjectNone subject = iota // matchers have no effect
	subjectTool                // a tool name: regular expressions
	subjectName                // a source, reason or trigger: names
)

func subjectOf(ev Event) subject {
	switch ev {
	case BeforeTool, AfterTool:
		return subjectTool
	case SessionStart, SessionEnd, PreCompress:
		return subjectName
	}
	return subjectNone
}

func compileMatcher(ev Event, text string) (matcher, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "*" {
		return matcher{all: true}, nil
	}
	switch subjectOf(ev) {
	case subjectTool:
		re, err := regexp.Compile(text)
		if err != nil {
			return matcher{}, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		}
		return matcher{re: re}, nil
	case subjectName:
		names := strings.Split(text, "|")
		for i := range names {
			names[i] = strings.TrimSpace(names[i])
		}
		return matcher{names: names}, nil
	}
	return matcher{all: true}, nil
}

// matches tests a subject. A firing that has none concerns every hook: a guard
// must not be passed by because a name is missing.
func (m matcher) matches(subject string) bool {
	switch {
	case m.all || subject == "":
		return true
	case m.re != nil:
		return m.re.MatchString(subject)
	}
	return slices.Contains(m.names, subject)
}

// matcherHint tells what to write instead of a matcher that does not compile.
func matcherHint(text string) string {
	for _, s := range []string{"(?=", "(?!", "(?<=", "(?<!"} {
		if strings.Contains(text, s) {
			return `matchers are RE2 expressions, which have no look-ahead and no look-behind: name the tools to match, as in "write_file|replace"`
		}
	}
	for d := '1'; d <= '9'; d++ {
		if strings.Contains(text, `\`+string(d)) {
			return `matchers are RE2 expressions, which have no back-references: name the tools to match, as in "write_file|replace"`
		}
	}
	return `matchers are regular expressions (RE2) on the tool name, as in "write_file|replace" or "^mcp_"; put \ before a character that is meant as it stands: ` + fmt.Sprintf("%q", regexp.QuoteMeta(text))
}
