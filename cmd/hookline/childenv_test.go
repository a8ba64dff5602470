package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChildEnv(t *testing.T) {
	got := childEnv([]string{"A=1", "GOOGLE_GEMINI_BASE_URL=https://mine", "HTTPS_PROXY=http://p", "NO_PROXY=x"}, "http://127.0.0.1:1/s/i", map[string]string{"GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "/d"})
	want := []string{
		"A=1",
		"CODE_ASSIST_ENDPOINT=http://127.0.0.1:1/s/i",
		"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/d",
		"GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1/s/i",
		"GOOGLE_VERTEX_BASE_URL=http://127.0.0.1:1/s/i",
		"HOOKLINE_URL=http://127.0.0.1:1/s/i",
		"HTTPS_PROXY=http://p",
		"NO_PROXY=x,127.0.0.1",
		"no_proxy=127.0.0.1",
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("environment (-want +got):\n%s", d)
	}
}
