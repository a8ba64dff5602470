package trust

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestScripts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my project")
	for _, f := range []string{"guard.sh", "hooks/a b.py", "hooks/lib.js", "package.json", "Makefile", ".claude/hooks/x.sh"} {
		write(t, filepath.Join(dir, f), f)
	}
	for _, tc := range []struct {
		name string
		hook hooks.Hook
		want []string
	}{
		{"relative", hooks.Hook{Command: "./guard.sh --strict"}, []string{"guard.sh"}},
		{"bare", hooks.Hook{Command: "bash guard.sh"}, []string{"guard.sh"}},
		{"project variable", hooks.Hook{Command: `"$CLAUDE_PROJECT_DIR"/.claude/hooks/x.sh`}, []string{".claude/hooks/x.sh"}},
		{"variable in braces, all quoted", hooks.Hook{Command: `"${GEMINI_PROJECT_DIR}/guard.sh"`}, []string{"guard.sh"}},
		{"blank in a path", hooks.Hook{Command: `python3 'hooks/a b.py'`}, []string{"hooks/a b.py"}},
		{"folder first", hooks.Hook{Command: "cd hooks && node lib.js"}, []string{"hooks/lib.js"}},
		{"two", hooks.Hook{Command: "./guard.sh | node --require=./hooks/lib.js"}, []string{"guard.sh", "hooks/lib.js"}},
		{"args", hooks.Hook{Command: "node", Args: []string{"--import=${CLAUDE_PROJECT_DIR}/hooks/lib.js", "hooks/a b.py"}}, []string{"hooks/a b.py", "hooks/lib.js"}},
		{"runner", hooks.Hook{Command: "npm run -s guard"}, []string{"package.json"}},
		{"elsewhere", hooks.Hook{Command: "cat /etc/hosts ../other.sh"}, nil},
		{"none", hooks.Hook{Command: "echo hello"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := scripts(&tc.hook, dir)
			var names []string
			for _, n := range tc.want {
				if got[n] == "" {
					t.Errorf("%s is not found", n)
				}
				names = append(names, n)
			}
			if len(got) != len(names) {
				t.Errorf("found %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "guard.sh")
	write(t, script, "one")
	store := Open(filepath.Join(t.TempDir(), "state", "trust.json"))
	h := hooks.Hook{Type: "command", Name: "guard", Command: "./guard.sh"}
	check := func(h hooks.Hook) (State, string) {
		t.Helper()
		all, err := store.All()
		if err != nil {
			t.Fatal(err)
		}
		p := Of(&h, dir, "f.json")
		s, d := Check(all, &p)
		return s, strings.Join(d, "\n")
	}
	want := func(h hooks.Hook, state State, diff string) {
		t.Helper()
		if s, d := check(h); s != state || d != diff {
			t.Errorf("got %s %q, want %s %q", s, d, state, diff)
		}
	}
	want(h, Unknown, "")
	if err := store.Trust(Of(&h, dir, "f.json")); err != nil {
		t.Fatal(err)
	}
	want(h, Trusted, "")
	if st, err := os.Stat(store.path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v; want 0600", st.Mode(), err)
	}
	guard := &Guard{Handler: hooks.HandlerFunc(func(context.Context, *hooks.Hook, []byte, hooks.Env) hooks.Result { return hooks.Result{Exit: 7} }),
		Agreed: map[string]Print{"here": Of(&h, dir, "f.json")}}
	h.Source = "here"
	if res := guard.Handle(t.Context(), &h, nil, hooks.Env{}); res.Exit != 7 {
		t.Errorf("a trusted hook did not run: %v", res.Err)
	}

	write(t, script, "two")
	want(h, Changed, "script changed: guard.sh")
	if res := guard.Handle(t.Context(), &h, nil, hooks.Env{}); res.Err == nil || !strings.Contains(res.Err.Error(), "script changed: guard.sh") {
		t.Errorf("a hook whose script changed ran: %v", res)
	}
	write(t, script, "one")
	changed := h
	changed.Command = "./guard.sh; curl evil"
	want(changed, Changed, "command was ./guard.sh\ncommand is  ./guard.sh; curl evil")
	changed = h
	changed.Env = map[string]string{"PATH": "."}
	if s, d := check(changed); s != Changed || !strings.Contains(d, "env") {
		t.Errorf("another environment: %s %q", s, d)
	}
	changed = h
	changed.Name = ""
	want(changed, Unknown, "")

	if n, err := store.Revoke(dir, "other"); n != 0 || err != nil {
		t.Errorf("revoked %d, %v", n, err)
	}
	if n, err := store.Revoke(dir, "guard"); n != 1 || err != nil {
		t.Errorf("revoked %d, %v; want 1", n, err)
	}
	want(h, Unknown, "")
}

// TestTrustAgain: of one hook the newest agreement counts alone.
func TestTrustAgain(t *testing.T) {
	store := Open(filepath.Join(t.TempDir(), "trust.json"))
	a := Print{Project: "/p", File: "f", Name: "n", Command: "old"}
	b := a
	b.Command = "new"
	if err := store.Trust(a); err != nil {
		t.Fatal(err)
	}
	if err := store.Trust(b); err != nil {
		t.Fatal(err)
	}
	all, err := store.All()
	if d := cmp.Diff([]Print{b}, all); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestBrokenStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trust.json")
	write(t, path, "{")
	if _, err := Open(path).All(); err == nil {
		t.Error("a broken file is taken for an empty one")
	}
}
