package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Variables by which agents find the API.
const (
	envGemini     = "GOOGLE_GEMINI_BASE_URL"
	envVertex     = "GOOGLE_VERTEX_BASE_URL"
	envCodeAssist = "CODE_ASSIST_ENDPOINT"
	envDefaults   = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH"
)

// childEnv is the environment of an agent that is to talk to base. defaults is
// the path of Gemini CLI's default settings, "" to leave them alone.
func childEnv(env []string, base, defaults string) []string {
	set := map[string]string{envGemini: base, envVertex: base, envCodeAssist: base}
	if defaults != "" {
		set[envDefaults] = defaults
	}
	// An agent that honours a proxy for everything would ask it for 127.0.0.1.
	if lookup(env, "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy") != "" {
		for _, k := range []string{"NO_PROXY", "no_proxy"} {
			set[k] = strings.TrimPrefix(lookup(env, k)+",127.0.0.1", ",")
		}
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		k, _, _ := strings.Cut(kv, "=")
		if _, replaced := set[k]; !replaced {
			out = append(out, kv)
		}
	}
	for k, v := range set {
		out = append(out, k+"="+v)
	}
	return out
}

// lookup is the first of the names that is set in env and not empty.
func lookup(env []string, names ...string) string {
	for _, name := range names {
		for _, kv := range env {
			if k, v, _ := strings.Cut(kv, "="); k == name && v != "" {
				return v
			}
		}
	}
	return ""
}

// Gemini CLI 0.61 takes a base URL in its environment for a sign that it talks
// to a gateway, and then refuses to run headless ("Invalid auth method
// selected."), unless some layer of its settings says which way of
// authentication is meant. The layer of lowest precedence is that of the system
// defaults, whose path comes from the environment: whatever a user has chosen
// stays chosen.
const geminiDefaults = `{"security": {"auth": {"selectedType": "gemini-api-key"}}}
`

// geminiDefaultsFile writes those settings below dir, the user's own state
// folder, and gives their path. It is "" when they would not be wanted: the user
// has named a file or a way of authentication, or the machine has defaults of
// its own.
func geminiDefaultsFile(env []string, dir string) (string, error) {
	if lookup(env, envDefaults) != "" || lookup(env, "GOOGLE_GENAI_USE_GCA") == "true" || lookup(env, "GOOGLE_GENAI_USE_VERTEXAI") == "true" {
		return "", nil
	}
	if _, err := os.Stat(systemDefaults()); err == nil {
		return "", nil
	}
	// The CLI skips a file that others could have written: it and its folder
	// must be writable by their owner alone.
	dir = filepath.Join(dir, "gemini-cli")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "defaults.json")
	if have, err := os.ReadFile(path); err == nil && string(have) == geminiDefaults {
		return path, os.Chmod(path, 0o600)
	}
	// Written aside and renamed: another run may be reading it.
	f, err := os.CreateTemp(dir, "defaults-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(geminiDefaults)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return path, nil
}

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

// userState is the folder for hookline's own files of this user.
func userState() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "hookline"), nil
	}
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return "", fmt.Errorf("find a folder for state: %w", err)
		}
		return filepath.Join(dir, "hookline"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for state: %w", err)
	}
	return filepath.Join(home, ".local", "state", "hookline"), nil
}
