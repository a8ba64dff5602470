package hooks

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// DefaultMaxAsync is how many async hooks run at a time.
	DefaultMaxAsync = 16
	// maxSessions bounds the sessions of which a Set remembers anything.
	maxSessions = 4096
	// maxLate bounds the answers that wait for a session's next prompt.
	maxLate = 64
)

// late is what hooks leave for later: what async ones had to say, and which of
// those that run once have run. It is lost when the process ends.
type late struct {
	used  bool // some hook is async; set while New runs, by it alone
	slots chan struct{}
	log   *reporter

	running sync.WaitGroup
	life    context.Context //nolint:containedctx // of the Set, not of a request
	end     context.CancelFunc

	mu       sync.Mutex
	sessions *simplelru.LRU[sessionKey, *session] // guarded by mu, as is closed
	closed   bool
}

type sessionKey struct{ tenant, id string }

type session struct {
	ran  map[*Hook]bool
	left leftover
}

// leftover is what async hooks of one session had to say.
type leftover struct {
	context []string
	notices []Notice
}

func newLate(limit int, log *reporter) *late {
	if limit <= 0 {
		limit = DefaultMaxAsync
	}
	l := &late{slots: make(chan struct{}, limit), log: log}                  // one place for each that runs
	l.sessions, _ = simplelru.NewLRU[sessionKey, *session](maxSessions, nil) // fails for a size below one
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// session gives what is remembered of a firing's session. mu is held.
func (l *late) session(in *Input) *session {
	key := sessionKey{in.Tenant, in.SessionID}
	s, ok := l.sessions.Get(key)
	if !ok {
		s = &session{ran: map[*Hook]bool{}}
		l.sessions.Add(key, s)
	}
	return s
}

// first reports whether a hook runs for the first time in a session.
func (l *late) first(in *Input, h *Hook) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(in)
	ran := s.ran[h]
	s.ran[h] = true
	return !ran
}

// add keeps what an async hook said for the session's next prompt.
func (l *late) add(in *Input, o *outcome) {
	if o.Context == "" && o.Notice == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.session(in)
	if o.Context != "" && len(s.left.context) < maxLate {
		s.left.context = append(s.left.context, o.Context)
	}
	if o.Notice != "" && len(s.left.notices) < maxLate {
		s.left.notices = append(s.left.notices, Notice{Hook: o.hook.Label(), Text: o.Notice, Suppress: o.Suppress})
	}
}

// take gives what waits for a firing.
func (l *late) take(in *Input) (left leftover) {
	if in.Event != BeforeAgent {
		return left
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions.Get(sessionKey{in.Tenant, in.SessionID}); ok {
		left, s.left = s.left, left
	}
	return left
}

// forget drops what is remembered of a session that ended.
func (l *late) forget(in *Input) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sessions.Remove(sessionKey{in.Tenant, in.SessionID})
}

func (l *leftover) decision() (d Decision) {
	l.add(&d)
	return d
}

func (l *leftover) add(d *Decision) {
	d.Context = append(l.context, d.Context...)
	d.Notices = append(l.notices, d.Notices...)
}

// start runs f in the background, unless too many run already.
func (l *late) start(in *Input, h *Hook, f func(ctx context.Context)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	select {
	case l.slots <- struct{}{}:
	default:
		l.log.warn(h.Label(), string(in.Event)+" async", "async hook not started", "event", in.Event, "running", cap(l.slots),
			"hint", "too many async hooks run already: make them faster")
		return
	}
	l.running.Go(func() { // ends with the hook's time-out, or with close
		defer func() { <-l.slots }()
		f(l.life)
	})
}

func (l *late) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.end()
	l.running.Wait()
}

// background starts the async hooks of a firing. They outlive the request that
// fired them.
func (f *firing) background(ctx context.Context, hooks []*Hook) {
	for _, h := range hooks {
		in, doc := f.shown.input(h), f.shown.document(h)
		f.set.late.start(in, h, func(life context.Context) {
			ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
			defer cancel()
			defer context.AfterFunc(life, cancel)()
			o := f.run(ctx, h, in, doc)
			f.set.late.add(in, &o)
		})
	}
}
