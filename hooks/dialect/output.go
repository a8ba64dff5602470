package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

// maxText is the most characters of what a hook gives to the model or to people.
const maxText = 10_000

// noReason stands where a hook blocks without saying why.
const noReason = "No reason provided"

// reading is one answer on its way from a run's result.
type reading struct {
	*family
	e  *event
	in *hooks.Input
	h  *hooks.Hook
	// async: the hook runs beside the event and decides nothing.
	async bool
	hooks.Answer

	blocked, halted    bool // a no in any spelling; continue:false
	reason, stopReason string
	permission         string // "allow", "ask" or "defer", the strictest that was said
}

// read reads a run's result. The order is the documents': exit code, then the
// JSON object on stdout.
func (f *family) read(e *event, in *hooks.Input, h *hooks.Hook, res hooks.Result) hooks.Answer {
	r := &reading{family: f, e: e, in: in, h: h, async: h.Async}
	switch {
	case res.Err != nil:
		r.Failure = hooks.AsFailure(h, res.Err)
	case res.Exit == 0:
		r.output(hooks.CleanText(res.Stdout))
	case res.Exit == 2 && f.exitOf(e) != exitFails:
		r.exit2(res)
	default:
		r.Failure = hooks.ExitFailure(res)
	}
	if e.silent {
		return hooks.Answer{}
	}
	r.fail(res)
	if r.async {
		return hooks.Answer{Failure: r.Failure, Advice: r.Advice, Notice: r.Notice, Suppress: r.Suppress, Context: r.Context, Async: true}
	}
	return r.Answer
}

// fail applies what a failure means.
func (r *reading) fail(res hooks.Result) {
	if r.Failure == nil {
		return
	}
	switch bad := r.Failure.Kind == hooks.FailureJSON || r.Failure.Kind == hooks.FailureField; {
	case r.e.exit2 == exitFails:
		r.Deny, r.Reason = true, first(string(hooks.CleanText(res.Stderr)), r.Failure.Text)
	case r.h.FailMode == hooks.FailClosed && r.deniable():
		r.Answer = r.Closed(r.h)
	case bad && r.name == hooks.DialectQoder && r.h.Type == "http" && r.e.on == hooks.BeforeTool:
		// Qoder alone takes a broken answer of a service for a no.
		r.Answer = r.Closed(r.h)
		r.Reason = fmt.Sprintf("Hook %s failed (%s), and Qoder takes that for a no.", r.h.Label(), r.Failure.Text)
	}
}

// deniable reports whether the event can be held back by its hooks.
func (r *reading) deniable() bool {
	return r.exitOf(r.e) == exitBlocks && !r.fixed()
}

// exit2 is a hook that ended with exit code 2. Of what it printed only reasons,
// a stop and messages count: nothing undoes the code.
func (r *reading) exit2(res hooks.Result) {
	text := string(hooks.CleanText(res.Stderr))
	if members := hooks.Members(hooks.CleanText(res.Stdout)); members != nil {
		said := &reading{family: r.family, e: r.e, in: r.in, h: r.h}
		said.members(members)
		if said.reason != "" && (said.blocked || text == "") {
			text = said.reason
		}
		r.Stop, r.StopReason = said.Stop, said.StopReason
		r.Notice, r.Suppress = said.Notice, said.Suppress
	} else if text == "" {
		text = string(hooks.CleanText(res.Stdout))
	}
	switch r.exitOf(r.e) {
	case exitBlocks:
		if r.async {
			return
		}
		if text == "" {
			text = noReason
		}
		r.Deny, r.Reason = !r.fixed(), text
		if slices.Contains(r.e.specific, "action") {
			r.Specific = json.RawMessage(`{"action":"decline"}`)
		}
		if slices.Contains(r.e.specific, "decision") {
			r.Specific = hooks.Object([]hooks.Field{{Key: "decision", Value: hooks.Object([]hooks.Field{{Key: "behavior", Value: hooks.Quote("deny")}, {Key: "message", Value: hooks.Quote(text)}})}})
		}
	case exitFeedback:
		if !r.async {
			r.Context = capped(text)
		}
	case exitTells:
		if r.Notice == "" {
			r.Notice = hooks.NoticeText(capped(text))
		}
	}
}

// fixed reports a change that no hook can hold back: that of a policy.
func (r *reading) fixed() bool {
	return r.e.on == hooks.ConfigChange && r.in.Text("source") == "policy_settings"
}

// output reads the stdout of a hook that ended with exit code 0.
func (r *reading) output(text []byte) {
	if first, rest, _ := bytes.Cut(text, []byte("\n")); gjson.GetBytes(first, "async").Type == gjson.True && json.Valid(first) {
		r.async = true
		text = hooks.CleanText(rest)
	}
	switch {
	case len(text) == 0:
		if r.e.exit2 == exitFails {
			r.Failure = hooks.Failuref(hooks.FailureField, "it named no path")
		}
	case text[0] != '{':
		r.text(text)
	default:
		members := hooks.Members(text)
		if members == nil {
			r.Failure = &hooks.Failure{Kind: hooks.FailureJSON, Text: "its output begins like a JSON object and is none",
				Hint: "print one JSON object to stdout and nothing else; logs belong on stderr"}
			return
		}
		r.members(members)
	}
}

// text reads an output that is no JSON.
func (r *reading) text(text []byte) {
	if r.h.Type == "http" {
		switch r.name {
		case hooks.DialectClaude:
			r.Failure = &hooks.Failure{Kind: hooks.FailureJSON, Text: "its answer is not a JSON object", Hint: "answer 2xx with one JSON object, or with no body"}
			return
		case hooks.DialectQwen:
			r.Notice = hooks.NoticeText(capped(string(text)))
			return
		}
	}
	if r.e.exit2 == exitFails {
		lines := strings.Split(string(text), "\n")
		r.Specific = hooks.Object([]hooks.Field{{Key: "worktreePath", Value: hooks.Quote(strings.TrimSpace(lines[len(lines)-1]))}})
		return
	}
	if hooks.HoldsObject(text) {
		r.Advice = "there is text round its JSON answer, so the answer was ignored: print nothing else to stdout, logs belong on stderr"
	}
	if r.e.plain {
		r.Context = capped(string(text))
	} else if r.h.FailMode == hooks.FailClosed {
		r.Failure = &hooks.Failure{Kind: hooks.FailureJSON, Text: "its output is not a JSON object", Hint: "print one JSON object to stdout and nothing else; logs belong on stderr"}
	}
}

// members reads an answer's JSON object.
func (r *reading) members(members []hooks.Field) {
	context := ""
	for _, m := range members {
		switch m.Key {
		case "continue":
			if v, ok := r.Bool(m.Key, m.Value); ok {
				r.halted = !v
			}
		case "stopReason":
			r.stopReason = r.Text(m.Key, m.Value)
		case "reason":
			r.reason = first(r.Text(m.Key, m.Value), r.reason)
		case "suppressOutput":
			if v, ok := r.Bool(m.Key, m.Value); ok && r.suppresses {
				r.Suppress = v
			}
		case "systemMessage":
			if text := r.Text(m.Key, m.Value); r.e.on != hooks.ConfigChange {
				r.Notice = hooks.NoticeText(capped(text))
			}
		case "decision":
			r.word(m.Key, m.Value)
		case "ok":
			// The verdict of a model that was asked.
			if v, ok := r.Bool(m.Key, m.Value); ok && !v && (r.h.Type == "prompt" || r.h.Type == "agent") {
				r.blocked = true
			}
		case "additionalContext":
			if r.h.Type == "prompt" || r.h.Type == "agent" {
				context = r.Text(m.Key, m.Value)
			}
		case "hookSpecificOutput":
			if spec := r.Object(m.Key, m.Value); spec != nil {
				context = first(r.specific(hooks.Members(spec)), context)
			}
		}
	}
	r.decide(context)
	if r.e.exit2 == exitFails && r.Specific == nil && r.Failure == nil {
		r.Failure = &hooks.Failure{Kind: hooks.FailureField, Text: "it named no path", Hint: `answer {"hookSpecificOutput":{"hookEventName":"WorktreeCreate","worktreePath":"/path"}}`}
	}
}

// word reads a decision in any of its spellings.
func (r *reading) word(key string, v json.RawMessage) {
	word := r.Text(key, v)
	switch word {
	case "":
	case "approve", "allow":
		r.grant("allow")
	case "block", "deny":
		r.blocked = true
		if key == "permissionDecision" && word == "block" {
			r.Advice = `permissionDecision has the value "block", which is taken for "deny": write "deny"`
		}
	case "ask", "defer":
		r.grant(word)
	default:
		r.BadField(key, "allow, deny, ask or defer", v)
	}
}

// grant notes the strictest of what a hook says in several places.
func (r *reading) grant(word string) {
	order := []string{"", "allow", "ask", "defer"}
	if slices.Index(order, word) > slices.Index(order, r.permission) {
		r.permission = word
	}
}

// decide makes one decision of what was said.
func (r *reading) decide(context string) {
	if !r.contextAt(r.e) {
		context = ""
	}
	r.Context = capped(context)
	if r.async {
		return
	}
	said := r.blocked || r.halted
	if r.halted && r.e.stops {
		r.Stop, r.StopReason = true, first(r.stopReason, r.reason, noReason)
	}
	switch {
	case !r.blocked:
	case r.e.block == blocksEvent && r.exitOf(r.e) == exitBlocks && !r.fixed():
		r.Deny, r.Reason = true, first(r.reason, r.stopReason, noReason)
	case r.e.block == blocksAdds:
		r.Context = capped(join(first(r.reason, noReason), context))
	case r.h.Type == "prompt" || r.h.Type == "agent":
		r.Deny = r.exitOf(r.e) == exitBlocks
		r.Reason = first(r.reason, noReason)
	}
	if r.e.on == hooks.BeforeTool && !r.Deny {
		r.Defer, r.Ask, r.Allow = r.permission == "defer", r.permission == "ask", r.permission == "allow"
		r.Reason = r.reason
	}
	if r.e.on == hooks.AfterAgent && r.Context != "" {
		// At the end of a turn feedback to the model is one more turn.
		if !r.Deny && !r.Stop {
			r.Deny, r.Reason = true, r.Context
		} else if r.Deny {
			r.Reason = join(r.Reason, r.Context)
		}
		r.Context = ""
	}
	r.Ignored = said && !r.Stop && !r.Deny && r.e.block != blocksAdds
	if r.Ignored {
		r.Reason = ""
	}
}

// specific reads hookSpecificOutput and gives its additionalContext.
func (r *reading) specific(members []hooks.Field) (context string) {
	if !has(members, "hookEventName") {
		r.Advice = fmt.Sprintf("hookSpecificOutput has no hookEventName, which its own agent takes for a mistake: write %q", r.e.name)
	}
	for _, m := range members {
		if name := gjson.ParseBytes(m.Value).String(); m.Key == "hookEventName" && name != r.e.name {
			r.BadField("hookSpecificOutput.hookEventName", fmt.Sprintf("%q", r.e.name), m.Value)
			return ""
		}
	}
	var handed []hooks.Field
	for _, m := range members {
		switch {
		case m.Key == "additionalContext":
			context = r.Text(m.Key, m.Value)
		case m.Key == "clearContext" && r.name != hooks.DialectClaude && (r.e.on == hooks.AfterAgent || r.e.on == hooks.SubagentStop):
			r.Clear, _ = r.Bool(m.Key, m.Value)
		case m.Key == "prompt" && r.e.on == hooks.BeforeAgent:
			if r.Text(m.Key, m.Value) != "" {
				r.Prompt = m.Value
			}
		case r.e.on == hooks.BeforeTool:
			r.preToolUse(m)
		case r.e.on == hooks.AfterTool && (m.Key == "updatedToolOutput" || m.Key == "updatedMCPToolOutput" && r.Output == nil):
			if string(m.Value) != "null" && !failed(r.in) {
				r.Output = hooks.Object([]hooks.Field{{Key: "v", Value: r.toolOutput(r.in, m.Value)}})
				r.Output = json.RawMessage(gjson.GetBytes(r.Output, "v").Raw) // on one line
			}
		case slices.Contains(r.e.specific, m.Key):
			handed = append(handed, r.handOn(m)...)
		}
	}
	if handed != nil {
		r.Specific = hooks.Object(handed)
	}
	return context
}

func (r *reading) preToolUse(m hooks.Field) {
	switch m.Key {
	case "permissionDecision":
		r.word(m.Key, m.Value)
	case "permissionDecisionReason":
		r.reason = first(r.Text(m.Key, m.Value), r.reason)
	case "updatedInput":
		if updated := r.Object(m.Key, m.Value); updated != nil {
			r.ToolInput, r.Replace = r.updatedInput(r.in, updated), !r.merges
		}
	}
}

// handOn checks a member that is handed on as it is.
func (r *reading) handOn(m hooks.Field) []hooks.Field {
	kept := []hooks.Field{m}
	switch m.Key {
	case "worktreePath":
		if strings.TrimSpace(r.Text(m.Key, m.Value)) == "" {
			return nil
		}
	case "action":
		if !slices.Contains([]string{"accept", "decline", "cancel"}, r.Text(m.Key, m.Value)) {
			r.BadField(m.Key, "accept, decline or cancel", m.Value)
			return nil
		}
	case "retry":
		if retry, _ := r.Bool(m.Key, m.Value); !retry {
			return nil
		}
	case "content":
		if r.Object(m.Key, m.Value) == nil {
			return nil
		}
	case "watchPaths":
		if len(m.Value) == 0 || m.Value[0] != '[' {
			r.BadField(m.Key, "an array of paths", m.Value)
			return nil
		}
	case "decision":
		decision := r.Object("decision", m.Value)
		switch gjson.GetBytes(decision, "behavior").String() {
		case "allow":
			r.Allow = true
		case "deny":
			r.Deny, r.Reason = true, first(gjson.GetBytes(decision, "message").String(), noReason)
		default:
			r.BadField("decision.behavior", "allow or deny", m.Value)
			return nil
		}
	}
	return kept
}

// capped cuts a text that is too long.
func capped(s string) string {
	if len(s) <= maxText || utf8.RuneCountInString(s) <= maxText {
		return s
	}
	n := 0
	for i := range s {
		if n == maxText {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
