package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tailscale/hujson"
	"github.com/tidwall/gjson"
)

// Gemini CLI 0.61 takes a base URL in its environment for a sign that it talks
// to a gateway, and then refuses to run headless ("Invalid auth method
// selected."), unless some layer of its settings says which way of
// authentication is meant. What a user has chosen stays chosen; who has chosen
// nothing, and has a key, gets the choice of the key for the one run:
//
//   - root by the system defaults, the layer of lowest precedence, whose path
//     comes from the environment. The CLI skips that file unless it and its
//     folder belong to root and nobody else may write there;
//   - others by a home of the CLI's own ([geminiHome]).
type geminiCLI struct {
	env  []string
	home string // the user's
	cwd  string
	dir  string // the user's folder for hookline's state
	root bool   // the user is root
}

const (
	envDefaults   = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
	envGeminiHome = "GEMINI_CLI_HOME"

	selectedType   = "security.auth.selectedType"
	geminiSettings = `{"security": {"auth": {"selectedType": "gemini-api-key"}}}` + "\n"
)

// prepare gives the variables to set for the child, and a func to be called when
// it has ended. Neither is nil.
func (g geminiCLI) prepare() (vars map[string]string, done func() error, err error) {
	done = func() error { return nil }
	if g.chosen() {
		return map[string]string{}, done, nil
	}
	if g.root {
		if lookup(g.env, envDefaults) != "" || exists(systemDefaults()) {
			return map[string]string{}, done, nil
		}
		path, err := writePrivate(filepath.Join(g.dir, "gemini-cli"), "defaults.json", []byte(geminiSettings))
		return map[string]string{envDefaults: path}, done, err
	}
	if lookup(g.env, "GEMINI_API_KEY") == "" {
		return map[string]string{}, done, nil
	}
	home := geminiHome{real: filepath.Join(g.geminiHome(), ".gemini"), own: filepath.Join(g.dir, "gemini-home", ".gemini")}
	if err := home.open(); err != nil {
		return map[string]string{}, done, err
	}
	return map[string]string{envGeminiHome: filepath.Dir(home.own)}, home.settle, nil
}

// geminiHome is where the CLI looks for the user's .gemini.
func (g geminiCLI) geminiHome() string {
	if h := lookup(g.env, envGeminiHome); h != "" {
		return h
	}
	return g.home
}

// chosen reports whether the user has a way of authentication already. Settings
// that cannot be read count as a choice: the CLI complains of them itself.
func (g geminiCLI) chosen() bool {
	if lookup(g.env, "GOOGLE_GENAI_USE_GCA") == "true" || lookup(g.env, "GOOGLE_GENAI_USE_VERTEXAI") == "true" {
		return true
	}
	for _, dir := range []string{g.geminiHome(), g.cwd} {
		doc, err := readSettings(filepath.Join(dir, ".gemini", "settings.json"))
		if err != nil || gjson.GetBytes(doc, selectedType).Exists() {
			return true
		}
	}
	return false
}

// readSettings reads a settings file as plain JSON; {} when there is none.
func readSettings(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []byte("{}"), nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := hujson.Standardize(data)
	if err == nil && !gjson.ParseBytes(doc).IsObject() {
		err = errors.New(path + " holds no object")
	}
	return doc, err
}

// geminiHome is a .gemini folder that is the user's own but for settings.json,
// which also chooses the key: all else in it are links.
type geminiHome struct {
	real, own string
}

// linked are entries that the CLI makes when they are not there. Files are
// linked before they exist, and so come to be in the user's folder.
var linked = struct{ files, dirs []string }{
	files: []string{"installation_id", "projects.json", "google_accounts.json", "trustedFolders.json", "oauth_creds.json"},
	dirs:  []string{"tmp", "history"},
}

func (h geminiHome) open() error {
	for _, dir := range linked.dirs {
		if err := os.MkdirAll(filepath.Join(h.real, dir), 0o755); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(h.own, 0o700); err != nil {
		return err
	}
	if err := h.settle(); err != nil {
		return err
	}
	entries, err := os.ReadDir(h.real)
	if err != nil {
		return err
	}
	names := append([]string(nil), linked.files...)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range names {
		if name == "settings.json" {
			continue
		}
		if err := link(filepath.Join(h.real, name), filepath.Join(h.own, name)); err != nil {
			return err
		}
	}
	settings, err := h.settings()
	if err != nil {
		return err
	}
	_, err = writePrivate(h.own, "settings.json", settings)
	return err
}

// settings are the user's, with the choice.
func (h geminiHome) settings() ([]byte, error) {
	doc, err := readSettings(filepath.Join(h.real, "settings.json"))
	if err != nil {
		return nil, err
	}
	var all map[string]any
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil {
		return nil, err
	}
	at := all
	for _, key := range []string{"security", "auth"} {
		inner, ok := at[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[key] = inner
		}
		at = inner
	}
	at["selectedType"] = "gemini-api-key"
	return json.MarshalIndent(all, "", "  ")
}

// settle brings home what the CLI wrote in place of a link (it writes some files
// aside and renames them), and settings that were changed in it.
func (h geminiHome) settle() error {
	entries, err := os.ReadDir(h.own)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			continue
		}
		own, real := filepath.Join(h.own, e.Name()), filepath.Join(h.real, e.Name())
		if e.Name() == "settings.json" {
			before, err1 := h.settings()
			after, err2 := readSettings(own)
			if err1 != nil || err2 != nil || sameJSON(before, after) {
				continue
			}
		}
		// A folder that is there in both is not replaced, but left for the next time.
		if err := os.Rename(own, real); err != nil && !e.IsDir() {
			return err
		}
	}
	return nil
}

// link makes path a link to target. What stands at path and is no link stays.
func link(target, path string) error {
	switch to, err := os.Readlink(path); {
	case err == nil && to == target:
		return nil
	case err == nil: // of another home
		if err := os.Remove(path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil
	}
	if err := os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) { // another run was faster
		return err
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, err1 := json.Marshal(x)
	q, err2 := json.Marshal(y)
	return err1 == nil && err2 == nil && string(p) == string(q)
}

// writePrivate writes a file that its owner alone may read, in a folder of the
// same kind, and gives its path. It is written aside and renamed: another run may
// be reading it.
func writePrivate(dir, name string, data []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	f, err := os.CreateTemp(dir, name+"-*") // 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return path, nil
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// systemDefaults is where an administrator puts Gemini CLI's defaults.
func systemDefaults() string {
	switch runtime.GOOS {
	case "darwin":
		return "/Library/Application Support/GeminiCli/system-defaults.json"
	case "windows":
		return `C:\ProgramData\gemini-cli\system-defaults.json`
	}
	return "/etc/gemini-cli/system-defaults.json"
}
