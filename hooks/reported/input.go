// Package reported takes events that an agent reports itself: what happens inside
// an agent does not pass a model's wire. A report is the document that a hook of
// the agent would get, its answer the one that such a hook would give, both in the
// agent's dialect.
//
// Invariants: an event that was seen on the wire and is reported, too, fires once;
// a report is never taken for the wire's own, whatever it says of itself.
package reported

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/dialect"
)

// MaxDocument bounds a report, in bytes.
const MaxDocument = 1 << 20

var (
	// ErrJSON is a report that is no JSON object.
	ErrJSON = errors.New("the report is no JSON object")
	// ErrEvent is a report of an event that no dialect has.
	ErrEvent = errors.New("no such event")
	// ErrDialect is a dialect that there is not.
	ErrDialect = errors.New("no such dialect")
)

// dialects by name. Their tables are constant.
var dialects = dialect.All()

// Report is one event as it was reported.
type Report struct {
	Dialect string // of the reporter
	Name    string // the event's name there
	Input   hooks.Input
}

// common are members that every document has; they are no fields of an event.
var common = []string{"session_id", "transcript_path", "cwd", "hook_event_name", "timestamp", "x_hookline"}

// Parse reads a document. name is the event's, or "" for the one that the
// document says, dialectName the reporter's, or "" for the one that fits.
func Parse(dialectName, name string, doc []byte) (*Report, error) {
	if !gjson.ValidBytes(doc) || !gjson.ParseBytes(doc).IsObject() {
		return nil, ErrJSON
	}
	in := hooks.Input{Fields: hooks.Members(doc)}
	if name == "" {
		name = in.Text("hook_event_name")
	}
	if dialectName == "" {
		dialectName = guess(name, &in)
	}
	d := dialects[dialectName]
	if d == nil {
		return nil, ErrDialect
	}
	l := d[name]
	if l == nil || l.Event == "" {
		return nil, ErrEvent
	}
	in.Event = l.Event
	in.SessionID = in.Text("session_id")
	in.TranscriptPath, in.Cwd = in.Text("transcript_path"), in.Text("cwd")
	if t, err := time.Parse(time.RFC3339, in.Text("timestamp")); err == nil {
		in.Time = t
	}
	in.Fields = slices.DeleteFunc(in.Fields, func(f hooks.Field) bool { return slices.Contains(common, f.Key) })
	neutral(name, &in)
	agent := map[string]string{hooks.DialectGemini: "gemini-cli", hooks.DialectQwen: "qwen-code"}[dialectName]
	in.Fields = append(in.Fields, hooks.Field{Key: "x_hookline", Value: hooks.Object([]hooks.Field{
		{Key: "agent", Value: hooks.Quote(agent)}, {Key: "dialect", Value: hooks.Quote(dialectName)}, {Key: "origin", Value: json.RawMessage(`"reported"`)},
	})})
	return &Report{Dialect: dialectName, Name: name, Input: in}, nil
}

// guess is the dialect of a document: that which alone has the event's name, else
// Gemini CLI's, whose documents have a time.
func guess(name string, in *hooks.Input) string {
	gemini, claude := hooks.Gemini()[name] != nil, dialects[hooks.DialectClaude][name] != nil
	if gemini && claude && in.Text("timestamp") == "" || claude && !gemini {
		return hooks.DialectClaude
	}
	return hooks.DialectGemini
}

// neutral gives fields of the Claude family the names and forms that the event
// has on the wire.
func neutral(name string, in *hooks.Input) {
	for i, f := range in.Fields {
		switch {
		case f.Key == "last_assistant_message" && in.Event == hooks.AfterAgent:
			in.Fields[i].Key = "prompt_response"
		case f.Key == "tool_response" && name == "PostToolUse" && !gjson.GetBytes(f.Value, "llmContent").Exists():
			in.Fields[i].Value = hooks.Object([]hooks.Field{{Key: "llmContent", Value: f.Value}, {Key: "returnDisplay", Value: f.Value}})
		case f.Key == "error" && name == "PostToolUseFailure":
			in.Fields[i] = hooks.Field{Key: "tool_response", Value: hooks.Object([]hooks.Field{
				{Key: "llmContent", Value: f.Value}, {Key: "returnDisplay", Value: f.Value},
				{Key: "error", Value: hooks.Object([]hooks.Field{{Key: "message", Value: f.Value}})},
			})}
		}
	}
}
