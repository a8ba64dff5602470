package reported

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// byID is how long the wire and a report of one call are one event: a call may
	// wait for others, or for its user.
	byID = 10 * time.Minute
	// byContent is the same where only the content tells that they are one: people
	// do say the same thing twice.
	byContent = 10 * time.Second
	maxSeen   = 4096
)

// Fire is how an event is fired: [hooks.Firer]'s method.
type Fire func(context.Context, hooks.Input) hooks.Decision

// Desk joins what is seen on the wire with what is reported. The zero value is
// not usable; it is safe for concurrent use.
type Desk struct {
	mu sync.Mutex
	// fired are firings by all of their keys.
	fired *lru.Cache[key, *firing]
	// sessions that were seen, by where: a report of another one belongs to a
	// session that goes by another name on the wire.
	sessions [2]*lru.Cache[string, struct{}]
}

// origin is where an event was seen.
type origin int

const (
	wire origin = iota
	report
)

type key struct {
	from    origin
	event   hooks.Event
	session string // "" for any
	what    [16]byte
}

type firing struct {
	at       time.Time
	lasts    time.Duration
	once     bool          // it stands for one other alone
	done     chan struct{} // closed when decision is there
	decision hooks.Decision
}

// NewDesk makes a Desk.
func NewDesk() *Desk {
	d := &Desk{}
	d.fired, _ = lru.New[key, *firing](maxSeen) // the size is no mistake
	for i := range d.sessions {
		d.sessions[i], _ = lru.New[string, struct{}](maxSeen)
	}
	return d
}

// Wire fires an event that was seen on the wire, unless it was reported with the
// very same content: then its decision counts, but for what the agent adds itself.
// An id alone is not enough: whoever can report could else answer for a call that
// its hooks have not seen.
func (d *Desk) Wire(ctx context.Context, in hooks.Input, fire Fire) hooks.Decision {
	out, _ := d.join(ctx, wire, in, fire)
	return out
}

// Report fires an event that was reported, unless it was seen on the wire: then
// that decision is the answer, but for what has reached the model already. seen
// tells which of the two it was.
func (d *Desk) Report(ctx context.Context, in hooks.Input, fire Fire) (out hooks.Decision, seen bool) {
	return d.join(ctx, report, in, fire)
}

func (d *Desk) join(ctx context.Context, from origin, in hooks.Input, fire Fire) (hooks.Decision, bool) {
	what, lasts := identity(&in)
	if what == nil {
		return fire(ctx, in), false
	}
	d.mu.Lock()
	if f := d.other(1-from, &in, what); f != nil {
		d.mu.Unlock()
		select {
		case <-f.done:
			out := f.decision
			out.Context, out.Notices, out.Runs = nil, nil, nil
			return out, true
		case <-ctx.Done():
			return hooks.Decision{}, true
		}
	}
	f := &firing{at: time.Now(), lasts: lasts, once: lasts == byContent, done: make(chan struct{})}
	for _, w := range what {
		d.fired.Add(key{from, in.Event, in.SessionID, w.sum}, f)
		if !w.local {
			d.fired.Add(key{from, in.Event, "", w.sum}, f)
		}
	}
	d.sessions[from].Add(in.SessionID, struct{}{})
	d.mu.Unlock()
	defer close(f.done)
	f.decision = fire(ctx, in)
	return f.decision, false
}

// other finds the firing of an event at the other place. d.mu is held.
func (d *Desk) other(at origin, in *hooks.Input, what []mark) *firing {
	session := in.SessionID
	if !d.sessions[at].Contains(session) {
		session = ""
	}
	for _, w := range what {
		if w.loose && at == report {
			continue
		}
		k := key{at, in.Event, session, w.sum}
		f, ok := d.fired.Get(k)
		if !ok || time.Since(f.at) > f.lasts {
			continue
		}
		if f.once {
			f.lasts = -1
		}
		return f
	}
	return nil
}

// mark is a hash by which an event is known at both places.
type mark struct {
	sum   [16]byte
	local bool // within its session alone
	loose bool // says nothing of the content: a report finds the wire by it, not the other way
}

// identity are the marks of an event, the surest first, and how long they hold;
// nil for an event that is only seen at one place.
func identity(in *hooks.Input) ([]mark, time.Duration) {
	switch in.Event {
	case hooks.BeforeTool, hooks.AfterTool:
		call := []string{in.Subject(), string(hooks.Object(hooks.Members(in.Field("tool_input"))))}
		id, lasts := in.Text("tool_call_id"), byID
		if id == "" {
			id = in.Text("tool_use_id")
		}
		loose := mark{sum: hash("id", id), loose: true}
		if id == "" {
			loose, lasts = mark{sum: hash(append([]string{"call"}, call...)...), loose: true}, byContent
		}
		content := append([]string{"content", id}, call...)
		if in.Event == hooks.AfterTool {
			content = []string{"result", id, gjson.GetBytes(in.Field("tool_response"), "llmContent").String()}
			if in.Text("tool_call_id") == "" && in.Text("tool_use_id") == "" {
				content = append(content, call...)
			}
		}
		return []mark{{sum: hash(content...)}, loose}, lasts
	case hooks.BeforeAgent:
		return []mark{{sum: hash(in.Text("prompt"))}}, byContent
	case hooks.AfterAgent:
		// After another try the agent has both answers as one.
		return []mark{{sum: hash(in.Text("prompt_response"))}, {sum: hash("end of turn"), local: true, loose: true}}, byContent
	case hooks.SessionStart, hooks.SessionEnd, hooks.PreCompress, hooks.PostCompact:
		return []mark{{sum: hash("session"), local: true}}, byContent
	case hooks.SubagentStart, hooks.SubagentStop:
		return []mark{{sum: hash(in.Text("agent_id"), in.Text("agent_type")), local: true}}, byContent
	case hooks.Notification, hooks.StopFailure, hooks.CwdChanged, hooks.FileChanged, hooks.TaskCreated, hooks.TaskCompleted, hooks.InstructionsLoaded:
		return []mark{{sum: hash(in.Subject(), in.Text("message"), in.Text("new_cwd"), in.Text("task_id"), in.Text("file_path")), local: true}}, byContent
	}
	return nil, 0
}

func hash(parts ...string) [16]byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return [16]byte(h.Sum(nil)[:16])
}
