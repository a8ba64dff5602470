package hooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
)

// Options is what a Set is made of.
type Options struct {
	// Definitions of each event, in config order.
	Definitions map[Event][]Definition
	// Disabled hooks do not run: names, or commands, URLs and prompts of hooks
	// without a name.
	Disabled []string
	// Handlers by hook type.
	Handlers map[string]Handler
	// Dir is the cwd of firings that name none; "" for the current one.
	Dir string
	// PlansDir is shown to hooks as GEMINI_PLANS_DIR.
	PlansDir string
	Logger   *slog.Logger // nil for none
}

// Set is a config's hooks, ready to fire. It is safe for concurrent use and
// never changes; it has nothing to close (its handlers may).
type Set struct {
	groups   map[Event][]group
	handlers map[string]Handler
	window   Window
	dir      string
	plansDir string
	log      *reporter
}

var _ Firer = (*Set)(nil)

// group is a compiled Definition.
type group struct {
	matcher    matcher
	sequential bool
	hooks      []*Hook
}

// ConfigError is one mistake in Options.Definitions.
type ConfigError struct {
	Event      Event
	Definition int    // index among the event's definitions; -1: the event itself
	Hook       int    // index among the definition's hooks; -1: the definition itself
	Field      string // the config key at fault; "" for none
	Text       string
	Hint       string
}

func (e *ConfigError) Error() string {
	where := string(e.Event)
	if e.Definition >= 0 {
		where = place(e.Event, e.Definition, e.Hook)
	}
	if e.Field != "" {
		where += "." + e.Field
	}
	text := "hooks." + where + ": " + e.Text
	if e.Hint != "" {
		text += "\n  hint: " + e.Hint
	}
	return text
}

func place(ev Event, def, hook int) string {
	s := fmt.Sprintf("%s[%d]", ev, def)
	if hook >= 0 {
		s += fmt.Sprintf(".hooks[%d]", hook)
	}
	return s
}

// Events lists all events in the order in which a session meets them.
func Events() []Event {
	return []Event{SessionStart, BeforeAgent, BeforeModel, BeforeToolSelection, AfterModel,
		BeforeTool, Notification, AfterTool, AfterAgent, PreCompress, SessionEnd}
}

// New compiles definitions. Its error joins a *ConfigError for each mistake.
func New(o Options) (*Set, error) {
	s := &Set{
		groups:   map[Event][]group{},
		handlers: maps.Clone(o.Handlers),
		window:   WindowChunk,
		dir:      o.Dir,
		plansDir: o.PlansDir,
		log:      newReporter(o.Logger),
	}
	var errs []error
	for _, ev := range slices.Sorted(maps.Keys(o.Definitions)) {
		if !slices.Contains(Events(), ev) {
			errs = append(errs, &ConfigError{Event: ev, Definition: -1, Hook: -1, Text: "no such event",
				Hint: "the events are " + joinNames(Events())})
			continue
		}
		for i, d := range o.Definitions[ev] {
			g, err := s.compile(ev, i, d, o.Disabled)
			errs = append(errs, err...)
			if len(g.hooks) > 0 {
				s.groups[ev] = append(s.groups[ev], g)
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, g := range s.groups[AfterModel] {
		for _, h := range g.hooks {
			s.window = coarser(s.window, h.Window)
		}
	}
	return s, nil
}

func joinNames[S ~string](names []S) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ", ")
}

func (s *Set) compile(ev Event, i int, d Definition, disabled []string) (group, []error) {
	var errs []error
	m, err := compileMatcher(ev, d.Matcher)
	if err != nil {
		errs = append(errs, &ConfigError{Event: ev, Definition: i, Hook: -1, Field: "matcher",
			Text: fmt.Sprintf("%q does not compile: %v", d.Matcher, err), Hint: matcherHint(d.Matcher)})
	}
	if text := strings.TrimSpace(d.Matcher); subjectOf(ev) == subjectNone && text != "" && text != "*" {
		s.log.Warn("matcher without effect", "event", ev, "at", place(ev, i, -1),
			"hint", "this event has nothing to match: its hooks run every time")
	}
	g := group{matcher: m, sequential: d.Sequential}
	for j := range d.Hooks {
		h := d.Hooks[j] // a copy: the caller may change its own
		h.Env = maps.Clone(h.Env)
		h.Args = slices.Clone(h.Args)
		h.Headers = maps.Clone(h.Headers)
		h.label = h.Name
		if h.label == "" {
			h.label = place(ev, i, j)
		}
		if e := s.check(&h); e != nil {
			e.Event, e.Definition, e.Hook = ev, i, j
			errs = append(errs, e)
			continue
		}
		if !isDisabled(&h, disabled) {
			g.hooks = append(g.hooks, &h)
		}
	}
	return g, errs
}

func (s *Set) check(h *Hook) *ConfigError {
	if s.handlers[h.Type] == nil {
		types := slices.Sorted(maps.Keys(s.handlers))
		e := &ConfigError{Field: "type", Text: fmt.Sprintf("%q is no hook type", h.Type), Hint: "the types are " + joinNames(types)}
		if h.Type == "" {
			e.Text = "is missing"
		}
		for _, t := range types {
			if strings.EqualFold(t, h.Type) {
				e.Hint = fmt.Sprintf("write %q: types are in lower case", t)
			}
		}
		return e
	}
	switch {
	case h.Type == "command" && strings.TrimSpace(h.Command) == "":
		return &ConfigError{Field: "command", Text: "is missing", Hint: "a hook of type command needs a command to run"}
	case h.Type == "http" && h.URL == "":
		return &ConfigError{Field: "url", Text: "is missing", Hint: "a hook of type http needs the URL of a service"}
	case (h.Type == "prompt" || h.Type == "agent") && strings.TrimSpace(h.Prompt) == "":
		return &ConfigError{Field: "prompt", Text: "is missing", Hint: "a hook of type " + h.Type + " needs a prompt for its model"}
	case h.MaxTurns < 0:
		return &ConfigError{Field: "maxTurns", Text: fmt.Sprintf("%d is negative", h.MaxTurns), Hint: "leave it out for the default"}
	case h.Timeout < 0:
		return &ConfigError{Field: "timeout", Text: fmt.Sprintf("%v is negative", h.Timeout), Hint: "leave it out for " + DefaultTimeout.String()}
	case h.Instances < 0:
		return &ConfigError{Field: "instances", Text: fmt.Sprintf("%d is negative", h.Instances), Hint: "leave it out for one process"}
	case h.FailMode != "" && h.FailMode != FailOpen && h.FailMode != FailClosed:
		return &ConfigError{Field: "failMode", Text: fmt.Sprintf("%q is no fail mode", h.FailMode), Hint: `write "open" or "closed"`}
	case h.Window != "" && !slices.Contains(windows, h.Window):
		return &ConfigError{Field: "window", Text: fmt.Sprintf("%q is no window", h.Window), Hint: "the windows are " + joinNames(windows)}
	}
	return nil
}

func isDisabled(h *Hook, disabled []string) bool {
	name := h.Name
	if name == "" {
		name = h.subject()
	}
	return name != "" && slices.Contains(disabled, name)
}

// windows from the finest to the coarsest.
var windows = []Window{WindowChunk, WindowWord, WindowSentence, WindowAll}

// coarser is the window that serves both hooks: a hook that asked for words
// can read sentences.
func coarser(a, b Window) Window {
	if slices.Index(windows, b) > slices.Index(windows, a) {
		return b
	}
	return a
}

// Has implements [Firer].
func (s *Set) Has(ev Event) bool { return len(s.groups[ev]) > 0 }

// Matches implements [Firer].
func (s *Set) Matches(ev Event, match string) bool {
	return slices.ContainsFunc(s.groups[ev], func(g group) bool { return g.matcher.matches(match) })
}

// Window implements [Firer]: the coarsest that an AfterModel hook asks for.
func (s *Set) Window() Window { return s.window }

// step is what one group runs in one firing; at is its place among the results.
type step struct {
	sequential bool
	at         int
	hooks      []*Hook
}

// plan picks the hooks of a firing. Of identical hooks the first one runs.
func (s *Set) plan(ev Event, match string) (steps []step, n int) {
	var seen []*Hook
	for _, g := range s.groups[ev] {
		if !g.matcher.matches(match) {
			continue
		}
		st := step{sequential: g.sequential, at: n}
		for _, h := range g.hooks {
			if !slices.ContainsFunc(seen, h.same) {
				seen = append(seen, h)
				st.hooks = append(st.hooks, h)
			}
		}
		if len(st.hooks) > 0 {
			steps = append(steps, st)
			n += len(st.hooks)
		}
	}
	return steps, n
}

// same tells hooks that are one: equal name and subject, whatever else differs.
func (h *Hook) same(o *Hook) bool {
	return h.subject() != "" && h.Name == o.Name && h.Type == o.Type && h.subject() == o.subject() && slices.Equal(h.Args, o.Args)
}

// Fire implements [Firer].
func (s *Set) Fire(ctx context.Context, in Input) Decision {
	steps, n := s.plan(in.Event, in.Match)
	if n == 0 {
		return Decision{}
	}
	if in.Cwd == "" {
		in.Cwd = s.dir
	}
	f := &firing{set: s, shown: newShown(in), out: make([]outcome, n)}
	var wg sync.WaitGroup // ends with the hooks' time-outs at the latest
	var last func()
	start := func(run func()) {
		if last != nil {
			wg.Go(last)
		}
		last = run
	}
	for _, st := range steps {
		if st.sequential {
			start(func() { f.sequence(ctx, st) })
			continue
		}
		for i, h := range st.hooks {
			start(func() { f.out[st.at+i] = f.run(ctx, h, f.shown.document(h)) })
		}
	}
	last() // one hook, which is the rule, needs no goroutine
	wg.Wait()
	return merge(in.Event, f.out, s.log)
}
