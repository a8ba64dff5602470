package hooks

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// rule is a permission rule of the Claude family, TOOL or TOOL(PATTERN), as a
// hook's "if" holds it.
type rule struct {
	tool    func(string) bool
	pattern string // "" for every call of the tool
	command *regexp.Regexp
	file    *regexp.Regexp
}

func parseRule(text string) (*rule, error) {
	text = strings.TrimSpace(text)
	if !utf8.ValidString(text) {
		return nil, errors.New("it is not valid UTF-8")
	}
	tool, pattern, ok := strings.Cut(text, "(")
	if ok {
		if !strings.HasSuffix(pattern, ")") {
			return nil, errors.New("the bracket is not closed")
		}
		pattern = strings.TrimSuffix(pattern, ")")
	}
	tool = strings.TrimSpace(tool)
	if tool == "" || strings.ContainsAny(tool, " \t()|,") {
		return nil, errors.New("it begins with no tool's name")
	}
	r := &rule{tool: globOf(tool, ".*").MatchString}
	if pattern != "" && pattern != "*" {
		r.pattern = pattern
		r.command, r.file = commandGlob(pattern), fileGlob(pattern)
	}
	return r, nil
}

// globOf compiles a pattern in which * stands for what star matches.
func globOf(pattern, star string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, star) + `\z`)
}

// commandGlob reads a pattern on a shell command: "git *" and "git:*" match git
// with and without arguments, but no other command that begins so.
func commandGlob(pattern string) *regexp.Regexp {
	for _, end := range []string{":*", " *"} {
		if head, ok := strings.CutSuffix(pattern, end); ok {
			re := strings.TrimSuffix(globOf(head, ".*").String(), `\z`)
			return regexp.MustCompile(re + `(?:\s.*)?\z`)
		}
	}
	return globOf(pattern, ".*")
}

// fileGlob reads a pattern on a path: * stays within a folder, ** does not. A
// pattern without a slash is on the file's name, one that begins with // or ~/
// on the whole path, any other on its end.
func fileGlob(pattern string) *regexp.Regexp {
	head := `(?:.*/)?`
	switch {
	case strings.HasPrefix(pattern, "//"):
		pattern, head = pattern[1:], ""
	case strings.HasPrefix(pattern, "~/"):
		pattern = pattern[2:]
	default:
		pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	}
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case pattern[i] == '*':
			b.WriteString(`[^/]*`)
		case pattern[i] == '?':
			b.WriteString(`[^/]`)
		default:
			j := i + 1
			for j < len(pattern) && pattern[j] != '*' && pattern[j] != '?' {
				j++
			}
			b.WriteString(regexp.QuoteMeta(pattern[i:j]))
			i = j - 1
		}
	}
	return regexp.MustCompile(`(?s)\A` + head + b.String() + `\z`)
}

// named reports whether a hook's rule names the call of a firing.
func (h *Hook) named(in *Input) bool {
	switch {
	case h.If == "":
		return true
	case subjects[in.Event] != "tool_name":
		return false
	}
	return h.rule.matches(in)
}

// primary are the arguments that a pattern is on, the first that a call has.
var primary = []string{"command", "file_path", "filePath", "path", "url", "query", "pattern"}

func (r *rule) matches(in *Input) bool {
	if !slices.ContainsFunc(ToolNames(in.Subject()), r.tool) {
		return false
	}
	if r.pattern == "" {
		return true
	}
	args := fieldsOf(in.Field("tool_input"))
	for _, key := range primary {
		v := field(args, key)
		if len(v) == 0 || v[0] != '"' {
			continue
		}
		text := (&Answer{}).Text(key, v)
		switch {
		case key == "command":
			return r.inCommand(text)
		case strings.HasPrefix(r.pattern, "domain:"):
			return hostOf(text) == strings.TrimPrefix(r.pattern, "domain:")
		case key == "url" || key == "query" || key == "pattern":
			return r.command.MatchString(text)
		}
		return r.file.MatchString(path.Clean(strings.ReplaceAll(text, `\`, "/")))
	}
	return true // nothing to look at: a guard runs rather than not
}

func hostOf(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if i := strings.IndexAny(url, "/?#"); i >= 0 {
		url = url[:i]
	}
	url = url[strings.LastIndexByte(url, '@')+1:]
	host, _, _ := strings.Cut(url, ":")
	return strings.ToLower(host)
}

// inCommand reports whether the pattern names some command of a shell line. A
// line that is not understood is named by every pattern.
func (r *rule) inCommand(line string) bool {
	cmds, ok := subCommands(line)
	return !ok || slices.ContainsFunc(cmds, r.command.MatchString)
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=(?:'[^']*'|"[^"]*"|[^\s'"]*)*\s+`)

// subCommands takes a shell line apart at its operators, without the variables
// that lead a command. ok is false for a line with substitutions, here
// documents, groups or quotes that do not end.
func subCommands(line string) (cmds []string, ok bool) {
	var cur strings.Builder
	add := func() {
		cmd := strings.TrimSpace(cur.String())
		cur.Reset()
		for {
			m := assignment.FindString(cmd)
			if m == "" {
				break
			}
			cmd = cmd[len(m):]
		}
		if cmd != "" {
			cmds = append(cmds, cmd)
		}
	}
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			cur.WriteByte(c)
			if i++; i == len(line) {
				return nil, false
			}
			c = line[i]
		case c == '`', c == '$' && i+1 < len(line) && line[i+1] == '(':
			return nil, false
		case quote == '"':
			if c == '"' {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(' || c == ')' || c == '{' && (i+1 == len(line) || line[i+1] == ' '), c == '<' && strings.HasPrefix(line[i:], "<<"):
			return nil, false
		case c == '&' && i > 0 && (line[i-1] == '>' || line[i-1] == '<') || c == '&' && i+1 < len(line) && line[i+1] == '>':
			// a redirection, as in 2>&1 and &>file
		case c == ';' || c == '|' || c == '&' || c == '\n':
			add()
			continue
		}
		cur.WriteByte(c)
	}
	if quote != 0 {
		return nil, false
	}
	add()
	return cmds, true
}
