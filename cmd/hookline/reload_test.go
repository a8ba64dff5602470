package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// logLines is a log whose lines can be waited for.
type logLines struct{ lines chan string }

func (l logLines) Write(b []byte) (int, error) {
	l.lines <- string(b)
	return len(b), nil
}

// await reads lines until one has all the words.
func (l logLines) await(t *testing.T, words ...string) string {
	t.Helper()
	timeout := time.After(20 * time.Second)
	var seen []string
	for {
		select {
		case line := <-l.lines:
			ok := true
			for _, w := range words {
				ok = ok && strings.Contains(line, w)
			}
			if ok {
				return line
			}
			seen = append(seen, line)
		case <-timeout:
			t.Fatalf("no line with %q in the log:\n%s", words, strings.Join(seen, ""))
		}
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// following is a gateway on a configuration that is watched.
func following(t *testing.T, file string) (*gateway, logLines) {
	t.Helper()
	log := logLines{make(chan string, 1000)}
	cfg, err := loadConfig(file, log)
	if err != nil {
		t.Fatal(err)
	}
	g, err := newGateway(gatewayOptions{cfg: cfg, file: file, log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	g.follow()
	t.Cleanup(func() {
		if err := g.shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g, log
}

func oneHook(state, event, command, more string) string {
	return fmt.Sprintf(`{"state": {"dir": %q, "store": "memory"}, "hooks": {%q: [{"hooks": [{"type": "command", "command": %q, "name": "h"}]}]}%s}`, state, event, command, more)
}

// reasonOf fires a tool call and gives the reason that it is denied with.
func reasonOf(f hooks.Firer) string {
	return f.Fire(context.Background(), hooks.Input{Event: hooks.BeforeTool, Match: "x", Fields: []hooks.Field{{Key: "tool_name", Value: hooks.Quote("x")}}}).Reason
}

func deny(reason string) string { return "echo " + reason + " >&2; exit 2" }

// TestReload: a change counts for what comes after it, a mistake changes nothing,
// and what is under way stays with what it began with.
func TestReload(t *testing.T) {
	dir := t.TempDir()
	file, state := filepath.Join(dir, "c.json"), filepath.Join(dir, "state")
	t.Setenv("HOME", dir)
	put(t, file, oneHook(state, "BeforeTool", deny("one"), ""))
	g, log := following(t, file)
	if r := reasonOf(g.live.current()); r != "one" {
		t.Fatalf("reason %q", r)
	}
	first := g.live.hold() // a call under way
	put(t, file, oneHook(state, "BeforeTool", deny("two"), `, "limits": {"maxBody": 5}, "listen": "127.0.0.1:1"`))
	line := log.await(t, "configuration changed")
	for _, w := range []string{"hook h of BeforeTool on", "limits", "hooks=1"} {
		if !strings.Contains(line, w) {
			t.Errorf("the log does not tell of %q: %s", w, line)
		}
	}
	log.await(t, "count from the next start on", "listen")
	if r := reasonOf(g.live.current()); r != "two" {
		t.Errorf("a new call has the reason %q", r)
	}
	if r := reasonOf(first); r != "one" || first.closed {
		t.Errorf("a call under way has the reason %q", r)
	}
	first.release()
	if !first.closed {
		t.Error("the old hooks are not closed after their last call")
	}

	// By name, as editors do it; and with a mistake in it.
	put(t, file+".new", `{"hooks": {"BeforeTools": []}}`)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	line = log.await(t, "configuration not taken over")
	if !strings.Contains(line, "c.json:1:12: error: hooks.BeforeTools") {
		t.Errorf("the log does not tell of the mistake: %s", line)
	}
	if r := reasonOf(g.live.current()); r != "two" {
		t.Errorf("after a mistake the reason is %q", r)
	}
	put(t, file+".new", oneHook(state, "BeforeTool", deny("three"), ""))
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	log.await(t, "configuration changed")
	if r := reasonOf(g.live.current()); r != "three" {
		t.Errorf("after the correction the reason is %q", r)
	}

	// Switched off and on by another process.
	if err := (overrides{}).switchHook("h", false).write(g.work); err != nil {
		t.Fatal(err)
	}
	log.await(t, "configuration changed", "hook h of BeforeTool off")
	if r := reasonOf(g.live.current()); r != "" {
		t.Errorf("switched off, the reason is %q", r)
	}
}

// TestReloadLinks: the configuration is a link into a volume of Kubernetes, which
// changes by another link far up.
func TestReloadLinks(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	state := filepath.Join(dir, "state")
	for name, reason := range map[string]string{"v1": "one", "v2": "two"} {
		put(t, filepath.Join(dir, name, "c.json"), oneHook(state, "BeforeTool", deny(reason), ""))
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	link("v1", "..data")
	link(filepath.Join("..data", "c.json"), "c.json")
	g, log := following(t, filepath.Join(dir, "c.json"))
	if r := reasonOf(g.live.current()); r != "one" {
		t.Fatalf("reason %q", r)
	}
	link("v2", "..data_tmp")
	if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
		t.Fatal(err)
	}
	log.await(t, "configuration changed")
	if r := reasonOf(g.live.current()); r != "two" {
		t.Errorf("reason %q", r)
	}
}

// TestReloadImport: settings of a tool that come into being count from then on; a
// ConfigChange hook may hold a change back.
func TestReloadImport(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "c.json")
	put(t, file, `{"import": ["claude"], "state": {"store": "memory"}}`)
	g, log := following(t, file)
	settings := func(reason, more string) string {
		return fmt.Sprintf(`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": %q, "name": "p"}]}]%s}}`, deny(reason), more)
	}
	put(t, filepath.Join(dir, ".claude/settings.json"), settings("one", `, "ConfigChange": [{"hooks": [{"type": "command", "command": "echo leave it >&2; exit 2", "name": "keeper"}]}]`))
	log.await(t, "configuration changed", "hook p of PreToolUse on")
	if r := reasonOf(g.live.current()); r != "one" {
		t.Errorf("reason %q", r)
	}
	put(t, filepath.Join(dir, ".claude/settings.json"), settings("two", ""))
	log.await(t, "a ConfigChange hook objects", "leave it")
	if r := reasonOf(g.live.current()); r != "one" {
		t.Errorf("after the objection the reason is %q", r)
	}
}
