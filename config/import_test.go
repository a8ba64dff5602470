package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// world lays files out below a folder: HOME, the project and system-wide ones.
func world(t *testing.T, files map[string]string) (Place, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Place{Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "work"), Root: filepath.Join(dir, "root")}, dir
}

// told are the hooks in the order of running, one line each, and the problems.
func told(im *Imports, dir string) (hooks, problems []string) {
	type placed struct {
		ev  string
		def Definition
	}
	var all []placed
	for ev, defs := range im.Hooks {
		for _, d := range defs {
			all = append(all, placed{ev, d})
		}
	}
	slices.SortFunc(all, func(a, b placed) int { return a.def.Order - b.def.Order })
	for _, p := range all {
		for _, h := range p.def.Hooks {
			line := fmt.Sprintf("%s %s %s %s", p.def.Dialect, p.def.Source.Layer, p.ev, firstOf(h.Name, h.Command, h.URL))
			if p.def.Source.Project != "" {
				line += " (project)"
			}
			if h.Off != "" {
				line += " off by " + strings.TrimPrefix(h.Off, dir+"/")
			}
			hooks = append(hooks, line)
		}
	}
	for _, p := range im.Problems {
		problems = append(problems, strings.ReplaceAll(p.String(), dir+"/", ""))
	}
	return hooks, problems
}

func group(ev, name string) string {
	return fmt.Sprintf(`"hooks": {%q: [{"hooks": [{"type": "command", "command": "run-%s", "name": %q}]}]}`, ev, name, name)
}

func TestImportLayers(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		files      map[string]string
		want       []string
	}{
		{"gemini", "gemini", map[string]string{
			"root/etc/gemini-cli/system-defaults.json":        "{" + group("BeforeTool", "defaults") + "}",
			"root/etc/gemini-cli/settings.json":               "{" + group("BeforeTool", "system") + "}",
			"home/.gemini/settings.json":                      "// mine\n{" + group("BeforeTool", "user") + `, "theme": "dark",}`,
			"work/.gemini/settings.json":                      "{" + group("BeforeTool", "project") + "}",
			"home/.gemini/extensions/b/hooks/hooks.json":      "{" + group("AfterTool", "ext-b") + "}",
			"home/.gemini/extensions/a/hooks/hooks.json":      "{" + group("BeforeTool", "ext-a") + "}",
			"home/.gemini/extensions/off/hooks/hooks.json":    "{" + group("BeforeTool", "ext-off") + "}",
			"home/.gemini/extensions/a/gemini-extension.json": "{}",
		}, []string{
			"gemini defaults BeforeTool defaults", "gemini user BeforeTool user", "gemini project BeforeTool project (project)",
			"gemini system BeforeTool system", "gemini extension BeforeTool ext-a", "gemini extension AfterTool ext-b",
			"gemini extension BeforeTool ext-off",
		}},
		{"claude", "claude", map[string]string{
			"root/etc/claude-code/managed-settings.json": "{" + group("PreToolUse", "managed") + "}",
			"home/.claude/settings.json":                 "{" + group("PreToolUse", "user") + "}",
			"work/.claude/settings.json":                 "{" + group("Stop", "project") + "}",
			"work/.claude/settings.local.json":           "{" + group("PreToolUse", "local") + "}",
		}, []string{
			"claude user PreToolUse user", "claude project Stop project (project)", "claude local PreToolUse local (project)",
			"claude system PreToolUse managed",
		}},
		{"qwen", "qwen", map[string]string{
			"home/.qwen/settings.json": "{" + group("PreToolUse", "user") + "}",
			"work/.qwen/settings.json": "{" + group("PreToolUse", "project") + "}",
		}, []string{"qwen user PreToolUse user", "qwen project PreToolUse project (project)"}},
		{"qoder", "qoder", map[string]string{
			"home/.qoder/settings.json": "{" + group("PreToolUse", "user") + "}",
		}, []string{"qoder user PreToolUse user"}},
		{"nothing there", "gemini", nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, dir := world(t, tc.files)
			hooks, problems := told(Import([]string{tc.tool}, dir, p), dir)
			if d := cmp.Diff(tc.want, hooks); d != "" {
				t.Errorf("hooks (-want +got):\n%s", d)
			}
			if len(problems) > 0 {
				t.Errorf("problems: %v", problems)
			}
		})
	}
}

func TestImportSwitches(t *testing.T) {
	for _, tc := range []struct {
		name, tool string
		files      map[string]string
		want       []string
	}{
		{"the user switches a project's hook off", "gemini", map[string]string{
			"home/.gemini/settings.json": `{"hooksConfig": {"disabled": ["p"]}, ` + group("BeforeTool", "u") + "}",
			"work/.gemini/settings.json": "{" + group("BeforeTool", "p") + "}",
		}, []string{"gemini user BeforeTool u", "gemini project BeforeTool p (project) off by home/.gemini/settings.json"}},
		{"a project does not switch the user's off", "gemini", map[string]string{
			"home/.gemini/settings.json": "{" + group("BeforeTool", "u") + "}",
			"work/.gemini/settings.json": `{"hooksConfig": {"enabled": false}, ` + group("BeforeTool", "p") + "}",
		}, []string{"gemini user BeforeTool u", "gemini project BeforeTool p (project) off by work/.gemini/settings.json"}},
		{"claude's kill switch", "claude", map[string]string{
			"home/.claude/settings.json": `{"disableAllHooks": true, ` + group("Stop", "u") + "}",
		}, []string{"claude user Stop u off by home/.claude/settings.json"}},
		{"an extension that is off here", "gemini", map[string]string{
			"home/.gemini/extensions/x/hooks/hooks.json":        "{" + group("BeforeTool", "x") + "}",
			"home/.gemini/extensions/y/hooks/hooks.json":        "{" + group("BeforeTool", "y") + "}",
			"home/.gemini/extensions/extension-enablement.json": `{"x": {"overrides": ["!/*"]}, "y": {"overrides": ["!/elsewhere/*"]}}`,
		}, []string{"gemini extension BeforeTool y"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, dir := world(t, tc.files)
			hooks, _ := told(Import([]string{tc.tool}, dir, p), dir)
			if d := cmp.Diff(tc.want, hooks); d != "" {
				t.Errorf("hooks (-want +got):\n%s", d)
			}
		})
	}
}

// TestImportProblems: a foreign file's mistakes are told and cost no more than
// the hook that has them.
func TestImportProblems(t *testing.T) {
	good := `{"type": "command", "command": "good"}`
	for _, tc := range []struct {
		name, tool, text string
		hooks            int
		want             []string // parts of the problems
	}{
		{"unknown keys", "claude", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "good", "statusMessage": "…", "asyncRewake": true}]}]}}`, 1, nil},
		{"type in capitals", "gemini", `{"hooks": {"BeforeTool": [{"hooks": [{"type": "Command", "command": "x"}, ` + good + `]}]}}`, 1,
			[]string{`:1:47: warning: hooks.BeforeTool[0].hooks[0].type: "Command" is not known`}},
		{"no command", "gemini", `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command"}, ` + good + `]}]}}`, 1, []string{`:1:38: warning: hooks.BeforeTool[0].hooks[0]: "command" is missing`}},
		{"legacy switches", "gemini", `{"tools": {"enableHooks": true}, "hooks": {"enabled": true, "disabled": [], "BeforeTool": [{"hooks": [` + good + `]}]}}`, 1,
			[]string{"tools.enableHooks: has no effect any more", "hooks.enabled: has no effect any more", "hooks.disabled: has no effect any more"}},
		{"unknown event", "gemini", `{"hooks": {"BeforeTools": [], "PreToolUse": []}}`, 0, []string{`"BeforeTools" never fires here`, `its name there is "BeforeTool"`}},
		{"event that is no list", "gemini", `{"hooks": {"BeforeTool": {}}}`, 0, []string{"is an object, must be a list"}},
		{"group without hooks", "gemini", `{"hooks": {"BeforeTool": [` + good + `]}}`, 0, []string{`"hooks" is missing`}},
		{"look-ahead", "gemini", `{"hooks": {"BeforeTool": [{"matcher": "^(?!x)", "hooks": [` + good + `]}]}}`, 1, []string{"does not compile"}},
		{"broken JSON", "gemini", "{\n\"hooks\": {", 0, []string{":2:11: warning: not valid JSON"}},
		{"null and numbers", "gemini", `{"hooks": {"BeforeTool": [{"matcher": null, "hooks": [{"type": "command", "command": "x", "timeout": -1}, null, 7]}]}}`, 1,
			[]string{"a hook needs some time", "is a number, must be an object"}},
		{"empty", "gemini", "", 0, nil},
		{"a list", "gemini", "[]", 0, []string{"is a list, must be an object"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, dir := world(t, map[string]string{"home/." + tc.tool + "/settings.json": tc.text})
			hooks, problems := told(Import([]string{tc.tool}, dir, p), dir)
			if len(hooks) != tc.hooks {
				t.Errorf("hooks: %v, want %d", hooks, tc.hooks)
			}
			all := strings.Join(problems, "\n")
			for _, w := range tc.want {
				if !strings.Contains(all, w) {
					t.Errorf("problems lack %q:\n%s", w, all)
				}
			}
			if len(tc.want) == 0 && all != "" {
				t.Errorf("problems: %s", all)
			}
			if strings.Contains(all, " error: ") {
				t.Errorf("a foreign file's problem is an error:\n%s", all)
			}
		})
	}
}

func TestImportFile(t *testing.T) {
	p, dir := world(t, map[string]string{
		"shared/.qwen/settings.json": "{" + group("PreToolUse", "q") + "}",
		"shared/any.json":            "{" + group("PreToolUse", "c") + "}",
		"shared/g.json":              "{" + group("BeforeTool", "g") + "}",
		"work/team.json":             "{" + group("BeforeTool", "t") + "}",
	})
	im := Import([]string{"shared/.qwen/settings.json", "shared/any.json", "claude:shared/any.json", "shared/g.json", "work/team.json", "shared/none.json"}, dir, p)
	hooks, problems := told(im, dir)
	if d := cmp.Diff([]string{"qwen file PreToolUse q", "claude file PreToolUse c", "claude file PreToolUse c", "gemini file BeforeTool g",
		"gemini file BeforeTool t (project)"}, hooks); d != "" {
		t.Errorf("hooks (-want +got):\n%s", d)
	}
	if all := strings.Join(problems, "\n"); !strings.Contains(all, "shared/any.json:1:1: warning: its events are those of the Claude family") ||
		!strings.Contains(all, "shared/none.json:1:1: warning: the file is not there") || len(problems) != 2 {
		t.Errorf("problems:\n%s", all)
	}
}

func TestImportVariables(t *testing.T) {
	p, dir := world(t, map[string]string{
		"home/.gemini/extensions/x/hooks/hooks.json": `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "${extensionPath}${/}run $HOME",
			"env": {"A": "$WHO and ${NOBODY}", "B": "${extensionPath}"}}]}]}}`,
	})
	p.Env = func(name string) string { return map[string]string{"WHO": "me"}[name] }
	im := Import([]string{"gemini"}, dir, p)
	root := filepath.Join(dir, "home/.gemini/extensions/x")
	h := im.Hooks["BeforeTool"][0].Hooks[0]
	if want := root + "/run $HOME"; h.Command != want {
		t.Errorf("command %q, want %q", h.Command, want)
	}
	if d := cmp.Diff(map[string]string{"A": "me and ${NOBODY}", "B": root}, h.Env); d != "" {
		t.Errorf("env (-want +got):\n%s", d)
	}
}

func FuzzImport(f *testing.F) {
	for _, s := range []string{`{}`, `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}`, `{"hooksConfig": {"disabled": [1]}}`, `[`, `{"hooks": null}`, `{"hooks": {"Stop": [null]}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file := filepath.Join(t.TempDir(), "f.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		im := Import([]string{"claude:" + file, "gemini:" + file}, "", Place{})
		if im.Problems.Errors() > 0 {
			t.Errorf("a foreign file's problem is an error: %v", im.Problems)
		}
	})
}
