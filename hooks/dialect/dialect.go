// Package dialect speaks with hooks that were written for other agents than
// Gemini CLI: for Claude Code, Qwen Code and Qoder, whose hooks have 27 events
// and one contract with small differences. A dialect is a table of events and a
// pair of pure functions: one writes what a hook reads on its stdin, the other
// reads what the hook answers. Both sides of the pair are the events and answers
// of package hooks, so that hooks of several dialects fire at one event and are
// merged into one decision.
//
// Invariants: what a hook says in any spelling of "deny" denies; exit code 2 is
// never undone by what the hook printed; nothing here does input or output.
package dialect

import (
	"slices"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// All are the dialects by name, for [hooks.Options].
func All() map[string]hooks.Dialect {
	all := map[string]hooks.Dialect{hooks.DialectGemini: hooks.Gemini()}
	for name, f := range families {
		all[name] = f.dialect()
	}
	return all
}

// Unit is that of a "timeout" in a config of a dialect.
func Unit(dialect string) time.Duration {
	if f := families[dialect]; f != nil {
		return f.unit
	}
	return time.Millisecond
}

// family is one dialect of the Claude family.
type family struct {
	name string
	unit time.Duration
	// rename shows hooks the tools of Gemini CLI by Claude's names and keys.
	rename bool
	// merges: updatedInput names single arguments, others stay.
	merges bool
	// stamps: inputs carry a timestamp.
	stamps bool
	// models: every input names the model, if it is known.
	models bool
	// suppresses: suppressOutput has an effect.
	suppresses bool
	compile    func(e *event, text string) (func(string) bool, error)
	timeout    func(hookType string) time.Duration
}

// families differ where the products do. The documents are
// https://code.claude.com/docs/en/hooks,
// https://qwenlm.github.io/qwen-code-docs/1.x/zh/users/hooks-reference/ and, for
// Qwen Code 0.2x, https://github.com/QwenLM/qwen-code (docs/users/features/hooks.md),
// read 2026-11-30; Qoder's are those of @qoder-ai/qodercli 1.1.
var families = map[string]*family{
	hooks.DialectClaude: {name: hooks.DialectClaude, unit: time.Second, rename: true, compile: compileClaude, timeout: secondsTimeout},
	hooks.DialectQoder: {name: hooks.DialectQoder, unit: time.Second, rename: true, merges: true, models: true, suppresses: true,
		compile: compileQoder, timeout: secondsTimeout},
	hooks.DialectQwen: {name: hooks.DialectQwen, unit: time.Millisecond, merges: true, stamps: true, suppresses: true,
		compile: compileQwen, timeout: qwenTimeout},
}

func secondsTimeout(hookType string) time.Duration {
	switch hookType {
	case "prompt":
		return 30 * time.Second
	case "agent":
		return time.Minute
	}
	return 10 * time.Minute
}

func qwenTimeout(hookType string) time.Duration {
	if hookType == "command" {
		return hooks.DefaultTimeout
	}
	return secondsTimeout(hookType)
}

// Names of events that Claude Code or Qwen Code have beside the 27. Their hooks
// are accepted and never run.
var without = []string{"PostToolBatch", "UserPromptExpansion", "Setup", "MessageDisplay", "PreModelSwitch", "PostModelSwitch",
	"DirectoryAdded", "PreSkillShellCommand", "SessionDelete", "TodoCreated"}

func (f *family) dialect() hooks.Dialect {
	d := hooks.Dialect{}
	for i := range events {
		e := &events[i]
		l := &hooks.Listener{Name: e.name, Event: e.on, Takes: e.takes, Subjects: e.subjects}
		l.Encode = func(in *hooks.Input) []byte { return f.encode(e, in) }
		l.Read = func(in *hooks.Input, h *hooks.Hook, res hooks.Result) hooks.Answer { return f.read(e, in, h, res) }
		l.Timeout = func(hookType string) time.Duration {
			if t := f.timeout(hookType); e.timeout == 0 || t < e.timeout || hookType == "prompt" || hookType == "agent" {
				return t
			}
			return e.timeout
		}
		if e.subjects != nil {
			l.Compile = func(text string) (func(string) bool, error) { return f.compile(e, text) }
		}
		d[e.name] = l
	}
	for _, name := range without {
		d[name] = &hooks.Listener{Name: name, Encode: hooks.Encode, Read: func(*hooks.Input, *hooks.Hook, hooks.Result) hooks.Answer { return hooks.Answer{} }}
	}
	return d
}

// Events are the names of the events of the Claude family.
func Events() []string {
	var names []string
	for i := range events {
		names = append(names, events[i].name)
	}
	return names
}

// exit2 is what exit code 2 does at an event.
type exit2 string

const (
	exitBlocks   exit2 = "block"    // stderr is the reason
	exitFeedback exit2 = "feedback" // stderr is shown to the model
	exitTells    exit2 = "user"     // stderr is shown to people
	exitIgnored  exit2 = "ignored"
	exitFails    exit2 = "fail" // and so does every other exit code but 0
)

// event is one of the 27.
type event struct {
	name     string
	on       hooks.Event
	takes    func(*hooks.Input) bool
	subjects func(*hooks.Input) []string // nil: matchers have no effect
	fields   func(*family, *hooks.Input) []hooks.Field
	timeout  time.Duration // of hooks that ask no model; 0 for the dialect's

	exit2 exit2
	block blocking // what decision:"block" does
	stops bool     // continue:false counts
	// context says that additionalContext reaches the model, plain that other
	// text on stdout does.
	context, plain bool
	silent         bool // what hooks say is discarded, failures too
	// specific are the members of hookSpecificOutput that are handed on.
	specific []string
}

// blocking is what decision:"block" does at an event.
type blocking string

const (
	blocksNothing blocking = ""
	blocksEvent   blocking = "deny"
	blocksAdds    blocking = "context" // the reason is shown to the model, nothing is undone
)

// events is the table of the 27, in the order of the documents.
var events = []event{
	{name: "PreToolUse", on: hooks.BeforeTool, subjects: toolNames, fields: preToolUse, exit2: exitBlocks, block: blocksEvent, stops: true, context: true},
	{name: "PostToolUse", on: hooks.AfterTool, takes: func(in *hooks.Input) bool { return !failed(in) }, subjects: toolNames, fields: postToolUse,
		exit2: exitFeedback, block: blocksAdds, stops: true, context: true},
	{name: "PostToolUseFailure", on: hooks.AfterTool, takes: failed, subjects: toolNames, fields: postToolUseFailure,
		exit2: exitFeedback, block: blocksAdds, stops: true, context: true},
	{name: "SubagentStart", on: hooks.SubagentStart, subjects: subject, fields: others, exit2: exitTells, context: true},
	{name: "SubagentStop", on: hooks.SubagentStop, subjects: subject, fields: stop, exit2: exitBlocks, block: blocksEvent, stops: true, context: true},
	{name: "Notification", on: hooks.Notification, subjects: notificationType, fields: notification, exit2: exitIgnored},
	{name: "SessionStart", on: hooks.SessionStart, subjects: subject, fields: sessionStart, exit2: exitTells, context: true, plain: true},
	{name: "SessionEnd", on: hooks.SessionEnd, subjects: endReason, fields: sessionEnd, exit2: exitTells, timeout: 1500 * time.Millisecond},
	{name: "PreCompact", on: hooks.PreCompress, subjects: subject, fields: preCompact, exit2: exitBlocks, block: blocksEvent, context: true},
	{name: "PostCompact", on: hooks.PostCompact, subjects: subject, fields: others, exit2: exitTells},
	{name: "Stop", on: hooks.AfterAgent, fields: stop, exit2: exitBlocks, block: blocksEvent, stops: true, context: true},
	{name: "QueryEnd", on: hooks.QueryEnd, fields: stop, exit2: exitIgnored, silent: true},
	{name: "UserPromptSubmit", on: hooks.BeforeAgent, fields: others, timeout: 30 * time.Second,
		exit2: exitBlocks, block: blocksEvent, stops: true, context: true, plain: true},
	{name: "ConfigChange", on: hooks.ConfigChange, subjects: subject, fields: others, exit2: exitBlocks, block: blocksEvent},
	{name: "StopFailure", on: hooks.StopFailure, subjects: subject, fields: stop, exit2: exitIgnored, silent: true},
	{name: "TeammateIdle", on: hooks.TeammateIdle, fields: others, exit2: exitBlocks, stops: true},
	{name: "InstructionsLoaded", on: hooks.InstructionsLoaded, subjects: subject, fields: others, exit2: exitIgnored, silent: true},
	{name: "CwdChanged", on: hooks.CwdChanged, fields: others, exit2: exitTells, context: true, specific: []string{"watchPaths"}},
	{name: "FileChanged", on: hooks.FileChanged, subjects: baseName, fields: others, exit2: exitTells, context: true, specific: []string{"watchPaths"}},
	{name: "WorktreeCreate", on: hooks.WorktreeCreate, fields: others, exit2: exitFails, specific: []string{"worktreePath"}},
	{name: "WorktreeRemove", on: hooks.WorktreeRemove, fields: others, exit2: exitIgnored},
	{name: "Elicitation", on: hooks.Elicitation, subjects: subject, fields: others, exit2: exitBlocks, specific: []string{"action", "content"}},
	{name: "ElicitationResult", on: hooks.ElicitationResult, subjects: subject, fields: others, exit2: exitBlocks, specific: []string{"action", "content"}},
	{name: "TaskCreated", on: hooks.TaskCreated, fields: others, exit2: exitBlocks, block: blocksEvent},
	{name: "TaskCompleted", on: hooks.TaskCompleted, fields: others, exit2: exitBlocks, stops: true},
	{name: "PermissionRequest", on: hooks.PermissionRequest, subjects: toolNames, fields: permissionRequest, exit2: exitIgnored, specific: []string{"decision"}},
	{name: "PermissionDenied", on: hooks.PermissionDenied, subjects: toolNames, fields: preToolUse, exit2: exitIgnored, specific: []string{"retry"}},
}

// exitOf is what exit code 2 does in a dialect.
func (f *family) exitOf(e *event) exit2 {
	claude := f.name == hooks.DialectClaude
	switch {
	case e.on == hooks.PermissionRequest && !claude:
		return exitBlocks // Claude Code does not honour it
	case e.on == hooks.PreCompress && !claude:
		return exitTells // only Claude Code can hold a compaction back
	}
	return e.exit2
}

// contextAt reports whether additionalContext reaches the model.
func (f *family) contextAt(e *event) bool {
	switch e.on {
	case hooks.PreCompress:
		return f.name != hooks.DialectClaude
	case hooks.CwdChanged, hooks.FileChanged:
		return f.name == hooks.DialectQoder
	}
	return e.context
}

// Blockable lists the events whose hooks may hold back what they are about.
func Blockable() []string {
	var names []string
	for i := range events {
		e := &events[i]
		if e.exit2 == exitBlocks || e.exit2 == exitFails || slices.Contains(e.specific, "decision") {
			names = append(names, e.name)
		}
	}
	return names
}
