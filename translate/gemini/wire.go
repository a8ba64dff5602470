// Package gemini is the wire family of the Gemini API: the Generative Language
// API, Vertex AI (same bodies) and Code Assist (the same inside an envelope).
// It recognises the family's paths, reads its bodies into the neutral values of
// package translate, and splices edits back into the bytes they came from.
//
// Invariants: all functions are pure; nothing is decoded and encoded again that
// nobody edited; member names are looked up in camelCase and snake_case, but
// only where the API's own messages stand, never inside what users own (args,
// response, schemas, labels); of duplicate members the last one counts; null
// is absent. Hostile bodies give errors, never panics.
package gemini

// Wire implements the tool loop's view of the family. A value belongs to one
// call. The zero value serves plain Gemini and Vertex calls.
type Wire struct {
	// IntEnums makes what hookline itself writes carry enum numbers instead of
	// names, as a client asks for with $alt=json;enum-encoding=int.
	IntEnums bool
	// Envelope says that bodies are Code Assist's: {"request":{…}} and
	// {"response":{…}}.
	Envelope bool
	// OnePart splits what is emitted so that no document holds more than one
	// part per candidate. Clients of @google/generative-ai (x-goog-api-client
	// genai-js/…) mix up several parts of one event.
	OnePart bool
}
