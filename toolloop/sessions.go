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
	idle time.Duration

	mu     sync.Mutex
	loop   *Loop               // the newest one: its hooks see a session end
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.loop.has(hooks.SessionEnd) {
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
	loop := s.loop
	s.mu.Unlock()
	defer s.ending.Done()
	loop.sessionEnd(context.Background(), &a.call, "other")
}

// end ends the sessions of an id, whosever they are, and gives their number.
func (s *sessions) end(ctx context.Context, id, reason string) int {
	var ended []*session
	s.mu.Lock()
	for key, a := range s.active {
		if a.timer == nil || a.call.Session != id || s.closed {
			continue
		}
		a.timer.Stop()
		delete(s.active, key)
		ended = append(ended, a)
	}
	s.ending.Add(len(ended))
	loop := s.loop
	s.mu.Unlock()
	var wg sync.WaitGroup
	for _, a := range ended {
		wg.Go(func() {
			defer s.ending.Done()
			loop.sessionEnd(ctx, &a.call, reason)
		})
	}
	wg.Wait()
	return len(ended)
}

// close ends all sessions.
func (s *sessions) close(ctx context.Context, reason string) {
	s.mu.Lock()
	s.closed = true
	active, loop := s.active, s.loop
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
		wg.Go(func() { loop.sessionEnd(ctx, &a.call, reason) })
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
	l.fire(ctx, c, in)
}

// Close fires SessionEnd for the sessions that this loop serves and waits for its
// hooks, 1.5 s at most. reason is "exit", "clear", "logout" or "other".
func (l *Loop) Close(ctx context.Context, reason string) {
	ctx, cancel := context.WithTimeout(ctx, endWait)
	defer cancel()
	l.background.close(ctx)
	l.sessions.close(ctx, reason)
}

// EndSession ends the sessions of an id, as reported by their agent: SessionEnd
// fires for each, and its hooks are waited for, 1.5 s at most. It gives the number
// of sessions; 0 when none of that id is known.
func (l *Loop) EndSession(ctx context.Context, id, reason string) int {
	return l.sessions.end(ctx, id, reason)
}
