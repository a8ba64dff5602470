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
	// Dialects beside Gemini CLI's own, by name.
	Dialects map[string]Dialect
	// MaxAsync is how many async hooks run at a time; more are not started. Zero
	// for DefaultMaxAsync.
	MaxAsync int
	Logger   *slog.Logger // nil for none
}

// Set is a config's hooks, ready to fire. It is safe for concurrent use. What
// is configured never changes; what async hooks and those that run once leave
// behind is kept for a bounded number of sessions.
type Set struct {
	groups   map[Event][]group
	handlers map[string]Handler
	dialects map[string]Dialect
	window   Window
	dir      string
	plansDir string
	late     *late
	log      *reporter
}

var _ Firer = (*Set)(nil)

// group is a compiled Definition. Its hooks listen to one event; they may speak
// several dialects.
type group struct {
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

// named is a definition under its name in the config.
type named struct {
	name  Event
	index int
	Definition
}

// inOrder gives the definitions in config order.
func inOrder(defs map[Event][]Definition) []named {
	var all []named
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		for i, d := range defs[name] {
			all = append(all, named{name, i, d})
		}
	}
	own := Events()
	slices.SortStableFunc(all, func(a, b named) int {
		if a.Order != b.Order {
			return a.Order - b.Order
		}
		foreign := func(n named) int { return btoi(!slices.Contains(own, n.name)) }
		return foreign(a) - foreign(b)
	})
	return all
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// New compiles definitions. Its error joins a *ConfigError for each mistake.
func New(o Options) (*Set, error) {
	s := &Set{
		groups:   map[Event][]group{},
		handlers: maps.Clone(o.Handlers),
		dialects: maps.Clone(o.Dialects),
		window:   WindowChunk,
		dir:      o.Dir,
		plansDir: o.PlansDir,
		log:      newReporter(o.Logger),
	}
	if s.dialects == nil {
		s.dialects = map[string]Dialect{}
	}
	s.dialects[DialectGemini] = Gemini()
	s.late = newLate(o.MaxAsync, s.log)
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Definitions)) {
		if !s.knows(string(name)) {
			errs = append(errs, &ConfigError{Event: name, Definition: -1, Hook: -1, Text: "no such event", Hint: "the events are " + joinNames(Events())})
		}
	}
	for _, d := range inOrder(o.Definitions) {
		if s.knows(string(d.name)) {
			errs = append(errs, s.compile(d, o.Disabled)...)
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

// Close ends async hooks and waits for them.
func (s *Set) Close() error {
	s.late.close()
	return nil
}

func joinNames[S ~string](names []S) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = string(n)
	}
	return strings.Join(parts, ", ")
}

// knows reports whether some dialect has an event of that name.
func (s *Set) knows(name string) bool {
	for _, d := range s.dialects {
		if d[name] != nil {
			return true
		}
	}
	return false
}

// listener finds what an event's name, which some dialect knows, means in one.
func (s *Set) listener(dialect, name string) (*Listener, *ConfigError) {
	choices := []string{dialect}
	if dialect == "" {
		choices = []string{DialectGemini, DialectClaude}
	} else if s.dialects[dialect] == nil {
		return nil, &ConfigError{Field: "dialect", Text: fmt.Sprintf("%q is no dialect", dialect),
			Hint: "the dialects are " + joinNames(slices.Sorted(maps.Keys(s.dialects)))}
	}
	for _, c := range choices {
		if l := s.dialects[c][name]; l != nil {
			return l, nil
		}
	}
	var others []string
	for _, other := range slices.Sorted(maps.Keys(s.dialects)) {
		if s.dialects[other][name] != nil {
			others = append(others, other)
		}
	}
	return nil, &ConfigError{Field: "dialect", Text: fmt.Sprintf("%q has no such event", choices[0]),
		Hint: "the dialects that have it are " + joinNames(others)}
}

func (s *Set) compile(d named, disabled []string) (errs []error) {
	g := group{sequential: d.Sequential}
	event := Event("")
	bad := func(e *ConfigError, hook int) {
		e.Event, e.Definition, e.Hook = d.name, d.index, hook
		if !slices.ContainsFunc(errs, func(o error) bool { return o.(*ConfigError).same(e) }) {
			errs = append(errs, e)
		}
	}
	if _, e := s.listener(d.Dialect, string(d.name)); e != nil {
		bad(e, -1)
		return errs
	}
	for j := range max(len(d.Hooks), 1) {
		h, at := Hook{Dialect: d.Dialect}, -1 // a group without hooks is checked, too
		if j < len(d.Hooks) {
			h, at = d.Hooks[j], j // a copy: the caller may change its own
		}
		if h.Dialect == "" {
			h.Dialect = d.Dialect
		}
		var e *ConfigError
		if h.listener, e = s.listener(h.Dialect, string(d.name)); e != nil {
			bad(e, at)
			continue
		}
		var err error
		if h.matcher, err = compileMatcher(h.listener, d.Matcher); err != nil {
			bad(&ConfigError{Field: "matcher", Text: fmt.Sprintf("%q does not compile: %v", d.Matcher, err), Hint: matcherHint(d.Matcher)}, -1)
			continue
		}
		if at < 0 {
			s.warnMatcher(d, h.listener)
			continue
		}
		if j == 0 {
			s.warnMatcher(d, h.listener)
		}
		if e := s.finish(&h, d, j); e != nil {
			bad(e, j)
			continue
		}
		if h.listener.Event == "" {
			s.log.Info("hook never runs", "event", d.name, "hook", h.label, "hint", "this event has no counterpart here")
		} else if !isDisabled(&h, disabled) {
			event, g.hooks = h.listener.Event, append(g.hooks, &h)
		}
	}
	if len(g.hooks) > 0 {
		s.groups[event] = append(s.groups[event], g)
	}
	return errs
}

// warnMatcher tells of a matcher that has no effect.
func (s *Set) warnMatcher(d named, l *Listener) {
	if text := strings.TrimSpace(d.Matcher); l.Compile == nil && text != "" && text != "*" {
		s.log.Warn("matcher without effect", "event", d.name, "at", place(d.name, d.index, -1),
			"hint", "this event has nothing to match: its hooks run every time")
	}
}

// finish completes the copy of a configured hook.
func (s *Set) finish(h *Hook, d named, index int) *ConfigError {
	h.Env = maps.Clone(h.Env)
	h.Args = slices.Clone(h.Args)
	h.Headers = maps.Clone(h.Headers)
	h.Async = h.Async || d.Async
	h.label = h.Name
	if h.label == "" {
		h.label = place(d.name, d.index, index)
	}
	if h.If != "" {
		var err error
		if h.rule, err = parseRule(h.If); err != nil {
			return &ConfigError{Field: "if", Text: fmt.Sprintf("%q is no permission rule: %v", h.If, err), Hint: `write a tool's name, or a name and a pattern, as in "Bash(git *)"`}
		}
		if subjects[h.listener.Event] != "tool_name" {
			s.log.Warn("hook never runs", "event", d.name, "hook", h.label, "hint", `"if" is for the events of tool calls`)
		}
	}
	s.late.used = s.late.used || h.Async
	return s.check(h)
}

// same tells mistakes that are one.
func (e *ConfigError) same(o *ConfigError) bool { return *e == *o }

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

// Has implements [Firer]. Where hooks run in the background there is always
// something to do for a prompt: it brings what they had to say.
func (s *Set) Has(ev Event) bool { return len(s.groups[ev]) > 0 || ev == BeforeAgent && s.late.used }

// Matches implements [Firer].
func (s *Set) Matches(ev Event, match string) bool {
	in := Input{Event: ev, Match: match}
	for _, g := range s.groups[ev] {
		if slices.ContainsFunc(g.hooks, func(h *Hook) bool {
			// Whether a listener takes a firing is not known before it is whole.
			return h.matcher == nil || match == "" || slices.ContainsFunc(h.listener.Subjects(&in), h.matcher)
		}) {
			return true
		}
	}
	return false
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
func (s *Set) plan(in *Input) (steps []step, async []*Hook, n int) {
	var seen []*Hook
	for _, g := range s.groups[in.Event] {
		st := step{sequential: g.sequential, at: n}
		for _, h := range g.hooks {
			switch {
			case !h.takes(in) || !h.named(in) || slices.ContainsFunc(seen, h.same):
				continue
			case h.Once && !s.late.first(in, h):
				continue
			case h.Async:
				async = append(async, h)
			default:
				st.hooks = append(st.hooks, h)
			}
			seen = append(seen, h)
		}
		if len(st.hooks) > 0 {
			steps = append(steps, st)
			n += len(st.hooks)
		}
	}
	return steps, async, n
}

// same tells hooks that are one: equal name, command and dialect, whatever else
// differs.
func (h *Hook) same(o *Hook) bool {
	return h.subject() != "" && h.listener == o.listener && h.Name == o.Name && h.Type == o.Type && h.subject() == o.subject() && slices.Equal(h.Args, o.Args)
}

// Fire implements [Firer].
func (s *Set) Fire(ctx context.Context, in Input) Decision {
	if in.Event == SessionEnd {
		defer s.late.forget(&in)
	}
	left := s.late.take(&in)
	steps, async, n := s.plan(&in)
	if n == 0 && len(async) == 0 {
		return left.decision()
	}
	if in.Cwd == "" {
		in.Cwd = s.dir
	}
	f := &firing{set: s, shown: newShown(in), out: make([]outcome, n)}
	f.background(ctx, async)
	f.foreground(ctx, steps)
	d := merge(in.Event, f.out, s.log)
	left.add(&d)
	return d
}

// foreground runs the hooks that are waited for.
func (f *firing) foreground(ctx context.Context, steps []step) {
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
			start(func() { f.out[st.at+i] = f.run(ctx, h, f.shown.input(h), f.shown.document(h)) })
		}
	}
	if last != nil {
		last() // one hook, which is the rule, needs no goroutine
	}
	wg.Wait()
}
