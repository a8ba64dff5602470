package toolloop_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// world is all that a random conversation depends on. The model's answers, the
// tools' results and the hooks' decisions are pure functions of its seed and of
// what they are shown, so that the plain loop of the oracle and hookline get the
// same answers when they show the same.
type world struct {
	Seed     uint64   `json:"seed"`
	Signs    bool     `json:"signs,omitempty"`    // the model signs the first call of a step, as Gemini 3 does
	IDs      bool     `json:"ids,omitempty"`      // the model gives its calls ids
	Polls    bool     `json:"polls,omitempty"`    // the model may make the same call over and over
	Explicit bool     `json:"explicit,omitempty"` // requests name their session
	Unary    bool     `json:"unary,omitempty"`
	Watch    bool     `json:"watch,omitempty"` // hooks listen to all events, whether they decide or not
	Bolt     bool     `json:"bolt,omitempty"`  // the ledger is a file
	Rate     int      `json:"rate"`            // how often each decision is taken, in percent
	Decide   []string `json:"decide,omitempty"`
	Habits   []string `json:"habits,omitempty"`
	Steps    []step   `json:"steps"`
}

// step is one thing that the user, or fate, does.
type step struct {
	Do    string `json:"do"`              // see driver.step
	Conv  int    `json:"conv,omitempty"`  // of the conversation
	Say   string `json:"say,omitempty"`   // prompt
	To    int    `json:"to,omitempty"`    // rewind: how many turns are kept; mask, drop, compress: how many turns are touched
	Again int    `json:"again,omitempty"` // how often each request is sent again, at the same time
	Retry int    `json:"retry,omitempty"` // how often each request is sent again afterwards
	Other bool   `json:"other,omitempty"` // through the other replica
	Down  bool   `json:"down,omitempty"`  // each request is sent while the ledger is down, first
}

func (w *world) dice(kind string, what ...string) *rand.Rand {
	h := sha256.New()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], w.Seed)
	h.Write(b[:])
	for _, s := range append([]string{kind}, what...) {
		binary.LittleEndian.PutUint64(b[:], uint64(len(s)))
		h.Write(b[:])
		h.Write([]byte(s))
	}
	return rand.New(rand.NewChaCha8([32]byte(h.Sum(nil))))
}

func chance(d *rand.Rand, percent int) bool { return d.IntN(100) < percent }

func token(d *rand.Rand) string { return fmt.Sprintf("%08x", d.Uint32()) }

var wordList = []string{"alpha ", "beta ", "naïve ", "<b>", "a\tb ", "\"so\" ", "😀 ", "x\u2028y ", "{}", "\n", "& ", "\\ "}

func words(d *rand.Rand, n int) string {
	var b strings.Builder
	b.WriteString(token(d) + " ")
	for range n {
		b.WriteString(wordList[d.IntN(len(wordList))])
	}
	return b.String()
}

func lit(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// mpart is a part as the model makes it.
type mpart struct {
	kind           string // text, thought, call
	text, sig      string
	id, name, args string
}

func (p mpart) json() string {
	var s string
	switch p.kind {
	case "call":
		s = `{"functionCall":{"name":` + lit(p.name) + `,"args":` + p.args
		if p.id != "" {
			s += `,"id":` + lit(p.id)
		}
		s += "}"
	case "thought":
		s = `{"text":` + lit(p.text) + `,"thought":true`
	default:
		s = `{"text":` + lit(p.text)
	}
	if p.sig != "" {
		s += `,"thoughtSignature":` + lit(p.sig)
	}
	return s + "}"
}

// mchunk is one document of an answer.
type mchunk []mpart

func (c mchunk) document(last bool) string {
	var parts []string
	for _, p := range c {
		parts = append(parts, p.json())
	}
	s := `{"candidates":[{"content":{"parts":[` + strings.Join(parts, ",") + `],"role":"model"},"index":0`
	if last {
		s += `,"finishReason":"STOP"`
	}
	return s + `}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"m"}`
}

var toolNames = []string{"read", "write", "grep", "fetch", "run.it"}

// answer is what the model says to a history. nonce tells conversations apart
// that have said the same so far.
func (w *world) answer(nonce string, m []side) []mchunk {
	d := w.dice("model", nonce, canonString(m))
	depth := 0
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].model {
			continue
		}
		if !m[i].hasResults() {
			break
		}
		depth++
	}
	var cs []mchunk
	if chance(d, 25) {
		cs = append(cs, mchunk{{kind: "thought", text: "hm " + words(d, 1)}})
	}
	n := 0
	if depth < 4 && chance(d, 65) {
		n = 1 + d.IntN(3)
	}
	if n == 0 || chance(d, 50) {
		for range 1 + d.IntN(3) {
			cs = append(cs, mchunk{{kind: "text", text: words(d, d.IntN(4))}})
		}
	}
	if n > 0 {
		cs = w.calls(d, m, n, cs)
	} else if w.Signs && chance(d, 40) {
		if chance(d, 50) {
			cs[len(cs)-1][0].sig = w.signature(d)
		} else {
			cs = append(cs, mchunk{{kind: "text", sig: w.signature(d)}})
		}
	}
	if chance(d, 20) {
		cs = append(cs, mchunk{{kind: "text"}})
	}
	if w.Unary {
		return []mchunk{joined(cs)}
	}
	return cs
}

func (w *world) calls(d *rand.Rand, m []side, n int, cs []mchunk) []mchunk {
	var calls []mpart
	for i := range n {
		c := mpart{kind: "call", name: toolNames[d.IntN(len(toolNames))], args: w.args(d)}
		if i > 0 && chance(d, 12) {
			c.name, c.args = calls[0].name, calls[0].args
		}
		if w.Polls && i == 0 && chance(d, 50) {
			c.name, c.args = "poll", `{"job":1}`
			if n == 1 {
				cs = nil
			}
		}
		if w.IDs {
			if c.id = "c" + token(d); chance(d, 20) {
				c.id = c.name + "__" + c.id
			}
		}
		if w.Signs && i == 0 {
			c.sig = w.signature(d)
		}
		calls = append(calls, c)
	}
	together := chance(d, 40)
	for i, c := range calls {
		switch {
		case i > 0 && together:
			cs[len(cs)-1] = append(cs[len(cs)-1], c)
		case i == 0 && len(cs) > 0 && chance(d, 20):
			cs[len(cs)-1] = append(cs[len(cs)-1], c)
		default:
			cs = append(cs, mchunk{c})
		}
		if !together && i < n-1 && chance(d, 10) {
			cs = append(cs, mchunk{{kind: "text", text: words(d, 1)}})
		}
	}
	return cs
}

// signature is one in the base64 that it travels in.
func (w *world) signature(d *rand.Rand) string {
	return "c2ln" + strings.ReplaceAll(token(d), "-", "A")
}

func (w *world) args(d *rand.Rand) string {
	ms := []string{`"tag":"` + token(d) + `"`}
	for _, m := range []string{`"n":1`, `"f": 1.50`, `"o":{"b":1e2,"a":[1, 2.0,null]}`, `"s":"é<&>\u00e9"`, `"big":12345678901234567890`, `"z":null`, `"hl":"own"`} {
		if chance(d, 30) {
			ms = append(ms, m)
		}
	}
	d.Shuffle(len(ms), func(i, j int) { ms[i], ms[j] = ms[j], ms[i] })
	return "{" + strings.Join(ms, ",") + "}"
}

// joined is an answer as one document.
func joined(cs []mchunk) mchunk {
	var out mchunk
	for _, c := range cs {
		for _, p := range c {
			if k := len(out) - 1; p.kind == "text" && p.sig == "" && k >= 0 && out[k].kind == "text" && out[k].sig == "" {
				out[k].text += p.text
				continue
			}
			out = append(out, p)
		}
	}
	return out
}

// tool runs a tool; args are in canonical form.
func (w *world) tool(nonce, name, args string) string {
	d := w.dice("tool", nonce, name, args)
	s := "r" + words(d, 2)
	if chance(w.dice("long", nonce, name, args), 15) {
		s += strings.Repeat("on and on ", 60)
	}
	switch d.IntN(6) {
	case 0:
		return `{"result":` + lit(s) + `}`
	case 1:
		return `{"result":{"a":1,"b":` + lit(s) + `}}`
	case 2:
		return `{"error":` + lit(s) + `}`
	case 3:
		return `{"files":[` + lit(s) + `],"n":2.0}`
	}
	return `{"output":` + lit(s) + `}`
}

// steer is what the user puts in while tools run, beside their results; "" for nothing.
func (w *world) steer(nonce string, ran []string) string {
	d := w.dice("steer", append([]string{nonce}, ran...)...)
	if !slices.Contains(w.Habits, "steer") || !chance(d, 30) {
		return ""
	}
	return "s" + words(d, 1)
}

// allDecisions are the decisions that hooks may take, by event.
var allDecisions = map[hooks.Event][]string{
	hooks.SessionStart: {"start.context"},
	hooks.BeforeAgent:  {"prompt.deny", "prompt.stop", "prompt.context"},
	hooks.BeforeModel:  {"model.deny", "model.stop", "model.synthetic", "model.edit", "model.config"},
	hooks.AfterModel:   {"chunk.replace", "chunk.deny", "chunk.stop", "chunk.blank"},
	hooks.BeforeTool:   {"tool.deny", "tool.stop", "tool.rewrite", "tool.ask"},
	hooks.AfterTool:    {"result.deny", "result.stop", "result.context", "result.tail"},
	hooks.AfterAgent:   {"answer.deny", "answer.clear", "answer.stop", "answer.stopclear"},
}

func (w *world) has(ev hooks.Event) bool {
	return allDecisions[ev] != nil && (w.Watch || slices.ContainsFunc(w.Decide, func(k string) bool { return slices.Contains(allDecisions[ev], k) }))
}

// decide is what the hooks say. key is the gist of the event's input.
func (w *world) decide(ev hooks.Event, key string) (string, hooks.Decision) {
	d := w.dice("hook", string(ev), key)
	u := d.IntN(100)
	rate := w.Rate
	if ev == hooks.AfterModel || ev == hooks.BeforeModel {
		rate = (rate + 1) / 2
	}
	if ev == hooks.AfterModel && key == "" {
		return "", hooks.Decision{}
	}
	kind := ""
	for i, k := range allDecisions[ev] {
		if u >= i*rate && u < (i+1)*rate && slices.Contains(w.Decide, k) {
			kind = k
		}
	}
	tag := token(d)
	switch kind {
	case "start.context", "prompt.context", "result.context":
		return kind, hooks.Decision{Context: []string{"ctx <" + tag + "> & é"}}
	case "prompt.deny", "model.deny", "chunk.deny":
		return kind, hooks.Decision{Deny: true, Reason: "hid-" + tag}
	case "tool.deny", "result.deny", "answer.deny":
		return kind, hooks.Decision{Deny: true, Reason: "err-" + tag}
	case "answer.clear":
		return kind, hooks.Decision{Deny: true, ClearContext: true, Reason: "err-" + tag}
	case "prompt.stop", "model.stop", "chunk.stop":
		return kind, hooks.Decision{Stop: true, StopReason: "hid-" + tag}
	case "tool.stop", "result.stop":
		return kind, hooks.Decision{Stop: true, StopReason: "err-" + tag}
	case "answer.stop":
		return kind, hooks.Decision{Stop: true, StopReason: "hid-" + tag}
	case "answer.stopclear":
		return kind, hooks.Decision{Stop: true, ClearContext: true, StopReason: "hid-" + tag}
	case "tool.ask":
		return kind, hooks.Decision{Ask: true, Reason: "err-" + tag}
	case "tool.rewrite":
		patch := `{"hl":"` + tag + `"`
		if chance(d, 30) {
			patch += `,"n":null`
		}
		return kind, hooks.Decision{ToolInput: json.RawMessage(patch + "}")}
	case "result.tail":
		return kind, hooks.Decision{Tail: &hooks.TailCall{Name: toolNames[d.IntN(len(toolNames))], Args: json.RawMessage(`{"tail":"` + tag + `","n":1}`)}}
	case "model.synthetic":
		return kind, hooks.Decision{LLMResponse: json.RawMessage(`{"candidates":[{"content":{"role":"model","parts":["syn ` + tag + `"]},"finishReason":"STOP"}]}`)}
	case "model.config":
		return kind, hooks.Decision{LLMRequest: json.RawMessage(`{"config":{"temperature":0.5}}`)}
	case "model.edit":
		return kind, hooks.Decision{LLMRequest: json.RawMessage(`"edit ` + tag + `"`)} // made concrete by whoever asks
	case "chunk.replace":
		return kind, hooks.Decision{LLMResponse: json.RawMessage(`{"candidates":[{"content":{"role":"model","parts":["rep ` + tag + `"]}}]}`)}
	case "chunk.blank":
		return kind, hooks.Decision{LLMResponse: json.RawMessage(`{"candidates":[{"content":{"role":"model","parts":[""]}}]}`)}
	}
	return "", hooks.Decision{}
}
