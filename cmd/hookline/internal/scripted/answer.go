package scripted

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// part is a part of an answer, its members in an order that Google uses.
type part struct {
	Text             *string `json:"text,omitempty"`
	Thought          bool    `json:"thought,omitempty"`
	FunctionCall     *call   `json:"functionCall,omitempty"`
	ThoughtSignature string  `json:"thoughtSignature,omitempty"`
}

type call struct {
	Name         string          `json:"name,omitempty"`
	Args         json.RawMessage `json:"args,omitempty"`
	ID           string          `json:"id,omitempty"`
	PartialArgs  []partialArg    `json:"partialArgs,omitempty"`
	WillContinue bool            `json:"willContinue,omitempty"`
}

type partialArg struct {
	JSONPath     string   `json:"jsonPath"`
	StringValue  *string  `json:"stringValue,omitempty"`
	NumberValue  *float64 `json:"numberValue,omitempty"`
	BoolValue    *bool    `json:"boolValue,omitempty"`
	NullValue    *string  `json:"nullValue,omitempty"`
	WillContinue bool     `json:"willContinue,omitempty"`
}

// document is one response: an event of a stream or a unary answer.
type document struct {
	Candidates    []candidate `json:"candidates"`
	UsageMetadata usage       `json:"usageMetadata"`
	ModelVersion  string      `json:"modelVersion"`
	ResponseID    string      `json:"responseId"`
}

type candidate struct {
	Content struct {
		Parts []part `json:"parts"`
		Role  string `json:"role"`
	} `json:"content"`
	FinishReason any `json:"finishReason,omitempty"` // a name, or a number where the client asks for numbers
	Index        int `json:"index"`
}

type usage struct {
	PromptTokenCount     int              `json:"promptTokenCount"`
	CandidatesTokenCount int              `json:"candidatesTokenCount,omitempty"`
	TotalTokenCount      int              `json:"totalTokenCount"`
	PromptTokensDetails  []modalityTokens `json:"promptTokensDetails"`
	ThoughtsTokenCount   int              `json:"thoughtsTokenCount,omitempty"`
}

type modalityTokens struct {
	Modality   any `json:"modality"` // as FinishReason
	TokenCount int `json:"tokenCount"`
}

// turn is an answer in the manner of one model generation.
type turn struct {
	chunks [][]part // the parts of each event of a stream
	whole  []part   // the parts of a unary answer, and what the model remembers
	finish string
}

// compose makes parts of an answer. A Gemini 2 model gives its calls in one
// event, without ids; a Gemini 3 model gives one event to each, with ids, signs
// the first, or the end of its text, and closes with an empty text.
func (s *Server) compose(a Answer, gemini3 bool) turn {
	t := turn{finish: a.Finish}
	if t.finish == "" {
		t.finish = "STOP"
	}
	for _, th := range a.Thoughts {
		t.add(part{Text: &th, Thought: true})
	}
	for _, piece := range pieces(a.Text, s.chunk()) {
		t.chunks = append(t.chunks, []part{{Text: &piece}})
	}
	if a.Text != "" {
		t.whole = append(t.whole, part{Text: &a.Text})
	}
	var calls []part
	for i, c := range a.Calls {
		args := c.Args
		if args == "" {
			args = "{}"
		}
		p := part{FunctionCall: &call{Name: c.Name, Args: json.RawMessage(args)}}
		if gemini3 {
			p.FunctionCall.ID = s.id()
			if i == 0 {
				p.ThoughtSignature = s.signature()
			}
		}
		calls = append(calls, p)
	}
	t.whole = append(t.whole, calls...)
	switch {
	case a.StreamArgs:
		for _, p := range calls {
			t.chunks = append(t.chunks, streamed(p)...)
		}
	case gemini3:
		for _, p := range calls {
			t.chunks = append(t.chunks, []part{p})
		}
	case len(calls) > 0:
		t.chunks = append(t.chunks, calls)
	}
	if gemini3 {
		empty := ""
		last := part{Text: &empty}
		if len(calls) == 0 {
			last.ThoughtSignature = s.signature()
			if n := len(t.whole); n > 0 && !t.whole[n-1].Thought {
				t.whole[n-1].ThoughtSignature = last.ThoughtSignature
			} else {
				t.whole = append(t.whole, last)
			}
		}
		t.chunks = append(t.chunks, []part{last})
	}
	if len(t.chunks) == 0 {
		t.chunks, t.whole = [][]part{{}}, []part{}
	}
	for _, p := range t.whole {
		raw, err := json.Marshal(p)
		if err != nil {
			panic(fmt.Sprintf("scripted: arguments of a call are no JSON: %v", err))
		}
		s.memory.Issue(raw)
	}
	return t
}

func (t *turn) add(p part) {
	t.chunks = append(t.chunks, []part{p})
	t.whole = append(t.whole, p)
}

// pieces cuts text into pieces of about n bytes, between runes.
func pieces(text string, n int) (out []string) {
	for text != "" {
		k := min(n, len(text))
		for k < len(text) && !utf8.RuneStart(text[k]) {
			k++
		}
		out = append(out, text[:k])
		text = text[k:]
	}
	return out
}

// streamed is a call whose arguments come in pieces: its head with the name, a
// piece for each member (two for a text), and an empty call as the end.
func streamed(p part) [][]part {
	head := p
	head.FunctionCall = &call{Name: p.FunctionCall.Name, ID: p.FunctionCall.ID, WillContinue: true}
	out := [][]part{{head}}
	var args map[string]any
	if json.Unmarshal(p.FunctionCall.Args, &args) != nil {
		args = nil
	}
	for _, a := range leaves("$", args) {
		out = append(out, []part{{FunctionCall: &call{PartialArgs: []partialArg{a}, WillContinue: true}}})
	}
	return append(out, []part{{FunctionCall: &call{}}})
}

// leaves are the values of arguments with their paths. An empty object or list
// has none: the wire form cannot say it either.
func leaves(path string, v any) (out []partialArg) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			out = append(out, leaves(path+"."+k, v[k])...)
		}
	case []any:
		for i, e := range v {
			out = append(out, leaves(fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	case string:
		half := pieces(v, max(1, (len(v)+1)/2))
		if len(half) == 0 {
			half = []string{""}
		}
		for i, h := range half {
			out = append(out, partialArg{JSONPath: path, StringValue: &h, WillContinue: i < len(half)-1})
		}
	case float64:
		out = append(out, partialArg{JSONPath: path, NumberValue: &v})
	case bool:
		out = append(out, partialArg{JSONPath: path, BoolValue: &v})
	case nil:
		null := "NULL_VALUE"
		out = append(out, partialArg{JSONPath: path, NullValue: &null})
	}
	return out
}

// documents dresses the events of a turn. Token counts grow from event to event
// and the last is the true one, as Google sends them.
func (t turn) documents(parts [][]part, model, id string, promptTokens int) []document {
	out := make([]document, len(parts))
	said, thought := 0, 0
	for i, ps := range parts {
		for _, p := range ps {
			n := 1
			if p.Text != nil {
				n = (len(*p.Text) + 3) / 4
			}
			if p.Thought {
				thought += n
			} else {
				said += n
			}
		}
		d := document{ModelVersion: model, ResponseID: id}
		c := candidate{}
		c.Content.Parts, c.Content.Role = ps, "model"
		if i == len(parts)-1 {
			c.FinishReason = t.finish
		}
		d.Candidates = []candidate{c}
		d.UsageMetadata = usage{
			PromptTokenCount: promptTokens, CandidatesTokenCount: said, ThoughtsTokenCount: thought,
			TotalTokenCount:     promptTokens + said + thought,
			PromptTokensDetails: []modalityTokens{{Modality: "TEXT", TokenCount: promptTokens}},
		}
		out[i] = d
	}
	return out
}

// id makes a call id: eight characters, as Gemini 3 does.
func (s *Server) id() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "id %d", s.serial.Add(1)))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// signature makes an opaque thought signature, a different one each time.
func (s *Server) signature() string {
	n := s.serial.Add(1)
	var b []byte
	for i := range 3 {
		sum := sha256.Sum256(fmt.Appendf(nil, "signature %d %d", n, i))
		b = append(b, sum[:]...)
	}
	return base64.StdEncoding.EncodeToString(b[:94]) // 94 bytes: padded, as most real ones are
}
