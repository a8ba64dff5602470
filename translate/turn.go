// Package translate holds the neutral picture of a conversation that hooks and
// the tool loop work on: turns made of parts, chunks made of candidates, and the
// LLMRequest and LLMResponse documents that hooks read and write. A wire family
// (translate/gemini) turns its bodies into these values and splices edits back.
//
// Invariants: every value keeps the bytes it came from in Raw; what nobody edits
// goes out as those bytes; all functions are pure, so values may be shared
// between goroutines as long as nobody writes to the slices they hold.
package translate

import "encoding/json"

// PartKind says what a part carries. Kinds that hookline does not know are
// [KindOther] and pass through untouched.
type PartKind string

const (
	KindText    PartKind = "text"    // text the user sees
	KindThought PartKind = "thought" // a thought summary: text marked as thought
	KindCall    PartKind = "call"    // a function call the agent is to run
	KindResult  PartKind = "result"  // a function response
	KindOther   PartKind = "other"   // images, files, code, server-side tools, anything unknown
)

// Part is one part of a turn.
type Part struct {
	Raw       json.RawMessage // the whole part as it stands on the wire
	Kind      PartKind
	Text      json.RawMessage // KindText, KindThought: the JSON string literal, quotes included
	Signature string          // thought signature, opaque; "" for none
	ID        string          // KindCall, KindResult: call id; "" when the wire has none
	Name      string          // KindCall, KindResult: function name
	Body      json.RawMessage // KindCall: args, KindResult: response; nil when absent
	Partial   bool            // KindCall: a piece of a call whose arguments are streamed (partialArgs, willContinue)
}

// Turn is one content of the history.
type Turn struct {
	Role  string          // as written: "user", "model", "function", …; "" when absent
	Raw   json.RawMessage // the content as it came; nil for a turn that was built or edited
	Parts []Part
}

// FromModel reports whether the turn is the model's. Every other role,
// a missing one included, is the user's side.
func (t Turn) FromModel() bool { return t.Role == "model" }

// Request is a model call's body, parsed once by a wire family.
type Request struct {
	Raw   []byte // the body
	Model string // bare model name, without "models/"
	Turns []Turn
	Doc   any // the wire family's own bookkeeping (where things stand in Raw)
}

// Chunk is one response document: an event of a stream, or a whole unary answer.
type Chunk struct {
	Raw        []byte
	Candidates []Candidate
	Usage      json.RawMessage // usageMetadata; nil when absent
	Error      bool            // the document is {"error":…}: forward it, nothing else
}

// Candidate is one candidate of a chunk.
type Candidate struct {
	Index  int // 0 when absent
	Parts  []Part
	Finish string // finish reason by name ("STOP"); "" when absent
}

// Edit says what becomes of a chunk. The zero value changes nothing.
type Edit struct {
	// Parts replaces the parts of the candidates named by index. An empty,
	// non-nil slice leaves the candidate without parts.
	Parts map[int][]Part
	// Finish replaces finish reasons by candidate index; "" removes one.
	Finish map[int]string
	// Usage replaces usageMetadata; an empty, non-nil value removes it.
	Usage json.RawMessage
}

// ToolConfig is a tool selection in the words of hooks.
type ToolConfig struct {
	Mode                 string   `json:"mode,omitempty"` // AUTO, ANY, NONE
	AllowedFunctionNames []string `json:"allowedFunctionNames,omitempty"`
}

// Traits are what tells an agent's side calls (a title, a router, a compression)
// from its conversation.
type Traits struct {
	Tools  bool   // functions are declared
	JSON   bool   // a JSON answer is asked for
	System string // text of the system instruction
	// Session is the session id that the body names; "" for none.
	Session string
}
