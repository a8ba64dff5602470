package config

import (
	"path/filepath"
	"regexp"
	"strings"
)

// fit completes an imported group by the rules of its tool: defaults, and the
// variables that the tool replaces when it reads its settings.
func (d *Definition) fit(src Source, p Place) {
	for i := range d.Hooks {
		h := &d.Hooks[i]
		h.Timeout = max(h.Timeout, 0)
		if h.Instances < 1 || !h.Persistent {
			h.Instances = 1
		}
		if h.FailMode == "" {
			h.FailMode = FailOpen
		}
		if h.Window == "" {
			h.Window = WindowChunk
		}
		if src.Layer == LayerExtension {
			h.Command = extensionVars(h.Command, src, p)
			for j, a := range h.Args {
				h.Args[j] = extensionVars(a, src, p)
			}
		}
		for k, v := range h.Env {
			if src.Layer == LayerExtension {
				v = extensionVars(v, src, p)
			}
			// Nothing but the value itself sees it, so its characters are harmless;
			// commands are left to the shell.
			h.Env[k] = envRef.ReplaceAllStringFunc(v, func(m string) string {
				if value := p.env(strings.Trim(m, "${}")); value != "" {
					return value
				}
				return m
			})
		}
	}
}

var envRef = regexp.MustCompile(`\$(?:\{[A-Za-z_][A-Za-z0-9_]*\}|[A-Za-z_][A-Za-z0-9_]*)`)

// extensionVars puts in what an extension's manifest may name
// (https://github.com/google-gemini/gemini-cli, docs/extensions, read 2026-11-30).
func extensionVars(s string, src Source, p Place) string {
	root := filepath.Dir(filepath.Dir(src.File))
	return strings.NewReplacer(
		"${extensionPath}", root, "${CLAUDE_PLUGIN_ROOT}", root, "${workspacePath}", p.Project,
		"${/}", string(filepath.Separator), "${pathSeparator}", string(filepath.Separator),
	).Replace(s)
}
