package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildEnv(t *testing.T) {
	got := childEnv([]string{"A=1", "GOOGLE_GEMINI_BASE_URL=https://mine", "HTTPS_PROXY=http://p", "NO_PROXY=x"}, "http://127.0.0.1:1/s/i", "/d")
	want := []string{
		"A=1",
		"CODE_ASSIST_ENDPOINT=http://127.0.0.1:1/s/i",
		"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/d",
		"GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1/s/i",
		"GOOGLE_VERTEX_BASE_URL=http://127.0.0.1:1/s/i",
		"HTTPS_PROXY=http://p",
		"NO_PROXY=x,127.0.0.1",
		"no_proxy=127.0.0.1",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}

func TestGeminiDefaultsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 { // the second time it is there already
		path, err := geminiDefaultsFile(nil, dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil || string(data) != geminiDefaults {
			t.Errorf("settings %q, %v", data, err)
		}
		for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			st, err := os.Stat(p)
			if err != nil {
				t.Fatal(err)
			}
			if got := st.Mode().Perm(); runtime.GOOS != "windows" && got != want {
				t.Errorf("%s has mode %o, want %o", p, got, want)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "gemini-cli"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	for _, env := range []string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/mine", "GOOGLE_GENAI_USE_GCA=true", "GOOGLE_GENAI_USE_VERTEXAI=true"} {
		if path, err := geminiDefaultsFile([]string{env}, dir); path != "" || err != nil {
			t.Errorf("with %s: %q, %v, want none", env, path, err)
		}
	}
}
