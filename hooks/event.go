// Package hooks runs hooks: it plans which ones an event fires, runs them
// through handlers (package hooks/run) and merges what they say into one
// Decision. It knows the contract of Gemini CLI's hooks (JSON in, JSON out,
// exit codes) and, through a [Dialect], that of others; not what the caller
// does with a decision.
//
// Invariants: results are merged in the order of the config, whatever finishes
// first; a deny is never undone by another hook; nothing is done for an event
// that no hook listens to.
package hooks

// Event is what hooks listen to. There is one set of events for all dialects: a
// [Listener] says under which name a dialect knows one. The first eleven are
// Gemini CLI's and carry its names and fields.
type Event string

const (
	SessionStart        Event = "SessionStart"
	SessionEnd          Event = "SessionEnd"
	BeforeAgent         Event = "BeforeAgent"
	AfterAgent          Event = "AfterAgent"
	BeforeModel         Event = "BeforeModel"
	BeforeToolSelection Event = "BeforeToolSelection"
	AfterModel          Event = "AfterModel"
	BeforeTool          Event = "BeforeTool"
	AfterTool           Event = "AfterTool"
	PreCompress         Event = "PreCompress"
	Notification        Event = "Notification"
)

// Events that Gemini CLI has no counterpart of. Their fields are those of the
// Claude family of dialects.
const (
	PostCompact        Event = "PostCompact"
	SubagentStart      Event = "SubagentStart"
	SubagentStop       Event = "SubagentStop"
	StopFailure        Event = "StopFailure"
	QueryEnd           Event = "QueryEnd"
	ConfigChange       Event = "ConfigChange"
	InstructionsLoaded Event = "InstructionsLoaded"
	CwdChanged         Event = "CwdChanged"
	FileChanged        Event = "FileChanged"
	TaskCreated        Event = "TaskCreated"
	TaskCompleted      Event = "TaskCompleted"
	TeammateIdle       Event = "TeammateIdle"
	PermissionRequest  Event = "PermissionRequest"
	PermissionDenied   Event = "PermissionDenied"
	WorktreeCreate     Event = "WorktreeCreate"
	WorktreeRemove     Event = "WorktreeRemove"
	Elicitation        Event = "Elicitation"
	ElicitationResult  Event = "ElicitationResult"
)

// Events lists all events, in the order in which a session meets them as far as
// there is one.
func Events() []Event {
	return []Event{SessionStart, BeforeAgent, BeforeModel, BeforeToolSelection, AfterModel,
		BeforeTool, Notification, AfterTool, AfterAgent, PreCompress, SessionEnd,
		PostCompact, SubagentStart, SubagentStop, StopFailure, QueryEnd, ConfigChange, InstructionsLoaded,
		CwdChanged, FileChanged, TaskCreated, TaskCompleted, TeammateIdle, PermissionRequest, PermissionDenied,
		WorktreeCreate, WorktreeRemove, Elicitation, ElicitationResult}
}

// subjects names the field that an event's matchers are tested against, where
// the firing itself names no Match.
var subjects = map[Event]string{
	SessionStart: "source", SessionEnd: "reason", PreCompress: "trigger", BeforeTool: "tool_name", AfterTool: "tool_name",
	PostCompact: "trigger", SubagentStart: "agent_type", SubagentStop: "agent_type", StopFailure: "error",
	ConfigChange: "source", InstructionsLoaded: "load_reason", FileChanged: "file_path", PermissionRequest: "tool_name",
	PermissionDenied: "tool_name", Elicitation: "mcp_server_name", ElicitationResult: "mcp_server_name",
	Notification: "notification_type",
}

// Subject is what the matchers of a firing are tested against; "" for nothing.
func (in *Input) Subject() string {
	if in.Match != "" {
		return in.Match
	}
	return in.Text(subjects[in.Event])
}
