package toolloop

import (
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/reported"
)

// markedAgents are those that agents.json and markers.json tell of.
var markedAgents = []string{"gemini-cli", "qwen-code"}

// Observed says of each event how a Loop comes to know of it; events that are not
// in it must be reported. The loop's own asks and denials are no agent's: they
// fire Notification, which is in the table no more than an agent's own are, and
// PermissionDenied.
var Observed = map[hooks.Event]reported.Observation{
	hooks.BeforeAgent:         {Sight: reported.OnWire, Enforced: true},
	hooks.AfterAgent:          {Sight: reported.OnWire, Enforced: true},
	hooks.BeforeModel:         {Sight: reported.OnWire, Enforced: true},
	hooks.BeforeToolSelection: {Sight: reported.OnWire, Enforced: true},
	hooks.AfterModel:          {Sight: reported.OnWire, Enforced: true},
	hooks.BeforeTool:          {Sight: reported.OnWire, Enforced: true},
	hooks.AfterTool:           {Sight: reported.OnWire, Enforced: true},
	hooks.StopFailure:         {Sight: reported.OnWire},
	hooks.TaskCreated:         {Sight: reported.OnWire, Enforced: true, Agents: markedAgents},
	hooks.TaskCompleted:       {Sight: reported.OnWire, Enforced: true, Agents: markedAgents},

	hooks.SessionStart:       {Sight: reported.Derived},
	hooks.SessionEnd:         {Sight: reported.Derived},
	hooks.QueryEnd:           {Sight: reported.Derived},
	hooks.PermissionDenied:   {Sight: reported.Derived},
	hooks.PreCompress:        {Sight: reported.Derived, Enforced: true, Agents: markedAgents},
	hooks.PostCompact:        {Sight: reported.Derived, Agents: markedAgents},
	hooks.SubagentStart:      {Sight: reported.Derived, Agents: markedAgents},
	hooks.SubagentStop:       {Sight: reported.Derived, Enforced: true, Agents: markedAgents},
	hooks.InstructionsLoaded: {Sight: reported.Derived, Agents: markedAgents},
	hooks.CwdChanged:         {Sight: reported.Derived, Agents: markedAgents},
	hooks.FileChanged:        {Sight: reported.Derived, Agents: markedAgents},
}
