package toolloop

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/translate"
)

// Wire is a wire family: it reads that family's bodies into the neutral values
// of package translate and splices edits back. A value belongs to one call (it
// knows that call's spelling, enum form and envelope) and has no state. Methods
// never change their arguments.
type Wire interface {
	// ParseRequest reads a body in one pass. The turns refer to body.
	ParseRequest(body []byte, model string) (*translate.Request, error)
	// WithTurns replaces the history. A turn whose Raw is set goes out as those
	// bytes; others are built from the Raw of their parts.
	WithTurns(r *translate.Request, turns []translate.Turn) (*translate.Request, error)
	// LLMRequest is what hooks are shown of a request; system adds the system
	// instruction as a leading message.
	LLMRequest(r *translate.Request, system bool) json.RawMessage
	// ApplyLLMRequest applies what a hook made of it, as a diff. system says
	// whether the hook had been shown the system instruction.
	ApplyLLMRequest(r *translate.Request, patch json.RawMessage, system bool) (*translate.Request, error)
	// ApplyToolConfig applies a merged tool selection.
	ApplyToolConfig(r *translate.Request, tc translate.ToolConfig) (*translate.Request, error)

	// Traits is what the request tells of its purpose.
	Traits(r *translate.Request) translate.Traits

	// ParseChunk reads one response document.
	ParseChunk(payload []byte) (*translate.Chunk, error)
	// LLMResponse is what hooks are shown of a chunk.
	LLMResponse(c *translate.Chunk) json.RawMessage
	// ApplyLLMResponse replaces the text of a chunk by a hook's llm_response;
	// calls, finish reason, usage and ids stay.
	ApplyLLMResponse(c *translate.Chunk, response json.RawMessage) (*translate.Chunk, error)
	// Synthesize makes a whole answer of a hook's llm_response. like, which may
	// be nil, is a chunk of the same call to take ids and model version from.
	Synthesize(like *translate.Chunk, response json.RawMessage) (*translate.Chunk, error)
	// Answer makes a chunk of one candidate with the given parts; finish "" for none.
	Answer(like *translate.Chunk, index int, parts []translate.Part, finish string) *translate.Chunk
	// Edit changes a chunk, splicing: all else keeps its bytes.
	Edit(c *translate.Chunk, e translate.Edit) (*translate.Chunk, error)
	// Emit gives the documents to send for a chunk, in order (an agent that
	// mixes up several parts of one event gets one part per document).
	Emit(c *translate.Chunk) [][]byte
	// Join makes one unary document of the chunks that make up an answer.
	Join(chunks []*translate.Chunk) (*translate.Chunk, error)
	// AddUsage sums two usageMetadata objects; either may be nil.
	AddUsage(a, b json.RawMessage) json.RawMessage
	// Assemble turns streamed calls (Partial) into whole ones, others stay.
	Assemble(parts []translate.Part) []translate.Part

	// Part reads one part as it stood on the wire. What is no part is KindOther.
	Part(raw []byte) translate.Part
	TextPart(text string) translate.Part
	CallPart(id, name string, args json.RawMessage, signature string) translate.Part
	ResultPart(id, name string, response json.RawMessage) translate.Part
	// WithArgs, WithResponse, WithSignature and WithCall splice members of a part,
	// all else keeps its bytes. An empty signature or id removes that member.
	// WithCall sets id and name of a call or result.
	WithArgs(p translate.Part, args json.RawMessage) translate.Part
	WithResponse(p translate.Part, response json.RawMessage) translate.Part
	WithSignature(p translate.Part, signature string) translate.Part
	WithCall(p translate.Part, id, name string) translate.Part
}

// Upstream makes model calls for one agent request.
type Upstream interface {
	// Generate sends body to the model. An error means no answer at all (it
	// did not connect, the header did not come). ctx ends the call, also
	// while the reply's events are read.
	Generate(ctx context.Context, model string, body []byte) (*Reply, error)
}

// Reply is an upstream answer whose header has come. The reader of Events
// need not read to the end; Close frees what it holds.
type Reply struct {
	Status int
	// Events are the answer's documents: those of a stream, or the one of a
	// unary answer. Set for 2xx answers that can be read as such.
	Events iter.Seq2[stream.Event, error]
	// Opaque is the transport's own: header and, for other answers, the body.
	Opaque any
	Close  func() error
}

// Sink receives the answer for the agent. Its methods are called from one
// goroutine, in order: one of Start, Forward; then Event and Tail; an error that
// Run returns afterwards means the stream must be cut.
type Sink interface {
	// Start opens a 2xx answer. reply is the upstream answer that opens it,
	// nil when hookline answers by itself.
	Start(reply *Reply) error
	// Forward passes an upstream answer on as it is (errors, mostly).
	Forward(reply *Reply) error
	// Event sends one document.
	Event(payload []byte) error
	// Tail sends upstream bytes that are no event, as they came.
	Tail(raw []byte) error
}
