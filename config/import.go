package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Imports are the hooks of other tools' settings.
type Imports struct {
	// Hooks by the names that their tools give to events, in the order of
	// running. Their Order follows that of a configuration's own hooks.
	Hooks Hooks
	// Problems of the files. All are warnings: the files are other tools'.
	Problems Problems
	// Files are all that were looked for, also those that are not there: a
	// change of one changes the hooks.
	Files []string
}

// imports checks the names of what is to be imported; whether files are there is
// seen when they are read.
func (d *decoder) imports(names []string) {
	for i, n := range names {
		p := fmt.Sprintf("import[%d]", i)
		_, file := splitImport(n)
		switch {
		case !d.clean(p):
		case slices.Contains(names[:i], n):
			d.report(Warning, d.at[p], p, fmt.Sprintf("%q stands there twice", clip(n)), "")
		case file == "" && tools[n].dir != "":
		case file == "" || filepath.Ext(file) == "" && !strings.ContainsAny(file, `/\`):
			hint := "tools are " + strings.Join(Tools(), ", ") + "; a file is written like " + `"claude:path/settings.json"`
			if k := nearest(n, Tools()); k != "" {
				hint = fmt.Sprintf("did you mean %q?", k)
			}
			d.fail(d.at[p], p, fmt.Sprintf("%q is no tool and no file", clip(n)), hint)
		}
	}
}

// splitImport parts the name of an import into a tool ("" if none is named) and
// a file ("" for all layers of the tool).
func splitImport(name string) (tool, file string) {
	if _, ok := tools[name]; ok {
		return name, ""
	}
	if t, f, ok := strings.Cut(name, ":"); ok {
		if _, known := tools[t]; known {
			return t, f
		}
	}
	return "", name
}

// Import reads the hooks of what a configuration's Import names. Relative files
// are relative to dir, the configuration's folder.
func Import(names []string, dir string, p Place) *Imports {
	im := &importer{place: p, out: Imports{Hooks: Hooks{}}, order: maxFile}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			continue
		}
		tool, file := splitImport(n)
		if file == "" {
			t := tools[tool]
			im.tool(&t, t.sources(tool, p))
			continue
		}
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		im.file(tool, file)
	}
	return &im.out
}

// importer collects hooks file by file.
type importer struct {
	place Place
	out   Imports
	order int
}

// settings are what a file has to say of hooks.
type settings struct {
	source   Source
	hooks    []foreignGroup
	off      bool // no hook is to run
	disabled []string
}

type foreignGroup struct {
	event string
	def   Definition
}

// file imports one file, whose tool is guessed from its folder and its events if
// it is not named.
func (im *importer) file(name, file string) {
	src := Source{Tool: name, Layer: LayerFile, File: file}
	if p := im.place.Project; p != "" {
		if rel, err := filepath.Rel(p, file); err == nil && filepath.IsLocal(rel) {
			src.Project = p
		}
	}
	guess := ""
	if name == "" {
		for n, t := range tools {
			if filepath.Base(filepath.Dir(file)) == t.dir {
				src.Tool = n
			}
		}
		if src.Tool == "" {
			src.Tool = toolOf(file)
			guess = src.Tool
		}
	}
	t := tools[src.Tool]
	if !exists(file) {
		im.warn(file, "the file is not there", `"import" in the configuration names it`)
	}
	im.tool(&t, []Source{src})
	if guess == "claude" {
		im.warn(file, "its events are those of the Claude family: taken for Claude Code's, with time-outs in seconds",
			`write "claude:…", "qwen:…" or "qoder:…" in the configuration's "import"`)
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// toolOf guesses a file's tool from the names of its events.
func toolOf(file string) string {
	data, err := readSmall(file)
	if err != nil {
		return "gemini"
	}
	d := &decoder{file: file, data: data, at: map[string]int{}, foreign: true}
	root, err := hujson.Parse(blankMark(data))
	if err != nil {
		return "gemini"
	}
	hooks := root.Find("/hooks")
	if hooks == nil || kindOf(hooks) != "object" {
		return "gemini"
	}
	for _, ev := range d.members(hooks, "") {
		if !slices.Contains(geminiEvents, ev) && slices.Contains(claudeEvents, ev) {
			return "claude"
		}
	}
	return "gemini"
}

func (im *importer) warn(file, msg, hint string) {
	im.out.Problems = append(im.out.Problems, Problem{Severity: Warning, File: file, Line: 1, Column: 1, Message: msg, Hint: hint})
}

// tool imports the layers of one tool.
func (im *importer) tool(t *tool, sources []Source) {
	var layers []settings
	for _, src := range sources {
		im.out.Files = append(im.out.Files, src.File)
		if s, ok := im.read(t, src); ok {
			layers = append(layers, s)
		}
	}
	for _, l := range layers {
		for _, g := range l.hooks {
			for i := range g.def.Hooks {
				h := &g.def.Hooks[i]
				h.Off = offBy(h, l.source, layers)
			}
			im.order++
			g.def.Order, g.def.Source = im.order, l.source
			im.out.Hooks[g.event] = append(im.out.Hooks[g.event], g.def)
		}
	}
}

// offBy names the file that switches a hook off; "" for none. A project's files
// speak for the project's hooks alone: what comes with a checkout must not switch
// off the guards of its user.
func offBy(h *Hook, of Source, layers []settings) string {
	name := firstOf(h.Name, h.Command, h.URL, h.Prompt)
	for _, l := range layers {
		if l.source.Project != "" && of.Project == "" {
			continue
		}
		if l.off || slices.Contains(l.disabled, name) {
			return l.source.File
		}
	}
	return ""
}

// readSmall reads a file of at most maxFile bytes.
func readSmall(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is no plain file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return data, err
}

// blankMark puts blanks in the place of a byte order mark, so that offsets stay.
func blankMark(data []byte) []byte {
	text := slices.Clone(data)
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		copy(text, "   ")
	}
	return text
}

// read reads one file; ok is false when it says nothing.
func (im *importer) read(t *tool, src Source) (s settings, ok bool) {
	data, err := readSmall(src.File)
	if errors.Is(err, fs.ErrNotExist) {
		return s, false
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		im.warn(src.File, "cannot be read: "+err.Error(), "")
		return s, false
	}
	d := &decoder{file: src.File, data: data, at: map[string]int{}, foreign: true}
	defer func() {
		for i := range d.problems {
			d.problems[i].Severity = Warning
		}
		slices.SortStableFunc(d.problems, func(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
		im.out.Problems = append(im.out.Problems, d.problems...)
	}()
	text := blankMark(data)
	if len(bytes.TrimSpace(text)) == 0 {
		return s, false
	}
	root, err := hujson.Parse(text)
	if err != nil {
		off, msg := syntaxError(text, err)
		d.fail(off, "", msg, syntaxHint(text, off))
		return s, false
	}
	if !d.want(&root, "", "an object", "object") {
		return s, false
	}
	s.source = src
	for m, name := range d.members(&root, "") {
		switch name {
		case "hooks":
			d.foreignHooks(t, m.Value.Clone(), &s)
		case "hooksConfig":
			d.switches(&m.Value, &s)
		case "disableAllHooks":
			s.off = s.off || string(literal(&m.Value)) == "true"
		case "tools":
			if kindOf(&m.Value) == "object" {
				for l, key := range d.members(&m.Value, name) {
					if key == "enableHooks" {
						d.fail(l.Name.StartOffset, "tools.enableHooks", "has no effect any more", `use "hooksConfig": {"enabled": …}`)
					}
				}
			}
		}
	}
	for i := range s.hooks {
		s.hooks[i].def.fit(src, im.place)
	}
	return s, true
}

func literal(v *hujson.Value) hujson.Literal {
	lit, _ := v.Value.(hujson.Literal)
	return lit
}

// switches reads hooksConfig.
func (d *decoder) switches(v *hujson.Value, s *settings) {
	const path = "hooksConfig"
	if !d.want(v, path, "an object", "object") {
		return
	}
	for m, name := range d.members(v, path) {
		switch name {
		case "enabled":
			s.off = s.off || string(literal(&m.Value)) == "false"
		case "disabled":
			if !d.want(&m.Value, path+".disabled", "a list", "list") {
				continue
			}
			for _, e := range m.Value.Value.(*hujson.Array).Elements {
				if kindOf(&e) == "string" {
					s.disabled = append(s.disabled, literal(&e).String())
				}
			}
		}
	}
}

// foreignHooks reads the groups of all events. What is wrong is reported and left
// out, the rest counts.
func (d *decoder) foreignHooks(t *tool, v hujson.Value, s *settings) {
	if !d.want(&v, "hooks", "an object", "object") {
		return
	}
	for m, ev := range d.members(&v, "hooks") {
		path := join("hooks", ev)
		switch {
		case contains([]string{"enabled", "disabled", "notifications"}, ev):
			d.fail(m.Name.StartOffset, path, "has no effect any more", fmt.Sprintf(`use "hooksConfig": {"%s": …}`, ev))
			continue
		case !t.dialect.has(ev) || !slices.Contains(events, ev):
			hint := ""
			if k := counterpart(ev, t.dialect); k != "" {
				hint = fmt.Sprintf("its name there is %q", k)
			} else if k := nearest(ev, events); k != "" {
				hint = fmt.Sprintf("did you mean %q?", k)
			}
			d.fail(m.Name.StartOffset, path, fmt.Sprintf("%q never fires here: its hooks do not run", clip(ev)), hint)
			continue
		case !d.want(&m.Value, path, "a list", "list"):
			continue
		}
		for i, e := range m.Value.Value.(*hujson.Array).Elements {
			p := fmt.Sprintf("%s[%d]", path, i)
			if def, ok := d.foreignGroup(t, ev, p, &e); ok {
				s.hooks = append(s.hooks, foreignGroup{ev, def})
			}
		}
	}
}

func (d *decoder) foreignGroup(t *tool, ev, path string, v *hujson.Value) (def Definition, ok bool) {
	d.value(v, path, reflect.ValueOf(&def).Elem())
	if kindOf(v) != "object" {
		return def, false
	}
	if !d.has(path + ".hooks") {
		d.fail(v.StartOffset, path, `"hooks" is missing: the group is left out`, "")
		return def, false
	}
	def.Dialect = t.dialect
	if m := strings.TrimSpace(def.Matcher); aboutTool(ev) && m != "*" {
		if _, err := regexp.Compile(m); err != nil && !plainNames.MatchString(m) {
			p := path + ".matcher"
			d.fail(d.at[p], p, fmt.Sprintf("matcher %q does not compile: %s; it matches a tool of that very name alone", clip(m), clip(reason(err))),
				"matchers are RE2 regular expressions, which have no look-ahead and no look-behind")
			def.Matcher = "^" + regexp.QuoteMeta(m) + "$"
		}
	}
	all := def.Hooks
	def.Hooks = nil
	for i, h := range all {
		p := fmt.Sprintf("%s.hooks[%d]", path, i)
		if _, there := d.at[p]; !there {
			continue
		}
		h.Line, _ = lineColumn(d.data, d.at[p])
		if on := v.Find(fmt.Sprintf("/hooks/%d/onFailure", i)); on != nil && string(literal(on)) == `"block"` {
			h.FailMode = FailClosed // Claude Code's word for it
		}
		before := len(d.problems)
		d.hook(ev, p, t.dialect, h)
		if usable(&h) {
			def.Hooks = append(def.Hooks, h)
		} else if len(d.problems) == before && d.clean(p) && d.clean(p+".type") {
			d.fail(d.at[p], p, "the hook is left out", "")
		}
	}
	return def, len(def.Hooks) > 0
}

// usable reports whether a hook has what its type needs.
func usable(h *Hook) bool {
	switch h.Type {
	case Command:
		return strings.TrimSpace(h.Command) != ""
	case HTTP:
		return h.URL != ""
	case Prompt, Agent:
		return strings.TrimSpace(h.Prompt) != ""
	}
	return false
}
