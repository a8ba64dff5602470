// Package hooks runs hooks: it plans which ones an event fires, runs them
// through handlers (package hooks/run) and merges what they say into one
// Decision. It knows the contract of Gemini CLI's hooks (JSON in, JSON out,
// exit codes), not what the caller does with a decision.
//
// Invariants: results are merged in the order of the config, whatever finishes
// first; a deny is never undone by another hook; nothing is done for an event
// that no hook listens to.
package hooks

// Event is the name of a hook event, as in Gemini CLI's settings.
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
