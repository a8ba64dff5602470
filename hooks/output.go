package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/translate"
)

// noReason stands where a hook blocks without saying why, as in Gemini CLI.
const noReason = "No reason provided"

// maxNotice is the most bytes of a systemMessage that are kept.
const maxNotice = 8 << 10

// decides reports whether an event can be denied and stopped.
func decides(ev Event) bool {
	switch ev {
	case BeforeAgent, AfterAgent, BeforeModel, AfterModel, BeforeTool, AfterTool:
		return true
	}
	return false
}

// parse reads a run's result by the exit code rules, then applies the hook's
// fail mode and what the event honours.
func parse(ev Event, h *Hook, res Result) Answer {
	var o Answer
	if res.Err != nil {
		o.Failure = AsFailure(h, res.Err)
	} else {
		switch res.Exit {
		case 0:
			o.readOutput(ev, res.Stdout, h.FailMode == FailClosed)
		case 2:
			o.Deny, o.Reason = true, blockReason(res)
		default:
			o.Failure = ExitFailure(res)
		}
	}
	if o.Failure != nil && h.FailMode == FailClosed {
		o = o.Closed(h)
	}
	if !decides(ev) && (o.Deny || o.Stop || o.Ask) {
		o.Stop, o.Deny, o.Ask, o.Ignored = false, false, false, true
		o.StopReason, o.Reason = "", ""
	}
	return o
}

// AsFailure is a handler's error as a failure of the hook.
func AsFailure(h *Hook, err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) {
		f = Failuref(FailureInternal, "the handler of type %q failed: %v", h.Type, err)
	}
	return f
}

// cleanText is what a process printed, as text: valid UTF-8 without white space
// and byte order mark round it.
func cleanText(b []byte) []byte {
	b = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(b), []byte("\ufeff")))
	if !utf8.Valid(b) {
		b = bytes.ToValidUTF8(b, []byte("\ufffd"))
	}
	return b
}

// asObject gives the members of a text that is one JSON object, else nil.
func asObject(text []byte) []member {
	if len(text) == 0 || text[0] != '{' || !json.Valid(text) {
		return nil
	}
	return members(text)
}

// blockReason is the reason of exit code 2: stderr, else what stdout says.
func blockReason(res Result) string {
	if text := cleanText(res.Stderr); len(text) > 0 {
		return string(text)
	}
	text := cleanText(res.Stdout)
	if ms := asObject(text); ms != nil {
		said := Answer{}
		said.readReasons(ms)
		return firstOf(said.Reason, said.StopReason, noReason)
	}
	return firstOf(string(text), noReason)
}

// ExitFailure is the failure of an exit code other than 0 and 2.
func ExitFailure(res Result) *Failure {
	f := Failuref(FailureExit, "exit code %d", res.Exit)
	switch {
	case res.Exit == 126:
		f.Hint = "the command is not executable: chmod +x the script, or start it by its interpreter"
	case res.Exit == 127:
		f.Hint = "command not found: is it installed, and is its path right, seen from the hook's working directory?"
	case res.Exit == 128+9:
		f.Hint = "it was killed (SIGKILL): did it run out of memory?"
	case asObject(cleanText(res.Stdout)) != nil:
		f.Hint = "its JSON answer was ignored, because only exit code 0 makes it count (2 blocks, with stderr as the reason)"
	default:
		f.Hint = "0 is success, 2 blocks, all others are failures of the hook"
	}
	return f
}

// readOutput reads the stdout of a hook that ended with exit code 0.
func (o *Answer) readOutput(ev Event, stdout []byte, strict bool) {
	text := cleanText(stdout)
	if len(text) == 0 {
		return
	}
	ms := asObject(text)
	if ms == nil {
		o.Notice = noticeText(string(text))
		if strict {
			o.Failure = &Failure{Kind: FailureJSON, Text: "its output is not a JSON object", Hint: "print one JSON object to stdout and nothing else; logs belong on stderr"}
		} else if holdsObject(text) {
			o.Advice = "there is text round its JSON answer, so the answer was ignored: print nothing else to stdout, logs belong on stderr"
		}
		return
	}
	o.readFields(ev, ms)
}

// holdsObject finds the JSON answer that somebody printed other text with.
func holdsObject(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 2 && line[0] == '{' && json.Valid(line) {
			return true
		}
	}
	return false
}

func (o *Answer) readReasons(ms []member) {
	for _, m := range ms {
		switch m.key {
		case "reason":
			o.Reason = o.Text("reason", m.val)
		case "stopReason":
			o.StopReason = o.Text("stopReason", m.val)
		}
	}
}

func (o *Answer) readFields(ev Event, ms []member) {
	o.readReasons(ms)
	for _, m := range ms {
		switch m.key {
		case "decision":
			o.decide(ev, m.val)
		case "continue":
			if value, ok := o.Bool(m.key, m.val); ok {
				o.Stop = !value
			}
		case "systemMessage":
			o.Notice = noticeText(o.Text(m.key, m.val))
		case "suppressOutput":
			o.Suppress, _ = o.Bool(m.key, m.val)
		case "hookSpecificOutput":
			if spec := o.Object(m.key, m.val); spec != nil {
				o.readSpecific(ev, members(spec))
			}
		}
	}
	reason, stopReason := o.Reason, o.StopReason
	o.Reason, o.StopReason = "", ""
	if o.Stop {
		o.StopReason = firstOf(stopReason, reason, noReason)
	}
	if o.Deny {
		o.Reason = firstOf(reason, stopReason, noReason)
	}
	if o.Ask {
		o.Reason = reason
	}
}

func (o *Answer) decide(ev Event, v json.RawMessage) {
	switch word := o.Text("decision", v); word {
	case "":
	case "allow", "approve":
		o.Allow = true
	case "deny", "block":
		o.Deny = true
	case "ask":
		o.Ask = ev == BeforeTool
		o.Ignored = !o.Ask
	default:
		o.BadField("decision", "allow, deny, block or ask", v)
	}
}

// readSpecific reads those members of hookSpecificOutput that the event honours.
func (o *Answer) readSpecific(ev Event, ms []member) {
	for _, m := range ms {
		switch m.key {
		case "additionalContext":
			if ev == SessionStart || ev == BeforeAgent || ev == AfterTool {
				o.Context = o.Text(m.key, m.val)
			}
		case "tool_input":
			if ev == BeforeTool {
				o.ToolInput = o.Object(m.key, m.val)
			}
		case "llm_request":
			if ev == BeforeModel {
				o.readRequest(o.Object(m.key, m.val))
			}
		case "llm_response":
			if ev == BeforeModel || ev == AfterModel {
				o.readResponse(o.Object(m.key, m.val))
			}
		case "toolConfig":
			if ev == BeforeToolSelection {
				o.readToolConfig(o.Object(m.key, m.val))
			}
		case "tailToolCallRequest":
			if ev == AfterTool {
				o.readTail(o.Object(m.key, m.val))
			}
		case "clearContext":
			if ev == AfterAgent {
				o.Clear, _ = o.Bool(m.key, m.val)
			}
		}
	}
}

// readRequest takes an llm_request whose members are of the right type. A wrong
// one spoils the whole: half an edit may be worse than none.
func (o *Answer) readRequest(req json.RawMessage) {
	for _, m := range members(req) {
		want := ""
		switch {
		case isNull(m.val):
		case m.key == "model" && m.val[0] != '"':
			want = "a string"
		case m.key == "messages" && m.val[0] != '[':
			want = "an array"
		case m.key == "config" && m.val[0] != '{':
			want = "an object"
		}
		if want != "" {
			o.BadField("llm_request."+m.key, want, m.val)
			return
		}
	}
	o.LLMRequest = req
}

// readResponse takes an llm_response whose candidates have the right shape.
func (o *Answer) readResponse(resp json.RawMessage) {
	for _, m := range members(resp) {
		if m.key != "candidates" || isNull(m.val) {
			continue
		}
		if m.val[0] != '[' {
			o.BadField("llm_response.candidates", "an array", m.val)
			return
		}
		for i, c := range elements(m.val) {
			content := field(fieldsOf(c), "content")
			parts := field(fieldsOf(content), "parts")
			if c[0] != '{' || content != nil && content[0] != '{' || parts != nil && parts[0] != '[' {
				o.BadField(fmt.Sprintf("llm_response.candidates[%d]", i), `{"content":{"parts":["text"]}}`, c)
				return
			}
		}
	}
	o.LLMResponse = resp
}

func (o *Answer) readToolConfig(config json.RawMessage) {
	var tc translate.ToolConfig
	for _, m := range members(config) {
		switch m.key {
		case "mode":
			tc.Mode = o.Text("toolConfig.mode", m.val)
			if tc.Mode != "" && !slices.Contains([]string{"AUTO", "ANY", "NONE"}, tc.Mode) {
				o.BadField("toolConfig.mode", "AUTO, ANY or NONE", m.val)
				return
			}
		case "allowedFunctionNames":
			if !isNull(m.val) && m.val[0] != '[' {
				o.BadField("toolConfig.allowedFunctionNames", "an array of names", m.val)
				return
			}
			for _, e := range elements(m.val) {
				if e[0] != '"' || len(e) == 2 {
					o.BadField("toolConfig.allowedFunctionNames", "an array of names", e)
					return
				}
				tc.AllowedFunctionNames = append(tc.AllowedFunctionNames, gjson.ParseBytes(e).String())
			}
		}
	}
	if tc.Mode == "" && tc.AllowedFunctionNames == nil {
		return // it names nothing: it changes nothing
	}
	if tc.Mode == "" {
		tc.Mode = "AUTO"
	}
	o.ToolConfig = &tc
}

func (o *Answer) readTail(tail json.RawMessage) {
	if tail == nil {
		return
	}
	call := TailCall{Args: json.RawMessage("{}")}
	for _, m := range members(tail) {
		switch m.key {
		case "name":
			call.Name = o.Text("tailToolCallRequest.name", m.val)
		case "args":
			args := o.Object("tailToolCallRequest.args", m.val)
			if args == nil && !isNull(m.val) {
				return
			}
			if args != nil {
				call.Args = args
			}
		}
	}
	if call.Name == "" {
		o.BadField("tailToolCallRequest.name", "the name of a tool", nil)
		return
	}
	o.Tail = &call
}

// noticeText makes a systemMessage safe for logs and terminals.
func noticeText(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxNotice {
		s = strings.ToValidUTF8(s[:maxNotice], "") + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return utf8.RuneError
		}
		return r
	}, s)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
