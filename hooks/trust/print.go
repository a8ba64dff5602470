package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// maxScript bounds what is read of a script, in bytes; a longer one is known
	// by its size and time.
	maxScript = 16 << 20
	// maxScripts bounds how many are looked for in one command.
	maxScripts = 64
)

// Of is the print of a hook of a project that is configured in file.
func Of(h *hooks.Hook, project, file string) Print {
	rest, _ := json.Marshal([]any{ // strings, numbers and maps of them: it never fails
		h.Type, h.Args, h.Shell, h.Env, h.Timeout, h.FailMode, h.Persistent, h.Instances, h.System, h.Headers, h.AllowedEnvVars,
		h.URL, h.Prompt, h.Model, h.Tools, h.MaxTurns, h.Window, h.If, h.Once, h.Async, h.Dialect,
	})
	sum := sha256.Sum256(rest)
	p := Print{Project: project, File: file, Name: h.Name, Rest: hex.EncodeToString(sum[:])}
	for _, s := range []string{h.Command, h.URL, h.Prompt} {
		if p.Command == "" {
			p.Command = s
		}
	}
	if h.Command != "" {
		p.Scripts = scripts(h, project)
	}
	return p
}

// runners read what they run from a file that the command does not name.
var runners = map[string][]string{
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"}, "npx": {"package.json"},
	"make": {"Makefile", "makefile", "GNUmakefile"}, "just": {"justfile", "Justfile"}, "task": {"Taskfile.yml"}, "cargo": {"Cargo.toml"},
}

var projectVar = regexp.MustCompile(`\$(?:\{(?:GEMINI|CLAUDE|QWEN|QODER)_(?:PROJECT_DIR|CWD)\}|(?:GEMINI|CLAUDE|QWEN|QODER)_(?:PROJECT_DIR|CWD)\b|\{PWD\}|PWD\b)`)

// separators part the words of a shell's text.
const separators = " \t\r\n`;&|()<>=,"

// shellWords splits a shell's text into words, without their quotes. Words of a
// quoted text, which may be a command itself, follow it.
func shellWords(text string) (words []string) {
	var word strings.Builder
	quote, whole := rune(0), false
	end := func() {
		w := word.String()
		if w != "" {
			words = append(words, w)
		}
		if whole {
			words = append(words, strings.FieldsFunc(w, func(r rune) bool { return strings.ContainsRune(separators+`"'`, r) })...)
		}
		word.Reset()
		whole = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, whole = r, true
		case quote == 0 && strings.ContainsRune(separators, r):
			end()
		default:
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// scripts are the files of the project that a command names, as far as that can
// be told from its text: what a script itself starts is not among them. A word
// counts that is a file, from the project's folder or from a folder that another
// word names.
func scripts(h *hooks.Hook, project string) map[string]string {
	words := shellWords(h.Command)
	for _, a := range h.Args {
		words = append(append(words, a), shellWords(a)...) // as in bash -c TEXT
	}
	for i, w := range words {
		words[i] = projectVar.ReplaceAllLiteralString(w, project)
	}
	for _, w := range slices.Clone(words) {
		words = append(words, runners[filepath.Base(w)]...)
	}
	dirs := []string{project}
	for _, w := range words {
		if st, err := os.Stat(within(project, w)); err == nil && st.IsDir() && len(dirs) < 8 && w != "" && w != "." {
			dirs = append(dirs, within(project, w))
		}
	}
	found := map[string]string{}
	for _, w := range words {
		for _, dir := range dirs {
			path := within(dir, w)
			rel, err := filepath.Rel(project, path)
			if w == "" || err != nil || !filepath.IsLocal(rel) || len(found) >= maxScripts {
				continue // a file elsewhere is not the project's
			}
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
				found[filepath.ToSlash(rel)] = hashFile(path, st)
			}
		}
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// hashFile is a hash of a file's content. A file that cannot be read has one that
// no content has.
func hashFile(path string, st os.FileInfo) string {
	if st.Size() > maxScript {
		return fmt.Sprintf("size %d at %d", st.Size(), st.ModTime().UnixNano())
	}
	data, err := readLimited(path, maxScript)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func readLimited(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errors.New("the file is too large")
	}
	return data, err
}
