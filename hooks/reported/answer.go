package reported

import (
	"encoding/json"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// Answer is what the reporter is told, as a hook of its dialect would say it: {}
// when nobody has an opinion.
func (r *Report) Answer(d hooks.Decision) []byte {
	var top, spec []hooks.Field
	add := func(to *[]hooks.Field, key string, value json.RawMessage) {
		if len(value) > 0 {
			*to = append(*to, hooks.Field{Key: key, Value: value})
		}
	}
	text := func(to *[]hooks.Field, key, s string) {
		if s != "" {
			add(to, key, hooks.Quote(s))
		}
	}
	if d.Stop {
		add(&top, "continue", json.RawMessage("false"))
		text(&top, "stopReason", d.StopReason)
	}
	verdict := r.verdict(&d)
	switch {
	case verdict == "":
	case r.Dialect != hooks.DialectGemini && r.Name == "PreToolUse":
		text(&spec, "permissionDecision", verdict)
		text(&spec, "permissionDecisionReason", d.Reason)
	default:
		text(&top, "decision", verdict)
		text(&top, "reason", d.Reason)
	}
	var said []string
	for _, n := range d.Notices {
		said = append(said, n.Text)
	}
	text(&top, "systemMessage", strings.Join(said, "\n"))
	text(&spec, "additionalContext", strings.Join(d.Context, "\n"))
	r.edits(&d, func(key string, value json.RawMessage) { add(&spec, key, value) })
	for _, f := range hooks.Members(d.Specific) {
		add(&spec, f.Key, f.Value)
	}
	if len(spec) > 0 {
		spec = append([]hooks.Field{{Key: "hookEventName", Value: hooks.Quote(r.Name)}}, spec...)
		add(&top, "hookSpecificOutput", hooks.Object(spec))
	}
	return hooks.Object(top)
}

// verdict is the decision in the reporter's words.
func (r *Report) verdict(d *hooks.Decision) string {
	gemini := r.Dialect == hooks.DialectGemini
	before := r.Input.Event == hooks.BeforeTool
	switch {
	case d.Deny && !gemini && !before:
		return "block"
	case d.Deny:
		return "deny"
	case d.Defer && r.Dialect == hooks.DialectClaude:
		return "defer"
	case d.Ask, d.Defer:
		return "ask"
	case d.Allow && before:
		return "allow"
	}
	return ""
}

// edits are what hooks made of what the event is about.
func (r *Report) edits(d *hooks.Decision, add func(string, json.RawMessage)) {
	in := &r.Input
	if r.Dialect != hooks.DialectGemini {
		if d.ToolInput != nil {
			updated := d.ToolInput
			if r.Dialect == hooks.DialectClaude {
				updated = patched(in.Field("tool_input"), d.ToolInput) // it stands for the whole
			}
			add("updatedInput", updated)
		}
		if d.Output != nil {
			add("updatedToolOutput", d.Output)
		}
		if d.Prompt != nil && r.Dialect == hooks.DialectQoder {
			add("prompt", d.Prompt)
		}
		if d.ClearContext && r.Dialect != hooks.DialectClaude {
			add("clearContext", json.RawMessage("true"))
		}
		return
	}
	add("tool_input", d.ToolInput)
	add("llm_request", d.LLMRequest)
	add("llm_response", d.LLMResponse)
	if d.ToolConfig != nil {
		if v, err := json.Marshal(d.ToolConfig); err == nil {
			add("toolConfig", v)
		}
	}
	if d.Tail != nil {
		if v, err := json.Marshal(d.Tail); err == nil {
			add("tailToolCallRequest", v)
		}
	}
	if d.ClearContext {
		add("clearContext", json.RawMessage("true"))
	}
}

// patched are arguments with a patch applied: null removes a key.
func patched(args, patch json.RawMessage) json.RawMessage {
	all := hooks.Members(args)
	for _, p := range hooks.Members(patch) {
		kept := all[:0]
		found := false
		for _, a := range all {
			if a.Key == p.Key {
				found = true
				a.Value = p.Value
			}
			if a.Key != p.Key || string(p.Value) != "null" {
				kept = append(kept, a)
			}
		}
		all = kept
		if !found && string(p.Value) != "null" {
			all = append(all, p)
		}
	}
	return hooks.Object(all)
}
