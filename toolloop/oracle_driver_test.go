package toolloop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate/gemini"
	"github.com/hookline-proxy/hookline/translate/gemini/rules"
)

// driver plays a world through hookline's loop and holds it against the oracle.
type driver struct {
	w      *world
	dir    string // for the ledger's file
	store  *shaky
	loops  [2]*toolloop.Loop // replicas
	issued rules.Memory
	shared *plainSessions
	convs  map[int]*conv
	n      int // requests
	calls  int // model calls
	fired  map[string]bool

	mu   sync.Mutex
	runs map[string]*sending // by request id
	hid  map[string]string   // what a hook hid, and which
}

// conv is a conversation: the agent's side and the oracle's.
type conv struct {
	session string
	history []string // contents
	turns   []mark   // where turns begin
	plain   plain
	agent   agent
	loose   bool   // the history was damaged: the model's side must be valid, no more
	waits   bool   // the user broke an answer off whose calls nobody ran
	lost    bool   // the ledger lost entries
	prefix  []byte // contents of the newest request that went up
}

type mark struct {
	history int
	plain   plain
}

// sending is one request of an agent on its way.
type sending struct {
	d      *driver
	nonce  string
	bodies [][]byte
	edited []bool // a hook changed that body's texts
	events []string
	edits  bool
	got    got
	shown  []string
	err    error
}

func newDriver(w *world, dir string) (*driver, error) {
	d := &driver{w: w, dir: dir, shared: &plainSessions{begun: map[string]bool{}, prompts: map[string]string{}},
		convs: map[int]*conv{}, fired: map[string]bool{}, runs: map[string]*sending{}, hid: map[string]string{}}
	return d, d.open()
}

func (d *driver) open() error {
	d.store = &shaky{Store: store.NewMemory(store.MemoryOptions{})}
	if d.w.Bolt {
		b, err := store.OpenBolt(store.BoltOptions{Path: filepath.Join(d.dir, "ledger")})
		if err != nil {
			return err
		}
		d.store.Store = b
	}
	d.restart()
	return nil
}

func (d *driver) restart() {
	for i := range d.loops {
		d.loops[i] = toolloop.New(toolloop.Options{Hooks: d, Store: d.store, FailMode: toolloop.FailClosed, Cwd: "/app", Now: func() time.Time { return time.Unix(0, 0) }})
	}
}

func (d *driver) close() error { return d.store.Close() }

// Has, Matches, Window and Fire make the driver the hooks.
func (d *driver) Has(ev hooks.Event) bool               { return d.w.has(ev) }
func (d *driver) Matches(ev hooks.Event, _ string) bool { return d.w.has(ev) }
func (d *driver) Window() hooks.Window                  { return hooks.WindowChunk }

func (d *driver) Fire(_ context.Context, in hooks.Input) hooks.Decision {
	f := map[string]json.RawMessage{}
	for _, m := range in.Fields {
		f[m.Key] = m.Value
	}
	str := func(k string) string {
		if len(f[k]) == 0 {
			return ""
		}
		return unquoted(f[k])
	}
	var key, line string
	switch in.Event {
	case hooks.SessionStart:
		key = str("source")
		line = key
	case hooks.BeforeAgent:
		key = str("prompt")
		line = key
	case hooks.BeforeModel:
		gjson.GetBytes(f["llm_request"], "messages.#.content").ForEach(func(_, v gjson.Result) bool {
			key += v.Str
			return true
		})
		line = digestOf(key)
	case hooks.AfterModel:
		key = gjson.GetBytes(f["llm_response"], "text").Str
		line = key
	case hooks.BeforeTool:
		args := canonJSON(f["tool_input"])
		key = str("tool_name") + args
		line = str("tool_name") + " " + args + " " + str("original_request_name")
	case hooks.AfterTool:
		content := canonJSON([]byte(gjson.GetBytes(f["tool_response"], "llmContent").Raw))
		key = str("tool_name") + content
		line = str("tool_name") + " " + withoutNulls(canonJSON(f["tool_input"])) + " " + content + " " + str("original_request_name")
	case hooks.AfterAgent:
		key = str("prompt") + str("prompt_response")
		line = fmt.Sprintf("%q %q %s", str("prompt"), str("prompt_response"), f["stop_hook_active"])
	}
	kind, dec := d.w.decide(in.Event, key)
	dec.Fired = true
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.runs[gjson.GetBytes(f["x_hookline"], "request_id").Str]; s != nil {
		s.events = append(s.events, string(in.Event)+" "+line)
		s.edits = kind == "model.edit"
	}
	switch kind {
	case "model.edit":
		req := string(f["llm_request"])
		ms := gjson.Get(req, "messages").Array()
		var out []string
		for i, m := range ms {
			text := m.Get("content").Str
			if i == len(ms)-1 {
				text += editText(dec)
			}
			out = append(out, `{"role":`+m.Get("role").Raw+`,"content":`+lit(text)+`}`)
		}
		dec.LLMRequest = json.RawMessage(`{"messages":[` + strings.Join(out, ",") + `]}`)
	case "prompt.deny":
		d.hid[token0(key)] = kind
	case "result.deny", "result.stop":
		if i := strings.Index(key, `"r`); i >= 0 {
			d.hid[token0(key[i+1:])] = kind
		}
	}
	if strings.HasPrefix(dec.Reason, "hid-") {
		d.hid[dec.Reason] = kind
	}
	if strings.HasPrefix(dec.StopReason, "hid-") {
		d.hid[dec.StopReason] = kind
	}
	return dec
}

// token0 is the first word.
func token0(s string) string { w, _, _ := strings.Cut(s, " "); return w }

// Generate makes a sending the model.
func (s *sending) Generate(_ context.Context, _ string, body []byte) (*toolloop.Reply, error) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls++
	s.bodies, s.edited = append(s.bodies, bytes.Clone(body)), append(s.edited, s.edits)
	s.edits = false
	m, err := canonicalBody(body)
	if err != nil {
		return nil, err
	}
	s.shown = append(s.shown, canonString(m))
	answer := d.w.answer(s.nonce, m)
	for _, c := range answer {
		for _, p := range c {
			d.issued.Issue(json.RawMessage(p.json()))
		}
	}
	return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
		for i, c := range answer {
			if !yield(stream.Event{Data: []byte(c.document(i == len(answer)-1))}, nil) {
				return
			}
		}
	}}, nil
}

func canonicalBody(body []byte) ([]side, error) {
	var b struct{ Contents []json.RawMessage }
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, fmt.Errorf("upstream got no JSON: %w", err)
	}
	return canonical(b.Contents)
}

// Start, Forward, Event and Tail make a sending the agent's end of the wire.
func (s *sending) Start(*toolloop.Reply) error   { return nil }
func (s *sending) Forward(*toolloop.Reply) error { return errors.New("an answer was forwarded") }
func (s *sending) Tail(raw []byte) error         { return fmt.Errorf("bytes that are no event: %s", raw) }
func (s *sending) Event(doc []byte) error        { return s.got.read(doc) }

// send makes one request of the conversation's history.
func (d *driver) send(c *conv, other bool) *sending {
	s := &sending{d: d, nonce: c.plain.nonce}
	d.mu.Lock()
	d.n++
	id := fmt.Sprint("q", d.n)
	d.runs[id] = s
	d.mu.Unlock()
	call := toolloop.Call{ID: id, Tenant: "t", Wire: gemini.Wire{}, Model: "m", Stream: !d.w.Unary, Upstream: s,
		Body: []byte(`{"contents":[` + strings.Join(c.history, ",") + `],"generationConfig":{"seed":1}}`)}
	if d.w.Explicit {
		call.Session, call.SessionExplicit = c.session, true
	}
	loop := d.loops[0]
	if other {
		loop = d.loops[1]
	}
	s.err = loop.Run(context.Background(), call, s)
	d.mu.Lock()
	delete(d.runs, id)
	d.mu.Unlock()
	return s
}

// request sends a history, as often as the step says, and judges what went up.
func (d *driver) request(c *conv, st step) (*sending, error) {
	if err := d.judgeAgent(c); err != nil {
		return nil, err
	}
	if st.Down {
		if err := d.refused(c, st); err != nil {
			return nil, err
		}
	}
	all := make([]*sending, 1+st.Again)
	if st.Again == 0 {
		all[0] = d.send(c, st.Other)
	} else {
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() { all[i] = d.send(c, i%2 == 1 != st.Other) })
		}
		wg.Wait()
	}
	for i := range st.Retry {
		all = append(all, d.send(c, i%2 == 0 != st.Other))
	}
	first := all[0]
	once := map[string]int{}
	for i, s := range all {
		if s.err != nil {
			return nil, fmt.Errorf("sending %d: %w", i, s.err)
		}
		if !slices.EqualFunc(s.bodies, first.bodies, bytes.Equal) {
			return nil, fmt.Errorf("the request was sent again, and the model was shown another history:\n%s\nbefore:\n%s", bytes.Join(s.bodies, []byte("\n")), bytes.Join(first.bodies, []byte("\n")))
		}
		if !slices.EqualFunc(s.got.docs, first.got.docs, bytes.Equal) {
			return nil, fmt.Errorf("the request was sent again, and the agent got another answer:\n%s\nbefore:\n%s", bytes.Join(s.got.docs, []byte("\n")), bytes.Join(first.got.docs, []byte("\n")))
		}
		for _, e := range s.events {
			once[e]++
		}
	}
	// What fires for the model's answer fires for each answer; what fires for
	// something of the agent's fires once.
	var events []string
	for e, n := range once {
		if !onceOnly(e) {
			if n%len(all) != 0 {
				return nil, fmt.Errorf("%d sendings fired %q %d times", len(all), e, n)
			}
			n /= len(all)
		}
		for range n {
			events = append(events, e)
		}
	}
	first.events = events
	for k, b := range first.bodies {
		if err := d.judge(c, b, first.edited[k] || st.Do == "abort"); err != nil {
			return nil, fmt.Errorf("%w\nin %s", err, b[:min(len(b), 4000)])
		}
	}
	return first, nil
}

// refused sends a request while the ledger is down: it is refused, and neither the
// model nor a hook sees anything of it.
func (d *driver) refused(c *conv, st step) error {
	d.store.down.Store(true)
	defer d.store.down.Store(false)
	s := d.send(c, st.Other)
	var r *toolloop.Refusal
	if !errors.As(s.err, &r) || r.Status != 503 || len(s.bodies)+len(s.events)+len(s.got.docs) > 0 {
		return fmt.Errorf("the ledger is down: got error %v, %d model calls, events %q", s.err, len(s.bodies), s.events)
	}
	return nil
}

// onceOnly reports whether an event belongs to something that the agent sends, and
// not to an answer of the model's: then it fires once, however often it is sent.
func onceOnly(event string) bool {
	ev, line, _ := strings.Cut(event, " ")
	switch hooks.Event(ev) {
	case hooks.SessionStart, hooks.AfterTool:
		return true
	case hooks.BeforeAgent:
		return !strings.HasPrefix(line, "err-") // the reason of a retry
	case hooks.BeforeTool:
		return !strings.HasSuffix(line, " ") // a tail call, which an AfterTool hook asked for
	}
	return false
}

// judge holds a request that went up against the API's rules, against what hooks
// hid and against the request before it.
func (d *driver) judge(c *conv, body []byte, edited bool) error {
	o := rules.Options{Gemini3: d.w.Signs, Issued: &d.issued}
	if c.lost {
		o.Issued = nil
		o.Gemini3 = d.w.Signs && !c.agent.has("dropSigs") && !c.agent.has("moveSig")
	}
	// Without the ledger, what an agent cuts into pieces that the API refuses
	// stays as it is.
	unfit := c.lost && (c.agent.has("split") || c.agent.has("splitResults"))
	if v := rules.Check(body, o); v != nil && !(c.lost && v.Rule.Beyond()) && !unfit {
		return fmt.Errorf("the API refuses a request: %s: %w", v.Rule, v)
	}
	if !c.lost {
		for hidden, kind := range d.hid {
			if bytes.Contains(body, []byte(hidden)) {
				return fmt.Errorf("the model is shown %q, which a hook (%s) hid", hidden, kind)
			}
		}
	}
	if edited || c.loose {
		return nil
	}
	contents := []byte(gjson.GetBytes(body, "contents").Raw)
	contents = contents[:len(contents)-1]
	if !bytes.HasPrefix(contents, c.prefix) && !c.plain.log.forgot {
		n := 0
		for n < min(len(contents), len(c.prefix)) && contents[n] == c.prefix[n] {
			n++
		}
		from := max(0, n-300)
		return fmt.Errorf("the request does not begin with the contents of the one before, which went on\n%s\n%s",
			c.prefix[from:min(len(c.prefix), n+300)], contents[from:min(len(contents), n+300)])
	}
	c.prefix = contents
	return nil
}

// judgeAgent holds what the agent sends against the API's rules: were the ledger
// lost, it would go up as it is.
func (d *driver) judgeAgent(c *conv) error {
	for _, h := range []string{"split", "splitResults", "dropSigs", "moveSig"} {
		if c.agent.has(h) {
			return nil
		}
	}
	body := []byte(`{"contents":[` + strings.Join(c.history, ",") + `]}`)
	if v := rules.Check(body, rules.Options{Gemini3: d.w.Signs}); v != nil && !v.Rule.Beyond() {
		return fmt.Errorf("without the ledger the API would refuse: %s: %w\nin %s", v.Rule, v, body[:min(len(body), 4000)])
	}
	return nil
}

// turn plays a prompt through hookline, and compares with the oracle.
func (d *driver) turn(c *conv, st step) error {
	if c.plain.log.forgot {
		c.prefix = nil
	}
	if len(c.history) > 0 || st.Do != "abort" {
		c.turns = append(c.turns, mark{len(c.history), c.plain})
	}
	want, loose := &turnLog{}, c.loose
	switch {
	case c.loose:
	case st.Do == "abort":
		c.plain.abort(st.Say)
	default:
		want = c.plain.turn(st.Say)
	}
	have := &turnLog{}
	c.history = append(c.history, content("user", []string{`{"text":` + lit(st.Say) + `}`}))
	for range 100 {
		s, err := d.request(c, st)
		if err != nil {
			return err
		}
		if st.Do == "abort" {
			c.waits = c.waits || len(s.got.calls()) > 0
			c.prefix = nil // the answer may have cleared the history
			return nil
		}
		have.requests, have.events = append(have.requests, s.shown...), append(have.events, s.events...)
		contents, calls := c.agent.echo(&s.got)
		c.history = append(c.history, contents...)
		if len(contents) == 0 {
			c.loose = true // an empty answer leaves nothing to find it by
		}
		for _, ch := range s.got.chunks {
			for _, p := range ch {
				if !p.call && !p.thought {
					have.show(p.text)
				}
			}
		}
		if len(calls) == 0 {
			if loose {
				return nil
			}
			return compare(want, have)
		}
		var results, ran []string
		for _, p := range calls {
			args := canonJSON([]byte(p.args))
			ran = append(ran, "ran "+p.name+" "+args)
			results = append(results, d.w.tool(c.plain.nonce, p.name, args))
		}
		have.user = append(have.user, ran...)
		c.history = append(c.history, c.agent.answers(calls, results, d.w.steer(c.plain.nonce, ran), d.w.dice("order", fmt.Sprint(len(c.history))))...)
	}
	return errors.New("the turn does not end")
}

// conversation gives a step's conversation, which begins with it.
func (d *driver) conversation(n int) *conv {
	if d.convs[n] == nil {
		d.convs[n] = &conv{session: fmt.Sprint("s", n), agent: agent{w: d.w, habits: d.w.Habits},
			plain: plain{w: d.w, nonce: fmt.Sprint("n", n), session: fmt.Sprint("s", n), shared: d.shared, fired: d.fired, log: &turnLog{}}}
	}
	return d.convs[n]
}

// step plays one step.
func (d *driver) step(st step) error {
	c := d.conversation(st.Conv)
	switch st.Do {
	case "prompt", "abort":
		return d.turn(c, st)
	case "rewind": // the user goes back, and on from there
		if st.To < len(c.turns) {
			m := c.turns[st.To]
			c.history, c.turns = c.history[:m.history:m.history], c.turns[:st.To]
			c.plain = m.plain
			c.plain.session = c.session
			if st.To == 0 && c.waits {
				c.loose = true // a fresh history while tools run is a subagent's
			}
			c.plain.nonce += "'"
			c.prefix = nil
		}
	case "resume": // the conversation goes on under another session id
		c.session += "r"
		c.plain.session = c.session
	case "restart":
		d.restart()
	case "mask", "drop", "compress":
		d.damage(c, st)
	case "lose": // the ledger is gone
		if d.w.Bolt {
			break
		}
		d.store.Store = store.NewMemory(store.MemoryOptions{})
		d.restart()
		for _, c := range d.convs {
			c.loose, c.lost = true, true
		}
	}
	return nil
}
