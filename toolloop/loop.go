package toolloop

import (
	"log/slog"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop/store"
)

// Options configure a Loop. The zero value runs no hooks and changes nothing.
type Options struct {
	Hooks  hooks.Firer  // nil: none
	Store  store.Store  // the ledger's entries; nil: a store in memory
	Log    *slog.Logger // nil: discards
	Repair bool         // restore the model's calls and signed parts also when no tool hook is configured
	DenyAs DenyAs       // "" is DenyAsAnswer
	Cwd    string       // working directory told to hooks
	Now    func() time.Time
}

// DenyAs says in which form a denied turn reaches the agent.
type DenyAs string

const (
	DenyAsAnswer DenyAs = "answer" // a final answer whose text is the reason
	DenyAsError  DenyAs = "error"  // HTTP 403 with the API's error body
)

// Call is one model call of an agent. The loop owns Body until Run returns.
type Call struct {
	ID              string // request id
	Tenant          string // hash of the credential; never the credential
	Session         string // "" when the request names none
	SessionExplicit bool   // Session was named by the request, not derived
	Agent           string // name of the agent's client, "" when unknown
	Wire            Wire
	Body            []byte
	Model           string
	Stream          bool // the agent reads a stream of documents, else one document
	Upstream        Upstream
}
