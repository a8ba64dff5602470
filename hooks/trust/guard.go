package trust

import (
	"context"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// Guard runs hooks of projects only as long as their scripts are what was agreed
// to: a script may change while hookline runs, and a persistent hook may be
// started again. Hooks without a print run as they are.
type Guard struct {
	hooks.Handler
	// Agreed are the prints of hooks that may run, by [hooks.Hook.Source].
	Agreed map[string]Print
}

// Handle implements [hooks.Handler].
func (g *Guard) Handle(ctx context.Context, h *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
	if agreed, ok := g.Agreed[h.Source]; ok {
		if d := scriptDiff(agreed.Scripts, scripts(h, agreed.Project)); len(d) > 0 {
			return hooks.Result{Err: &hooks.Failure{Kind: hooks.FailureBlocked, Text: "not run, it is not what was trusted: " + strings.Join(d, "; "),
				Hint: "look at it, and run hookline trust in the project"}}
		}
	}
	return g.Handler.Handle(ctx, h, in, env)
}
