package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Script says what the model answers. It sees the history alone, as a model
// does, so that a resent request gets the same answer. It is called from the
// goroutine of each request.
type Script func(View) Answer

// View is what a script sees of a request.
type View struct {
	Model   string
	Prompt  string   // the newest user turn that is no result: its texts, joined by newlines
	Results []Result // the function responses of the last content, in order; nil when it is a prompt
	Step    int      // how many rounds of calls the turn of Prompt has had: 0 right after the prompt
	Turn    int      // how many prompts stand before this one
	Body    []byte   // the whole request, without an envelope
}

// Result is a function response.
type Result struct {
	ID, Name string
	Response json.RawMessage
}

// Answer is what the model says to one request. Its members appear in the order
// thoughts, text, calls.
type Answer struct {
	Thoughts []string // thought summaries, one part each; said to who asks for them (includeThoughts)
	Text     string   // streamed in pieces of Options.Chunk bytes
	Echo     bool     // appends the results that the model was shown, as JSON, to Text
	Calls    []Call
	Finish   string // finish reason; "" for STOP

	// StreamArgs streams the arguments of the calls in pieces (partialArgs).
	StreamArgs bool
	// Delay is waited before each chunk.
	Delay time.Duration
	// Hold, if set, is called before chunk n (from 0) is sent; it may block.
	// A test orders events with it.
	Hold func(n int)

	// Fail makes the answer an error. After > 0 sends that many chunks first.
	Fail *Failure
}

// Call is a function call of the model. Args is a JSON object; "" stands for {}.
type Call struct {
	Name string
	Args string
}

// Failure is an error in place of an answer, or of the rest of one.
type Failure struct {
	After   int           // chunks sent before; 0 for none
	Code    int           // HTTP status; 0 cuts the connection in the middle of the next chunk
	Status  string        // "" for the usual one of Code
	Message string        // "" for "scripted failure"
	Retry   time.Duration // RetryInfo and Retry-After; 0 for none
}

// Line answers one prompt: a step for each model call of its turn.
type Line struct {
	Prompt string // found in the newest prompt; "" in any
	Steps  []Answer
}

// Lines is the script of a conversation: the first line whose prompt stands in
// the newest prompt answers, with the step that the history has come to.
func Lines(lines ...Line) Script {
	return func(v View) Answer {
		for _, l := range lines {
			if !strings.Contains(v.Prompt, l.Prompt) {
				continue
			}
			if v.Step < len(l.Steps) {
				return l.Steps[v.Step]
			}
			return Answer{Text: fmt.Sprintf("the script has no step %d for the prompt %q", v.Step, l.Prompt)}
		}
		return Answer{Text: fmt.Sprintf("the script has no line for the prompt %q", v.Prompt)}
	}
}

// content is what a view needs of one content.
type content struct {
	role    string
	texts   []string
	results []Result
	calls   int
}

// view reads a body that the rules have found good.
func view(model string, body []byte) View {
	v := View{Model: model, Body: body}
	prompts := 0
	for _, c := range contents(body) {
		v.Results = nil
		switch {
		case c.role == "model":
			if c.calls > 0 {
				v.Step++
			}
		case len(c.results) > 0:
			v.Results = c.results
		default:
			v.Prompt, v.Step, v.Turn = strings.Join(c.texts, "\n"), 0, prompts
			prompts++
		}
	}
	return v
}

func contents(body []byte) []content {
	var doc map[string]json.RawMessage
	if json.Unmarshal(body, &doc) != nil {
		return nil
	}
	var out []content
	for _, raw := range many(doc["contents"]) {
		var c struct {
			Role  string
			Parts json.RawMessage
		}
		if json.Unmarshal(raw, &c) != nil {
			continue
		}
		got := content{role: c.Role}
		for _, p := range many(c.Parts) {
			got.read(p)
		}
		out = append(out, got)
	}
	return out
}

func (c *content) read(part json.RawMessage) {
	var p struct {
		Text         *string
		Thought      bool
		FunctionCall json.RawMessage
		CallSnake    json.RawMessage `json:"function_call"`
		Response     *Result         `json:"functionResponse"`
		ResultSnake  *Result         `json:"function_response"`
	}
	if json.Unmarshal(part, &p) != nil {
		return
	}
	if p.Text != nil && !p.Thought {
		c.texts = append(c.texts, *p.Text)
	}
	if p.FunctionCall != nil || p.CallSnake != nil {
		c.calls++
	}
	for _, r := range []*Result{p.Response, p.ResultSnake} {
		if r != nil {
			c.results = append(c.results, *r)
		}
	}
}

// many reads a list; one value stands for a list of one.
func many(raw json.RawMessage) []json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	if len(raw) == 0 {
		return nil
	}
	return []json.RawMessage{raw}
}
