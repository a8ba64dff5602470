package toolloop

import "github.com/hookline-proxy/hookline/hooks"

// Origin is how an event comes to be known.
type Origin string

const (
	OriginWire     Origin = "wire"     // it is itself on the wire
	OriginDerived  Origin = "derived"  // it follows from what is on the wire
	OriginReported Origin = "reported" // the agent must report it
)

// Observation is what a loop can make of an event.
type Observation struct {
	Origin Origin
	// Agents are the agents whose markers are known, where the event depends on
	// them; nil for all.
	Agents []string
	// Enforces: hooks of the event may hold back what it is about.
	Enforces bool
}

// markedAgents are those that agents.json and markers.json tell of.
var markedAgents = []string{"gemini-cli", "qwen-code"}

// Observed tells of each event how the loop observes it.
var Observed = map[hooks.Event]Observation{
	hooks.BeforeAgent:         {Origin: OriginWire, Enforces: true},
	hooks.AfterAgent:          {Origin: OriginWire, Enforces: true},
	hooks.BeforeModel:         {Origin: OriginWire, Enforces: true},
	hooks.BeforeToolSelection: {Origin: OriginWire, Enforces: true},
	hooks.AfterModel:          {Origin: OriginWire, Enforces: true},
	hooks.BeforeTool:          {Origin: OriginWire, Enforces: true},
	hooks.AfterTool:           {Origin: OriginWire, Enforces: true},
	hooks.StopFailure:         {Origin: OriginWire},
	hooks.TaskCreated:         {Origin: OriginWire, Agents: markedAgents, Enforces: true},
	hooks.TaskCompleted:       {Origin: OriginWire, Agents: markedAgents, Enforces: true},
	// The loop's own asks and denials need no markers; Notification is of the former only.
	hooks.Notification:     {Origin: OriginDerived},
	hooks.PermissionDenied: {Origin: OriginDerived},

	hooks.SessionStart:       {Origin: OriginDerived},
	hooks.SessionEnd:         {Origin: OriginDerived},
	hooks.PreCompress:        {Origin: OriginDerived, Agents: markedAgents, Enforces: true},
	hooks.PostCompact:        {Origin: OriginDerived, Agents: markedAgents},
	hooks.QueryEnd:           {Origin: OriginDerived},
	hooks.InstructionsLoaded: {Origin: OriginDerived, Agents: markedAgents},
	hooks.CwdChanged:         {Origin: OriginDerived, Agents: markedAgents},
	hooks.FileChanged:        {Origin: OriginDerived, Agents: markedAgents},

	hooks.SubagentStart:     {Origin: OriginReported},
	hooks.SubagentStop:      {Origin: OriginReported},
	hooks.TeammateIdle:      {Origin: OriginReported},
	hooks.ConfigChange:      {Origin: OriginReported}, // the agent's configuration; hookline fires it for its own
	hooks.PermissionRequest: {Origin: OriginReported},
	hooks.WorktreeCreate:    {Origin: OriginReported},
	hooks.WorktreeRemove:    {Origin: OriginReported},
	hooks.Elicitation:       {Origin: OriginReported},
	hooks.ElicitationResult: {Origin: OriginReported},
}
