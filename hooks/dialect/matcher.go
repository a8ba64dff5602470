package dialect

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

func some(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

// subject is what the event itself names: a source, a trigger, a kind of agent.
func subject(in *hooks.Input) []string { return some(in.Subject()) }

// toolNames are the names of a tool in all vocabularies: a guard for Bash is one
// for run_shell_command.
func toolNames(in *hooks.Input) []string {
	name := in.Subject()
	if name == "" {
		return nil
	}
	names := hooks.ToolNames(name)
	if mcp := mcpName(in); mcp != "" {
		names = append(names, mcp)
	}
	return names
}

func notificationType(in *hooks.Input) []string { return some(claudeNotification(in.Subject())) }
func endReason(in *hooks.Input) []string        { return some(claudeReason(in.Subject())) }

// baseName is the name of a changed file, without its folders.
func baseName(in *hooks.Input) []string {
	file := strings.ReplaceAll(in.Subject(), `\`, "/")
	if file == "" {
		return nil
	}
	return []string{path.Base(file)}
}

var (
	exactChars       = regexp.MustCompile(`\A[A-Za-z0-9_\- ,|]*\z`)
	narrowExactChars = regexp.MustCompile(`\A[A-Za-z0-9_|]*\z`)
)

// compileClaude reads a matcher as Claude Code does: a name or a list of names if
// it holds nothing else, else an unanchored expression.
func compileClaude(e *event, text string) (func(string) bool, error) {
	chars := exactChars
	if e.on == hooks.FileChanged || e.on == hooks.StopFailure {
		chars = narrowExactChars
	}
	if chars.MatchString(text) {
		return oneOf(text, "|,"), nil
	}
	return expression(text)
}

// compileQoder reads a matcher as Qoder does: tools by unanchored expressions,
// others by names, or by an expression if it looks like one.
func compileQoder(e *event, text string) (func(string) bool, error) {
	if e.tool() || strings.ContainsAny(text, `\.+*?()[]{}^$`) {
		if re, err := expression(text); err == nil {
			return re, nil
		}
		return oneOf(text, ""), nil
	}
	return oneOf(text, "|"), nil
}

// compileQwen reads a matcher as Qwen Code does: tools by unanchored expressions,
// others by names. A list of names is one here, too.
func compileQwen(e *event, text string) (func(string) bool, error) {
	if e.tool() {
		if re, err := expression(text); err == nil {
			return re, nil
		}
		return oneOf(text, ""), nil
	}
	return oneOf(text, "|"), nil
}

func (e *event) tool() bool {
	switch e.on {
	case hooks.BeforeTool, hooks.AfterTool, hooks.PermissionRequest, hooks.PermissionDenied:
		return true
	}
	return false
}

func expression(text string) (func(string) bool, error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re.MatchString, nil
}

func oneOf(text, separators string) func(string) bool {
	names := []string{text}
	if separators != "" {
		names = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(separators, r) })
	}
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return func(s string) bool { return slices.Contains(names, s) }
}
