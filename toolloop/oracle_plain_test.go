package toolloop_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// plain is an agent's loop with the hooks inside it, as Gemini CLI has it: one
// history, the model's. What it does is the meaning of the table in which the
// outcome of each hook result is laid down; hookline's loop, which sees only an
// agent's requests, must come to the same.
type plain struct {
	w       *world
	nonce   string
	session string          // the name that the conversation gives its session
	shared  *plainSessions  // what outlives a rewind
	m       []side          // what the model is shown
	view    string          // what the agent has seen, told in a few words
	opened  string          // the first prompt
	log     *turnLog        // of the turn that runs
	fired   map[string]bool // decisions taken, for coverage
}

// plainSessions are the sessions of all conversations of a tenant.
type plainSessions struct {
	begun   map[string]bool   // sessions
	prompts map[string]string // prompts that were seen, with the block that SessionStart gave them
}

// turnLog is what one prompt led to.
type turnLog struct {
	requests []string // what the model was shown, in order
	events   []string // hooks fired; order within a turn does not count
	user     []string // what the agent saw: texts, and calls that it ran
	forgot   bool     // the history was cleared
}

func (l *turnLog) show(text string) {
	if k := len(l.user) - 1; k >= 0 && strings.HasPrefix(l.user[k], "text ") {
		l.user[k] += text
	} else if text != "" {
		l.user = append(l.user, "text "+text)
	}
}

func (p *plain) event(ev hooks.Event, key, line string) (string, hooks.Decision) {
	if !p.w.has(ev) {
		return "", hooks.Decision{}
	}
	p.log.events = append(p.log.events, string(ev)+" "+line)
	return p.decide(ev, key)
}

func (p *plain) decide(ev hooks.Event, key string) (string, hooks.Decision) {
	if !p.w.has(ev) {
		return "", hooks.Decision{}
	}
	kind, d := p.w.decide(ev, key)
	if kind != "" {
		p.fired[kind] = true
	}
	return kind, d
}

func contextText(d hooks.Decision) string {
	return "<hook_context>" + strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(strings.Join(d.Context, "\n")) + "</hook_context>"
}

func textSide(model bool, texts ...string) side {
	s := side{model: model}
	for _, t := range texts {
		s.items = append(s.items, mitem{Kind: "text", Text: t})
	}
	return s
}

// turn takes a prompt to its end.
func (p *plain) turn(prompt string) *turnLog {
	p.log = &turnLog{}
	if p.begin(prompt) {
		p.rounds(prompt)
	}
	for _, u := range p.log.user {
		p.see(u)
	}
	return p.log
}

// abort takes a prompt whose answer the user does not wait for: the agent keeps
// nothing of it.
func (p *plain) abort(prompt string) *turnLog {
	p.log = &turnLog{}
	p.begin(prompt)
	return p.log
}

// begin takes a prompt to the model, or says that it does not come to that.
func (p *plain) begin(prompt string) bool {
	fresh := p.view == ""
	if fresh {
		p.opened = prompt
	}
	session := p.session
	if !p.w.Explicit {
		session = "derived from " + p.opened
	}
	key := fmt.Sprint(session, "\x00", p.view, "\x00", prompt)
	block, known := p.shared.prompts[key]
	if !known {
		block = p.start(session, fresh)
		p.shared.prompts[key] = block
		if p.w.has(hooks.BeforeAgent) {
			p.log.events = append(p.log.events, "BeforeAgent "+prompt)
		}
	}
	p.see("prompt " + prompt)
	_, d := p.decide(hooks.BeforeAgent, prompt)
	switch {
	case d.Stop:
		p.say(textSide(false, prompt, block))
		p.tell(d.StopReason)
		return false
	case d.Deny:
		p.say(textSide(false, block))
		p.tell(d.Reason)
		return false
	case len(d.Context) > 0:
		p.say(textSide(false, prompt, block, contextText(d)))
	default:
		p.say(textSide(false, prompt, block))
	}
	return true
}

// start fires SessionStart for a history that is fresh, or a session that is new.
func (p *plain) start(session string, fresh bool) string {
	source := "resume"
	switch known := p.shared.begun[session]; {
	case fresh && known:
		source = "clear"
	case fresh:
		source = "startup"
	case known:
		return ""
	}
	p.shared.begun[session] = true
	_, d := p.event(hooks.SessionStart, source, source)
	if len(d.Context) > 0 {
		return contextText(d)
	}
	return ""
}

func (p *plain) see(what string) {
	sum := sha256.Sum256([]byte(p.view + "\x00" + what))
	p.view = string(sum[:])
}
func (p *plain) say(s side)         { p.m = join(append(append([]side{}, p.m...), s)) }
func (p *plain) tell(reason string) { p.log.show(reason) }
func (p *plain) forget()            { p.m, p.log.forgot = nil, true }

// rounds calls the model until the turn is over.
func (p *plain) rounds(prompt string) {
	retries, unseen := 0, 0 // unseen: model calls since the agent was last asked for something
	for {
		if unseen == 25 {
			p.tell("hookline ended this turn: hooks denied the model's calls 25 times in a row.")
			return
		}
		unseen++
		asked := p.m
		said := saidIn(asked)
		kind, d := p.event(hooks.BeforeModel, said, digestOf(said))
		var parts []mpart
		var shown string
		switch {
		case d.Stop:
			p.tell(d.StopReason)
			return
		case d.Deny:
			p.tell(d.Reason)
			return
		case kind == "model.synthetic":
			shown = syntheticText(d)
			parts = []mpart{{kind: "text", text: shown}}
		default:
			if kind == "model.edit" {
				asked = edited(asked, d)
			}
			p.log.requests = append(p.log.requests, canonString(asked))
			over := false
			if parts, shown, over = p.read(p.w.answer(p.nonce, asked)); over {
				return
			}
		}
		var calls []mpart
		for _, c := range parts {
			if c.kind == "call" {
				calls = append(calls, c)
			}
		}
		p.tell(shown)
		if len(calls) > 0 {
			seen, ended := p.tools(parts, calls)
			if ended {
				return
			}
			if seen {
				unseen = 0
			}
			continue
		}
		_, d = p.event(hooks.AfterAgent, prompt+shown, fmt.Sprintf("%q %q %v", prompt, shown, retries > 0))
		p.say(modelSide(parts))
		switch {
		case d.Stop:
			if d.ClearContext {
				p.forget()
			}
			return
		case !d.Deny || retries == 8:
			return
		}
		if d.ClearContext {
			p.forget()
		}
		retries++
		reason := d.Reason
		_, d = p.event(hooks.BeforeAgent, reason, reason)
		switch {
		case d.Stop:
			p.say(textSide(false, reason))
			p.tell(d.StopReason)
			return
		case d.Deny:
			p.tell(d.Reason)
			return
		case len(d.Context) > 0:
			p.say(textSide(false, reason, contextText(d)))
		default:
			p.say(textSide(false, reason))
		}
	}
}

// edited is a request as a BeforeModel hook edits it: a text behind the last message.
func edited(m []side, d hooks.Decision) []side {
	out := append([]side{}, m...)
	for i := len(out) - 1; i >= 0; i-- {
		for k := len(out[i].items) - 1; k >= 0; k-- {
			if out[i].items[k].Kind == "text" {
				s := side{model: out[i].model, items: append([]mitem{}, out[i].items...)}
				s.items[k].Text += editText(d)
				out[i] = s
				return join(out)
			}
		}
	}
	return out
}

func editText(d hooks.Decision) string { return " " + unquoted(d.LLMRequest) }

func unquoted(raw []byte) string {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		panic(err)
	}
	return s
}

func syntheticText(d hooks.Decision) string {
	var r struct {
		Candidates []struct{ Content struct{ Parts []string } }
	}
	if err := json.Unmarshal(d.LLMResponse, &r); err != nil {
		panic(err)
	}
	return r.Candidates[0].Content.Parts[0]
}

func modelSide(parts []mpart) side {
	s := side{model: true}
	for _, c := range parts {
		switch c.kind {
		case "text":
			s.items = append(s.items, mitem{Kind: "text", Text: c.text, Sig: c.sig})
		case "call":
			s.items = append(s.items, mitem{Kind: "call", ID: c.id, Name: c.name, Body: compacted([]byte(c.args)), Sig: c.sig})
		}
	}
	return s
}

// read takes an answer through AfterModel. parts are what the model's side keeps
// of it, shown is its text as the agent sees it.
func (p *plain) read(answer []mchunk) (parts []mpart, shown string, over bool) {
	for _, c := range answer {
		text := ""
		for _, x := range c {
			if x.kind == "text" {
				text += x.text
			}
		}
		kind, d := p.event(hooks.AfterModel, text, text)
		switch {
		case d.Stop:
			p.tell(shown + d.StopReason)
			return nil, "", true
		case d.Deny:
			p.tell(shown + d.Reason)
			return nil, "", true
		}
		replaced := kind == "chunk.replace" || kind == "chunk.blank"
		first := true
		for _, x := range c {
			if x.kind != "text" {
				parts = append(parts, x)
				continue
			}
			is := x.text
			if replaced {
				if is = ""; first {
					is = syntheticText(d)
				}
			}
			first = false
			shown += is
			if x.sig == "" {
				x.text = is // a signed part stays as the model made it
			}
			parts = append(parts, x)
		}
	}
	return parts, shown, false
}

// running is a call that the agent runs, or would.
type running struct {
	call     mpart
	verdict  string // "", deny, stop
	reason   string
	args     string // as they are run, canonical
	notice   bool
	response string // what the model is to read; "" while there is none
}

const notice = "\n\n[System] Tool input parameters were modified by a hook before execution."

// before takes a call through BeforeTool.
func (p *plain) before(name, args, origin string) running {
	r := running{args: args}
	_, d := p.event(hooks.BeforeTool, name+args, name+" "+args+" "+origin)
	switch {
	case d.Stop:
		r.verdict, r.reason = "stop", d.StopReason
	case d.Deny, d.Ask:
		r.verdict, r.reason = "deny", d.Reason
	case len(d.ToolInput) > 0:
		r.args, r.notice = patched(args, d.ToolInput), true
	}
	return r
}

func patched(args string, patch []byte) string {
	var a, b map[string]any
	if json.Unmarshal([]byte(args), &a) != nil || json.Unmarshal(patch, &b) != nil {
		panic("arguments of our own")
	}
	for k, v := range b {
		if v == nil {
			delete(a, k)
		} else {
			a[k] = v
		}
	}
	out, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func errorBody(text string) string { return `{"error":` + lit(text) + `}` }

// tools takes the calls of an answer to their results. seen: the agent ran some.
func (p *plain) tools(parts, calls []mpart) (seen, ended bool) {
	var rs []running
	var steers []string
	stop := ""
	denied := 0
	for _, c := range calls {
		r := p.before(c.name, canonJSON([]byte(c.args)), "")
		r.call = c
		switch r.verdict {
		case "stop":
			r.response = errorBody("Agent execution stopped by hook: " + r.reason)
			if stop == "" {
				stop = r.reason
			}
		case "deny":
			r.response = errorBody("Tool execution blocked: " + r.reason)
			denied++
		}
		rs = append(rs, r)
	}
	if stop != "" {
		for i := range rs {
			if rs[i].response == "" {
				rs[i].response = errorBody("Agent execution stopped by hook: " + stop)
			}
		}
	} else if denied < len(rs) {
		stop, steers = p.run(rs)
		seen = true
	}
	p.say(modelSide(parts))
	answers := side{}
	for _, r := range rs {
		answers.items = append(answers.items, mitem{Kind: "result", ID: r.call.id, Name: r.call.name, Body: canonJSON([]byte(r.response))})
	}
	p.say(answers)
	p.say(textSide(false, steers...))
	if stop != "" {
		p.tell(stop)
	}
	return seen, stop != ""
}

// run runs calls, and the calls that AfterTool hooks put in their places, as long
// as they ask for some. steers is what the user put in meanwhile.
func (p *plain) run(rs []running) (stop string, steers []string) {
	type job struct {
		at           int
		name, origin string
		running
	}
	var jobs []job
	for i, r := range rs {
		if r.response == "" {
			jobs = append(jobs, job{at: i, name: r.call.name, running: r})
		}
	}
	for len(jobs) > 0 && stop == "" {
		var ran []string
		for _, j := range jobs {
			ran = append(ran, "ran "+j.name+" "+j.args)
		}
		p.log.user = append(p.log.user, ran...)
		steers = append(steers, p.w.steer(p.nonce, ran))
		var next []job
		for _, j := range jobs {
			body := p.w.tool(p.nonce, j.name, j.args)
			content := llmContent(body)
			_, d := p.event(hooks.AfterTool, j.name+content, j.name+" "+withoutNulls(j.args)+" "+content+" "+j.origin)
			out := body
			switch {
			case d.Stop:
				out = errorBody(d.StopReason)
				if stop == "" {
					stop = d.StopReason
				}
				j.notice = false
			case d.Deny:
				out = errorBody(d.Reason)
				j.notice = false
			case d.Tail != nil:
				origin := j.origin
				if origin == "" {
					origin = j.name
				}
				t := p.before(d.Tail.Name, canonJSON(d.Tail.Args), origin)
				switch t.verdict {
				case "stop":
					out = errorBody("Agent execution stopped by hook: " + t.reason)
					if stop == "" {
						stop = t.reason
					}
					j.notice = false
				case "deny":
					out = errorBody("Tool execution blocked: " + t.reason)
					j.notice = false
				default:
					next = append(next, job{at: j.at, name: d.Tail.Name, origin: origin, running: t})
				}
			case len(d.Context) > 0:
				out = noted(out, "\n\n"+contextText(d), "hook_context")
			}
			if j.notice {
				out = noted(out, notice, "hook_notice")
			}
			rs[j.at].response = out // until the tail call's result comes, if there is one
		}
		jobs = next
	}
	return stop, steers
}

// llmContent is what the model reads of a response, in canonical form.
func llmContent(body string) string {
	var m map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		panic(err)
	}
	for _, k := range []string{"output", "result"} {
		if v, ok := m[k]; ok {
			return canonJSON(v)
		}
	}
	return canonJSON([]byte(body))
}

// noted puts a note behind the text that the model reads, or beside it.
func noted(body, note, sibling string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		panic(err)
	}
	key := "output"
	if _, ok := m[key]; !ok {
		key = "result"
	}
	if s, ok := m[key].(string); ok {
		m[key] = s + note
	} else {
		m[sibling] = strings.TrimLeft(note, "\n")
	}
	out, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return fmt.Sprintf("%x", sum[:8])
}
