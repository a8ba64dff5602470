package toolloop_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

// subagentCase is how an agent starts a subagent, as in its requests.
type subagentCase struct {
	agent, tool, args, kind string
	first                   string // the subagent's first turn
	end                     string // its last answer, as a part
	said                    string // what SubagentStop is shown of it
}

func subagentCases() []subagentCase {
	return []subagentCase{
		{"gemini-cli", "invoke_agent", `{"agent_name":"codebase_investigator","prompt":"Count the files for me."}`, "codebase_investigator",
			`{"role":"user","parts":[{"text":"\n<loaded_context>\n</loaded_context>"},{"text":"Your task is to do a deep investigation to solve  for the following user objective:\n<objective>\nCount the files for me.\n</objective>"}]}`,
			call("z", "complete_task", `{"result":"two"}`, ""), `{\"result\":\"two\"}`},
		{"gemini-cli", "invoke_agent", `{"agent_name":"generalist","prompt":"Count the files for me."}`, "generalist",
			`{"role":"user","parts":[{"text":"\n<loaded_context>\n</loaded_context>"},{"text":"Count the files for me."}]}`,
			call("z", "complete_task", `{"result":"two"}`, ""), `{\"result\":\"two\"}`},
		{"qwen-code", "agent", `{"description":"count","prompt":"Count the files for me.","subagent_type":"Explore"}`, "Explore",
			`{"role":"user","parts":[{"text":"<system-reminder>\nThis is the Qwen Code.\n</system-reminder>"},{"text":"Count the files for me."}]}`,
			text("two"), "two"},
	}
}

// A subagent has hooks of its own and none of those for what a user says; its tool
// calls are hooked as all others, and tell whose they are.
func TestSubagents(t *testing.T) {
	for _, tt := range subagentCases() {
		t.Run(tt.agent+"/"+tt.kind, func(t *testing.T) {
			var log []string
			stops := 0
			note := func(in hooks.Input) {
				log = append(log, strings.Join([]string{string(in.Event), in.Match, field(in, "agent_id"), field(in, "agent_type")}, " "))
			}
			tell := func(in hooks.Input) hooks.Decision {
				note(in)
				return hooks.Decision{}
			}
			a := newTalk(t, decide{
				hooks.SessionStart: tell, hooks.BeforeAgent: tell, hooks.AfterAgent: tell, hooks.BeforeTool: tell, hooks.AfterTool: tell,
				hooks.SubagentStart: func(in hooks.Input) hooks.Decision {
					note(in)
					return hooks.Decision{Context: []string{"look twice"}}
				},
				hooks.SubagentStop: func(in hooks.Input) hooks.Decision {
					note(in)
					if got := field(in, "prompt_response"); got != `"`+tt.said+`"` {
						t.Errorf("the last message is %s", got)
					}
					stops++
					return hooks.Decision{Deny: stops == 1, Reason: "count again"}
				},
			},
				[]string{stop(call("c1", tt.tool, tt.args, ""))},                                             // the parent
				[]string{stop(call("s1", "glob", `{}`, ""))}, []string{stop(tt.end)}, []string{stop(tt.end)}, // the subagent
				[]string{stop(text("All done."))})
			a.agent = tt.agent
			a.send(user("go"))
			parent := a.history
			a.session, a.history = "another", nil
			a.send(tt.first)
			if got := a.model.shown(); !strings.Contains(got, `{"text":"<hook_context>look twice</hook_context>"}`) {
				t.Errorf("the subagent was shown %s", got)
			}
			a.send(results(result("s1", "glob", `{"output":"a b"}`)))
			if got := a.model.shown(); !strings.Contains(got, "count again") || !strings.Contains(got, "look twice") {
				t.Errorf("the subagent was shown %s", got)
			}
			a.session, a.history = "s1", parent
			a.send(results(result("c1", tt.tool, `{"output":"two"}`)))
			sub := ` "c1" "` + tt.kind + `"`
			want := []string{"SessionStart startup  ", "BeforeAgent   ", "BeforeTool " + tt.tool + "  ",
				"SubagentStart " + tt.kind + sub, "BeforeTool glob" + sub, "AfterTool glob" + sub}
			end := []string{"SubagentStop " + tt.kind + sub, "SubagentStop " + tt.kind + sub}
			if strings.Contains(tt.end, "complete_task") {
				end = []string{"BeforeTool complete_task" + sub, end[0], "BeforeTool complete_task" + sub, end[1]}
			}
			want = append(append(want, end...), "AfterTool "+tt.tool+"  ", "AfterAgent   ")
			if diff := cmp.Diff(want, log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
		})
	}
}
