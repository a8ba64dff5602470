package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

func TestWrap(t *testing.T) {
	tests := []struct {
		name, in string
		width    int
		want     []string
	}{
		{"short", "abc", 10, []string{"abc"}},
		{"empty", "", 10, []string{""}},
		{"at a blank", "one two three four", 10, []string{"one two", "three four"}},
		{"without a blank", "abcdefghijklmno", 10, []string{"abcdefghij", "klmno"}},
		{"characters, not bytes", "äöüäöüäöüäö", 10, []string{"äöüäöüäöüä", "ö"}},
		{"lines", "a\n\nb", 10, []string{"a", "b"}},
		{"control characters", "a\x1b[31mb\rc", 10, []string{"a[31mb c"}},
		{"hardly any room", "abcdefghijkl", 1, []string{"abcdefghij", "kl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, wrap(tt.in, tt.width)); d != "" {
				t.Errorf("lines (-want +got):\n%s", d)
			}
		})
	}
}

func TestTerminalNotice(t *testing.T) {
	var b strings.Builder
	terminalNotice(&b)(hooks.Notice{Hook: "h", Text: " two\nlines \x1b]0;title\x07and\u0085more "})
	if want := "[h] two lines ]0;titleandmore\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func TestPainter(t *testing.T) {
	s := scene{
		Title: "T", About: "about",
		Agent: []line{{"user", "a question"}},
		Model: []line{{"user", "a question"}, {"model", "an answer"}},
		Hooks: []hookRun{{Hook: "h", Event: "BeforeTool", Exit: 2, Stderr: "no"}},
	}
	var plain, colored strings.Builder
	(&painter{w: &plain, width: 60}).scene(1, s)
	(&painter{w: &colored, width: 60, color: true}).scene(1, s)
	want := `
── 1. T ────────────────────────────────────────────────────
about

the agent saw                │ the model saw
user    a question           │ user    a question
                             │ model   an answer

hook h (BeforeTool): exit 2, stderr: no
`
	if d := cmp.Diff(want, plain.String()); d != "" {
		t.Errorf("scene (-want +got):\n%s", d)
	}
	if !strings.Contains(colored.String(), "\x1b[31mexit 2, stderr: no\x1b[0m") {
		t.Errorf("no colours: %q", colored.String())
	}
}
