package hooks

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// chain is the input of a sequential group, as its hooks change it one after
// the other.
type chain struct {
	shown   *shown
	changed bool

	prompt     string          // BeforeAgent: what is added to the prompt
	toolInput  json.RawMessage // BeforeTool: patches so far
	request    json.RawMessage // BeforeModel: patches so far
	response   json.RawMessage // AfterModel: the last replacement
	toolConfig json.RawMessage // BeforeToolSelection: the last selection

	// sawSystem: the messages in request lead with the system instruction.
	sawSystem bool
}

// document is what the next hook gets.
func (c *chain) document(h *Hook) []byte {
	if !c.changed {
		return c.shown.document(h)
	}
	base := c.shown.base(h)
	fields := append([]Field(nil), base...)
	switch c.shown.in.Event {
	case BeforeAgent:
		prompt := gjson.ParseBytes(field(base, "prompt")).String() + c.prompt
		setField(&fields, "prompt", appendString(nil, prompt))
	case BeforeTool:
		setField(&fields, "tool_input", applyInput(field(base, "tool_input"), c.toolInput))
	case BeforeModel:
		req := field(base, "llm_request")
		setField(&fields, "llm_request", applyRequest(req, c.requestFor(h)))
	case AfterModel:
		setField(&fields, "llm_response", c.response)
	case BeforeToolSelection:
		patch := object([]member{{raw: `"toolConfig"`, val: c.toolConfig}})
		setField(&fields, "llm_request", applyRequest(field(base, "llm_request"), patch))
	}
	return encode(c.shown.in, fields)
}

// take notes what a hook of the group changed. What it changed may itself be
// completed: see requestFor.
func (c *chain) take(h *Hook, o *outcome) {
	switch {
	case o.context != "" && c.shown.in.Event == BeforeAgent:
		c.prompt += "\n\n" + o.context
	case o.toolInput != nil:
		c.toolInput = mergeInput(c.toolInput, o.toolInput)
	case o.llmRequest != nil:
		c.takeRequest(h, o)
	case o.llmResponse != nil && c.shown.in.Event == AfterModel:
		c.response = o.llmResponse
	case o.toolConfig != nil:
		c.toolConfig, _ = json.Marshal(o.toolConfig) // strings only
	default:
		return
	}
	c.changed = true
}

func (c *chain) takeRequest(h *Hook, o *outcome) {
	if msgs := field(fieldsOf(o.llmRequest), "messages"); msgs != nil && !isNull(msgs) {
		if c.sawSystem && !c.shown.sees(h) {
			// It was shown the messages of the hook before without the system
			// instruction: what that hook made of the instruction stays.
			lead, _ := splitSystem(field(fieldsOf(c.request), "messages"))
			o.llmRequest = withMessages(o.llmRequest, joinArrays(lead, elements(msgs)))
			o.sawSystem = true
		}
		c.sawSystem = o.sawSystem
	}
	c.request = mergeRequest(c.request, o.llmRequest)
}

// requestFor is the patch so far with the system instruction for a hook that
// sees it, without for one that does not, whoever wrote the messages.
func (c *chain) requestFor(h *Hook) json.RawMessage {
	msgs := field(fieldsOf(c.request), "messages")
	sees := c.shown.sees(h)
	if msgs == nil || isNull(msgs) || sees == c.sawSystem {
		return c.request
	}
	if !sees {
		_, rest := splitSystem(msgs)
		return withMessages(c.request, joinArrays(rest))
	}
	lead, _ := splitSystem(field(fieldsOf(field(c.shown.fields(), "llm_request")), "messages"))
	return withMessages(c.request, joinArrays(lead, elements(msgs)))
}

func fieldsOf(obj json.RawMessage) []Field {
	ms := members(obj)
	fields := make([]Field, len(ms))
	for i, m := range ms {
		fields[i] = Field{Key: m.key, Value: m.val}
	}
	return fields
}

func withMessages(req, msgs json.RawMessage) json.RawMessage {
	return object(overlay(req, object([]member{{raw: `"messages"`, val: msgs}}), nil))
}

func elements(array json.RawMessage) (out []json.RawMessage) {
	gjson.ParseBytes(array).ForEach(func(_, v gjson.Result) bool {
		out = append(out, json.RawMessage(v.Raw))
		return true
	})
	return out
}

// splitSystem parts the leading system messages from the rest.
func splitSystem(msgs json.RawMessage) (lead, rest []json.RawMessage) {
	all := elements(msgs)
	n := 0
	for n < len(all) {
		role := field(fieldsOf(all[n]), "role")
		if gjson.ParseBytes(role).String() != "system" {
			break
		}
		n++
	}
	return all[:n], all[n:]
}

func joinArrays(parts ...[]json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for _, p := range parts {
		for _, e := range p {
			if len(b) > 1 {
				b = append(b, ',')
			}
			b = append(b, e...)
		}
	}
	return append(b, ']')
}
