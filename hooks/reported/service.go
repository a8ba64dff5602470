package reported

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
)

// endWait bounds how long the end of a session is waited for, as agents do.
const endWait = 1500 * time.Millisecond

// Service answers reports. All fields must be set.
type Service struct {
	Desk *Desk
	Fire Fire
	// Has reports whether an event has hooks.
	Has func(hooks.Event) bool
	// EndSession ends the sessions of an id, with their hooks, and gives their
	// number.
	EndSession func(ctx context.Context, id, reason string) int
	// Observed says how events are seen beside reports; others are reported.
	Observed map[hooks.Event]Observation
	Log      *slog.Logger
}

// Report fires the event of a document and gives the answer for the reporter.
// dialectName and event may be "", see [Parse]; session, if not "", is the id on
// the wire. An event that nobody knows has no answer but {}.
func (s *Service) Report(ctx context.Context, dialectName, event, session string, doc []byte) ([]byte, error) {
	r, err := Parse(dialectName, event, doc)
	if errors.Is(err, ErrEvent) {
		if len(event) > 100 {
			event = event[:100]
		}
		s.Log.WarnContext(ctx, "report of an unknown event", "event", event, "hint", "GET /hooks/v1/events lists those that there are")
		return []byte("{}"), nil
	}
	if err != nil {
		return nil, err
	}
	if session != "" {
		r.Input.SessionID = session
	}
	if r.Dialect == hooks.DialectQwen && r.Input.Event == hooks.BeforeAgent && r.Input.Text("prompt") == "" && r.Input.Field("submitted_prompt") == nil {
		return []byte("{}"), nil // Qwen Code 0.24.4 says so of a turn of results, which is no prompt
	}
	if r.Input.Event == hooks.SessionEnd {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, endWait)
		defer cancel()
		reason := r.Input.Text("reason")
		if reason == "" {
			reason = "other"
		}
		if s.EndSession(ctx, s.Desk.OnWire(r.Input.SessionID), reason) > 0 {
			return []byte("{}"), nil
		}
	}
	d, seen := s.Desk.Report(ctx, r.Input, s.Fire)
	s.Log.DebugContext(ctx, "event reported", "event", r.Name, "dialect", r.Dialect, "seenOnTheWire", seen, "fired", d.Fired)
	return r.Answer(d), nil
}

// Sight is where an event comes from.
type Sight string

const (
	OnWire  Sight = "wire"     // calls and answers show it
	Derived Sight = "derived"  // it is told from what they show
	ByAgent Sight = "reported" // only the agent knows
)

// Observation is how an event is seen by whoever reads the wire. The zero value
// is an event that must be reported.
type Observation struct {
	Sight    Sight
	Enforced bool // a hook's no is carried out on the wire
	// Agents are those of whose events it can tell; nil for all.
	Agents []string
}

// Capability says of one event how it is seen and how a hook's no is carried out.
type Capability struct {
	Event    hooks.Event       `json:"event"`
	Names    map[string]string `json:"names"` // by dialect, where it is called otherwise
	Observed Sight             `json:"observed"`
	Agents   []string          `json:"agents,omitempty"` // of which it is observed; none stands for all
	// Enforced is "wire", "reporter" where it is for the reporter to obey, "" for
	// an event that cannot be held back.
	Enforced string `json:"enforced"`
	Hooks    bool   `json:"hooks"` // some hook listens
}

// Capabilities lists all events.
func (s *Service) Capabilities() []Capability {
	var all []Capability
	blockable := dialect.Blockable()
	for _, ev := range hooks.Events() {
		c := Capability{Event: ev, Names: map[string]string{}, Observed: ByAgent, Hooks: s.Has(ev)}
		at, ok := s.Observed[ev]
		if ok {
			c.Observed, c.Agents = at.Sight, at.Agents
		}
		for name, d := range dialects {
			for _, l := range d {
				if l.Event == ev && l.Name != string(ev) {
					if first, ok := c.Names[name]; !ok || len(l.Name) < len(first) {
						c.Names[name] = l.Name // PostToolUse, of which PostToolUseFailure is a part
					}
				}
			}
		}
		name := c.Names[hooks.DialectClaude]
		if name == "" {
			name = string(ev)
		}
		switch {
		case at.Enforced:
			c.Enforced = "wire"
		case slices.Contains(blockable, name):
			c.Enforced = "reporter"
		}
		all = append(all, c)
	}
	return all
}

// Events is the list of [Service.Capabilities] as JSON.
func (s *Service) Events() []byte {
	b, _ := json.Marshal(map[string]any{"events": s.Capabilities()}) // strings and booleans: it never fails
	return b
}
