// Package migrate turns hooks that are configured for one tool into those of
// another: names of events and of tools in matchers, units of time, and what the
// other tool has no word for, which is listed and never dropped in silence.
package migrate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
)

// Group is a group of hooks as it is written.
type Group struct {
	Matcher    string `json:"matcher,omitempty"`
	Dialect    string `json:"dialect,omitempty"` // hookline's key
	Sequential bool   `json:"sequential,omitempty"`
	Async      bool   `json:"async,omitempty"`
	Hooks      []Hook `json:"hooks"`
}

// Hook is a hook as it is written.
type Hook struct {
	Type           config.HookType    `json:"type"`
	Name           string             `json:"name,omitempty"`
	Description    string             `json:"description,omitempty"`
	Command        string             `json:"command,omitempty"`
	Args           []string           `json:"args,omitzero"`
	Shell          string             `json:"shell,omitempty"`
	URL            string             `json:"url,omitempty"`
	Headers        map[string]string  `json:"headers,omitempty"`
	AllowedEnvVars []string           `json:"allowedEnvVars,omitempty"`
	Prompt         string             `json:"prompt,omitempty"`
	Model          string             `json:"model,omitempty"`
	Tools          []config.AgentTool `json:"tools,omitempty"`
	MaxTurns       int                `json:"maxTurns,omitempty"`
	Timeout        int                `json:"timeout,omitempty"`
	Env            map[string]string  `json:"env,omitempty"`
	FailMode       config.FailMode    `json:"failMode,omitempty"`
	OnFailure      string             `json:"onFailure,omitempty"` // Claude Code's word
	If             string             `json:"if,omitempty"`
	Once           bool               `json:"once,omitempty"`
	Async          bool               `json:"async,omitempty"`
}

// Loss is one thing that the other tool has no word for.
type Loss struct {
	At   string `json:"at"` // file and line
	What string `json:"what"`
}

// Settings are the migrated hooks by event.
type Settings struct {
	Hooks map[string][]Group `json:"hooks"`
	Lost  []Loss             `json:"-"`
}

// Tool is what hooks can be migrated to.
type Tool string

const (
	Hookline Tool = "hookline"
	Gemini   Tool = "gemini"
	Claude   Tool = "claude"
)

// same pairs the names of one event.
var same = []struct{ claude, gemini string }{
	{"PreToolUse", "BeforeTool"}, {"PostToolUse", "AfterTool"}, {"PostToolUseFailure", "AfterTool"}, {"UserPromptSubmit", "BeforeAgent"},
	{"Stop", "AfterAgent"}, {"PreCompact", "PreCompress"}, {"SessionStart", "SessionStart"}, {"SessionEnd", "SessionEnd"}, {"Notification", "Notification"},
}

// migration is one run.
type migration struct {
	to  Tool
	out Settings
}

// Migrate turns hooks, as [config.Import] read them, into another tool's.
func Migrate(all config.Hooks, to Tool) Settings {
	m := &migration{to: to, out: Settings{Hooks: map[string][]Group{}}}
	type placed struct {
		event string
		def   config.Definition
	}
	var groups []placed
	for ev, defs := range all {
		for _, d := range defs {
			groups = append(groups, placed{ev, d})
		}
	}
	slices.SortFunc(groups, func(a, b placed) int { return a.def.Order - b.def.Order })
	for _, g := range groups {
		m.group(g.event, &g.def)
	}
	return m.out
}

func (m *migration) lose(d *config.Definition, line int, format string, args ...any) {
	l := Loss{At: fmt.Sprintf("%s:%d", d.Source.File, line), What: fmt.Sprintf(format, args...)}
	if !slices.Contains(m.out.Lost, l) {
		m.out.Lost = append(m.out.Lost, l)
	}
}

func (m *migration) group(event string, d *config.Definition) {
	line := d.Hooks[0].Line
	from := d.In(event)
	if m.to == Hookline || string(m.to) == string(from) {
		m.add(event, d, from, d.Matcher)
		return
	}
	names := m.events(event, from)
	if len(names) == 0 {
		m.lose(d, line, "%s has no event like %s: %d hooks are left out", m.to, event, len(d.Hooks))
		return
	}
	if event == "PostToolUseFailure" && m.to == Gemini {
		m.lose(d, line, "AfterTool fires after tools that succeed, too; PostToolUseFailure did not")
	}
	if event == "PreCompact" && m.to == Gemini && from == config.DialectClaude {
		m.lose(d, line, "PreCompress cannot hold a compression back; PreCompact could")
	}
	if (from == config.DialectGemini) != (m.to == Gemini) {
		m.lose(d, line, "its hooks must speak %s's JSON (exit codes 0 and 2 are the same); hookline runs them as they are", m.to)
	}
	for _, name := range names {
		for _, matcher := range m.matchers(name, from, d, line) {
			m.add(name, d, from, matcher)
		}
	}
}

// events are the other tool's names of an event.
func (m *migration) events(event string, from config.Dialect) (names []string) {
	if m.to == Claude && from != config.DialectGemini {
		return []string{event} // one family
	}
	for _, s := range same {
		if m.to == Gemini && s.claude == event {
			names = append(names, s.gemini)
		}
		if m.to == Claude && s.gemini == event {
			names = append(names, s.claude)
		}
	}
	return names
}

func aboutTool(event string) bool {
	return strings.HasSuffix(event, "Tool") || strings.Contains(event, "ToolUse") || strings.HasPrefix(event, "Permission")
}

// matchers are the matchers that stand for one; several where the other tool takes
// one name at a time.
func (m *migration) matchers(event string, from config.Dialect, d *config.Definition, line int) []string {
	old := strings.TrimSpace(d.Matcher)
	switch {
	case old == "" || old == "*":
		return []string{""}
	case aboutTool(event) && m.to == Gemini:
		return []string{toGemini(old, from)}
	case aboutTool(event):
		now, sure := toClaude(old)
		if !sure {
			m.lose(d, line, "matcher %q matched parts of names; %s matches whole ones", old, m.to)
		}
		return []string{now}
	case m.to == Gemini && strings.HasPrefix(event, "Session"), m.to == Gemini && event == "PreCompress":
		return m.names(event, old, d, line)
	case m.to == Gemini:
		m.lose(d, line, "Gemini CLI has no matchers for %s: %q is left out", event, old)
		return []string{""}
	}
	return []string{old}
}

// geminiValues are what Gemini CLI has for the matchers of events that take one
// name.
var geminiValues = map[string][]string{
	"SessionStart": {"startup", "resume", "clear"}, "SessionEnd": {"exit", "clear", "logout", "prompt_input_exit", "other"}, "PreCompress": {"manual", "auto"},
}

func (m *migration) names(event, list string, d *config.Definition, line int) (names []string) {
	for n := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == '|' || r == ',' }) {
		if n = strings.TrimSpace(n); slices.Contains(geminiValues[event], n) {
			names = append(names, n)
		} else {
			m.lose(d, line, "Gemini CLI's %s never has %q", event, n)
		}
	}
	return names
}

var (
	plainNames = regexp.MustCompile(`\A[A-Za-z0-9_\- ,|]*\z`)
	word       = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	claudeMCP  = regexp.MustCompile(`mcp__([A-Za-z0-9-]+)__`)
	// older names, and those of Qwen Code, that Gemini CLI does not have.
	others = []string{"edit", "search_file_content", "todo_write"}
)

// geminiTool is Gemini CLI's name of a tool.
func geminiTool(name string) string {
	own := hooks.Tools()
	target := name
	if theirs, ok := own[name]; ok && slices.Contains(others, name) {
		target = theirs
	}
	for _, n := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains(others, n) && slices.Contains(hooks.ToolNames(n), target) {
			return n
		}
	}
	return strings.Replace(claudeMCP.ReplaceAllString(name, "mcp_${1}_"), "mcp__", "mcp_", 1)
}

// toGemini is a matcher on tools for Gemini CLI, whose matchers are expressions
// that match parts of names.
func toGemini(matcher string, from config.Dialect) string {
	if from == config.DialectClaude && plainNames.MatchString(matcher) {
		var names []string
		for n := range strings.FieldsFuncSeq(matcher, func(r rune) bool { return r == '|' || r == ',' }) {
			names = append(names, geminiTool(strings.TrimSpace(n)))
		}
		return "^(" + strings.Join(names, "|") + ")$"
	}
	return word.ReplaceAllStringFunc(matcher, geminiTool)
}

// toClaude is a matcher on tools for Claude Code. sure is false where it may match
// less than before.
func toClaude(matcher string) (string, bool) {
	own := hooks.Tools()
	if !plainNames.MatchString(matcher) {
		return word.ReplaceAllStringFunc(matcher, func(n string) string {
			if theirs := own[n]; theirs != "" {
				return theirs
			}
			return n
		}), true
	}
	var names []string
	sure := true
	add := func(n string) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for n := range strings.SplitSeq(matcher, "|") {
		n = strings.TrimSpace(n)
		if theirs := own[n]; theirs != "" {
			add(theirs)
			continue
		}
		found := false
		for _, tool := range slices.Sorted(maps.Keys(own)) {
			if strings.Contains(tool, n) {
				add(own[tool])
				found = true
			}
		}
		if !found {
			add(n)
		}
		sure = false
	}
	return strings.Join(names, "|"), sure
}

// add writes a group.
func (m *migration) add(event string, d *config.Definition, from config.Dialect, matcher string) {
	g := Group{Matcher: matcher, Sequential: d.Sequential, Async: d.Async}
	if m.to == Hookline {
		g.Dialect = string(from)
	}
	for i := range d.Hooks {
		if h, ok := m.hook(event, d, from, &d.Hooks[i]); ok {
			g.Hooks = append(g.Hooks, h)
		}
	}
	if m.to != Hookline && d.Async && m.to == Gemini {
		m.lose(d, d.Hooks[0].Line, "Gemini CLI has no hooks in the background: async is left out")
		g.Async = false
	}
	if m.to == Claude && d.Sequential {
		m.lose(d, d.Hooks[0].Line, "Claude Code runs all hooks at once: sequential is left out")
		g.Sequential = false
	}
	if len(g.Hooks) > 0 {
		m.out.Hooks[event] = append(m.out.Hooks[event], g)
	}
}

func (m *migration) hook(event string, d *config.Definition, from config.Dialect, h *config.Hook) (Hook, bool) {
	out := Hook{Type: h.Type, Name: h.Name, Description: h.Description, Command: h.Command, Args: h.Args, Shell: h.Shell, URL: h.URL, Headers: h.Headers,
		AllowedEnvVars: h.AllowedEnvVars, Prompt: h.Prompt, Model: h.Model, Tools: h.Tools, MaxTurns: h.MaxTurns, Timeout: h.Timeout, Env: h.Env,
		If: h.If, Once: h.Once, Async: h.Async}
	if h.FailMode == config.FailClosed {
		out.FailMode = h.FailMode
	}
	if m.to == Hookline {
		return out, true
	}
	if m.to == Gemini && h.Type != config.Command {
		m.lose(d, h.Line, "Gemini CLI has no hooks of type %q: the hook is left out", h.Type)
		return out, false
	}
	out.Timeout = m.timeout(event, from, h)
	for _, l := range []struct {
		lost bool
		key  string
		drop func()
	}{
		{m.to == Gemini && h.Args != nil, "args", func() { out.Args = nil }},
		{m.to == Gemini && h.Shell != "", "shell", func() { out.Shell = "" }},
		{m.to == Gemini && h.If != "", "if", func() { out.If = "" }},
		{m.to == Gemini && h.Once, "once", func() { out.Once = false }},
		{m.to == Gemini && h.Async, "async", func() { out.Async = false }},
		{m.to == Gemini && out.FailMode != "", "failMode", func() { out.FailMode = "" }},
		{m.to == Claude && len(h.Env) > 0, "env", func() { out.Env = nil }},
	} {
		if l.lost {
			m.lose(d, h.Line, "%s has no %q for hooks: it is left out", m.to, l.key)
			l.drop()
		}
	}
	if m.to == Gemini && h.Args != nil {
		m.lose(d, h.Line, "the command is started without its arguments: write them into the command")
	}
	if m.to == Claude {
		out.Name, out.Description = "", "" // nothing depends on them
		if out.FailMode != "" {
			out.FailMode, out.OnFailure = "", "block"
		}
		out.Command = strings.NewReplacer("GEMINI_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "QWEN_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "QODER_PROJECT_DIR", "CLAUDE_PROJECT_DIR").Replace(out.Command)
	}
	return out, true
}

// timeout is a hook's time in the other tool's unit, the default of its own tool
// written out.
func (m *migration) timeout(event string, from config.Dialect, h *config.Hook) int {
	span := time.Duration(h.Timeout) * dialect.Unit(string(from))
	if span == 0 {
		span = hooks.DefaultTimeout
		for _, l := range dialect.All()[string(from)] {
			if l.Timeout != nil && (l.Name == event || l.Event == hooks.Event(event)) {
				span = l.Timeout(string(h.Type))
				break
			}
		}
	}
	unit := dialect.Unit(string(m.to))
	return int((span + unit - 1) / unit)
}
