package reported

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// byCall is how long the wire and a report of one call are one event: a call may
	// wait for others, or for its user. So may a session that has started.
	byCall = 10 * time.Minute
	// byContent is the same for what people and agents do say twice.
	byContent = 10 * time.Second
	maxSeen   = 4096
	// maxAlike is how many unpaired events with the same content are remembered.
	maxAlike = 32
)

// Fire is how an event is fired: [hooks.Firer]'s method.
type Fire func(context.Context, hooks.Input) hooks.Decision

// Desk joins what is seen on the wire with what is reported. The zero value is
// not usable; it is safe for concurrent use.
type Desk struct {
	mu sync.Mutex
	// fired are firings by all of their keys, the oldest first.
	fired *lru.Cache[key, []*firing]
	// sessions that were seen, by where: a report of another one belongs to a
	// session that goes by another name on the wire.
	sessions [2]*lru.Cache[string, struct{}]
	// names are those of sessions at the other place, where they differ and some
	// event was seen at both.
	names [2]*lru.Cache[string, string]
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
	session  string
	at       time.Time
	lasts    time.Duration
	once     bool          // it stands for one other alone
	done     chan struct{} // closed when decision is there
	decision hooks.Decision
}

// NewDesk makes a Desk.
func NewDesk() *Desk {
	d := &Desk{}
	d.fired, _ = lru.New[key, []*firing](maxSeen) // the size is no mistake
	for i := range d.sessions {
		d.sessions[i], _ = lru.New[string, struct{}](maxSeen)
		d.names[i], _ = lru.New[string, string](maxSeen)
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

// OnWire is the wire's name of a session that reports: the same, unless events of
// it were seen there under another name.
func (d *Desk) OnWire(session string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name, ok := d.names[report].Get(session); ok {
		return name
	}
	return session
}

func (d *Desk) join(ctx context.Context, from origin, in hooks.Input, fire Fire) (hooks.Decision, bool) {
	what, lasts, once := identity(&in)
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
	f := &firing{session: in.SessionID, at: time.Now(), lasts: lasts, once: once, done: make(chan struct{})}
	d.noteAll(from, &in, what, f)
	d.sessions[from].Add(in.SessionID, struct{}{})
	d.mu.Unlock()
	defer close(f.done)
	f.decision = fire(ctx, in)
	if from == wire && in.Event == hooks.BeforeTool && f.decision.ToolInput != nil {
		d.rewritten(in, f)
	}
	return f.decision, false
}

// rewritten remembers a call with the arguments that its agent will get.
func (d *Desk) rewritten(in hooks.Input, f *firing) {
	in.Fields = slices.Clone(in.Fields)
	for i := range in.Fields {
		if in.Fields[i].Key == "tool_input" {
			in.Fields[i].Value = patched(in.Fields[i].Value, f.decision.ToolInput)
		}
	}
	what, _, _ := identity(&in)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.noteAll(wire, &in, what, f)
}

// noteAll remembers a firing by its marks. d.mu is held.
func (d *Desk) noteAll(from origin, in *hooks.Input, what []mark, f *firing) {
	for _, w := range what {
		if w.foreign {
			continue
		}
		d.note(key{from, in.Event, in.SessionID, w.sum}, f)
		if !w.local && in.SessionID != "" {
			d.note(key{from, in.Event, "", w.sum}, f)
		}
	}
}

// note remembers a firing. d.mu is held.
func (d *Desk) note(k key, f *firing) {
	var alike []*firing
	if f.once { // each stands for one other: the earlier ones still count
		all, _ := d.fired.Get(k)
		for _, a := range all {
			if a.alive() {
				alike = append(alike, a)
			}
		}
		alike = alike[max(0, len(alike)-maxAlike+1):]
	}
	d.fired.Add(k, append(alike, f))
}

// alive reports whether the firing may stand for another one.
func (f *firing) alive() bool { return time.Since(f.at) <= f.lasts }

// other finds the firing of an event at the other place. d.mu is held.
func (d *Desk) other(at origin, in *hooks.Input, what []mark) *firing {
	session := in.SessionID
	if d.sessions[at].Contains(session) {
		return d.find(at, in.Event, session, what)
	}
	if name, ok := d.names[1-at].Get(session); ok {
		if f := d.find(at, in.Event, name, what); f != nil {
			return f
		}
	}
	f := d.find(at, in.Event, "", what)
	if f != nil {
		// Of two that start together the starts may be mistaken for each other.
		if in.Event != hooks.SessionStart || !d.names[1-at].Contains(session) {
			d.names[1-at].Add(session, f.session)
			d.names[at].Add(f.session, session)
		}
	}
	return f
}

// find is a firing of a session, "" for any. d.mu is held.
func (d *Desk) find(at origin, ev hooks.Event, session string, what []mark) *firing {
	for _, w := range what {
		if w.loose && at == report || w.own {
			continue
		}
		all, _ := d.fired.Get(key{at, ev, session, w.sum})
		for _, f := range slices.Backward(all) { // a turn's last end is the one that stands
			if !f.alive() {
				continue
			}
			if f.once {
				f.lasts = -1
			}
			return f
		}
	}
	return nil
}

// mark is a hash by which an event is known at both places.
type mark struct {
	sum   [16]byte
	local bool // within its session alone
	loose bool // says nothing of the content: a report finds the wire by it, not the other way
	// own marks are not looked for, foreign ones are only looked for: what one
	// place has to say of an event may differ from what the other has.
	own, foreign bool
}

// identity are the marks of an event, the surest first, how long they hold, and
// whether it stands for one other alone; no marks for an event that is only seen
// at one place.
func identity(in *hooks.Input) (marks []mark, lasts time.Duration, once bool) {
	switch in.Event {
	case hooks.BeforeTool, hooks.AfterTool:
		return callMarks(in)
	case hooks.BeforeAgent:
		return []mark{{sum: hash(in.Text("prompt"))}}, byContent, true
	case hooks.AfterAgent:
		// After another try the agent has both answers as one.
		return []mark{{sum: hash(in.Text("prompt_response"))}, {sum: hash("end of turn"), local: true, loose: true}}, byContent, true
	case hooks.SessionStart:
		marks := []mark{{sum: hash("session"), local: true}}
		agent := gjson.GetBytes(in.Field("x_hookline"), "agent").String()
		if agent == "" {
			return marks, byContent, true
		}
		// Nothing of the start itself tells how the other place calls the session:
		// each that an agent of the kind reports is one on the wire.
		return append(marks, mark{sum: hash("start", agent, in.Text("source"))}), byCall, true
	case hooks.SessionEnd, hooks.PreCompress, hooks.PostCompact:
		return []mark{{sum: hash("session"), local: true}}, byContent, true
	case hooks.SubagentStart, hooks.SubagentStop:
		return []mark{{sum: hash(in.Text("agent_id"), in.Text("agent_type")), local: true}}, byContent, true
	case hooks.Notification, hooks.StopFailure, hooks.CwdChanged, hooks.FileChanged, hooks.TaskCreated, hooks.TaskCompleted, hooks.InstructionsLoaded:
		return []mark{{sum: hash(in.Subject(), in.Text("message"), in.Text("new_cwd"), in.Text("task_id"), in.Text("file_path")), local: true}}, byContent, true
	}
	return nil, 0, false
}

// callMarks are the marks of a call or its result. The id that an agent has of a
// call is not always one of the wire: where the model gave none the agent invents
// its own (Qwen Code), and Gemini CLI's reports are without. So calls are told by
// their content, too, but not two calls with ids of which each is another's.
func callMarks(in *hooks.Input) (marks []mark, lasts time.Duration, once bool) {
	id := in.Text("tool_call_id")
	if id == "" {
		id = in.Text("tool_use_id")
	}
	call := []string{in.Subject(), string(hooks.Object(hooks.Members(in.Field("tool_input"))))}
	content := call
	if in.Event == hooks.AfterTool {
		content = append([]string{gjson.GetBytes(in.Field("tool_response"), "llmContent").String()}, call...)
	}
	of := func(kind string, parts []string) [16]byte { return hash(append([]string{kind}, parts...)...) }
	if id == "" {
		return []mark{
			{sum: of("content without id", content)}, {sum: of("content with id", content), foreign: true},
			{sum: of("call without id", call), loose: true}, {sum: of("call with id", call), loose: true, foreign: true},
		}, byCall, true
	}
	return []mark{
		{sum: hash(append([]string{"content", id}, content...)...)}, {sum: hash("id", id), local: true, loose: true},
		{sum: hash(append([]string{"id", id}, call...)...), loose: true}, // some agents count from 1 in each session
		{sum: of("content with id", content), own: true}, {sum: of("content without id", content), foreign: true},
		{sum: of("call with id", call), own: true, loose: true}, {sum: of("call without id", call), loose: true, foreign: true},
	}, byCall, false
}

func hash(parts ...string) [16]byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return [16]byte(h.Sum(nil)[:16])
}
