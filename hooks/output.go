package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/translate"
)

// noReason stands where a hook blocks without saying why, as in Gemini CLI.
const noReason = "No reason provided"

// maxNotice is the most bytes of a systemMessage that are kept.
const maxNotice = 8 << 10

// outcome is what one run of a hook says.
type outcome struct {
	hook    *Hook // nil: it did not run
	exit    int   // -1 for none
	took    time.Duration
	failure *Failure
	advice  string // for people: a trap that the hook's author fell into

	stop, deny, ask bool
	stopReason      string // not empty with stop
	reason          string // not empty with deny
	ignored         bool   // it decided where the event leaves no choice

	notice   string
	suppress bool

	context     string
	toolInput   json.RawMessage
	llmRequest  json.RawMessage
	sawSystem   bool
	llmResponse json.RawMessage
	toolConfig  *translate.ToolConfig
	tail        *TailCall
	clear       bool
}

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
func parse(ev Event, h *Hook, res Result) outcome {
	o := outcome{exit: -1}
	if res.Err != nil {
		if !errors.As(res.Err, &o.failure) {
			o.failure = Failuref(FailureInternal, "the handler of type %q failed: %v", h.Type, res.Err)
		}
	} else {
		o.exit = res.Exit
		switch res.Exit {
		case 0:
			o.readOutput(ev, res.Stdout, h.FailMode == FailClosed)
		case 2:
			o.deny, o.reason = true, blockReason(res)
		default:
			o.failure = exitFailure(res)
		}
	}
	if o.failure != nil && h.FailMode == FailClosed {
		// Nothing of a broken answer is used but a stop, which is stronger still.
		o = outcome{exit: o.exit, failure: o.failure, stop: o.stop, stopReason: o.stopReason, notice: o.notice, suppress: o.suppress,
			deny: true, reason: fmt.Sprintf("Hook %s failed (%s), and it is set to block when it fails.", h.Label(), o.failure.Text)}
	}
	if !decides(ev) && (o.deny || o.stop || o.ask) {
		o.stop, o.deny, o.ask, o.ignored = false, false, false, true
		o.stopReason, o.reason = "", ""
	}
	return o
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
		said := outcome{}
		said.readReasons(ms)
		return firstOf(said.reason, said.stopReason, noReason)
	}
	return firstOf(string(text), noReason)
}

func exitFailure(res Result) *Failure {
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
func (o *outcome) readOutput(ev Event, stdout []byte, strict bool) {
	text := cleanText(stdout)
	if len(text) == 0 {
		return
	}
	ms := asObject(text)
	if ms == nil {
		o.notice = noticeText(string(text))
		if strict {
			o.failure = &Failure{Kind: FailureJSON, Text: "its output is not a JSON object", Hint: "print one JSON object to stdout and nothing else; logs belong on stderr"}
		} else if holdsObject(text) {
			o.advice = "there is text round its JSON answer, so the answer was ignored: print nothing else to stdout, logs belong on stderr"
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

// badField notes the first member of the wrong type. The others still count.
func (o *outcome) badField(key, want string, got json.RawMessage) {
	if o.failure == nil {
		o.failure = &Failure{Kind: FailureField, Text: fmt.Sprintf("bad field %s in its output", key),
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

// text reads a string member; null counts as absent.
func (o *outcome) text(key string, v json.RawMessage) string {
	switch {
	case v[0] == '"':
		return gjson.ParseBytes(v).String()
	case !isNull(v):
		o.badField(key, "a string", v)
	}
	return ""
}

func (o *outcome) boolean(key string, v json.RawMessage) (value, ok bool) {
	switch string(v) {
	case "true", "false":
		return v[0] == 't', true
	case "null":
	default:
		o.badField(key, "true or false", v)
	}
	return false, false
}

// object reads an object member, compact, so that it can go onto one line.
func (o *outcome) object(key string, v json.RawMessage) json.RawMessage {
	switch {
	case v[0] == '{':
		return compact(v)
	case !isNull(v):
		o.badField(key, "an object", v)
	}
	return nil
}

func (o *outcome) readReasons(ms []member) {
	for _, m := range ms {
		switch m.key {
		case "reason":
			o.reason = o.text("reason", m.val)
		case "stopReason":
			o.stopReason = o.text("stopReason", m.val)
		}
	}
}

func (o *outcome) readFields(ev Event, ms []member) {
	o.readReasons(ms)
	for _, m := range ms {
		switch m.key {
		case "decision":
			o.decide(ev, m.val)
		case "continue":
			if value, ok := o.boolean(m.key, m.val); ok {
				o.stop = !value
			}
		case "systemMessage":
			o.notice = noticeText(o.text(m.key, m.val))
		case "suppressOutput":
			o.suppress, _ = o.boolean(m.key, m.val)
		case "hookSpecificOutput":
			if spec := o.object(m.key, m.val); spec != nil {
				o.readSpecific(ev, members(spec))
			}
		}
	}
	reason, stopReason := o.reason, o.stopReason
	o.reason, o.stopReason = "", ""
	if o.stop {
		o.stopReason = firstOf(stopReason, reason, noReason)
	}
	if o.deny {
		o.reason = firstOf(reason, stopReason, noReason)
	}
	if o.ask {
		o.reason = reason
	}
}

func (o *outcome) decide(ev Event, v json.RawMessage) {
	switch word := o.text("decision", v); word {
	case "", "allow", "approve":
	case "deny", "block":
		o.deny = true
	case "ask":
		o.ask = ev == BeforeTool
		o.ignored = !o.ask
	default:
		o.badField("decision", "allow, deny, block or ask", v)
	}
}

// readSpecific reads those members of hookSpecificOutput that the event honours.
func (o *outcome) readSpecific(ev Event, ms []member) {
	for _, m := range ms {
		switch m.key {
		case "additionalContext":
			if ev == SessionStart || ev == BeforeAgent || ev == AfterTool {
				o.context = o.text(m.key, m.val)
			}
		case "tool_input":
			if ev == BeforeTool {
				o.toolInput = o.object(m.key, m.val)
			}
		case "llm_request":
			if ev == BeforeModel {
				o.readRequest(o.object(m.key, m.val))
			}
		case "llm_response":
			if ev == BeforeModel || ev == AfterModel {
				o.readResponse(o.object(m.key, m.val))
			}
		case "toolConfig":
			if ev == BeforeToolSelection {
				o.readToolConfig(o.object(m.key, m.val))
			}
		case "tailToolCallRequest":
			if ev == AfterTool {
				o.readTail(o.object(m.key, m.val))
			}
		case "clearContext":
			if ev == AfterAgent {
				o.clear, _ = o.boolean(m.key, m.val)
			}
		}
	}
}

// readRequest takes an llm_request whose members are of the right type. A wrong
// one spoils the whole: half an edit may be worse than none.
func (o *outcome) readRequest(req json.RawMessage) {
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
			o.badField("llm_request."+m.key, want, m.val)
			return
		}
	}
	o.llmRequest = req
}

// readResponse takes an llm_response whose candidates have the right shape.
func (o *outcome) readResponse(resp json.RawMessage) {
	for _, m := range members(resp) {
		if m.key != "candidates" || isNull(m.val) {
			continue
		}
		if m.val[0] != '[' {
			o.badField("llm_response.candidates", "an array", m.val)
			return
		}
		for i, c := range elements(m.val) {
			content := field(fieldsOf(c), "content")
			parts := field(fieldsOf(content), "parts")
			if c[0] != '{' || content != nil && content[0] != '{' || parts != nil && parts[0] != '[' {
				o.badField(fmt.Sprintf("llm_response.candidates[%d]", i), `{"content":{"parts":["text"]}}`, c)
				return
			}
		}
	}
	o.llmResponse = resp
}

func (o *outcome) readToolConfig(config json.RawMessage) {
	var tc translate.ToolConfig
	for _, m := range members(config) {
		switch m.key {
		case "mode":
			tc.Mode = o.text("toolConfig.mode", m.val)
			if tc.Mode != "" && !slices.Contains([]string{"AUTO", "ANY", "NONE"}, tc.Mode) {
				o.badField("toolConfig.mode", "AUTO, ANY or NONE", m.val)
				return
			}
		case "allowedFunctionNames":
			if !isNull(m.val) && m.val[0] != '[' {
				o.badField("toolConfig.allowedFunctionNames", "an array of names", m.val)
				return
			}
			for _, e := range elements(m.val) {
				if e[0] != '"' || len(e) == 2 {
					o.badField("toolConfig.allowedFunctionNames", "an array of names", e)
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
	o.toolConfig = &tc
}

func (o *outcome) readTail(tail json.RawMessage) {
	if tail == nil {
		return
	}
	call := TailCall{Args: json.RawMessage("{}")}
	for _, m := range members(tail) {
		switch m.key {
		case "name":
			call.Name = o.text("tailToolCallRequest.name", m.val)
		case "args":
			args := o.object("tailToolCallRequest.args", m.val)
			if args == nil && !isNull(m.val) {
				return
			}
			if args != nil {
				call.Args = args
			}
		}
	}
	if call.Name == "" {
		o.badField("tailToolCallRequest.name", "the name of a tool", nil)
		return
	}
	o.tail = &call
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
