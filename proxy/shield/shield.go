// Package shield keeps people's data and secrets from crossing the proxy. It
// redacts bodies on their way to the model, and what the model says before
// anything else of hookline sees it, and puts values back in the place of
// placeholders as the answer goes to the agent. The tool loop, its ledger, the
// hooks, transcripts and logs all live between the two borders and never meet a
// real value.
//
// Invariants: what is not understood is refused, not passed (unless the options
// say so); nothing is reported as scanned that was not; values are kept in
// memory alone and stand in no error, no log and no counter; the same history
// gives the same bytes; how a text is cut into parts and chunks changes nothing.
package shield

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/hookline-proxy/hookline/translate/gemini"
)

// Direction is where data goes.
type Direction string

const (
	ToModel Direction = "to_model"
	ToAgent Direction = "to_agent"
)

// Rule says which redactor is for which leaves. Of several the first that fits
// is used.
type Rule struct {
	Redactor  *Redactor
	Direction Direction
	// Tools limits the rule to arguments and results: true to these alone, false
	// to all else. Nil for no limit.
	Tools *bool
	// Tool, with Tools true, must match the function's name; nil for any.
	Tool *regexp.Regexp
}

// Inline says what becomes of inline data that is no text.
type Inline string

const (
	InlinePass Inline = "pass" // it goes up unscanned, and is counted as such
	InlineDeny Inline = "deny"
)

// Options configure a Shield. The zero value redacts nothing.
type Options struct {
	Rules  []Rule
	Inline Inline // "" is InlinePass
	// FailOpen lets pass what cannot be scanned. The default is to refuse it.
	FailOpen bool
	// Note is added to the system instruction of calls whose values may be
	// replaced by placeholders; "" for [DefaultNote], "-" for none.
	Note string
	Log  *slog.Logger // nil: discards
}

// DefaultNote tells a model what placeholders are.
const DefaultNote = "Texts of this conversation hold placeholders such as <EMAIL_ADDRESS_1>. Each stands for one real value that is not shown to you. Use them as if they were the values: repeat them exactly as they are, in answers and in arguments of tools, and never invent, change, number or explain them."

// Shield redacts and restores. It is safe for concurrent use.
type Shield struct {
	o          Options
	log        *slog.Logger
	vaults     *vaults
	reversible bool

	mu    sync.Mutex
	stats Stats
}

// New makes a Shield.
func New(o Options) *Shield {
	s := &Shield{o: o, log: o.Log, vaults: newVaults()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, r := range o.Rules {
		s.reversible = s.reversible || r.Redactor.reversible
	}
	if s.o.Note == "" {
		s.o.Note = DefaultNote
	}
	s.stats = newStats()
	return s
}

// Active reports whether there is anything to do. It is false for nil.
func (s *Shield) Active() bool { return s != nil && len(s.o.Rules) > 0 }

func (s *Shield) directed(d Direction) bool {
	return slices.ContainsFunc(s.o.Rules, func(r Rule) bool { return r.Direction == d })
}

// redactor is the one for a leaf; nil for none.
func (s *Shield) redactor(d Direction, l *gemini.Leaf) *Redactor {
	tool := l.Kind == gemini.LeafResult || d == ToAgent && (l.Kind == gemini.LeafArgs || l.Kind == gemini.LeafPartial)
	for _, r := range s.o.Rules {
		if r.Direction != d || r.Tools != nil && *r.Tools != tool {
			continue
		}
		if r.Tool != nil && (!tool || !r.Tool.MatchString(l.Tool)) {
			continue
		}
		return r.Redactor
	}
	return nil
}

// Stats count bytes and finds.
type Stats struct {
	Scanned  map[string]int // bytes, by direction and kind: "to_model.text"
	Skipped  map[string]int // bytes that were not scanned, by direction and reason
	Found    map[string]int // by direction and entity
	Restored int            // values put back: strings and pieces of text that changed
	Refused  int            // bodies
}

func newStats() Stats {
	return Stats{Scanned: map[string]int{}, Skipped: map[string]int{}, Found: map[string]int{}}
}

func (s *Stats) add(o *Stats) {
	for k, n := range o.Scanned {
		s.Scanned[k] += n
	}
	for k, n := range o.Skipped {
		s.Skipped[k] += n
	}
	for k, n := range o.Found {
		s.Found[k] += n
	}
	s.Restored += o.Restored
	s.Refused += o.Refused
}

// Stats is the sum over all calls that have ended.
func (s *Shield) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := newStats()
	n.add(&s.stats)
	return n
}

// Call is one request of an agent and its answer.
type Call struct {
	s      *Shield
	id     string
	tenant string
	vault  *vault // nil until the first body
	sess   string
	known  *known
	sent   []byte // what Request made of the body

	mu    sync.Mutex
	stats Stats
	once  sync.Once
	edits map[int]bool // candidates whose text was changed on its way to the agent
}

// Call begins one. session is "" when the request names none: then the first
// words of a conversation stand for it.
func (s *Shield) Call(id, tenant, session string) *Call {
	return &Call{s: s, id: id, tenant: tenant, sess: session, known: newKnown(), stats: newStats(), edits: map[int]bool{}}
}

// UnreadableError says that a body cannot be scanned.
type UnreadableError struct {
	What  string // "the request body is no JSON that hookline can read"
	Cause error  // nil for none; it holds nothing of the body
}

func (e *UnreadableError) Error() string { return e.What + ", and redaction is configured" }
func (e *UnreadableError) Unwrap() error { return e.Cause }

var errPanicked = errors.New("the detector failed")

// guard runs f and makes an error of a panic, whose text may hold data.
func (c *Call) guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &UnreadableError{What: "hookline failed to scan a body", Cause: fmt.Errorf("%w (%T)", errPanicked, p)}
		}
	}()
	return f()
}

// noted counts under the call's lock.
func (c *Call) noted(f func(*Stats)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.stats)
}

func (c *Call) found(d Direction, found map[string]int) {
	if len(found) == 0 {
		return
	}
	c.noted(func(s *Stats) {
		for name, n := range found {
			s.Found[string(d)+"."+name] += n
		}
	})
}

func (c *Call) scanned(d Direction, kind gemini.LeafKind, n int) {
	c.noted(func(s *Stats) { s.Scanned[string(d)+"."+string(kind)] += n })
}

// Skipped counts bytes that nobody looked at.
func (c *Call) Skipped(d Direction, why string, n int) {
	if n > 0 {
		c.noted(func(s *Stats) { s.Skipped[string(d)+"."+why] += n })
	}
}

// End writes the call's record: what was scanned, what not and why, and how much
// was found. It holds no value.
func (c *Call) End(ctx context.Context) {
	c.once.Do(func() {
		c.mu.Lock()
		st := c.stats
		c.mu.Unlock()
		c.s.mu.Lock()
		c.s.stats.add(&st)
		c.s.mu.Unlock()
		level := slog.LevelDebug
		if len(st.Found) > 0 || st.Refused > 0 {
			level = slog.LevelInfo
		}
		c.s.log.LogAttrs(ctx, level, "redaction", slog.String("request", c.id),
			group("scanned", st.Scanned), group("not_scanned", st.Skipped), group("found", st.Found),
			slog.Int("restored", st.Restored), slog.Int("refused", st.Refused))
	})
}

func group(name string, m map[string]int) slog.Attr {
	attrs := make([]any, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		attrs = append(attrs, slog.Int(k, m[k]))
	}
	return slog.Group(name, attrs...)
}
