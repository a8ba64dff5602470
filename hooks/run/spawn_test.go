//go:build unix

package run

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

func newRunner(t testing.TB, o Options) *Runner {
	t.Helper()
	r := New(o)
	t.Cleanup(func() { r.Close() })
	return r
}

func command(s string) *hooks.Hook { return &hooks.Hook{Type: "command", Command: s, Name: "test"} }

func failureOf(t *testing.T, res hooks.Result) *hooks.Failure {
	t.Helper()
	var f *hooks.Failure
	if !errors.As(res.Err, &f) {
		t.Fatalf("got %+v; want a failure", res)
	}
	return f
}

func TestSpawn(t *testing.T) {
	big := strings.Repeat("x", 4<<20)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plain"), []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name    string
		hook    hooks.Hook
		in      string
		stdout  string
		stderr  string
		exit    int
		failure hooks.FailureKind
	}{
		{name: "answers", hook: hooks.Hook{Command: `cat >/dev/null; printf '{"a":1}'`}, in: "{}", stdout: `{"a":1}`},
		{name: "gets its input and the end of it", hook: hooks.Hook{Command: `cat`}, in: `{"x":"é"}`, stdout: `{"x":"é"}`},
		{name: "both streams", hook: hooks.Hook{Command: `cat >/dev/null; echo O; echo E >&2; exit 2`}, stdout: "O\n", stderr: "E\n", exit: 2},
		{name: "exit code", hook: hooks.Hook{Command: `exit 7`}, exit: 7},
		{name: "command not found", hook: hooks.Hook{Command: `exec 2>/dev/null; no-such-program-here`}, exit: 127},
		{name: "not executable", hook: hooks.Hook{Command: `exec 2>/dev/null; ` + filepath.Join(dir, "plain")}, exit: 126},
		{name: "killed", hook: hooks.Hook{Command: `echo partial; kill -9 $$`}, failure: hooks.FailureSignal},
		{name: "reads no input", hook: hooks.Hook{Command: `exec true`}, in: "{}"},
		{name: "reads no large input", hook: hooks.Hook{Command: `exec true`}, in: big},
		{name: "reads a large input", hook: hooks.Hook{Command: `wc -c | tr -d ' \n'`}, in: big, stdout: "4194304"},
		{name: "prints 10 MB", hook: hooks.Hook{Command: `head -c 10000000 /dev/zero`}, failure: hooks.FailureSize},
		{name: "prints 10 MB to stderr", hook: hooks.Hook{Command: `head -c 10000000 /dev/zero >&2`}, failure: hooks.FailureSize},
		{name: "prints 1 MiB", hook: hooks.Hook{Command: `head -c 1048576 /dev/zero | tr '\0' x`}, stdout: big[:1<<20]},
		{name: "prints rubbish", hook: hooks.Hook{Command: `printf '\377\000\001'`}, stdout: "\xff\x00\x01"},
		{name: "direct", hook: hooks.Hook{Command: "printf", Args: []string{"%s|%s", "$HOME a", "b"}}, stdout: "$HOME a|b"},
		{name: "direct with variables", hook: hooks.Hook{Command: "printf", Args: []string{"%s|%s", "${GEMINI_SESSION_ID}/$GEMINI_SESSION_ID", "$GEMINI_SESSION_IDX"}}, stdout: "S 1/S 1|$GEMINI_SESSION_IDX"},
		{name: "direct without arguments", hook: hooks.Hook{Command: "pwd", Args: []string{}}, stdout: dir + "\n"},
		{name: "direct, missing", hook: hooks.Hook{Command: "no-such-program-here", Args: []string{}}, failure: hooks.FailureStart},
		{name: "other shell", hook: hooks.Hook{Command: `printf %s "$0"`, Shell: "sh"}, stdout: "sh"},
		{name: "own environment last", hook: hooks.Hook{Command: `printf '%s %s %s' "$FOO" "$GEMINI_CWD" "$MY_TOKEN"`, Env: map[string]string{"FOO": "bar", "GEMINI_CWD": "/over", "MY_TOKEN": "meant"}}, stdout: "bar /over meant"},
		{name: "environment", hook: hooks.Hook{Command: `printf '%s|' "$GEMINI_PROJECT_DIR" "$GEMINI_CWD" "$CLAUDE_PROJECT_DIR" "$QWEN_PROJECT_DIR" "$QODER_PROJECT_DIR" "$GEMINI_PLANS_DIR" "$GEMINI_SESSION_ID" "$HOOKLINE_EVENT" "$HOOKLINE_SESSION_ID" "$HOOKLINE_HOOK" "$KEPT" "$SOME_TOKEN"`},
			stdout: strings.Join([]string{dir, dir, dir, dir, dir, "/w plans", "S 1", "BeforeTool", "S 1", "test", "yes", "", ""}, "|")},
		{name: "no text of ours is read as shell", hook: hooks.Hook{Command: `printf '%s\n' "$GEMINI_PLANS_DIR" "${GEMINI_PLANS_DIRX-none}"`}, stdout: "/w plans\nnone\n"},
	}
	r := newRunner(t, Options{Environ: []string{"PATH=" + os.Getenv("PATH"), "KEPT=yes", "SOME_TOKEN=hush"}})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := tt.hook
			h.Type, h.Name = "command", "test"
			res := r.Handle(t.Context(), &h, []byte(tt.in), hooks.Env{Event: hooks.BeforeTool, SessionID: "S 1", Cwd: dir, PlansDir: "/w plans"})
			if tt.failure != "" {
				if f := failureOf(t, res); f.Kind != tt.failure {
					t.Errorf("got failure %+v; want %s", f, tt.failure)
				}
				return
			}
			if res.Err != nil || res.Exit != tt.exit {
				t.Errorf("got exit %d, error %v; want exit %d", res.Exit, res.Err, tt.exit)
			}
			if string(res.Stdout) != tt.stdout {
				t.Errorf("got %d bytes of stdout %.80q; want %d %.80q", len(res.Stdout), res.Stdout, len(tt.stdout), tt.stdout)
			}
			if string(res.Stderr) != tt.stderr {
				t.Errorf("got stderr %q; want %q", res.Stderr, tt.stderr)
			}
		})
	}
}

func TestSpawnMissingDir(t *testing.T) {
	r := newRunner(t, Options{})
	f := failureOf(t, r.Handle(t.Context(), command("true"), nil, hooks.Env{Cwd: filepath.Join(t.TempDir(), "gone")}))
	if f.Kind != hooks.FailureStart || !strings.Contains(f.Text, "working directory does not exist") {
		t.Errorf("got %+v", f)
	}
}

// TestSpawnTimeout has hooks that do not end when they are told to. The answer
// comes at once; Close returns when the processes are gone.
func TestSpawnTimeout(t *testing.T) {
	for name, script := range map[string]string{
		"hangs":                  `sleep 60`,
		"prints and hangs":       `echo '{"decision":"deny"}'; exec sleep 60`,
		"ignores SIGTERM":        `trap '' TERM; while :; do sleep 1; done`,
		"child ignores SIGTERM":  `(trap '' TERM; sleep 60) & sleep 60`,
		"does not read, hangs":   `exec sleep 60`,
		"floods and hangs":       `head -c 500000 /dev/zero; exec sleep 60`,
		"leaves its output open": `sleep 60 & exec 1>&- 2>&-; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRunner(t, Options{})
			life, assertGone := lifeline(t)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			f := failureOf(t, r.Handle(ctx, command(life+script), bytes.Repeat([]byte{'x'}, 1<<20), hooks.Env{}))
			if took := time.Since(began); took > 1200*time.Millisecond {
				t.Errorf("answered after %v", took)
			}
			if f.Kind != hooks.FailureCanceled {
				t.Errorf("got %+v", f)
			}
			r.Close()
			assertGone()
		})
	}
}

// A child that holds the pipes is left alone, and is not waited for.
func TestSpawnBackgroundChild(t *testing.T) {
	r := newRunner(t, Options{})
	began := time.Now()
	res := r.Handle(t.Context(), command(`sleep 30 & printf '{"child":%d}' $!`), nil, hooks.Env{})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("answered after %v", took)
	}
	if res.Err != nil || !bytes.HasPrefix(res.Stdout, []byte(`{"child":`)) {
		t.Fatalf("got %+v", res)
	}
	killChild(t, res.Stdout)
}

// A folder that others may write to is not entered for the asking.
func TestForeignFolder(t *testing.T) {
	own, open := t.TempDir(), t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	for dir, script := range map[string]string{own: "printf own", open: "printf foreign"} {
		if err := os.WriteFile(filepath.Join(dir, "guard.sh"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := newRunner(t, Options{Dir: own})
	for _, command := range []string{"./guard.sh", `"$CLAUDE_PROJECT_DIR"/guard.sh`} {
		res := r.Handle(t.Context(), &hooks.Hook{Type: "command", Command: command}, nil, hooks.Env{Cwd: open})
		if res.Err != nil || string(res.Stdout) != "own" {
			t.Errorf("%s: got %q, %v", command, res.Stdout, res.Err)
		}
	}
}
