package toolloop

import (
	"context"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// DefaultIdle is how long a session may be silent before SessionEnd fires.
const DefaultIdle = 30 * time.Minute

// endWait bounds how long the end of a session is waited for, all of its hooks
// together (Gemini CLI and its relatives allow the same).
const endWait = 1500 * time.Millisecond

// sessions are the conversations that this process serves. What must outlive the
// process stands in the store; this is for what only a living process can tell:
// that a session has gone silent.
type sessions struct {
	loop *Loop
	idle time.Duration

	mu     sync.Mutex
	active map[string]*session // by tenant and session id
	closed bool
	ending sync.WaitGroup // SessionEnd hooks of sessions that went silent
}

type session struct {
	call  Call // the newest one, without body and upstream
	timer *time.Timer
}

func sessionKey(c *Call) string { return c.Tenant + "\x00" + c.Session }

// touch notes that a session is in use.
func (s *sessions) touch(c *Call) {
	if !s.loop.has(hooks.SessionEnd) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	key := sessionKey(c)
	a := s.entry(key)
	a.call = Call{ID: c.ID, Tenant: c.Tenant, Session: c.Session, Agent: c.Agent, Model: c.Model}
	if a.timer == nil {
		a.timer = time.AfterFunc(s.idle, func() { s.silent(key) })
		return
	}
	a.timer.Reset(s.idle)
}

func (s *sessions) entry(key string) *session {
	if s.active[key] == nil {
		s.active[key] = &session{}
	}
	return s.active[key]
}

// silent ends a session that was not used for the idle time.
func (s *sessions) silent(key string) {
	s.mu.Lock()
	a := s.active[key]
	if a == nil || s.closed {
		s.mu.Unlock()
		return
	}
	delete(s.active, key)
	s.ending.Add(1)
	s.mu.Unlock()
	defer s.ending.Done()
	s.loop.sessionEnd(context.Background(), &a.call, "other")
}

// close ends all sessions.
func (s *sessions) close(ctx context.Context, reason string) {
	s.mu.Lock()
	s.closed = true
	active := s.active
	s.active = map[string]*session{}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	var wg sync.WaitGroup
	for _, a := range active {
		if a.timer == nil {
			continue
		}
		a.timer.Stop()
		wg.Go(func() { s.loop.sessionEnd(ctx, &a.call, reason) })
	}
	wg.Wait()
	s.ending.Wait()
}

// sessionEnd fires SessionEnd. Its hooks only observe.
func (l *Loop) sessionEnd(ctx context.Context, c *Call, reason string) {
	if !l.has(hooks.SessionEnd) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	in := l.input(c, hooks.SessionEnd, reason, 0, []hooks.Field{{Key: "reason", Value: quote(reason)}})
	l.report(ctx, c, in.Event, l.hooks.Fire(ctx, in))
}

// Close fires SessionEnd for the sessions that this loop serves and waits for its
// hooks, 1.5 s at most. reason is "exit", "clear", "logout" or "other".
func (l *Loop) Close(ctx context.Context, reason string) { l.sessions.close(ctx, reason) }
