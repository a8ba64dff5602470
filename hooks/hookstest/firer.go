package hookstest

import (
	"context"
	"slices"
	"sync"

	"github.com/hookline-proxy/hookline/hooks"
)

// Firer is a hooks.Firer made of functions: an event has hooks when On names
// it. It remembers what it was shown. Set its fields before use; it is safe for
// concurrent use then.
type Firer struct {
	On map[hooks.Event]func(hooks.Input) hooks.Decision
	// Cut is the AfterModel window; "" for hooks.WindowChunk.
	Cut hooks.Window

	mu    sync.Mutex
	fired []hooks.Input
}

var _ hooks.Firer = (*Firer)(nil)

// Has implements [hooks.Firer].
func (f *Firer) Has(ev hooks.Event) bool { return f.On[ev] != nil }

// Matches implements [hooks.Firer]: every hook listens to everything.
func (f *Firer) Matches(ev hooks.Event, _ string) bool { return f.Has(ev) }

// Window implements [hooks.Firer].
func (f *Firer) Window() hooks.Window {
	if f.Cut == "" {
		return hooks.WindowChunk
	}
	return f.Cut
}

// Fire implements [hooks.Firer]. An event without a function gives the zero
// Decision and is remembered, too: that it was fired at all may be the mistake.
func (f *Firer) Fire(_ context.Context, in hooks.Input) hooks.Decision {
	f.mu.Lock()
	f.fired = append(f.fired, in)
	f.mu.Unlock()
	on := f.On[in.Event]
	if on == nil {
		return hooks.Decision{}
	}
	d := on(in)
	d.Fired = true
	return d
}

// Fired gives the inputs of an event so far, in order; "" for all events.
func (f *Firer) Fired(ev hooks.Event) []hooks.Input {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.fired), func(in hooks.Input) bool { return ev != "" && in.Event != ev })
}
