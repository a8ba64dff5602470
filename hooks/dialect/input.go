package dialect

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

// timeLayout is ISO 8601 with milliseconds, what JavaScript's toISOString gives.
const timeLayout = "2006-01-02T15:04:05.000Z"

// common are fields that stand before the event's own, in this order, when they
// are known.
var common = []string{"permission_mode", "prompt_id", "agent_id", "agent_type", "workspace_dirs"}

// encode writes the document that a hook gets.
func (f *family) encode(e *event, in *hooks.Input) []byte {
	fields := []hooks.Field{
		{Key: "session_id", Value: hooks.Quote(in.SessionID)},
		{Key: "transcript_path", Value: hooks.Quote(in.TranscriptPath)},
		{Key: "cwd", Value: hooks.Quote(in.Cwd)},
		{Key: "hook_event_name", Value: hooks.Quote(e.name)},
	}
	if f.stamps {
		fields = append(fields, hooks.Field{Key: "timestamp", Value: hooks.Quote(in.Time.UTC().Format(timeLayout))})
	}
	for _, key := range common {
		if v := in.Field(key); v != nil {
			fields = append(fields, hooks.Field{Key: key, Value: v})
		}
	}
	own := e.fields(f, in)
	if f.models && !has(own, "model") {
		if m := model(in); m != nil {
			fields = append(fields, hooks.Field{Key: "model", Value: m})
		}
	}
	return hooks.Object(append(fields, own...))
}

// rest are a firing's fields without the common ones and those named.
func rest(in *hooks.Input, but ...string) []hooks.Field {
	var fields []hooks.Field
	for _, f := range in.Fields {
		if !slices.Contains(common, f.Key) && !slices.Contains(but, f.Key) {
			fields = append(fields, f)
		}
	}
	return fields
}

// model is the model of a firing as a JSON string; nil when it is not known.
func model(in *hooks.Input) json.RawMessage {
	if m := in.Field("model"); m != nil {
		return m
	}
	if m := aboutCall(in, "model"); m != "" {
		return hooks.Quote(m)
	}
	return nil
}

// others shows the fields as they are: events that Gemini CLI does not have carry
// the documents' own.
func others(_ *family, in *hooks.Input) []hooks.Field { return rest(in, "model") }

func (f *family) tool(in *hooks.Input) []hooks.Field {
	return []hooks.Field{{Key: "tool_name", Value: hooks.Quote(f.toolName(in))}, {Key: "tool_input", Value: f.toolInput(in)}}
}

func preToolUse(f *family, in *hooks.Input) []hooks.Field {
	fields := append(f.tool(in), hooks.Field{Key: "tool_use_id", Value: useID(in)})
	return append(fields, rest(in, "tool_name", "tool_input", "tool_use_id", "model")...)
}

func postToolUse(f *family, in *hooks.Input) []hooks.Field {
	fields := append(f.tool(in), hooks.Field{Key: "tool_response", Value: f.toolResponse(in)}, hooks.Field{Key: "tool_use_id", Value: useID(in)})
	return append(fields, rest(in, "tool_name", "tool_input", "tool_response", "tool_use_id", "model")...)
}

func postToolUseFailure(f *family, in *hooks.Input) []hooks.Field {
	text := failure(in)
	fields := append(f.tool(in), hooks.Field{Key: "tool_use_id", Value: useID(in)}, hooks.Field{Key: "error", Value: hooks.Quote(text)})
	if in.Field("is_interrupt") == nil {
		fields = append(fields, hooks.Field{Key: "is_interrupt", Value: boolean(interrupted(text))})
	}
	return append(fields, rest(in, "tool_name", "tool_input", "tool_response", "tool_use_id", "error", "model")...)
}

// permissionRequest has no tool_use_id.
func permissionRequest(f *family, in *hooks.Input) []hooks.Field {
	return append(f.tool(in), rest(in, "tool_name", "tool_input", "tool_use_id", "model")...)
}

// useID is the call's id: the wire's own, else one made of what the call is, so
// that it is the same before and after the call.
func useID(in *hooks.Input) json.RawMessage {
	for _, key := range []string{"tool_use_id", "tool_call_id"} {
		if id := in.Text(key); id != "" {
			return hooks.Quote(id)
		}
	}
	sum := sha256.New()
	for _, part := range [][]byte{[]byte(in.SessionID), []byte(in.Subject()), hooks.Object(hooks.Members(in.Field("tool_input")))} {
		sum.Write(part)
		sum.Write([]byte{0})
	}
	return hooks.Quote("toolu_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum.Sum(nil)[:15])))
}

// failed reports whether a firing is about a tool that failed.
func failed(in *hooks.Input) bool {
	return gjson.GetBytes(in.Field("tool_response"), "error").IsObject() || in.Text("error") != ""
}

func failure(in *hooks.Input) string {
	if text := in.Text("error"); text != "" {
		return text
	}
	return gjson.GetBytes(in.Field("tool_response"), "error.message").String()
}

// interrupts are the words by which agents say that a user broke a tool off.
var interrupts = []string{"[Operation Cancelled]", "Operation cancelled", "interrupted by user", "User denied execution", "doesn't want to proceed"}

func interrupted(text string) bool {
	return slices.ContainsFunc(interrupts, func(s string) bool { return strings.Contains(text, s) })
}

func boolean(b bool) json.RawMessage {
	if b {
		return json.RawMessage("true")
	}
	return json.RawMessage("false")
}

// stop is for the events at the end of a turn: the answer has the documents'
// name, and the model is told.
func stop(_ *family, in *hooks.Input) []hooks.Field {
	var fields []hooks.Field
	for _, f := range rest(in, "prompt", "model") {
		if f.Key == "prompt_response" {
			f.Key = "last_assistant_message"
		}
		fields = append(fields, f)
	}
	return append(fields, hooks.Field{Key: "model", Value: model(in)})
}

func sessionStart(_ *family, in *hooks.Input) []hooks.Field {
	return append(rest(in, "model"), hooks.Field{Key: "model", Value: model(in)})
}

func sessionEnd(_ *family, in *hooks.Input) []hooks.Field {
	return replaced(rest(in, "model"), "reason", claudeReason(in.Text("reason")))
}

func replaced(fields []hooks.Field, key, value string) []hooks.Field {
	for i, f := range fields {
		if f.Key == key {
			fields[i].Value = hooks.Quote(value)
		}
	}
	return fields
}

// claudeReason is a reason of SessionEnd in the documents' words.
func claudeReason(reason string) string {
	if reason == "exit" {
		return "other"
	}
	return reason
}

func preCompact(_ *family, in *hooks.Input) []hooks.Field {
	fields := rest(in, "model")
	if in.Field("custom_instructions") == nil {
		at := slices.IndexFunc(fields, func(f hooks.Field) bool { return f.Key == "trigger" }) + 1
		fields = slices.Insert(fields, at, hooks.Field{Key: "custom_instructions", Value: json.RawMessage("null")})
	}
	return fields
}

func notification(f *family, in *hooks.Input) []hooks.Field {
	fields := replaced(rest(in, "model"), "notification_type", claudeNotification(in.Text("notification_type")))
	if f.name != hooks.DialectQoder {
		fields = slices.DeleteFunc(fields, func(f hooks.Field) bool { return f.Key == "details" })
	}
	return fields
}

// claudeNotification is a notification's type in the documents' words.
func claudeNotification(kind string) string {
	if kind == "ToolPermission" {
		return "permission_prompt"
	}
	return kind
}
