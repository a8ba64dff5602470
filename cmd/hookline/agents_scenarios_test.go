package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
)

// scenario is one turn of a conversation in which hooks interfere, with what
// must come of it for the user, the tools and the model.
type scenario struct {
	name  string
	steps []scripted.Answer // what the model says, in its own history
	// seen is the text that reaches the user; final is the text of the last
	// answer that the agent got ("" for the same).
	seen, final string
	ran         []agentRun // the tools that the agent runs
	history     []string   // what the model is shown of the turn ever after, prompt left out
}

const (
	wipeReason  = "wiping is not allowed"
	haltReason  = "the work ends here"
	lateReason  = "that result ends the work"
	hideReason  = "the result is withheld"
	contextText = "mind the <date>"
	retryReason = "make it a better one"
)

// matrixHooks decide by the tool's name alone, so that one configuration serves
// every scenario. tool gives the agent's name and arguments for one of
// matrixTools.
func matrixHooks(tool func(agentRun) agentRun) map[string]any {
	say := func(out any) string {
		b, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		return "printf '%s' '" + string(b) + "'"
	}
	specific := func(event, key string, value any) map[string]any {
		return map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": event, key: value}}
	}
	hook := func(name, command string) map[string]any {
		matcher := "^" + tool(agentRun{Name: name}).Name + "$"
		return map[string]any{"matcher": matcher, "hooks": []any{map[string]any{"type": "command", "name": "on " + matcher, "command": command, "timeout": 20000}}}
	}
	tail := func(name, path string) any {
		r := tool(onPath(name, path))
		return specific("AfterTool", "tailToolCallRequest", map[string]any{"name": r.Name, "args": r.Args})
	}
	return map[string]any{
		"BeforeTool": []any{
			hook("wipe", say(map[string]any{"decision": "deny", "reason": wipeReason})),
			hook("send", say(specific("BeforeTool", "tool_input", tool(agentRun{"send", map[string]any{"to": "nobody"}}).Args))),
			hook("halt", say(map[string]any{"continue": false, "stopReason": haltReason})),
		},
		"AfterTool": []any{
			hook("fetch", say(map[string]any{"decision": "deny", "reason": hideReason})),
			hook("probe", say(specific("AfterTool", "additionalContext", contextText))),
			hook("chain", say(tail("look", "tail.txt"))),
			hook("relay", say(tail("chain", "middle.txt"))),
			hook("late", say(map[string]any{"continue": false, "stopReason": lateReason})),
		},
		"AfterAgent": []any{map[string]any{"hooks": []any{map[string]any{
			"type": "command", "name": "no drafts", "timeout": 20000,
			"command": "if grep -q 'prompt_response.*draft'; then " + say(map[string]any{"decision": "deny", "reason": retryReason}) + "; fi",
		}}}},
	}
}

func asIs(r agentRun) agentRun { return r }

// matrixTools are declared to every agent.
var matrixTools = []agentTool{
	{Name: "look", Description: "Reads a file.", Parameters: pathSchema, Result: "secret is 42"},
	{Name: "wipe", Description: "Deletes a file.", Parameters: pathSchema, Result: "wiped"},
	{Name: "send", Description: "Sends a message.", Result: "sent", Parameters: json.RawMessage(
		`{"type":"object","properties":{"to":{"type":"string"},"text":{"type":"string"}},"required":["to"]}`)},
	{Name: "fetch", Description: "Fetches a page.", Parameters: pathSchema, Result: "a page full of secrets"},
	{Name: "probe", Description: "Probes a path.", Parameters: pathSchema, Result: "probed"},
	{Name: "chain", Description: "Follows a link.", Parameters: pathSchema, Result: "a link"},
	{Name: "relay", Description: "Follows a link to a link.", Parameters: pathSchema, Result: "a link to a link"},
	{Name: "halt", Description: "Asks for trouble.", Parameters: pathSchema, Result: "halted"},
	{Name: "late", Description: "Asks for trouble later.", Parameters: pathSchema, Result: "too late"},
}

func onPath(name, path string) agentRun {
	return agentRun{Name: name, Args: map[string]any{"path": path}}
}

func pathCall(name, path string) scripted.Call {
	return scripted.Call{Name: name, Args: fmt.Sprintf(`{"path":%q}`, path)}
}

func calls(name, path string) string { return fmt.Sprintf(`calls %s {"path":%q}`, name, path) }

const blocked = "error: Tool execution blocked: " + wipeReason

var scenarios = []scenario{
	{
		name:  "allow",
		steps: []scripted.Answer{{Text: "Looking. ", Calls: []scripted.Call{pathCall("look", "a.txt")}}, {Text: "Done."}},
		seen:  "Looking. Done.", final: "Done.",
		ran:     []agentRun{onPath("look", "a.txt")},
		history: []string{"says Looking. ", calls("look", "a.txt"), "look: secret is 42", "says Done."},
	},
	{
		name:    "deny one of two",
		steps:   []scripted.Answer{{Calls: []scripted.Call{pathCall("look", "a.txt"), pathCall("wipe", "b.txt")}}, {Text: "One was enough."}},
		seen:    "One was enough.",
		ran:     []agentRun{onPath("look", "a.txt")},
		history: []string{calls("look", "a.txt"), calls("wipe", "b.txt"), "look: secret is 42", "wipe: " + blocked, "says One was enough."},
	},
	{
		name: "deny the first",
		steps: []scripted.Answer{
			{Text: "Both. ", Calls: []scripted.Call{pathCall("wipe", "a.txt"), pathCall("look", "b.txt"), pathCall("wipe", "c.txt")}},
			{Text: "The middle one was enough."},
		},
		seen: "Both. The middle one was enough.", final: "The middle one was enough.",
		ran: []agentRun{onPath("look", "b.txt")},
		history: []string{
			"says Both. ", calls("wipe", "a.txt"), calls("look", "b.txt"), calls("wipe", "c.txt"),
			"wipe: " + blocked, "look: secret is 42", "wipe: " + blocked, "says The middle one was enough.",
		},
	},
	{
		name: "deny all",
		steps: []scripted.Answer{
			{Text: "Wiping. ", Calls: []scripted.Call{pathCall("wipe", "a.txt"), pathCall("wipe", "b.txt")}},
			{Calls: []scripted.Call{pathCall("wipe", "c.txt")}},
			{Text: "Then I leave it."},
		},
		seen: "Wiping. Then I leave it.",
		history: []string{
			"says Wiping. ", calls("wipe", "a.txt"), calls("wipe", "b.txt"), "wipe: " + blocked, "wipe: " + blocked,
			calls("wipe", "c.txt"), "wipe: " + blocked, "says Then I leave it.",
		},
	},
	{
		name:  "rewrite arguments",
		steps: []scripted.Answer{{Calls: []scripted.Call{{Name: "send", Args: `{"to":"everyone","text":"hi"}`}}}, {Text: "Sent."}},
		seen:  "Sent.",
		ran:   []agentRun{{Name: "send", Args: map[string]any{"to": "nobody", "text": "hi"}}},
		history: []string{
			`calls send {"text":"hi","to":"everyone"}`,
			"send: sent\n\n[System] Tool input parameters were modified by a hook before execution.", "says Sent.",
		},
	},
	{
		name:    "hide the result",
		steps:   []scripted.Answer{{Calls: []scripted.Call{pathCall("fetch", "a.txt")}}, {Text: "I may not know."}},
		seen:    "I may not know.",
		ran:     []agentRun{onPath("fetch", "a.txt")},
		history: []string{calls("fetch", "a.txt"), "fetch: error: " + hideReason, "says I may not know."},
	},
	{
		name:  "add context",
		steps: []scripted.Answer{{Calls: []scripted.Call{pathCall("probe", "a.txt"), pathCall("look", "b.txt")}}, {Text: "I shall mind it."}},
		seen:  "I shall mind it.",
		ran:   []agentRun{onPath("look", "b.txt"), onPath("probe", "a.txt")},
		history: []string{
			calls("probe", "a.txt"), calls("look", "b.txt"),
			"probe: probed\n\n<hook_context>mind the &lt;date&gt;</hook_context>", "look: secret is 42", "says I shall mind it.",
		},
	},
	{
		name:    "tail call",
		steps:   []scripted.Answer{{Calls: []scripted.Call{pathCall("chain", "a.txt")}}, {Text: "It led somewhere."}},
		seen:    "It led somewhere.",
		ran:     []agentRun{onPath("chain", "a.txt"), onPath("look", "tail.txt")},
		history: []string{calls("chain", "a.txt"), "chain: secret is 42", "says It led somewhere."},
	},
	{
		name:  "tail of a tail",
		steps: []scripted.Answer{{Calls: []scripted.Call{pathCall("look", "b.txt"), pathCall("relay", "a.txt")}}, {Text: "A long way."}},
		seen:  "A long way.",
		ran:   []agentRun{onPath("chain", "middle.txt"), onPath("look", "b.txt"), onPath("look", "tail.txt"), onPath("relay", "a.txt")},
		history: []string{
			calls("look", "b.txt"), calls("relay", "a.txt"), "look: secret is 42", "relay: secret is 42", "says A long way.",
		},
	},
	{
		name:    "stop before",
		steps:   []scripted.Answer{{Calls: []scripted.Call{pathCall("look", "b.txt"), pathCall("halt", "a.txt")}}},
		seen:    haltReason,
		history: []string{calls("look", "b.txt"), calls("halt", "a.txt"), "look: error: Agent execution stopped by hook: " + haltReason, "halt: error: Agent execution stopped by hook: " + haltReason},
	},
	{
		name:    "stop after",
		steps:   []scripted.Answer{{Calls: []scripted.Call{pathCall("late", "a.txt")}}},
		seen:    lateReason,
		ran:     []agentRun{onPath("late", "a.txt")},
		history: []string{calls("late", "a.txt"), "late: error: " + lateReason},
	},
	{
		name:    "streamed arguments",
		steps:   []scripted.Answer{{StreamArgs: true, Calls: []scripted.Call{pathCall("look", "a.txt"), pathCall("wipe", "b.txt")}}, {Text: "Piece by piece."}},
		seen:    "Piece by piece.",
		ran:     []agentRun{onPath("look", "a.txt")},
		history: []string{calls("look", "a.txt"), calls("wipe", "b.txt"), "look: secret is 42", "wipe: " + blocked, "says Piece by piece."},
	},
	{
		name:  "retry",
		steps: []scripted.Answer{{Text: "Looking. ", Calls: []scripted.Call{pathCall("look", "a.txt")}}, {Text: draft}},
		seen:  "Looking. " + draft + better, final: draft + better,
		ran:     []agentRun{onPath("look", "a.txt")},
		history: []string{"says Looking. ", calls("look", "a.txt"), "look: secret is 42", "says " + draft, "user: " + retryReason, "says " + better},
	},
}

const (
	draft  = "This is a draft. "
	better = "This is better."
)

// turnsOn is how many turns follow a scenario at most: plain talk, and a tool
// call in the midst of it.
const turnsOn = 10

func nextPrompt(n int) string { return fmt.Sprintf("go on, number %d.", n) }

// matrixScript answers prompts of the form "[tag] scenario NAME." and
// "[tag] go on, number N.".
func matrixScript(v scripted.View) scripted.Answer {
	for _, s := range scenarios {
		if strings.Contains(v.Prompt, "scenario "+s.name+".") {
			if v.Step < len(s.steps) {
				return s.steps[v.Step]
			}
			return scripted.Answer{Text: fmt.Sprintf("%s has no step %d", s.name, v.Step)}
		}
	}
	if v.Prompt == retryReason {
		return scripted.Answer{Text: better}
	}
	for n := range turnsOn {
		if strings.Contains(v.Prompt, nextPrompt(n)) {
			if n == toolTurn && v.Step == 0 {
				return scripted.Answer{Calls: []scripted.Call{pathCall("look", "again.txt")}}
			}
			return scripted.Answer{Text: goneOn(n)}
		}
	}
	return scripted.Answer{Text: "no such prompt: " + v.Prompt}
}

const toolTurn = 4 // the turn on that calls a tool

func goneOn(n int) string { return fmt.Sprintf("On we go, %d.", n) }

// prompts are those of a conversation about one scenario that goes on for some
// turns more.
func (s scenario) prompts(tag string, on int) []string {
	out := []string{fmt.Sprintf("[%s] scenario %s.", tag, s.name)}
	for n := range on {
		out = append(out, fmt.Sprintf("[%s] %s", tag, nextPrompt(n)))
	}
	return out
}

// model is the history that the model is shown with the last request.
func (s scenario) model(tag string, on int) []string {
	prompts := s.prompts(tag, on)
	out := append([]string{"user: " + prompts[0]}, s.history...)
	for n := range on {
		out = append(out, "user: "+prompts[n+1])
		if n == on-1 {
			break
		}
		if n == toolTurn {
			out = append(out, calls("look", "again.txt"), "look: secret is 42")
		}
		out = append(out, "says "+goneOn(n))
	}
	return out
}

// user is the text that the user sees of each turn.
func (s scenario) user(finalOnly bool, on int) []string {
	out := []string{s.seen}
	if finalOnly && s.final != "" {
		out[0] = s.final
	}
	for n := range on {
		out = append(out, goneOn(n))
	}
	return out
}

func (s scenario) runs(on int) []agentRun {
	out := slices.Clone(s.ran)
	if on > toolTurn {
		out = append(out, onPath("look", "again.txt"))
	}
	return out
}

// flatten tells a history in lines, without what agents are free to do: thoughts
// left out, texts joined, one content or many, keys in any order.
func flatten(contents json.RawMessage) ([]string, error) {
	var list []struct {
		Role  string
		Parts []struct {
			Text    string
			Thought bool
			Call    *struct {
				Name string
				Args map[string]any
			} `json:"functionCall"`
			Response *struct {
				Name     string
				Response map[string]any
			} `json:"functionResponse"`
		}
	}
	if err := json.Unmarshal(contents, &list); err != nil {
		return nil, err
	}
	var out []string
	var said strings.Builder
	flush := func() {
		if said.Len() > 0 {
			out = append(out, "says "+said.String())
			said.Reset()
		}
	}
	for _, c := range list {
		if c.Role != "model" {
			flush()
		}
		for _, p := range c.Parts {
			switch {
			case p.Call != nil:
				flush()
				args, err := json.Marshal(p.Call.Args)
				if err != nil {
					return nil, err
				}
				if p.Call.Args == nil {
					args = []byte("{}")
				}
				out = append(out, fmt.Sprintf("calls %s %s", p.Call.Name, args))
			case p.Response != nil:
				out = append(out, p.Response.Name+": "+resultText(p.Response.Response))
			case p.Thought || p.Text == "":
			case c.Role == "model":
				said.WriteString(p.Text)
			default:
				out = append(out, "user: "+p.Text)
			}
		}
	}
	flush()
	return out, nil
}

// resultText is what a function response says, in whichever member the agent
// puts it; what hookline appends where there is no string stands beside it.
func resultText(r map[string]any) string {
	if e, ok := r["error"].(string); ok && len(r) == 1 {
		return "error: " + e
	}
	for _, k := range []string{"output", "result", "content"} {
		if s, ok := r[k].(string); ok {
			for _, beside := range []string{"hook_context", "hook_notice"} {
				if more, ok := r[beside].(string); ok {
					s += "\n\n" + more
				}
			}
			return s
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
