package hooks

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// subject says what an event's matchers are tested against.
type subject int

const (
	subjectNone subject = iota // matchers have no effect
	subjectTool                // a tool name: regular expressions
	subjectName                // a source, reason or trigger: names
)

// subjectOf is the rule of Gemini CLI's dialect.
func subjectOf(ev Event) subject {
	switch {
	case ev == Notification || subjects[ev] == "":
		return subjectNone
	case subjects[ev] == "tool_name":
		return subjectTool
	}
	return subjectName
}

func compileTool(text string) (func(string) bool, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re.MatchString, nil
}

func compileNames(text string) (func(string) bool, error) {
	names := strings.Split(text, "|")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return func(s string) bool { return slices.Contains(names, s) }, nil
}

// compileMatcher reads a definition's matcher; nil matches everything.
func compileMatcher(l *Listener, text string) (func(string) bool, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "*" || l.Compile == nil {
		return nil, nil
	}
	return l.Compile(text)
}

// takes reports whether a hook listens to a firing.
func (h *Hook) takes(in *Input) bool {
	if h.listener.Takes != nil && !h.listener.Takes(in) {
		return false
	}
	if h.matcher == nil {
		return true
	}
	names := h.listener.Subjects(in)
	return len(names) == 0 || slices.ContainsFunc(names, h.matcher)
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
