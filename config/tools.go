package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Source is a file that hooks stand in.
type Source struct {
	Tool  string `json:"tool"`  // whose settings: "gemini", "claude", "qwen", "qoder"; "" for hookline's own
	Layer Layer  `json:"layer"` // "" for hookline's own
	// Name is the extension's.
	Name string `json:"name,omitempty"`
	File string `json:"file"`
	// Project is the folder whose files the source belongs to; "" for sources
	// that are the user's or the system's. Hooks of a project need trust.
	Project string `json:"project,omitempty"`
}

// Layer is the level of a tool's settings.
type Layer string

const (
	LayerDefaults  Layer = "defaults" // the system's, below all others
	LayerUser      Layer = "user"
	LayerProject   Layer = "project"
	LayerLocal     Layer = "local" // the project's, not shared
	LayerSystem    Layer = "system"
	LayerExtension Layer = "extension"
	LayerFile      Layer = "file" // named by the configuration
)

// Place says where other tools' settings are looked for. The zero value looks
// nowhere but at system-wide paths.
type Place struct {
	Home    string // the user's home folder; "" for none
	Project string // the folder that the agent works in; "" for none
	// Env gives environment variables; nil for none.
	Env func(name string) string
	// Root stands in front of the system-wide paths; "" for the real ones.
	Root string
}

func (p Place) env(name string) string {
	if p.Env == nil {
		return ""
	}
	return p.Env(name)
}

// tool is where a tool keeps its settings.
type tool struct {
	dialect Dialect
	dir     string // in the user's home folder and in projects
	home    string // variable that names another home folder
	user    string // variable that names another folder in place of ~/dir
	local   bool   // it has settings.local.json

	linux, darwin, windows string // the folder of system-wide settings
	system                 string // the file in there
	systemVar, defaultsVar string // variables that name other files
	extensions             bool
}

var tools = map[string]tool{
	"gemini": {dialect: DialectGemini, dir: ".gemini", home: "GEMINI_CLI_HOME", linux: "/etc/gemini-cli",
		darwin: "/Library/Application Support/GeminiCli", windows: `C:\ProgramData\gemini-cli`, system: "settings.json",
		systemVar: "GEMINI_CLI_SYSTEM_SETTINGS_PATH", defaultsVar: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH", extensions: true},
	"qwen": {dialect: DialectQwen, dir: ".qwen", local: true, linux: "/etc/qwen-code",
		darwin: "/Library/Application Support/QwenCode", windows: `C:\ProgramData\qwen-code`, system: "settings.json",
		systemVar: "QWEN_CODE_SYSTEM_SETTINGS_PATH", defaultsVar: "QWEN_CODE_SYSTEM_DEFAULTS_PATH", extensions: true},
	"claude": {dialect: DialectClaude, dir: ".claude", user: "CLAUDE_CONFIG_DIR", local: true, linux: "/etc/claude-code",
		darwin: "/Library/Application Support/ClaudeCode", windows: `C:\ProgramData\ClaudeCode`, system: "managed-settings.json"},
	"qoder": {dialect: DialectQoder, dir: ".qoder", local: true},
}

// Tools are the tools whose hooks can be imported.
func Tools() []string { return []string{"gemini", "claude", "qwen", "qoder"} }

func (t *tool) systemDir(p Place) string {
	dir := map[string]string{"darwin": t.darwin, "windows": t.windows}[runtime.GOOS]
	if dir == "" {
		dir = t.linux
	}
	if dir == "" {
		return ""
	}
	return p.Root + dir
}

func (t *tool) userDir(p Place) string {
	if dir := p.env(t.user); t.user != "" && dir != "" {
		return dir
	}
	home := p.Home
	if dir := p.env(t.home); t.home != "" && dir != "" {
		home = dir
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, t.dir)
}

// sources are the files of a tool's settings, in the order in which the hooks
// run: lists of all layers are joined, a layer that others override first.
// Extensions' hooks come last, as in Gemini CLI.
func (t *tool) sources(name string, p Place) []Source {
	var all []Source
	add := func(layer Layer, file, project string) {
		if file != "" && !slices.ContainsFunc(all, func(s Source) bool { return s.File == file }) {
			all = append(all, Source{Tool: name, Layer: layer, File: file, Project: project})
		}
	}
	sys, user := t.systemDir(p), t.userDir(p)
	under := func(dir, file string) string {
		if dir == "" {
			return ""
		}
		return filepath.Join(dir, file)
	}
	if t.defaultsVar != "" {
		add(LayerDefaults, firstOf(p.env(t.defaultsVar), under(sys, "system-defaults.json")), "")
	}
	add(LayerUser, under(user, "settings.json"), "")
	if p.Project != "" {
		dir := filepath.Join(p.Project, t.dir)
		add(LayerProject, filepath.Join(dir, "settings.json"), p.Project) // at home it is the user's, above
		if t.local {
			add(LayerLocal, filepath.Join(dir, "settings.local.json"), p.Project)
		}
	}
	if t.system != "" {
		file := under(sys, t.system)
		if t.systemVar != "" {
			file = firstOf(p.env(t.systemVar), file)
		}
		add(LayerSystem, file, "")
	}
	if t.extensions && user != "" {
		all = append(all, extensions(name, user, p)...)
	}
	return all
}

// extensions are the hook files of the extensions that are switched on.
func extensions(toolName, user string, p Place) []Source {
	dir := filepath.Join(user, "extensions")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // none are installed
	}
	on := enablement(filepath.Join(dir, "extension-enablement.json"))
	var all []Source
	for _, e := range entries {
		ext := filepath.Join(dir, e.Name())
		if st, err := os.Stat(ext); err != nil || !st.IsDir() || !on.enabled(e.Name(), p.Project) {
			continue
		}
		all = append(all, Source{Tool: toolName, Layer: LayerExtension, Name: e.Name(), File: filepath.Join(ext, "hooks", "hooks.json")})
	}
	return all
}

// overrides say in which folders an extension is on: "/app/*" and below,
// "!/app/" not there. The last one that fits counts; where none does it is on.
type overrides map[string]struct {
	Overrides []string `json:"overrides"`
}

func enablement(file string) overrides {
	var o overrides
	if data, err := readSmall(file); err == nil {
		_ = json.Unmarshal(data, &o) // what cannot be read switches nothing off
	}
	return o
}

func (o overrides) enabled(name, project string) bool {
	on := true
	at := strings.TrimSuffix(filepath.ToSlash(project), "/") + "/"
	for _, rule := range o[name].Overrides {
		path, off := strings.CutPrefix(rule, "!")
		path, below := strings.CutSuffix(path, "*")
		path = strings.TrimSuffix(path, "/") + "/"
		if path == at || below && strings.HasPrefix(at, path) {
			on = !off
		}
	}
	return on
}
