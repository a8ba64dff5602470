//go:build unix

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a file and its folders.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestGeminiCLIPrepare(t *testing.T) {
	if exists(systemDefaults()) {
		t.Skip("this machine has defaults for Gemini CLI")
	}
	key := []string{"GEMINI_API_KEY=k"}
	tests := []struct {
		name     string
		root     bool
		env      []string
		settings string // the user's
		project  string // the project's
		want     []string
	}{
		{"root", true, nil, "", "", []string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH"}},
		{"root with a file", true, []string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/mine"}, "", "", nil},
		{"user", false, key, "", "", []string{"GEMINI_CLI_HOME"}},
		{"user with settings", false, key, `{"ui": {}, /* c */}`, "", []string{"GEMINI_CLI_HOME"}},
		{"user without a key", false, nil, "", "", nil},
		{"user who chose", false, key, `{"security": {"auth": {"selectedType": "oauth-personal"}}}`, "", nil},
		{"project that chose", false, key, "", `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`, nil},
		{"settings that are none", false, key, `nonsense`, "", nil},
		{"Vertex", true, []string{"GOOGLE_GENAI_USE_VERTEXAI=true"}, "", "", nil},
		{"login", false, append(key, "GOOGLE_GENAI_USE_GCA=true"), "", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tmp := t.TempDir()
			g := geminiCLI{env: tt.env, home: filepath.Join(tmp, "home"), cwd: filepath.Join(tmp, "project"), dir: filepath.Join(tmp, "state"), root: tt.root}
			if tt.settings != "" {
				write(t, filepath.Join(g.home, ".gemini", "settings.json"), tt.settings)
			}
			if tt.project != "" {
				write(t, filepath.Join(g.cwd, ".gemini", "settings.json"), tt.project)
			}
			for range 2 { // the second time all is there already
				vars, done, err := g.prepare()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tt.want, slices.Sorted(maps.Keys(vars))); d != "" {
					t.Errorf("variables (-want +got):\n%s", d)
				}
				if err := done(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestGeminiDefaultsArePrivate(t *testing.T) {
	dir := t.TempDir()
	path, err := writePrivate(filepath.Join(dir, "a", "b"), "defaults.json", []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		st, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", p, got, want)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestGeminiHome follows what the CLI does with its folder.
func TestGeminiHome(t *testing.T) {
	tmp := t.TempDir()
	h := geminiHome{real: filepath.Join(tmp, "real"), own: filepath.Join(tmp, "own")}
	write(t, filepath.Join(h.real, "GEMINI.md"), "context")
	write(t, filepath.Join(h.real, "settings.json"), `{"big": 12345678901234567890, "security": {"auth": {"x": 1}}}`)
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(h.own, "GEMINI.md")); got != "context" {
		t.Errorf("the user's file reads %q", got)
	}
	want := "{\n  \"big\": 12345678901234567890,\n  \"security\": {\n    \"auth\": {\n      \"selectedType\": \"gemini-api-key\",\n      \"x\": 1\n    }\n  }\n}"
	if d := cmp.Diff(want, read(t, filepath.Join(h.own, "settings.json"))); d != "" {
		t.Errorf("settings (-want +got):\n%s", d)
	}
	// Written through a link, written into a folder, and written aside and renamed.
	write(t, filepath.Join(h.own, "installation_id"), "id")
	write(t, filepath.Join(h.own, "history", "p", "h"), "history")
	write(t, filepath.Join(h.own, "aside"), "trusted")
	if err := os.Rename(filepath.Join(h.own, "aside"), filepath.Join(h.own, "trustedFolders.json")); err != nil {
		t.Fatal(err)
	}
	if err := h.settle(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"installation_id": "id", "history/p/h": "history", "trustedFolders.json": "trusted"} {
		if got := read(t, filepath.Join(h.real, name)); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if got := read(t, filepath.Join(h.real, "settings.json")); got != `{"big": 12345678901234567890, "security": {"auth": {"x": 1}}}` {
		t.Errorf("settings that nobody changed became %s", got)
	}
	// Settings that were changed in the CLI are the user's own wish.
	write(t, filepath.Join(h.own, "settings.json"), `{"changed": true}`)
	if err := h.settle(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(h.real, "settings.json")); got != `{"changed": true}` {
		t.Errorf("changed settings became %s", got)
	}
	if err := h.open(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(h.own, "trustedFolders.json")); got != "trusted" {
		t.Errorf("the second time trustedFolders.json holds %q", got)
	}
}
