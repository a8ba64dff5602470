package toolloop

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate"
)

// agentsJSON tells the side calls of agents (a title, a router, a compression)
// from the turns of their conversations. Side calls fire model hooks, but no
// agent events.
//
//go:embed agents.json
var agentsJSON []byte

// sideRule matches a side call. All members that are set must hold.
type sideRule struct {
	Name    string      `json:"name"`    // for people
	Unary   *bool       `json:"unary"`   // is, or is not, a unary call
	Tools   *bool       `json:"tools"`   // declares functions, or does not
	JSON    *bool       `json:"json"`    // asks for a JSON answer, or does not
	System  string      `json:"system"`  // stands in the system instruction
	Last    string      `json:"last"`    // stands in the newest user turn
	Event   hooks.Event `json:"event"`   // PreCompress: a compression begins; PostCompact: its last call; "" for neither
	Trigger string      `json:"trigger"` // of the event
}

var agentRules = func() map[string][]sideRule {
	var m map[string][]sideRule
	if err := json.Unmarshal(agentsJSON, &m); err != nil {
		panic(fmt.Sprintf("toolloop: agents.json: %v", err))
	}
	return m
}()

// side says whether a call is one of an agent's side calls.
type side struct {
	is      bool
	event   hooks.Event
	summary bool // its answer is the summary that the agent goes on with
	trigger string
}

func (l *Loop) sideCall(c *Call, req *translate.Request) side {
	rules := agentRules[c.Agent]
	if len(rules) == 0 {
		return side{}
	}
	traits := c.Wire.Traits(req)
	last := ""
	for _, r := range rules {
		if r.Last != "" && last == "" && len(req.Turns) > 0 {
			for _, p := range req.Turns[len(req.Turns)-1].Parts {
				if p.Kind == translate.KindText {
					last += textOf(p)
				}
			}
		}
		if is(r.Unary, !c.Stream) && is(r.Tools, traits.Tools) && is(r.JSON, traits.JSON) &&
			strings.Contains(traits.System, r.System) && strings.Contains(last, r.Last) {
			return side{is: true, event: r.Event, summary: r.summarizes(rules), trigger: r.Trigger}
		}
	}
	return side{}
}

// summarizes reports whether a call that r matches gives the summary: the last
// call of a compression, which is the first one where the agent makes no other.
func (r *sideRule) summarizes(rules []sideRule) bool {
	return r.Event == hooks.PostCompact || r.Event == hooks.PreCompress &&
		!slices.ContainsFunc(rules, func(o sideRule) bool { return o.Event == hooks.PostCompact })
}

func is(want *bool, got bool) bool { return want == nil || *want == got }

// preCompress fires PreCompress for an agent's compression call. hint is what the
// summary should mind; an error says that a hook holds the call back. Gemini
// CLI's own hooks can do neither.
func (l *Loop) preCompress(ctx context.Context, c *Call, s side) (hint string, err error) {
	if s.event != hooks.PreCompress || !l.has(hooks.PreCompress) {
		return "", nil
	}
	in := l.input(c, hooks.PreCompress, s.trigger, 0, []hooks.Field{{Key: "trigger", Value: quote(s.trigger)}})
	d := l.fire(ctx, c, in)
	if d.Deny {
		// A status that agents do not retry.
		return "", &Refusal{Status: 400, Message: "A hook blocked the compression: " + d.Reason}
	}
	return contextOf(d.Context), nil
}

// withHint adds a text part to the newest turn of a side call.
func withHint(w Wire, req *translate.Request, hint string) (*translate.Request, error) {
	if hint == "" || len(req.Turns) == 0 {
		return req, nil
	}
	turns := slices.Clone(req.Turns)
	last := turns[len(turns)-1]
	if last.FromModel() {
		return req, nil
	}
	turns[len(turns)-1] = translate.Turn{Role: last.Role, Parts: append(slices.Clone(last.Parts), w.TextPart(hint))}
	return w.WithTurns(req, turns)
}
