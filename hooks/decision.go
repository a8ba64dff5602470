package hooks

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hookline-proxy/hookline/translate"
)

// Field is one event-specific member of a hook's input.
type Field struct {
	Key   string
	Value json.RawMessage
}

// Input is what an event shows its hooks. Common members are written first, in
// Gemini CLI's order, then Fields in theirs.
type Input struct {
	Event Event
	// Tenant keeps what the hooks of one tenant leave for later from others. It
	// is not shown to hooks.
	Tenant         string
	SessionID      string
	TranscriptPath string // absolute
	Cwd            string
	Time           time.Time
	// Match is what matchers are tested against: the tool name, the source,
	// the trigger; "" for events without one.
	Match  string
	Fields []Field
	// System holds replacements of Fields (by key) for hooks that ask for the
	// system instruction ("system": true). It is called at most once, and
	// only if such a hook fires; nil for none.
	System func() []Field
}

// Notice is a systemMessage of a hook, for people: it never enters a response.
type Notice struct {
	Hook string // the hook's name
	Text string
	// Suppress is the hook's suppressOutput: not for the terminal.
	Suppress bool
}

// Decision is the merged outcome of all hooks of one firing. The zero value
// means: nobody objects, nothing changes.
type Decision struct {
	Fired bool // at least one hook ran

	Stop       bool   // some hook said continue:false
	StopReason string // their reasons; never empty when Stop is set
	Deny       bool   // some hook denied (or failed closed)
	Defer      bool   // some hook put the call off, none denied (BeforeTool)
	Ask        bool   // some hook asked, none denied or put off (BeforeTool)
	Allow      bool   // some hook allowed in so many words, none objected
	Reason     string // reasons of the deciding hooks; never empty when Deny is set

	Context      []string              // for the model, unescaped, config order; BeforeTool: for the result of that call
	Prompt       json.RawMessage       // BeforeAgent: a string that the model is shown in the prompt's place; nil for none
	ToolInput    json.RawMessage       // BeforeTool: tool_input of all hooks merged (a patch to the model's arguments; null removes a key); nil for none
	Output       json.RawMessage       // AfterTool: any value that the model is shown as the tool's result; nil for none
	Tail         *TailCall             // AfterTool
	LLMRequest   json.RawMessage       // BeforeModel: llm_request of all hooks merged; nil for none
	SawSystem    bool                  // LLMRequest's messages come from a hook that was shown the system instruction
	LLMResponse  json.RawMessage       // BeforeModel, AfterModel: llm_response, last of the config order, with a deny or stop of the hooks that said so; nil for none
	ToolConfig   *translate.ToolConfig // BeforeToolSelection; nil for none
	ClearContext bool                  // AfterAgent
	// Specific holds members of hookSpecificOutput that the event honours and
	// that have no field above (worktreePath, watchPaths, retry, action, content,
	// and PermissionRequest's decision), merged; nil for none.
	Specific json.RawMessage

	Notices []Notice
	Runs    []Run // what each hook did, for logs and people
}

// TailCall is an AfterTool hook's request for one more tool call.
type TailCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Run is the record of one hook's run. It carries no payload.
type Run struct {
	Hook     string
	Exit     int // -1 when there was none (not started, killed, not a process)
	Duration time.Duration
	Failure  string // why the run counts as failed; "" for none. Never holds the hook's output
	Outcome  string // "allow", "deny", "defer", "ask", "stop", "failed", "ignored" (it decided where it cannot), for people
}

// Firer fires an event. [Set] is the real one.
type Firer interface {
	// Has reports whether an event has any hook at all; when it has none the
	// caller does no work for it.
	Has(Event) bool
	// Matches reports whether some hook of the event listens to this match
	// (tool name, source, trigger).
	Matches(ev Event, match string) bool
	// Fire runs the hooks of one event and merges their outcomes. It never
	// fails: failures are merged by each hook's fail mode. ctx ends the hooks.
	Fire(ctx context.Context, in Input) Decision
	// Window is how AfterModel's text is to be cut.
	Window() Window
}

// Window is the unit in which AfterModel sees streamed text.
type Window string

const (
	WindowChunk    Window = "chunk"    // as the model sent it
	WindowWord     Window = "word"     // whole words
	WindowSentence Window = "sentence" // whole sentences
	WindowAll      Window = "all"      // the whole text at once
)
