package hooks

import (
	"slices"
	"strings"
)

// claudeTools are the names by which the Claude family knows the tools of Gemini
// CLI, the usual one first.
var claudeTools = map[string][]string{
	"run_shell_command":   {"Bash"},
	"read_file":           {"Read"},
	"write_file":          {"Write"},
	"replace":             {"Edit"},
	"edit":                {"Edit"}, // Qwen Code's replace
	"glob":                {"Glob"},
	"grep_search":         {"Grep"},
	"search_file_content": {"Grep"}, // older
	"list_directory":      {"LS"},
	"web_fetch":           {"WebFetch"},
	"google_web_search":   {"WebSearch"},
	"write_todos":         {"TodoWrite"},
	"todo_write":          {"TodoWrite"}, // Qwen Code's write_todos
	"invoke_agent":        {"Agent", "Task"},
	"agent":               {"Agent", "Task"}, // Qwen Code's invoke_agent
	"ask_user":            {"AskUserQuestion"},
	"exit_plan_mode":      {"ExitPlanMode"},
	"activate_skill":      {"Skill"},
	"skill":               {"Skill"}, // Qwen Code's activate_skill
	"tracker_create_task": {"TaskCreate"},
	"tracker_update_task": {"TaskUpdate"},
}

// geminiTools is the way back.
var geminiTools = func() map[string][]string {
	back := map[string][]string{}
	for own, theirs := range claudeTools {
		for _, name := range theirs {
			back[name] = append(back[name], own)
		}
	}
	for _, names := range back {
		slices.Sort(names)
	}
	return back
}()

// maxServers bounds the ways to read mcp_SERVER_TOOL, where the server's name
// may hold underscores, too.
const maxServers = 8

// ToolNames are all names of a tool: the one on the wire first, then those of
// the Claude family, then those of Gemini CLI. MCP tools, mcp_SERVER_TOOL for
// Gemini CLI, are mcp__SERVER__TOOL for the Claude family.
func ToolNames(wire string) []string {
	names := []string{wire}
	names = append(names, claudeTools[wire]...)
	names = append(names, geminiTools[wire]...)
	if rest, ok := strings.CutPrefix(wire, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			names = append(names, "mcp_"+server+"_"+tool)
		}
	} else if rest, ok := strings.CutPrefix(wire, "mcp_"); ok {
		for i, n := 0, 0; i < len(rest) && n < maxServers; i++ {
			if rest[i] == '_' && i > 0 && i < len(rest)-1 {
				names = append(names, "mcp__"+rest[:i]+"__"+rest[i+1:])
				n++
			}
		}
	}
	return names
}

// ClaudeTool is the Claude family's name of a tool of Gemini CLI; "" when it has
// none.
func ClaudeTool(wire string) string {
	if names := claudeTools[wire]; len(names) > 0 {
		return names[0]
	}
	return ""
}

// Tools are the tools of Gemini CLI and its kin that the Claude family has, too,
// and the name there.
func Tools() map[string]string {
	all := map[string]string{}
	for own, theirs := range claudeTools {
		all[own] = theirs[0]
	}
	return all
}
