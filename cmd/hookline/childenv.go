package main

import (
	"fmt"
	"maps"
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
)

// childEnv is the environment of an agent that is to talk to base, with the
// variables of extra.
func childEnv(env []string, base string, extra map[string]string) []string {
	set := map[string]string{envGemini: base, envVertex: base, envCodeAssist: base, envURL: base}
	maps.Copy(set, extra)
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
