package hooks

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/translate"
)

// Answer is what one run of a hook says, in whatever dialect it spoke: a
// [Listener] reads it from the run's result. The zero value has no opinion.
type Answer struct {
	Failure *Failure // the run counts as failed; nil for none
	Advice  string   // for people: a trap that the hook's author fell into

	Stop, Deny, Defer, Ask, Allow bool
	StopReason                    string // not empty with Stop
	Reason                        string // not empty with Deny
	Ignored                       bool   // it decided where the event leaves no choice

	Notice   string // for people
	Suppress bool   // not for the terminal

	Context     string          // for the model; "" for none
	ToolInput   json.RawMessage // a patch to the model's arguments, null removes a key; nil for none
	Replace     bool            // ToolInput is all that the arguments are to be
	Output      json.RawMessage // stands in the place of a tool's result; nil for none
	Prompt      json.RawMessage // a string that stands in the place of the prompt; nil for none
	LLMRequest  json.RawMessage
	LLMResponse json.RawMessage
	ToolConfig  *translate.ToolConfig
	Tail        *TailCall
	Clear       bool
	Specific    json.RawMessage // as [Decision.Specific]

	// Async: the hook detached itself. What it says decides nothing, and
	// reaches the model at the session's next turn.
	Async bool
}

// outcome is the answer of one run, and what there is to tell of the run.
type outcome struct {
	Answer
	hook      *Hook // nil: it did not run
	exit      int   // -1 for none
	took      time.Duration
	sawSystem bool
}

// BadField notes the first member of the wrong type. The others still count.
func (o *Answer) BadField(key, want string, got json.RawMessage) {
	if o.Failure == nil {
		o.Failure = &Failure{Kind: FailureField, Text: fmt.Sprintf("bad field %s in its output", key),
			Hint: fmt.Sprintf("want %s, got %s", want, kindOf(got))}
	}
}

// kindOf names a JSON value's type; the value itself stays out of logs.
func kindOf(v json.RawMessage) string {
	if len(v) == 0 {
		return "nothing"
	}
	switch v[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "another string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// Text reads a string member; null counts as absent.
func (o *Answer) Text(key string, v json.RawMessage) string {
	switch {
	case v[0] == '"':
		return gjson.ParseBytes(v).String()
	case !isNull(v):
		o.BadField(key, "a string", v)
	}
	return ""
}

// Bool reads a boolean member; ok is false when there is none.
func (o *Answer) Bool(key string, v json.RawMessage) (value, ok bool) {
	switch string(v) {
	case "true", "false":
		return v[0] == 't', true
	case "null":
	default:
		o.BadField(key, "true or false", v)
	}
	return false, false
}

// Object reads an object member, compact, so that it can go onto one line; nil
// when there is none.
func (o *Answer) Object(key string, v json.RawMessage) json.RawMessage {
	switch {
	case v[0] == '{':
		return compact(v)
	case !isNull(v):
		o.BadField(key, "an object", v)
	}
	return nil
}

// Closed is the answer of a failed hook that is set to block when it fails.
// Nothing of a broken answer is used but a stop, which is stronger still.
func (o *Answer) Closed(h *Hook) Answer {
	return Answer{Failure: o.Failure, Stop: o.Stop, StopReason: o.StopReason, Notice: o.Notice, Suppress: o.Suppress,
		Deny: true, Reason: fmt.Sprintf("Hook %s failed (%s), and it is set to block when it fails.", h.Label(), o.Failure.Text)}
}
