package toolloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// allHabits are the ways in which agents echo what they received, each seen in
// some SDK. None of them loses what hookline needs to find its entries.
var allHabits = []string{
	"split",        // one content per chunk, not one per answer
	"join",         // plain texts joined
	"dropEmpty",    // empty texts left out
	"dropThoughts", // thoughts left out
	"dropSigs",     // signatures lost
	"moveSig",      // the signature of a text moves to the call behind it
	"skipSig",      // a stand-in where the first call has no signature
	"dropCallIDs",  // ids of calls lost
	"dropIDs",      // ids of results lost
	"inventIDs",    // ids made up for calls without one
	"stripIDs",     // a prefix name__ stripped from ids
	"sortKeys",     // arguments decoded and encoded again
	"floats",       // 1 becomes 1.0
	"dropNulls",    // members that are null left out
	"splitResults", // one content per result
	"shuffle",      // results in the order in which tools finish
	"function",     // results under the role function
	"steer",        // a text of the user's beside the results
}

// epart is a part as an agent keeps it.
type epart struct {
	text, sig      string
	thought, call  bool
	id, name, args string
	key            int // of a call: its place among those of the answer
}

func (p epart) json() string {
	kind := "text"
	switch {
	case p.call:
		kind = "call"
	case p.thought:
		kind = "thought"
	}
	return mpart{kind: kind, text: p.text, sig: p.sig, id: p.id, name: p.name, args: p.args}.json()
}

// got is an answer as the agent received it.
type got struct {
	chunks [][]epart
	docs   [][]byte
}

func (g *got) calls() []epart {
	var cs []epart
	for _, c := range g.chunks {
		for _, p := range c {
			if p.call {
				cs = append(cs, p)
			}
		}
	}
	return cs
}

// read takes in a document of an answer.
func (g *got) read(doc []byte) error {
	var d struct {
		Candidates []struct{ Content struct{ Parts []rpart } }
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return fmt.Errorf("the agent got %s: %w", doc, err)
	}
	if len(d.Candidates) != 1 {
		return fmt.Errorf("the agent got %d candidates: %s", len(d.Candidates), doc)
	}
	var ps []epart
	for _, p := range d.Candidates[0].Content.Parts {
		switch {
		case p.FunctionCall != nil:
			n := len(g.calls())
			for _, q := range ps {
				if q.call {
					n++
				}
			}
			if p.FunctionCall.Args == nil {
				return fmt.Errorf("a call without args: %s", doc)
			}
			ps = append(ps, epart{call: true, id: p.FunctionCall.ID, name: p.FunctionCall.Name, args: string(p.FunctionCall.Args), sig: p.ThoughtSignature, key: n})
		case p.Text != nil:
			ps = append(ps, epart{text: *p.Text, thought: p.Thought, sig: p.ThoughtSignature})
		default:
			return fmt.Errorf("the agent got an empty part: %s", doc)
		}
	}
	for _, p := range ps {
		if p.sig != "" && bytes.Contains(bytes.Join(g.docs, nil), []byte(p.sig)) {
			return fmt.Errorf("a signature for the second time: %s", doc)
		}
	}
	g.chunks, g.docs = append(g.chunks, ps), append(g.docs, bytes.Clone(doc))
	return nil
}

// agent keeps a history in its own manner.
type agent struct {
	w      *world
	habits []string
}

func (a *agent) has(h string) bool { return slices.Contains(a.habits, h) }

func content(role string, parts []string) string {
	return `{"role":` + lit(role) + `,"parts":[` + strings.Join(parts, ",") + `]}`
}

// echo is an answer as it enters the agent's history. calls are those of the
// answer with the ids that the agent gave them.
func (a *agent) echo(g *got) (contents []string, calls []epart) {
	signature, first := "", true
	for _, c := range g.chunks {
		for _, p := range c {
			if !p.call {
				continue
			}
			if a.has("inventIDs") && p.id == "" {
				p.id = fmt.Sprintf("inv-%d-%s", p.key, token(a.w.dice("invent", string(bytes.Join(g.docs, nil)))))
			}
			calls = append(calls, p)
		}
	}
	k := 0
	var all []epart
	turn := func() {
		if a.has("join") {
			all = joinEcho(all)
		}
		var parts []string
		for _, p := range all {
			parts = append(parts, p.json())
		}
		if len(parts) > 0 {
			contents = append(contents, content("model", parts))
		}
		all = nil
	}
	for _, c := range g.chunks {
		for _, p := range c {
			switch {
			case p.call:
				p.id = calls[k].id
				p = a.echoCall(p, signature, first)
				first, signature = false, ""
				k++
			case p.thought && a.has("dropThoughts"), p.text == "" && a.has("dropEmpty"):
				signature += p.sig
				continue
			case a.has("moveSig") && p.sig != "":
				signature, p.sig = p.sig, ""
			}
			if a.has("dropSigs") {
				p.sig = ""
			}
			if p.text == "" && !p.call && p.sig == "" && a.has("dropEmpty") {
				continue
			}
			all = append(all, p)
		}
		if a.has("split") {
			turn()
		}
	}
	turn()
	return contents, calls
}

func (a *agent) echoCall(p epart, moved string, first bool) epart {
	if a.has("moveSig") && p.sig == "" {
		p.sig = moved
	}
	if a.has("dropSigs") {
		p.sig = ""
	}
	if a.has("skipSig") && first && p.sig == "" && a.w.Signs {
		p.sig = "skip_thought_signature_validator"
	}
	if a.has("dropCallIDs") {
		p.id = ""
	}
	p.id = a.echoID(p)
	if a.has("sortKeys") || a.has("floats") || a.has("dropNulls") {
		p.args = a.reencoded(p.args)
	}
	return p
}

func (a *agent) echoID(p epart) string {
	if a.has("stripIDs") {
		return strings.TrimPrefix(p.id, p.name+"__")
	}
	return p.id
}

func joinEcho(ps []epart) []epart {
	var out []epart
	for _, p := range ps {
		if k := len(out) - 1; k >= 0 && !p.call && !out[k].call && !p.thought && !out[k].thought && p.sig == "" && out[k].sig == "" {
			out[k].text += p.text
			continue
		}
		out = append(out, p)
	}
	return out
}

func (a *agent) reencoded(args string) string {
	dec := json.NewDecoder(strings.NewReader(args))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return args
	}
	if a.has("floats") {
		v = floated(v)
	}
	if m, ok := v.(map[string]any); ok && a.has("dropNulls") {
		maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	}
	b, err := json.Marshal(v)
	if err != nil {
		return args
	}
	return string(b)
}

func floated(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = floated(v[k])
		}
	case []any:
		for i := range v {
			v[i] = floated(v[i])
		}
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") && len(v) < 16 {
			return json.Number(v.String() + ".0")
		}
	}
	return v
}

// answers are the results of calls as they enter the history. steer is a text
// that the user put in meanwhile; "" for none.
func (a *agent) answers(calls []epart, results []string, steer string, d *rand.Rand) []string {
	var parts []string
	names := map[string]bool{}
	ids := true
	for i, c := range calls {
		id := c.id
		if a.has("dropIDs") {
			id = ""
		}
		id = a.echoID(epart{id: id, name: c.name})
		ids = ids && id != "" && !a.has("dropCallIDs") || len(calls) == 1
		s := `{"functionResponse":{`
		if id != "" {
			s += `"id":` + lit(id) + `,`
		}
		parts = append(parts, s+`"name":`+lit(c.name)+`,"response":`+results[i]+`}}`)
		names[c.name] = true
	}
	if a.has("shuffle") && (ids || len(names) == len(calls)) {
		d.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	}
	role := "user"
	if a.has("function") {
		role = "function"
	}
	var out []string
	if a.has("splitResults") {
		for _, p := range parts {
			out = append(out, content(role, []string{p}))
		}
		if steer != "" {
			last := len(out) - 1
			out[last] = content(role, []string{parts[last], `{"text":` + lit(steer) + `}`})
		}
		return out
	}
	if steer != "" {
		parts = append(parts, `{"text":`+lit(steer)+`}`)
	}
	return []string{content(role, parts)}
}
