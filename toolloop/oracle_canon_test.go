package toolloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// side is a stretch of a history in which one of the two speaks.
type side struct {
	model bool
	items []mitem
}

// mitem is what the model reads of a part: a text, a call or a result. Texts
// without a signature are joined, empty ones and thoughts are left out.
type mitem struct {
	Kind string `json:"k"`
	Text string `json:"t,omitempty"`
	Sig  string `json:"s,omitempty"`
	ID   string `json:"i,omitempty"`
	Name string `json:"n,omitempty"`
	Body string `json:"b,omitempty"` // calls: as the model wrote it, results: in canonical form
}

func (s side) hasResults() bool {
	for _, i := range s.items {
		if i.Kind == "result" {
			return true
		}
	}
	return false
}

// join brings a history into canonical form.
func join(h []side) []side {
	var out []side
	for _, s := range h {
		for _, it := range s.items {
			plain := it.Kind == "text" && it.Sig == ""
			if plain && it.Text == "" {
				continue
			}
			if len(out) == 0 || out[len(out)-1].model != s.model {
				out = append(out, side{model: s.model})
			}
			t := &out[len(out)-1]
			if k := len(t.items) - 1; plain && k >= 0 && t.items[k].Kind == "text" && t.items[k].Sig == "" {
				t.items[k].Text += it.Text
				continue
			}
			t.items = append(t.items, it)
		}
	}
	return out
}

func canonString(h []side) string {
	var b strings.Builder
	for _, s := range h {
		who := "user"
		if s.model {
			who = "model"
		}
		for _, it := range s.items {
			j, err := json.Marshal(it)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(&b, "%s %s\n", who, j)
		}
	}
	return b.String()
}

// said are all texts of a history, one after the other.
func saidIn(h []side) string {
	var b strings.Builder
	for _, s := range h {
		for _, it := range s.items {
			if it.Kind == "text" {
				b.WriteString(it.Text)
			}
		}
	}
	return b.String()
}

// rpart is a part of a request's content.
type rpart struct {
	Text             *string
	Thought          bool
	ThoughtSignature string
	FunctionCall     *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response json.RawMessage
	}
}

// canonical reads the contents of a request.
func canonical(contents []json.RawMessage) ([]side, error) {
	var h []side
	for _, raw := range contents {
		var c struct {
			Role  string
			Parts []rpart
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, err
		}
		s := side{model: c.Role == "model"}
		for _, p := range c.Parts {
			it := mitem{Sig: p.ThoughtSignature}
			switch {
			case p.FunctionCall != nil:
				it.Kind, it.ID, it.Name = "call", p.FunctionCall.ID, p.FunctionCall.Name
				it.Body = compacted(p.FunctionCall.Args)
			case p.FunctionResponse != nil:
				it.Kind, it.ID, it.Name = "result", p.FunctionResponse.ID, p.FunctionResponse.Name
				it.Body = canonJSON(p.FunctionResponse.Response)
			case p.Text != nil && p.Thought && it.Sig == "":
				continue
			case p.Text != nil:
				it.Kind, it.Text = "text", *p.Text
			default:
				return nil, fmt.Errorf("a part that nobody made: %s", raw)
			}
			s.items = append(s.items, it)
		}
		h = append(h, s)
	}
	return join(h), nil
}

// canonJSON is equal for values that mean the same.
func canonJSON(raw []byte) string {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "broken: " + string(raw)
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// withoutNulls leaves out what some agents leave out of arguments.
func withoutNulls(object string) string {
	var m map[string]any
	if err := json.Unmarshal([]byte(object), &m); err != nil {
		return "broken: " + object
	}
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == nil })
	return string(must(json.Marshal(m)))
}

func compacted(raw []byte) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return "broken: " + string(raw)
	}
	return b.String()
}
