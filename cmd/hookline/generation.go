package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/reported"
	"github.com/hookline-proxy/hookline/toolloop"
)

// generation is one configuration at work: its hooks, what runs them, and a loop.
// A call stays with the generation that it began with; one that was replaced is
// closed when its last call has ended.
type generation struct {
	live     *live
	cfg      *config.Config
	plan     *hookPlan
	set      *hooks.Set
	firer    hooks.Firer
	handlers *handlers
	loop     *toolloop.Loop

	mu      sync.Mutex
	users   int  // calls and firings under way
	retired bool // no new ones
	closed  bool
}

// newGeneration compiles the hooks of a plan. It has no loop yet.
func newGeneration(l *live, cfg *config.Config, p *hookPlan, o *gatewayOptions) (*generation, error) {
	h, err := newHandlers(cfg, p.asksModel(), o.log)
	if err != nil {
		return nil, err
	}
	set, err := p.set(h, o.handler, o.log)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	g := &generation{live: l, cfg: cfg, plan: p, set: set, firer: set, handlers: h}
	if o.notice != nil {
		g.firer = noticing{set, o.notice}
	}
	return g, nil
}

// acquire keeps the generation open; false when it is too late for that.
func (g *generation) acquire() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.users++
	return true
}

func (g *generation) release() {
	g.mu.Lock()
	g.users--
	last := g.retired && g.users == 0 && !g.closed
	if last {
		g.closed = true
	}
	g.mu.Unlock()
	if last {
		g.end()
	}
}

// retire closes the generation as soon as nobody uses it.
func (g *generation) retire() {
	g.mu.Lock()
	g.users++
	g.retired = true
	g.mu.Unlock()
	g.release()
}

// close ends the hooks of a generation that is used no more.
func (g *generation) close() error { return errors.Join(g.set.Close(), g.handlers.Close()) }

func (g *generation) end() {
	if err := g.close(); err != nil {
		g.live.log.Warn("hooks of an earlier configuration ended badly", "error", err)
	}
}

// Has implements [hooks.Firer].
func (g *generation) Has(ev hooks.Event) bool { return g.firer.Has(ev) }

// Matches implements [hooks.Firer].
func (g *generation) Matches(ev hooks.Event, match string) bool { return g.firer.Matches(ev, match) }

// Window implements [hooks.Firer].
func (g *generation) Window() hooks.Window { return g.firer.Window() }

// Fire implements [hooks.Firer]. What fires after a generation's end, as the end of
// a session may, fires the hooks of the present one.
func (g *generation) Fire(ctx context.Context, in hooks.Input) hooks.Decision {
	if !g.acquire() {
		if now := g.live.current(); now != g {
			return now.Fire(ctx, in)
		}
		return hooks.Decision{}
	}
	defer g.release()
	d := g.live.desk.Wire(ctx, in, g.firer.Fire)
	g.live.runs.note(d.Runs)
	return d
}

// live is the generation at work. It is the server's runner.
type live struct {
	log  *slog.Logger
	runs *lastRuns
	desk *reported.Desk

	mu  sync.Mutex
	now *generation
}

func (l *live) current() *generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// hold gives the generation at work, acquired.
func (l *live) hold() *generation {
	for {
		if g := l.current(); g.acquire() {
			return g
		}
	}
}

// replace puts a generation in the place of the one at work.
func (l *live) replace(g *generation) {
	l.mu.Lock()
	old := l.now
	l.now = g
	l.mu.Unlock()
	if old != nil {
		old.retire()
	}
}

// Active implements [proxy.Runner].
func (l *live) Active() bool { return l.current().loop.Active() }

// Run implements [proxy.Runner].
func (l *live) Run(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
	g := l.hold()
	defer g.release()
	return g.loop.Run(ctx, c, out)
}

// service answers reports with the hooks at work.
func (l *live) service() *reported.Service {
	return &reported.Service{
		Desk:     l.desk,
		Observed: toolloop.Observed,
		Log:      l.log,
		Has:      func(ev hooks.Event) bool { return l.current().Has(ev) },
		Fire: func(ctx context.Context, in hooks.Input) hooks.Decision {
			g := l.hold()
			defer g.release()
			d := g.firer.Fire(ctx, in)
			l.runs.note(d.Runs)
			return d
		},
		EndSession: func(ctx context.Context, id, reason string) int {
			g := l.hold()
			defer g.release()
			return g.loop.EndSession(ctx, id, reason)
		},
	}
}
