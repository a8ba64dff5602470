package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop"
)

// watched are the files that a change of which changes the hooks.
func (g *gateway) watched(p *hookPlan) []string {
	return append([]string{g.work.file, g.work.overridesFile(), g.work.trustFile()}, p.files...)
}

// follow watches the configuration and what it imports, and takes changes over.
// Without a configuration file there is nothing to follow.
func (g *gateway) follow() {
	if g.work.file == "" {
		return
	}
	var err error
	g.watcher, err = newWatcher(g.watched(g.live.current().plan), g.prints, g.reload, g.o.log)
	if err != nil {
		g.o.log.Warn("changes of the configuration will not be noticed before a restart", "error", err)
		return
	}
	go g.watcher.run() // ends with close
}

// reload takes changed files over, all or nothing: what cannot be used leaves the
// configuration at work as it is.
func (g *gateway) reload(files []string) {
	log, old := g.o.log, g.live.current()
	for _, f := range g.held {
		if !slices.Contains(files, f) {
			files = append(files, f) // the objection may still hold
		}
	}
	next, err := g.next(files)
	if err != nil {
		log.Error("configuration not taken over, the one before stays", "files", strings.Join(files, ", "), "problem", err)
		return
	}
	if next == nil {
		g.held = files
		return
	}
	g.held = nil
	changes := differences(old, next)
	next.plan.tell(log)
	g.live.replace(next)
	g.watcher.watch(g.watched(next.plan))
	if len(changes) == 0 {
		changes = []string{"nothing that counts"}
	}
	log.Info("configuration changed", "files", strings.Join(files, ", "), "changes", strings.Join(changes, "; "), "hooks", next.plan.running())
	if g.forgets && next.plan.running() > 0 {
		g.forgets = false // told once
		log.Warn("what hooks change is forgotten when hookline ends: it began without hooks, and so without a ledger on disk", "hint", "restart hookline")
	}
	if fixed := needRestart(old.cfg, next.cfg); len(fixed) > 0 {
		log.Warn("some changes count from the next start on", "keys", strings.Join(fixed, ", "), "hint", "restart hookline")
	}
}

// next makes the generation of the files as they are now; nil if a hook objects
// to the change.
func (g *gateway) next(files []string) (*generation, error) {
	cfg, err := loadConfig(g.o.file, logWriter{g.o.log})
	if err != nil {
		return nil, err
	}
	if g.o.adjust != nil {
		if err := g.o.adjust(cfg); err != nil {
			return nil, err
		}
	}
	plan, err := planHooks(cfg, g.work)
	if err != nil {
		return nil, err
	}
	if !g.configChange(files, plan) {
		return nil, nil
	}
	next, err := newGeneration(g.live, cfg, plan, &g.o)
	if err != nil {
		return nil, err
	}
	if err := g.server.Update(upstreams(cfg), int(cfg.Limits.MaxBody)); err != nil {
		_ = next.close() // the first error is the one to tell
		return nil, err
	}
	next.loop = g.live.current().loop.With(toolloop.Options{Hooks: next, Repair: cfg.Repair, DenyAs: toolloop.DenyAs(cfg.DenyAs)})
	return next, nil
}

// configChange asks the hooks at work whether the files may be taken over. What
// the user has switched or trusted, and what the system prescribes, is not for
// them to decide.
func (g *gateway) configChange(files []string, plan *hookPlan) bool {
	old := g.live.current()
	if !old.Has(hooks.ConfigChange) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), hooks.DefaultTimeout)
	defer cancel()
	for _, f := range files {
		source := g.sourceOf(f, plan)
		d := old.Fire(ctx, hooks.Input{Event: hooks.ConfigChange, SessionID: "hookline", Cwd: g.work.Project, Time: time.Now(), Fields: []hooks.Field{
			{Key: "source", Value: hooks.Quote(source)}, {Key: "file_path", Value: hooks.Quote(f)},
		}})
		own := f == g.work.overridesFile() || f == g.work.trustFile()
		if d.Deny && !own && source != "policy_settings" {
			g.o.log.Warn("configuration not taken over: a ConfigChange hook objects", "file", f, "reason", d.Reason)
			return false
		}
	}
	return true
}

// sourceOf is a file's kind in the words of ConfigChange.
func (g *gateway) sourceOf(file string, plan *hookPlan) string {
	for i := range plan.entries {
		if src := plan.entries[i].def.Source; src.File == file {
			switch src.Layer {
			case config.LayerProject, config.LayerFile:
				return "project_settings"
			case config.LayerLocal:
				return "local_settings"
			case config.LayerSystem, config.LayerDefaults:
				return "policy_settings"
			}
		}
	}
	return "user_settings"
}

// differences are what changed, for the log.
func differences(old, now *generation) (changes []string) {
	was, is := hookLines(old.plan), hookLines(now.plan)
	for _, l := range is {
		if !slices.Contains(was, l) {
			changes = append(changes, "hook "+l)
		}
	}
	for _, l := range was {
		if !slices.Contains(is, l) {
			changes = append(changes, "no more: hook "+l)
		}
	}
	for _, c := range []struct {
		key     string
		was, is any
	}{
		{"upstream", old.cfg.Upstream, now.cfg.Upstream}, {"limits", old.cfg.Limits, now.cfg.Limits}, {"repair", old.cfg.Repair, now.cfg.Repair},
		{"denyAs", old.cfg.DenyAs, now.cfg.DenyAs}, {"hooksConfig", old.cfg.HooksConfig, now.cfg.HooksConfig}, {"import", old.cfg.Import, now.cfg.Import},
	} {
		if !reflect.DeepEqual(c.was, c.is) {
			changes = append(changes, c.key)
		}
	}
	return changes
}

// hookLines tell of each hook what a change of is worth telling. The command is
// not among it: it may hold a key.
func hookLines(p *hookPlan) (lines []string) {
	for i := range p.entries {
		e := &p.entries[i]
		state := "on"
		if !e.runs() {
			state = "off"
		}
		name := e.hook.Name
		if name == "" {
			name = filepath.Base(e.hook.Source)
		}
		// A hash stands for the rest, so that a change of it is a change.
		rest := fmt.Sprintf("%v", []any{e.hook.Command, e.hook.Args, e.hook.Env, e.hook.Timeout, e.hook.URL, e.hook.Prompt, e.hook.FailMode, e.def.Matcher, e.def.Sequential})
		lines = append(lines, fmt.Sprintf("%s of %s %s (%08x)", name, e.event, state, crc32.ChecksumIEEE([]byte(rest))))
	}
	return lines
}

// needRestart names the keys whose change does not count before a restart.
func needRestart(was, is *config.Config) (keys []string) {
	for _, c := range []struct {
		key     string
		was, is any
	}{
		{"listen", was.Listen, is.Listen}, {"state", was.State, is.State}, {"log", was.Log, is.Log}, {"redact", was.Redact, is.Redact},
		{"endpoints", was.Endpoints, is.Endpoints}, {"builtin hooks", builtins(was), builtins(is)}, {"reportToken", was.ReportToken, is.ReportToken},
	} {
		if !reflect.DeepEqual(c.was, c.is) {
			keys = append(keys, c.key)
		}
	}
	return keys
}

// builtins are the hooks of the shield, by event.
func builtins(c *config.Config) map[string][]config.Hook {
	all := map[string][]config.Hook{}
	for ev, defs := range c.Hooks {
		for _, d := range defs {
			for _, h := range d.Hooks {
				if h.Type == config.BuiltinHook {
					h.Line = 0
					all[ev] = append(all[ev], h)
				}
			}
		}
	}
	return all
}

// logWriter puts lines of warnings into the log.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(b []byte) (int, error) {
	w.log.Warn("configuration", "problem", strings.TrimSpace(string(b)))
	return len(b), nil
}
