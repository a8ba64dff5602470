//go:build unix

package run

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFiles: what the tools give, and that nothing leads out of the root.
func TestFiles(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "project")
	write(t, outer, "outside.txt", secret)
	write(t, outer, "project2/near.txt", secret)
	write(t, dir, "a.go", "package a\n\nfunc A() {}\n")
	write(t, dir, "src/b.go", "package b // uses A\n")
	write(t, dir, "src/deep/c.txt", "one\r\ntwo\nthree")
	write(t, dir, ".git/config", secret)
	write(t, dir, "node_modules/x/a.go", secret)
	write(t, dir, "bin", "\x7fELF\x00\x00A "+secret)
	write(t, dir, "latin", "caf\xe9\n")
	write(t, dir, "long", strings.Repeat("A", 100_000)+"\nend\n")
	write(t, dir, "big", strings.Repeat("A line of text\n", 100_000))
	for link, to := range map[string]string{
		"link-out": "../outside.txt", "link-abs": filepath.Join(outer, "outside.txt"), "link-dir": "..", "link-in": "a.go", "link-loop": "link-loop", "link-root": "/",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	type args = map[string]any
	tests := []struct {
		tool  string
		args  args
		want  string // part of output, or of error after "!"
		exact bool
	}{
		{"read_file", args{"path": "a.go"}, "package a\n\nfunc A() {}\n", true},
		{"read_file", args{"path": filepath.Join(dir, "a.go")}, "package a\n\nfunc A() {}\n", true},
		{"read_file", args{"path": "./src/../a.go", "offset": 3.0, "limit": 1.0}, "func A() {}\n", true},
		{"read_file", args{"path": "src/deep/c.txt", "offset": 2.0}, "two\nthree\n", true},
		{"read_file", args{"path": "src/deep/c.txt", "offset": 9.0}, "", true},
		{"read_file", args{"path": "link-in"}, "package a", false},
		{"read_file", args{"path": "latin"}, "caf\ufffd\n", true},
		{"read_file", args{"path": "bin"}, "!binary", false},
		{"read_file", args{"path": "src"}, "!folder", false},
		{"read_file", args{"path": "."}, "!folder", false},
		{"read_file", args{"path": "pipe"}, "!no regular file", false},
		{"read_file", args{"path": "none"}, "!no such file", false},
		{"read_file", args{"path": "a\x00b"}, "!", false},
		{"read_file", args{"path": "../outside.txt"}, "!escapes", false},
		{"read_file", args{"path": "src/../../outside.txt"}, "!escapes", false},
		{"read_file", args{"path": "../project2/near.txt"}, "!escapes", false},
		{"read_file", args{"path": "/etc/passwd"}, "!escapes", false},
		{"read_file", args{"path": filepath.Join(outer, "outside.txt")}, "!escapes", false},
		{"read_file", args{"path": "link-out"}, "!escapes", false},
		{"read_file", args{"path": "link-abs"}, "!escapes", false},
		{"read_file", args{"path": "link-dir/outside.txt"}, "!escapes", false},
		{"read_file", args{"path": "link-root/etc/passwd"}, "!escapes", false},
		{"read_file", args{"path": "link-loop"}, "!", false},
		{"glob", args{"pattern": "**/*.go"}, "a.go\nsrc/b.go\n", true},
		{"glob", args{"pattern": "*.go"}, "a.go\n", true},
		{"glob", args{"pattern": "*.{go,txt}", "path": "src/deep"}, "src/deep/c.txt\n", true},
		{"glob", args{"pattern": "src/**"}, "src/b.go\nsrc/deep/c.txt\n", true},
		{"glob", args{"pattern": "[!b-z].g?"}, "a.go\n", true},
		{"glob", args{"pattern": "link*"}, "nothing found", true},
		{"glob", args{"pattern": "../*"}, "nothing found", true},
		{"glob", args{"pattern": "*", "path": ".."}, "!", false},
		{"glob", args{"pattern": "*", "path": "link-dir"}, "!", false},
		{"glob", args{"pattern": "["}, "!", false},
		{"glob", args{"pattern": "[z-a]"}, "!", false},
		{"glob", args{"pattern": "{a"}, "!", false},
		{"glob", args{}, "!1 to 1000", false},
		{"grep", args{"pattern": `\bA\b`, "include": "*.go"}, "a.go:3: func A() {}\nsrc/b.go:1: package b // uses A\n", true},
		{"grep", args{"pattern": "A", "path": "a.go"}, "a.go:3: func A() {}\n", true},
		{"grep", args{"pattern": "two", "path": "src"}, "src/deep/c.txt:2: two\n", true},
		{"grep", args{"pattern": secret}, "nothing found", true},
		{"grep", args{"pattern": secret, "path": "link-out"}, "!escapes", false},
		{"grep", args{"pattern": secret, "path": ".."}, "!escapes", false},
		{"grep", args{"pattern": "(?=a)"}, "!", false},
		{"grep", args{"pattern": "(((((a{1000}){1000}){1000})))"}, "!", false},
		{"write_file", args{"path": "x"}, "!no such tool", false},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.tool, tt.args), func(t *testing.T) {
			f, err := openFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			out := f.call(t.Context(), tt.tool, tt.args)
			got, _ := out["output"].(string)
			want, isError := strings.CutPrefix(tt.want, "!")
			if isError {
				got, _ = out["error"].(string)
			}
			if tt.exact && got != want || !strings.Contains(got, want) || isError != (out["error"] != nil) {
				t.Errorf("got %q; want %q", out, tt.want)
			}
			if strings.Contains(fmt.Sprint(out), secret) || isError && strings.Contains(got, outer) {
				t.Errorf("it tells what it should not: %q", out)
			}
		})
	}
	t.Run("limits", func(t *testing.T) {
		f, err := openFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		out := f.call(t.Context(), "read_file", map[string]any{"path": "long"})
		if got := out["output"].(string); len(got) > maxLine+20 || !strings.HasSuffix(got, "…\nend\n") {
			t.Errorf("a long line: got %d bytes, %q", len(got), got[max(0, len(got)-20):])
		}
		out = f.call(t.Context(), "read_file", map[string]any{"path": "big", "offset": 90_000.0})
		if got := out["output"].(string); strings.Count(got, "\n") != maxLines || out["next_offset"] != 92_000 {
			t.Errorf("a long file: got %d lines, %v", strings.Count(got, "\n"), out["next_offset"])
		}
		if out := f.call(t.Context(), "grep", map[string]any{"pattern": "A"}); out["note"] != nil || strings.Contains(out["output"].(string), "big:") {
			t.Errorf("grep in a file that is too long: got %v", out["note"])
		}
		for range 100 {
			out = f.call(t.Context(), "read_file", map[string]any{"path": "big"})
		}
		if out["error"] == nil {
			t.Error("100 long results: got all of them")
		}
	})
	t.Run("canceled", func(t *testing.T) {
		f, err := openFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if out := f.call(ctx, "glob", map[string]any{"pattern": "**"}); out["output"] != "nothing found" {
			t.Errorf("got %v", out)
		}
	})
}
