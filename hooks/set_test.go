package hooks

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlan re-tells the recorded planner cases of Gemini CLI, with the values
// of the documentation.
func TestPlan(t *testing.T) {
	def := func(matcher string, cmds ...string) Definition {
		d := commands(cmds...)
		d.Matcher = matcher
		return d
	}
	named := Definition{Hooks: []Hook{{Name: "n1", Command: "x"}, {Name: "n2", Command: "x"}}}
	seq := def("", "x")
	seq.Sequential = true
	seqOther := def("zzz", "x")
	seqOther.Sequential = true
	tests := []struct {
		name  string
		ev    Event
		defs  []Definition
		match string
		want  []string // commands; a sequential group's in one entry
	}{
		{"alternation", BeforeTool, []Definition{def("^(write_file|replace)$", "x")}, "replace", []string{"x"}},
		{"unanchored", AfterTool, []Definition{def("file", "x")}, "read_file_v2", []string{"x"}},
		{"case", BeforeTool, []Definition{def("Read", "x")}, "read_file", nil},
		{"star and blank", BeforeTool, []Definition{def(" * ", "x"), def("  ", "y"), def(".*", "z")}, "t", []string{"x", "y", "z"}},
		{"trimmed", BeforeTool, []Definition{def(" ^t$ ", "x")}, "t", []string{"x"}},
		{"no tool name", BeforeTool, []Definition{def("^x$", "x")}, "", []string{"x"}},
		{"source", SessionStart, []Definition{def("resume", "x"), def("res", "y")}, "resume", []string{"x"}},
		{"sources", SessionStart, []Definition{def("startup| resume", "x")}, "resume", []string{"x"}},
		{"trigger is no expression", PreCompress, []Definition{def("a.*", "x")}, "auto", nil},
		{"reason", SessionEnd, []Definition{def("exit|clear", "x")}, "clear", []string{"x"}},
		{"no subject", BeforeModel, []Definition{def("never", "x"), def("(oops", "y")}, "", []string{"x", "y"}},
		{"notification", Notification, []Definition{def("never", "x")}, "ToolPermission", []string{"x"}},
		{"identical hooks run once", BeforeTool, []Definition{def("", "x", "y", "x"), def("t", "y", "z")}, "t", []string{"x", "y", "z"}},
		{"the first that matches stays", BeforeTool, []Definition{def("zzz", "x"), def("t", "x")}, "t", []string{"x"}},
		{"different names are different hooks", BeforeTool, []Definition{named}, "t", []string{"x", "x"}},
		{"sequential is for its group", BeforeTool, []Definition{seq, def("", "y", "z")}, "t", []string{"seq x", "y", "z"}},
		{"sequential without a match", BeforeTool, []Definition{seqOther, def("", "y")}, "t", []string{"y"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := newSet(t, tt.ev, tt.defs...)
			var got []string
			steps, _, n := s.plan(&Input{Event: tt.ev, Match: tt.match})
			at := 0
			for _, st := range steps {
				if st.at != at {
					t.Errorf("a step's results begin at %d; want %d", st.at, at)
				}
				at += len(st.hooks)
				var cmds []string
				for _, h := range st.hooks {
					cmds = append(cmds, h.Command)
				}
				if st.sequential {
					cmds = []string{"seq " + strings.Join(cmds, " ")}
				}
				got = append(got, cmds...)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || n != at {
				t.Errorf("plan of %d (-want +got):\n%s", n, diff)
			}
			if s.Matches(tt.ev, tt.match) != (len(tt.want) > 0) {
				t.Errorf("Matches: got %v", !(len(tt.want) > 0))
			}
			if !s.Has(tt.ev) || s.Has(AfterAgent) || s.Matches(AfterAgent, "") {
				t.Error("Has and Matches confuse events")
			}
		})
	}
}

func TestDisabled(t *testing.T) {
	defs := map[Event][]Definition{BeforeTool: {{Hooks: []Hook{
		{Type: "command", Name: "n1", Command: "x"}, {Type: "command", Command: "y"}, {Type: "command", Name: "n2", Command: "z"},
	}}}, AfterTool: {{Hooks: []Hook{{Type: "command", Name: "n1", Command: "x"}}}}}
	s, err := New(Options{Definitions: defs, Disabled: []string{"n1", "y", "z", ""}, Handlers: map[string]Handler{"command": &says{}}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Has(AfterTool) {
		t.Error("AfterTool has a hook; want none, since it is disabled")
	}
	_, _, n := s.plan(&Input{Event: BeforeTool})
	if n != 1 {
		t.Errorf("got %d hooks; want n2 alone: a hook with a name is not disabled by its command", n)
	}
	if d := s.Fire(t.Context(), Input{Event: AfterTool}); d.Fired {
		t.Error("a disabled hook fired")
	}
}

func TestWindow(t *testing.T) {
	for _, tt := range []struct {
		in   []Window
		want Window
	}{
		{nil, WindowChunk}, {[]Window{""}, WindowChunk}, {[]Window{"", "word"}, WindowWord}, {[]Window{"all", "sentence"}, WindowAll}, {[]Window{"word", "sentence", "chunk"}, WindowSentence},
	} {
		d := Definition{}
		for _, w := range tt.in {
			d.Hooks = append(d.Hooks, Hook{Command: string(w) + "x", Window: w})
		}
		s, _ := newSet(t, AfterModel, d)
		if got := s.Window(); got != tt.want {
			t.Errorf("windows %q: got %s; want %s", tt.in, got, tt.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct {
		name string
		ev   Event
		def  Definition
		want string
	}{
		{"matcher", BeforeTool, Definition{Matcher: "[read_file"}, `hooks.BeforeTool[0].matcher: "[read_file" does not compile: missing closing ]: ` + "`[read_file`" + `
  hint: matchers are regular expressions (RE2) on the tool name, as in "write_file|replace" or "^mcp_"; put \ before a character that is meant as it stands: "\\[read_file"`},
		{"look-ahead", AfterTool, Definition{Matcher: "^(?!read)"}, `hooks.AfterTool[0].matcher: "^(?!read)" does not compile: invalid or unsupported Perl syntax: ` + "`(?!`" + `
  hint: matchers are RE2 expressions, which have no look-ahead and no look-behind: name the tools to match, as in "write_file|replace"`},
		{"back-reference", AfterTool, Definition{Matcher: `(a)\1`}, `hooks.AfterTool[0].matcher: "(a)\\1" does not compile: invalid escape sequence: ` + "`\\1`" + `
  hint: matchers are RE2 expressions, which have no back-references: name the tools to match, as in "write_file|replace"`},
		{"event", "BeforeTools", Definition{}, `hooks.BeforeTools: no such event
  hint: the events are SessionStart, BeforeAgent, BeforeModel, BeforeToolSelection, AfterModel, BeforeTool, Notification, AfterTool, AfterAgent, PreCompress, SessionEnd, PostCompact, SubagentStart, SubagentStop, StopFailure, QueryEnd, ConfigChange, InstructionsLoaded, CwdChanged, FileChanged, TaskCreated, TaskCompleted, TeammateIdle, PermissionRequest, PermissionDenied, WorktreeCreate, WorktreeRemove, Elicitation, ElicitationResult`},
		{"capital type", BeforeTool, Definition{Hooks: []Hook{{Type: "Command", Command: "x"}}}, `hooks.BeforeTool[0].hooks[0].type: "Command" is no hook type
  hint: write "command": types are in lower case`},
		{"no type", BeforeTool, Definition{Hooks: []Hook{{Command: "x"}}}, `hooks.BeforeTool[0].hooks[0].type: is missing
  hint: the types are command`},
		{"no command", BeforeTool, Definition{Hooks: []Hook{{Type: "command", Command: " "}}}, `hooks.BeforeTool[0].hooks[0].command: is missing
  hint: a hook of type command needs a command to run`},
		{"timeout", BeforeTool, Definition{Hooks: []Hook{{Type: "command", Command: "x", Timeout: -1}}}, `hooks.BeforeTool[0].hooks[0].timeout: -1ns is negative
  hint: leave it out for 1m0s`},
		{"instances", BeforeTool, Definition{Hooks: []Hook{{Type: "command", Command: "x", Instances: -1}}}, `hooks.BeforeTool[0].hooks[0].instances: -1 is negative
  hint: leave it out for one process`},
		{"fail mode", BeforeTool, Definition{Hooks: []Hook{{Type: "command", Command: "x", FailMode: "close"}}}, `hooks.BeforeTool[0].hooks[0].failMode: "close" is no fail mode
  hint: write "open" or "closed"`},
		{"window", AfterModel, Definition{Hooks: []Hook{{Type: "command", Command: "x", Window: "line"}}}, `hooks.AfterModel[0].hooks[0].window: "line" is no window
  hint: the windows are chunk, word, sentence, all`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := New(Options{Definitions: map[Event][]Definition{tt.ev: {tt.def}}, Handlers: map[string]Handler{"command": &says{}}})
			var e *ConfigError
			if !errors.As(err, &e) || e.Event != tt.ev {
				t.Fatalf("got %v; want a *ConfigError", err)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	_, err := New(Options{Definitions: map[Event][]Definition{"x": nil, "y": nil}})
	if n := strings.Count(err.Error(), "no such event"); n != 2 {
		t.Errorf("got %d mistakes told; want 2", n)
	}
	if len(Events()) != 29 || !slices.Contains(Events(), Notification) {
		t.Errorf("got events %v; want 29", Events())
	}
}

// What New was given may change afterwards.
func TestNewCopies(t *testing.T) {
	defs := []Definition{{Hooks: []Hook{{Type: "command", Command: "{}", Env: map[string]string{"A": "1"}, Args: []string{"a"}}}}}
	var got *Hook
	h := HandlerFunc(func(_ context.Context, h *Hook, _ []byte, _ Env) Result {
		got = h
		return Result{}
	})
	s, err := New(Options{Definitions: map[Event][]Definition{BeforeTool: defs}, Handlers: map[string]Handler{"command": h}})
	if err != nil {
		t.Fatal(err)
	}
	defs[0].Hooks[0].Env["A"], defs[0].Hooks[0].Args[0], defs[0].Hooks[0].Command = "2", "b", "x"
	s.Fire(t.Context(), Input{Event: BeforeTool})
	if got.Env["A"] != "1" || got.Args[0] != "a" || got.Command != "{}" {
		t.Errorf("got %+v; want the hook as New was given it", got)
	}
}
