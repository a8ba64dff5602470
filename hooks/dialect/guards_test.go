package dialect

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/run"
)

// A PreToolUse guard for Claude Code and a BeforeTool guard for Gemini CLI, each
// as its users write it, block the same call of the same agent.
func TestGuardScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the guards are scripts for bash")
	}
	dir, err := filepath.Abs("testdata/guards")
	if err != nil {
		t.Fatal(err)
	}
	guard := func(name string) []hooks.Hook {
		return []hooks.Hook{{Type: "command", Command: `bash "$GUARDS/` + name + `"`, Env: map[string]string{"GUARDS": dir}, Timeout: time.Minute}}
	}
	runner := run.New(run.Options{Environ: []string{"PATH=" + os.Getenv("PATH")}})
	t.Cleanup(func() { _ = runner.Close() })
	set, err := hooks.New(hooks.Options{
		Dialects: All(),
		Handlers: map[string]hooks.Handler{"command": runner},
		Definitions: map[hooks.Event][]hooks.Definition{
			"PreToolUse": {{Dialect: hooks.DialectClaude, Matcher: "Bash", Hooks: guard("claude.sh")}},
			"BeforeTool": {{Matcher: "run_shell_command", Hooks: guard("gemini.sh")}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for command, want := range map[string]string{
		"git status":                        "",
		"git push --force origin x":         "force pushes are not allowed here",
		"git push origin main":              "main is protected",
		"git push --force-with-lease x y":   "force pushes are not allowed here",
		"git push --force && X origin main": "main is protected\nforce pushes are not allowed here",
	} {
		if d := set.Fire(t.Context(), shell(command)); d.Deny != (want != "") || d.Reason != want || len(d.Runs) != 2 {
			t.Errorf("%s: got %+v; want a deny with reason %q", command, d, want)
		}
	}
}
