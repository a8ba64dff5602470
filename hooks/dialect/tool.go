package dialect

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks"
)

// keys are the arguments of Gemini CLI's tools that Claude Code's tools have
// under another name, with the same meaning. Tools are under Gemini CLI's names
// (0.61, packages/core/src/tools/definitions/base-declarations.ts). read_file's
// lines are not among them: start_line and end_line are no offset and limit.
var keys = map[string]map[string]string{
	"run_shell_command":   {"is_background": "run_in_background"},
	"replace":             {"allow_multiple": "replace_all"},
	"glob":                {"dir_path": "path"},
	"grep_search":         {"dir_path": "path", "include_pattern": "glob"},
	"search_file_content": {"dir_path": "path", "include": "glob"},
	"list_directory":      {"dir_path": "path"},
	"invoke_agent":        {"agent_name": "subagent_type"},
}

// renamed reports whether hooks are shown a firing's tool by Claude's name: the
// agent must be known to have Gemini CLI's tools, as its fork Qwen Code has, since
// a tool of another agent may only be called alike.
func (f *family) renamed(in *hooks.Input) bool {
	if !f.rename {
		return false
	}
	agent := aboutCall(in, "agent")
	return agent == "gemini-cli" || agent == "qwen-code"
}

// aboutCall reads a member of what hookline tells of a firing's origin.
func aboutCall(in *hooks.Input, key string) string {
	return gjson.GetBytes(in.Field("x_hookline"), key).String()
}

// toolName is the name by which hooks are shown a firing's tool.
func (f *family) toolName(in *hooks.Input) string {
	wire := in.Subject()
	if !f.renamed(in) {
		return wire
	}
	if name := mcpName(in); name != "" {
		return name
	}
	if name := hooks.ClaudeTool(wire); name != "" {
		return name
	}
	if strings.HasPrefix(wire, "mcp_") && !strings.HasPrefix(wire, "mcp__") {
		if names := hooks.ToolNames(wire); len(names) > 1 {
			return names[1]
		}
	}
	return wire
}

// mcpName is the name of an MCP tool of which the event names server and tool.
func mcpName(in *hooks.Input) string {
	mcp := in.Field("mcp_context")
	server, tool := gjson.GetBytes(mcp, "server_name").String(), gjson.GetBytes(mcp, "tool_name").String()
	if server == "" || tool == "" {
		return ""
	}
	return "mcp__" + server + "__" + tool
}

// shownKeys maps the keys of a tool's arguments to those that hooks are shown.
func (f *family) shownKeys(in *hooks.Input) map[string]string {
	if !f.renamed(in) {
		return nil
	}
	return keys[in.Subject()]
}

// toolInput are a call's arguments as hooks are shown them.
func (f *family) toolInput(in *hooks.Input) json.RawMessage {
	own := in.Field("tool_input")
	names := f.shownKeys(in)
	if len(names) == 0 {
		return own
	}
	members := hooks.Members(own)
	for i, m := range members {
		if to := names[m.Key]; to != "" && !has(members, to) {
			members[i].Key = to
		}
	}
	return hooks.Object(members)
}

func has(members []hooks.Field, key string) bool {
	for _, m := range members {
		if m.Key == key {
			return true
		}
	}
	return false
}

// updatedInput is what a hook made of the arguments as a patch to the model's
// own: keys go back to those of the wire, and where the hook's object stands for
// the whole, keys that it leaves out are removed.
func (f *family) updatedInput(in *hooks.Input, updated json.RawMessage) json.RawMessage {
	own := hooks.Members(in.Field("tool_input"))
	back := map[string]string{}
	for wire, shown := range f.shownKeys(in) {
		if !has(own, shown) {
			back[shown] = wire
		}
	}
	patch := hooks.Members(updated)
	for i, m := range patch {
		if to := back[m.Key]; to != "" && !has(patch, to) {
			patch[i].Key = to
		}
	}
	if !f.merges {
		for _, m := range own {
			if !has(patch, m.Key) {
				patch = append(patch, hooks.Field{Key: m.Key, Value: json.RawMessage("null")})
			}
		}
	}
	return hooks.Object(patch)
}

// toolResponse is a tool's result as hooks are shown it. Claude Code's hooks read
// the members of its own tools' results; others get what the model reads.
func (f *family) toolResponse(in *hooks.Input) json.RawMessage {
	response := in.Field("tool_response")
	if !f.rename {
		return response
	}
	content := gjson.GetBytes(response, "llmContent")
	if !content.Exists() {
		return response
	}
	if content.Type != gjson.String || !f.renamed(in) {
		return json.RawMessage(content.Raw)
	}
	no, yes := json.RawMessage("false"), json.RawMessage("true")
	path := json.RawMessage(gjson.GetBytes(in.Field("tool_input"), "file_path").Raw)
	switch hooks.ClaudeTool(in.Subject()) {
	case "Bash":
		return hooks.Object([]hooks.Field{{Key: "stdout", Value: json.RawMessage(content.Raw)}, {Key: "stderr", Value: hooks.Quote("")},
			{Key: "interrupted", Value: no}, {Key: "isImage", Value: no}})
	case "Write", "Edit":
		return hooks.Object([]hooks.Field{{Key: "filePath", Value: path}, {Key: "success", Value: yes}, {Key: "message", Value: json.RawMessage(content.Raw)}})
	}
	return json.RawMessage(content.Raw)
}

// toolOutput takes what a hook put in a result's place back to what the model
// reads: the text that the hook was shown within members.
func (f *family) toolOutput(in *hooks.Input, updated json.RawMessage) json.RawMessage {
	if len(updated) == 0 || updated[0] != '{' {
		return updated
	}
	if content := gjson.GetBytes(updated, "llmContent"); content.Exists() {
		return json.RawMessage(content.Raw)
	}
	if gjson.GetBytes(in.Field("tool_response"), "llmContent").Type != gjson.String || !f.renamed(in) {
		return updated
	}
	switch hooks.ClaudeTool(in.Subject()) {
	case "Bash":
		stdout, stderr := gjson.GetBytes(updated, "stdout"), gjson.GetBytes(updated, "stderr")
		if !stdout.Exists() && !stderr.Exists() {
			return updated
		}
		out, errs := stdout.String(), stderr.String()
		if out != "" && errs != "" {
			out += "\n"
		}
		return hooks.Quote(out + errs)
	case "Write", "Edit":
		if text := gjson.GetBytes(updated, "message"); text.Type == gjson.String {
			return json.RawMessage(text.Raw)
		}
	}
	return updated
}
