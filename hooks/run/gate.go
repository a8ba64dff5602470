package run

import (
	"context"

	"github.com/hookline-proxy/hookline/hooks"
)

// DefaultMaxConcurrent is how many hooks a Gate lets run at the same time.
const DefaultMaxConcurrent = 64

// Gate limits how many hooks run at the same time, of all handlers behind it.
// The others wait, each within its own time-out. A process on its way to the end
// after a time-out no longer counts.
type Gate struct{ places chan struct{} }

// NewGate makes a Gate with n places; zero for DefaultMaxConcurrent.
func NewGate(n int) *Gate {
	if n <= 0 {
		n = DefaultMaxConcurrent
	}
	return &Gate{make(chan struct{}, n)}
}

// Handler is h behind the gate.
func (g *Gate) Handler(h hooks.Handler) hooks.Handler {
	return hooks.HandlerFunc(func(ctx context.Context, hook *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
		select {
		case g.places <- struct{}{}:
		case <-ctx.Done():
			return hooks.Result{Err: &hooks.Failure{Kind: hooks.FailureTimeout, Text: "waited in vain for other hooks to end",
				Hint: "too many hooks run at the same time: make them faster, or raise hooksConfig.maxConcurrent"}}
		}
		defer func() { <-g.places }()
		return h.Handle(ctx, hook, in, env)
	})
}
