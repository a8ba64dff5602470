package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
	"github.com/hookline-proxy/hookline/hooks/trust"
)

// hookPlan are all hooks of a configuration and of what it imports, each with
// whether it runs.
type hookPlan struct {
	entries  []hookEntry // in the order of running
	problems config.Problems
	files    []string // files that hooks come from, also those that are not there
	agreed   map[string]trust.Print
}

// hookEntry is one hook.
type hookEntry struct {
	event  string
	def    *config.Definition
	group  int // its group's place among all
	config *config.Hook
	hook   hooks.Hook
	off    string   // why it is switched off; "" if it is not
	trust  string   // "" when it needs none, else a trust.State
	diff   []string // what changed since it was trusted
	print  trust.Print
}

func (e *hookEntry) runs() bool {
	return e.off == "" && (e.trust == "" || e.trust == string(trust.Trusted))
}

// name is what a hook is called by.
func (e *hookEntry) name() string {
	return cmp.Or(e.hook.Name, e.hook.Command, e.hook.URL, e.hook.Prompt, string(e.config.Builtin))
}

// workplace says where hooks are looked for.
type workplace struct {
	file  string // the configuration's; "" for none
	state string // the folder of hookline's state
	config.Place
}

// newWorkplace finds the user's home and the current folder.
func newWorkplace(cfg *config.Config, file string) (workplace, error) {
	w := workplace{file: file}
	if file != "" {
		abs, err := filepath.Abs(file)
		if err != nil {
			return w, err
		}
		w.file = abs
	}
	var err error
	if w.state, err = stateDir(cfg.State); err != nil {
		return w, err
	}
	if w.Project, err = os.Getwd(); err != nil {
		return w, fmt.Errorf("find the current folder: %w", err)
	}
	w.Home, _ = os.UserHomeDir() // without one there is no user's layer
	w.Env = os.Getenv
	return w, nil
}

func (w *workplace) trustFile() string { return filepath.Join(w.state, "trust.json") }

// planHooks gathers the hooks of a configuration and of what it imports.
func planHooks(cfg *config.Config, w workplace) (*hookPlan, error) {
	im := &config.Imports{}
	if len(cfg.Import) > 0 {
		im = config.Import(cfg.Import, filepath.Dir(w.file), w.Place)
	}
	p := &hookPlan{problems: im.Problems, files: im.Files, agreed: map[string]trust.Print{}}
	over, err := readOverrides(w)
	if err != nil {
		return nil, err
	}
	agreed, err := trust.Open(w.trustFile()).All()
	if err != nil {
		return nil, err
	}
	for _, set := range []config.Hooks{cfg.Hooks, im.Hooks} {
		for ev := range set {
			for i := range set[ev] {
				p.add(ev, &set[ev][i], w.file)
			}
		}
	}
	slices.SortStableFunc(p.entries, func(a, b hookEntry) int { return a.def.Order - b.def.Order })
	for i := range p.entries {
		e := &p.entries[i]
		if i > 0 {
			e.group = p.entries[i-1].group
			if e.def != p.entries[i-1].def {
				e.group++
			}
		}
		e.off = over.offBy(cfg, e)
		if src := e.def.Source; src.Project != "" {
			e.print = trust.Of(&e.hook, src.Project, src.File)
			var state trust.State
			state, e.diff = trust.Check(agreed, &e.print)
			e.trust = string(state)
			if e.runs() {
				p.agreed[e.hook.Source] = e.print
			}
		}
	}
	return p, nil
}

func (p *hookPlan) add(ev string, def *config.Definition, own string) {
	unit := dialect.Unit(string(def.In(ev)))
	for i := range def.Hooks {
		c := &def.Hooks[i]
		p.entries = append(p.entries, hookEntry{event: ev, def: def, config: c, hook: hooks.Hook{
			Name:        c.Name,
			Type:        string(c.Type),
			Command:     c.Command,
			Args:        c.Args,
			Shell:       c.Shell,
			Timeout:     time.Duration(c.Timeout) * unit,
			Env:         c.Env,
			FailMode:    hooks.FailMode(c.FailMode),
			Persistent:  c.Persistent,
			Instances:   c.Instances,
			System:      c.System,
			Window:      hooks.Window(c.Window),
			Description: c.Description,
			Source:      fmt.Sprintf("%s:%d", cmp.Or(def.Source.File, own), c.Line),

			URL:            c.URL,
			Headers:        c.Headers,
			AllowedEnvVars: c.AllowedEnvVars,
			Prompt:         c.Prompt,
			Model:          c.Model,
			Tools:          agentTools(c.Tools),
			MaxTurns:       c.MaxTurns,

			If:    c.If,
			Once:  c.Once,
			Async: c.Async,
		}})
	}
}

// definitions are the hooks that run, in the words of package hooks.
func (p *hookPlan) definitions() map[hooks.Event][]hooks.Definition {
	all := map[hooks.Event][]hooks.Definition{}
	last := -1
	for i := range p.entries {
		e := &p.entries[i]
		if !e.runs() || e.config.Type == config.BuiltinHook {
			continue // a built-in is the shield's
		}
		ev := hooks.Event(e.event)
		if e.group != last {
			last = e.group
			all[ev] = append(all[ev], hooks.Definition{
				Matcher: e.def.Matcher, Sequential: e.def.Sequential, Async: e.def.Async, Dialect: string(e.def.In(e.event)), Order: e.def.Order,
			})
		}
		d := &all[ev][len(all[ev])-1]
		d.Hooks = append(d.Hooks, e.hook)
	}
	return all
}

// running counts the hooks that run.
func (p *hookPlan) running() int {
	n := 0
	for i := range p.entries {
		if p.entries[i].runs() {
			n++
		}
	}
	return n
}

// asksModel reports whether some hook that runs asks a model itself.
func (p *hookPlan) asksModel() bool {
	return slices.ContainsFunc(p.entries, func(e hookEntry) bool {
		return e.runs() && (e.config.Type == config.Prompt || e.config.Type == config.Agent)
	})
}

// set compiles the hooks that run. wrap goes round the handler of command hooks;
// nil for nothing.
func (p *hookPlan) set(h *handlers, wrap func(hooks.Handler) hooks.Handler, log *slog.Logger) (*hooks.Set, error) {
	return p.compile(h.byType(wrap), log)
}

// setWith compiles the hooks that run, with wrap round the handlers of all types.
func (p *hookPlan) setWith(h *handlers, wrap func(hooks.Handler) hooks.Handler, log *slog.Logger) (*hooks.Set, error) {
	byType := h.byType(nil)
	for t, next := range byType {
		byType[t] = wrap(next)
	}
	return p.compile(byType, log)
}

// dialects are all that hooks may speak.
var dialects = dialect.All()

func (p *hookPlan) compile(byType map[string]hooks.Handler, log *slog.Logger) (*hooks.Set, error) {
	if len(p.agreed) > 0 {
		for t, next := range byType {
			byType[t] = &trust.Guard{Handler: next, Agreed: p.agreed}
		}
	}
	return hooks.New(hooks.Options{Definitions: p.definitions(), Handlers: byType, Dialects: dialects, Logger: log})
}

// tell logs what keeps hooks from running that people may not know of.
func (p *hookPlan) tell(log *slog.Logger) {
	for _, pr := range p.problems {
		log.Warn("imported settings", "at", fmt.Sprintf("%s:%d:%d", pr.File, pr.Line, pr.Column), "problem", pr.Message, "hint", pr.Hint)
	}
	for i := range p.entries {
		e := &p.entries[i]
		if e.off != "" || e.runs() {
			continue
		}
		args := []any{"hook", cmp.Or(e.hook.Name, e.hook.Source), "event", e.event, "at", e.hook.Source}
		why := "hook not run: it comes with the project, and nobody has trusted it"
		if e.trust == string(trust.Changed) {
			why = "hook not run: it changed since it was trusted"
			args = append(args, "changes", strings.Join(e.diff, "; "))
		}
		log.Warn(why, append(args, "hint", "look at it, and run hookline trust in the project")...)
	}
}

// plan reads a configuration and gathers its hooks: what the commands about
// hooks begin with. A file of "" is the default one, if it is there.
func plan(file string) (*config.Config, workplace, *hookPlan, error) {
	if file == "" {
		if _, err := os.Stat(defaultConfig); err == nil {
			file = defaultConfig
		} else if !errors.Is(err, os.ErrNotExist) {
			return nil, workplace{}, nil, unreadable(defaultConfig, err)
		}
	}
	if file == "" {
		return nil, workplace{}, nil, &failure{what: "there is no " + defaultConfig + " in this folder", next: "name the configuration with --config, or run hookline init"}
	}
	cfg, err := loadConfig(file, io.Discard)
	if err != nil {
		return nil, workplace{}, nil, err
	}
	w, err := newWorkplace(cfg, file)
	if err != nil {
		return nil, w, nil, err
	}
	p, err := planHooks(cfg, w)
	return cfg, w, p, err
}
