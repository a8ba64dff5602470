package config

import (
	"fmt"
	"slices"
	"strings"
)

// geminiEvents are the events of Gemini CLI, in the order in which a
// conversation meets them.
var geminiEvents = []string{
	"SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeModel", "BeforeToolSelection",
	"AfterModel", "BeforeTool", "AfterTool", "PreCompress", "Notification",
}

// claudeEvents are those of the Claude family.
var claudeEvents = []string{
	"PreToolUse", "PostToolUse", "PostToolUseFailure", "SubagentStart", "SubagentStop", "Notification", "SessionStart",
	"SessionEnd", "PreCompact", "PostCompact", "Stop", "QueryEnd", "UserPromptSubmit", "ConfigChange", "StopFailure",
	"TeammateIdle", "InstructionsLoaded", "CwdChanged", "FileChanged", "WorktreeCreate", "WorktreeRemove", "Elicitation",
	"ElicitationResult", "TaskCreated", "TaskCompleted", "PermissionRequest", "PermissionDenied",
}

// elsewhere pairs the names of the Claude family with Gemini CLI's for the same
// event.
var elsewhere = []struct{ claude, gemini string }{
	{"PreToolUse", "BeforeTool"}, {"PostToolUse", "AfterTool"}, {"PostToolUseFailure", "AfterTool"},
	{"UserPromptSubmit", "BeforeAgent"}, {"Stop", "AfterAgent"}, {"PreCompact", "PreCompress"},
}

// events are all names that a file may use.
var events = slices.Concat(geminiEvents, slices.DeleteFunc(slices.Clone(claudeEvents), func(ev string) bool {
	return slices.Contains(geminiEvents, ev)
}))

func (Hooks) keys() []string { return events }

// In is the dialect of a group's hooks under an event's name.
func (d *Definition) In(event string) Dialect {
	switch {
	case d.Dialect != "":
		return d.Dialect
	case !slices.Contains(geminiEvents, event):
		return DialectClaude
	}
	return DialectGemini
}

// has reports whether a dialect knows an event by that name. Gemini CLI's takes
// the others' events that have no name of its own, too.
func (d Dialect) has(event string) bool {
	if d == DialectGemini {
		return !slices.ContainsFunc(elsewhere, func(e struct{ claude, gemini string }) bool { return e.claude == event })
	}
	return slices.Contains(claudeEvents, event)
}

func (d Dialect) inSeconds() bool { return d == DialectClaude || d == DialectQoder }

// counterpart is the name of an event in a dialect that does not know it by
// this one; "" for none.
func counterpart(event string, in Dialect) string {
	for _, e := range elsewhere {
		if in == DialectGemini && e.claude == event {
			return e.gemini
		}
		if in != DialectGemini && e.gemini == event {
			return e.claude
		}
	}
	return ""
}

func orNone(name string) string {
	if name == "" {
		return "none"
	}
	return fmt.Sprintf("%q", name)
}

// aboutTool reports whether an event's matchers are tested against a tool's name.
func aboutTool(event string) bool {
	switch event {
	case "BeforeTool", "AfterTool", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied":
		return true
	}
	return false
}

func eventHint(name string) string {
	if contains([]string{"enabled", "disabled", "notifications"}, name) {
		return `"enabled" and "disabled" stand in "hooksConfig", beside "hooks"`
	}
	if e := nearest(name, events); e != "" {
		return fmt.Sprintf("did you mean %q?", e)
	}
	return "events are " + strings.Join(events, ", ")
}
