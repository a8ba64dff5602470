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
	replaced   json.RawMessage // BeforeAgent: what stands in the prompt's place
	toolInput  json.RawMessage // BeforeTool: patches so far
	output     json.RawMessage // AfterTool: what stands in the result's place
	request    json.RawMessage // BeforeModel: patches so far
	response   json.RawMessage // AfterModel: the last replacement
	toolConfig json.RawMessage // BeforeToolSelection: the last selection

	// sawSystem: the messages in request lead with the system instruction.
	sawSystem bool
}

// input is what the next hook is shown.
func (c *chain) input(h *Hook) *Input {
	base := c.shown.input(h)
	if !c.changed {
		return base
	}
	in := *base
	in.Fields = append([]Field(nil), base.Fields...)
	switch in.Event {
	case BeforeAgent:
		prompt := c.replaced
		if prompt == nil {
			prompt = base.Field("prompt")
		}
		setField(&in.Fields, "prompt", appendString(nil, gjson.ParseBytes(prompt).String()+c.prompt))
	case BeforeTool:
		setField(&in.Fields, "tool_input", applyInput(base.Field("tool_input"), c.toolInput))
	case AfterTool:
		setField(&in.Fields, "tool_response", withOutput(base.Field("tool_response"), c.output))
	case BeforeModel:
		setField(&in.Fields, "llm_request", applyRequest(base.Field("llm_request"), c.requestFor(h)))
	case AfterModel:
		setField(&in.Fields, "llm_response", c.response)
	case BeforeToolSelection:
		patch := object([]member{{raw: `"toolConfig"`, val: c.toolConfig}})
		setField(&in.Fields, "llm_request", applyRequest(base.Field("llm_request"), patch))
	}
	return &in
}

// document is what the next hook gets for an input.
func (c *chain) document(h *Hook, in *Input) []byte {
	if !c.changed {
		return c.shown.document(h)
	}
	return h.listener.Encode(in)
}

// withOutput is a tool_response whose result was replaced.
func withOutput(response, output json.RawMessage) json.RawMessage {
	patch := object([]member{{raw: `"llmContent"`, val: output}, {raw: `"returnDisplay"`, val: output}})
	return object(overlay(response, patch, nil))
}

// take notes what a hook of the group changed. What it changed may itself be
// completed: see requestFor.
func (c *chain) take(h *Hook, o *outcome) {
	switch ev := c.shown.in.Event; {
	case ev == BeforeAgent && (o.Context != "" || o.Prompt != nil):
		if o.Prompt != nil {
			c.replaced, c.prompt = o.Prompt, ""
		}
		if o.Context != "" {
			c.prompt += "\n\n" + o.Context
		}
	case o.ToolInput != nil:
		c.toolInput = o.patch(c.toolInput)
	case ev == AfterTool && o.Output != nil:
		c.output = o.Output
	case o.LLMRequest != nil:
		c.takeRequest(h, o)
	case o.LLMResponse != nil && ev == AfterModel:
		c.response = o.LLMResponse
	case o.ToolConfig != nil:
		c.toolConfig, _ = json.Marshal(o.ToolConfig) // strings only
	default:
		return
	}
	c.changed = true
}

func (c *chain) takeRequest(h *Hook, o *outcome) {
	if msgs := field(fieldsOf(o.LLMRequest), "messages"); msgs != nil && !isNull(msgs) {
		if c.sawSystem && !c.shown.sees(h) {
			// It was shown the messages of the hook before without the system
			// instruction: what that hook made of the instruction stays.
			lead, _ := splitSystem(field(fieldsOf(c.request), "messages"))
			o.LLMRequest = withMessages(o.LLMRequest, joinArrays(lead, elements(msgs)))
			o.sawSystem = true
		}
		c.sawSystem = o.sawSystem
	}
	c.request = mergeRequest(c.request, o.LLMRequest)
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
	lead, _ := splitSystem(field(fieldsOf(c.shown.system().Field("llm_request")), "messages"))
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
