// Package rules judges bodies of generateContent requests as the Gemini API
// does: it refuses what the API refuses, with the API's own messages. It is a
// judge for tests and for the scripted model of the demo, not part of the path
// of a request: speed does not matter here, completeness does.
//
// Invariants: Check is pure but for the memory that it reads; it never panics,
// whatever the body; what it refuses beyond the API is marked [Rule.Beyond].
package rules

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
)

// Rule names a rule that a body broke.
type Rule string

// The rules, in the order in which they are tried.
const (
	JSON           Rule = "json"            // not a JSON object
	UnknownField   Rule = "unknown-field"   // a member that the API does not know
	Type           Rule = "type"            // a member of the wrong JSON type
	Oneof          Rule = "oneof"           // two data members in one part
	EmptyContents  Rule = "empty-contents"  // no contents
	EmptyParts     Rule = "empty-parts"     // a content without parts
	EmptyPart      Rule = "empty-part"      // a part without data
	Role           Rule = "role"            // a role that is neither user nor model
	LastTurn       Rule = "last-turn"       // the model's turn at the end
	Name           Rule = "name"            // a function name that is missing or malformed
	Duplicate      Rule = "duplicate"       // a function declared twice
	ToolConfig     Rule = "tool-config"     // a function calling config without declarations, or an unknown mode
	AllowedNames   Rule = "allowed-names"   // allowedFunctionNames outside ANY and VALIDATED, or not declared
	ResponseObject Rule = "response-object" // a function response that is no object
	Multimodal     Rule = "multimodal"      // parts in a function response before Gemini 3
	MissingSig     Rule = "missing-sig"     // Gemini 3: an unsigned first call in the current turn
	CallTurn       Rule = "call-turn"       // a function call where none may be
	ResponseTurn   Rule = "response-turn"   // a function response that follows no call
	Counts         Rule = "counts"          // calls without results, or the other way round
	CorruptedSig   Rule = "corrupted-sig"   // a signature that nobody issued, or on another part
	Undeclared     Rule = "undeclared"      // a call of a function that is neither declared nor was ever called
	Altered        Rule = "altered"         // a call that the model never made like that
	Pairing        Rule = "pairing"         // results whose ids or names are not their calls'
)

// Beyond reports whether the rule goes beyond what the API was seen to refuse.
// A history that breaks such a rule shows the model a past that never was.
func (r Rule) Beyond() bool { return r == Undeclared || r == Altered || r == Pairing }

// The signatures that the API documents for calls that the model did not make
// (https://ai.google.dev/gemini-api/docs/thought-signatures, read 2026-11-30).
const (
	SkipValidator = "skip_thought_signature_validator"
	SkipContext   = "context_engineering_is_the_way_to_go"
)

// skips reports whether a signature is one of them, as bare text or in the base64
// that SDKs make of it, which hold signatures as bytes.
func skips(sig string) bool {
	plain, err := base64.StdEncoding.DecodeString(sig)
	return sig == SkipValidator || sig == SkipContext ||
		err == nil && (string(plain) == SkipValidator || string(plain) == SkipContext)
}

// Options says which model judges. The zero value is a Gemini 2.5 model that
// does not remember what it said.
type Options struct {
	// Gemini3 turns on what Gemini 3 models ask for: signed calls.
	Gemini3 bool
	// Issued is what the model said so far; nil for unknown, then neither
	// altered calls nor made-up signatures are found.
	Issued *Memory
}

// Violation says which rule a body broke. It is the API's answer, too.
type Violation struct {
	Rule    Rule
	Message string
}

// Error is the API's message.
func (v *Violation) Error() string { return v.Message }

// Body is Google's error document for the violation, for an answer of status 400.
func (v *Violation) Body() []byte { return ErrorBody(400, "INVALID_ARGUMENT", v.Message) }

// ErrorBody is an error document as Google writes it.
func ErrorBody(code int, status, message string, details ...any) []byte {
	e := map[string]any{"code": code, "message": message, "status": status}
	if len(details) > 0 {
		e["details"] = details
	}
	b, err := json.MarshalIndent(map[string]any{"error": e}, "", "  ")
	if err != nil {
		panic("rules: error body: " + err.Error()) // details are ours, and plain data
	}
	return append(b, '\n')
}

func broken(r Rule, format string, args ...any) *Violation {
	return &Violation{Rule: r, Message: fmt.Sprintf(format, args...)}
}

// Check judges the body of a generateContent or streamGenerateContent request
// (without an envelope). It returns the first violation, or nil.
func Check(body []byte, o Options) *Violation {
	doc, v := object(body)
	if v != nil {
		return v
	}
	c := &checker{Options: o, doc: doc, declared: map[string]bool{}}
	for _, step := range []func() *Violation{c.members, c.tools, c.toolConfig, c.contents, c.signed, c.history, c.issued} {
		if v := step(); v != nil {
			return v
		}
	}
	return nil
}

func object(body []byte) (map[string]any, *Violation) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber() // 2^53+1 must not equal 2^53 here
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, broken(JSON, "Invalid JSON payload received. %v", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, broken(JSON, "Invalid JSON payload received. Expected end of string after value.")
	}
	m, ok := doc.(map[string]any)
	if !ok {
		return nil, broken(JSON, "Invalid JSON payload received. Unknown name \"\": Root element must be a message.")
	}
	return m, nil
}

// checker is one judgement; later steps use what earlier ones found.
type checker struct {
	Options
	doc      map[string]any
	declared map[string]bool // names of the function declarations
	turns    []turn
}

// turn is a content whose shape has been found good.
type turn struct {
	role  string
	parts []part
}

type part struct {
	kind string // the data member, in camel case; "" for a part that has a signature only
	data any
	sig  string
}

func (t turn) fromModel() bool { return t.role == "model" }

// of returns the parts of one kind with their positions.
func (t turn) of(kind string) (at []int) {
	for i, p := range t.parts {
		if p.kind == kind {
			at = append(at, i)
		}
	}
	return at
}
