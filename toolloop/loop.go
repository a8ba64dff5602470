package toolloop

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// Options configure a Loop. The zero value runs no hooks and changes nothing.
type Options struct {
	Hooks    hooks.Firer  // nil: none
	Store    store.Store  // the ledger's entries; nil: in memory
	FailMode FailMode     // what to do while the store is down; "" is FailOpen
	Log      *slog.Logger // nil: discards
	Repair   bool         // restore the model's calls and signed parts also when no tool hook is configured
	DenyAs   DenyAs       // "" is DenyAsAnswer
	Cwd      string       // working directory told to hooks, absolute

	// Transcripts is the folder of the sessions' transcripts, absolute; "" keeps
	// none, and hooks are told no path.
	Transcripts string
	// Idle is how long a session may be silent before SessionEnd fires; 0 is
	// [DefaultIdle].
	Idle time.Duration

	Now func() time.Time // nil: time.Now
}

// DenyAs says in which form a denied turn reaches the agent.
type DenyAs string

const (
	DenyAsAnswer DenyAs = "answer" // a final answer whose text is the reason
	DenyAsError  DenyAs = "error"  // HTTP 403 with the API's error body
)

// FailMode says what becomes of a call while the ledger can't be read or written.
type FailMode string

const (
	FailOpen   FailMode = "open"   // go on as if every item were new
	FailClosed FailMode = "closed" // refuse with 503
)

// Call is one model call of an agent. The loop owns Body until Run returns.
type Call struct {
	ID              string // request id
	Tenant          string // hash of the credential; never the credential
	Session         string // "" when the request names none
	SessionExplicit bool   // Session was named by the request, not derived
	Agent           string // name of the agent's client, "" when unknown
	Wire            Wire
	Body            []byte
	Model           string
	Stream          bool // the agent reads a stream of documents, else one document
	// FoldEnd keeps a document that ends a turn without a part worth having (an
	// empty text, none) from the agent: what else it brings goes out with the
	// document before, which is held back for that. For agents that take such an
	// end for a broken answer.
	FoldEnd  bool
	Upstream Upstream

	sub *subagent // whose call it is; nil for the agent itself, or when that is not known
}

// Refusal is an error that says: answer with this status and this message in the
// API's error body. Nothing was sent to the agent yet.
type Refusal struct {
	Status  int
	Message string
	Cause   error // nil for none
}

func (r *Refusal) Error() string { return r.Message }
func (r *Refusal) Unwrap() error { return r.Cause }

// ErrCut means that the answer can't be completed and that part of it is out:
// the connection must be cut, so that the agent does not take it for whole.
var ErrCut = errors.New("answer cut")

// Loop takes agents' model calls through the hooks. It is safe for concurrent use.
type Loop struct {
	o     Options
	store store.Store
	log   *slog.Logger
	hooks hooks.Firer

	memos       *memos
	flight      *store.Flight
	sessions    *sessions
	transcripts *transcripts
	background  *background
}

// New makes a Loop.
func New(o Options) *Loop {
	l := &Loop{o: o, store: o.Store, log: o.Log, hooks: o.Hooks}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if l.o.Now == nil {
		l.o.Now = time.Now
	}
	if l.store == nil {
		l.store = store.NewMemory(store.MemoryOptions{})
	}
	l.flight = &store.Flight{Store: l.store, FailOpen: l.o.FailMode != FailClosed}
	if l.o.Idle == 0 {
		l.o.Idle = DefaultIdle
	}
	l.sessions = &sessions{loop: l, idle: l.o.Idle, active: map[string]*session{}}
	l.background = newBackground()
	l.memos = newMemos()
	l.transcripts = newTranscripts(o.Transcripts)
	return l
}

// With gives a Loop that goes on with this one's sessions, ledger and transcripts
// under other hooks: of o only Hooks, Repair and DenyAs count. Calls under way
// stay with the Loop that they began with; sessions end with the hooks of the
// newest one.
func (l *Loop) With(o Options) *Loop {
	next := *l
	next.hooks, next.o.Hooks, next.o.Repair, next.o.DenyAs = o.Hooks, o.Hooks, o.Repair, o.DenyAs
	l.sessions.mu.Lock()
	l.sessions.loop = &next
	l.sessions.mu.Unlock()
	return &next
}

// Active reports whether the loop has anything to do at all. While it has not,
// bodies need not even be read.
func (l *Loop) Active() bool {
	if l.o.Repair {
		return true
	}
	return slices.ContainsFunc(hooks.Events(), l.has)
}

func (l *Loop) has(ev hooks.Event) bool { return l.hooks != nil && l.hooks.Has(ev) }

// Run takes one call through the hooks and up to the model, and its answer down
// to out. It returns a [*Refusal] when nothing was sent and hookline must answer
// with an error of its own, the upstream's error when there was no answer from
// it, and an error that wraps [ErrCut] when part of an answer is out.
func (l *Loop) Run(ctx context.Context, c Call, out Sink) error {
	req, err := c.Wire.ParseRequest(c.Body, c.Model)
	if err != nil {
		return &Refusal{Status: 400, Cause: err,
			Message: fmt.Sprintf("hookline can't read the request body, and hooks are configured that must see it: %v. Send the JSON body that the API documents.", err)}
	}
	if c.Session == "" {
		c.Session = c.Wire.Traits(req).Session
		c.SessionExplicit = c.Session != ""
	}
	if c.Session == "" {
		c.Session = derivedSession(c.Tenant, req.Turns)
	}
	a := &answer{loop: l, call: &c, out: out}
	side := l.sideCall(&c, req)
	hint, err := l.preCompress(ctx, &c, side)
	if err != nil {
		return err
	}
	if !side.is {
		l.sessions.touch(&c)
	}
	h, err := l.toModel(ctx, &c, req, !side.is)
	if err != nil {
		return err
	}
	if h.conversation || h.sub {
		if err := h.derive(ctx, req); err != nil {
			return err
		}
	}
	a.history, a.base, a.retries = h, req, h.retries()
	if h.changed {
		if a.base, err = c.Wire.WithTurns(req, h.out); err != nil {
			return fmt.Errorf("rewrite history: %w", err)
		}
	}
	if a.base, err = withHint(c.Wire, a.base, hint); err != nil {
		return fmt.Errorf("add a hook's context: %w", err)
	}
	began := l.o.Now()
	switch {
	case h.stop != "":
		err = a.finish(ctx, h.stop)
	case len(h.slots) > 0:
		err = a.tailCalls(ctx)
	default:
		err = a.rounds(ctx)
	}
	a.ended(ctx, began, side, err)
	return err
}

// derivedSession names a session that the agent did not name: by the tenant and
// the first turn, which agents keep for as long as they can.
func derivedSession(tenant string, turns []translate.Turn) string {
	var d digester
	d.string(tenant)
	for _, t := range turns {
		if t.FromModel() {
			break
		}
		for _, p := range t.Parts {
			if p.Kind == translate.KindText {
				d.buf = appendText(d.buf, p.Text)
			}
		}
	}
	sum := d.sum()
	return "d" + hex.EncodeToString(sum[:12])
}
