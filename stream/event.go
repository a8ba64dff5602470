// Package stream turns bytes into framed events and back: server-sent events
// and the JSON array stream of the Gemini API, with limits, and the windows
// that hold text back until a border. It knows framing only: what is inside an
// event's JSON is somebody else's business.
package stream

// Format is a framing.
type Format string

const (
	SSE   Format = "sse"   // text/event-stream, as with alt=sse
	Array Format = "array" // one JSON array, elements flushed as they come
	Unary Format = "unary" // one JSON document, no stream
)

// Event is one framed document of a response.
type Event struct {
	Data []byte // the JSON document, without its framing; nil for a tail that was cut off
	Raw  []byte // Tail and Unary: the bytes as they came
	Tail bool   // not an event: bytes to be forwarded untouched as their own write (a raw error after events)
}
