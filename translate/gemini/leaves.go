package gemini

import "github.com/hookline-proxy/hookline/translate"

// LeafKind says what a string of a body is part of.
type LeafKind string

const (
	LeafText    LeafKind = "text"    // text of a part
	LeafThought LeafKind = "thought" // a thought summary
	LeafSystem  LeafKind = "system"  // text of the system instruction
	LeafArgs    LeafKind = "args"    // a value among a call's arguments
	LeafPartial LeafKind = "partial" // a piece of a streamed argument
	LeafResult  LeafKind = "result"  // a value among a function's result
	LeafTools   LeafKind = "tools"   // descriptions and schemas of tools
	LeafCode    LeafKind = "code"    // code that the model runs, and its output
	LeafBlob    LeafKind = "blob"    // base64 data, see Leaf.MIME
	LeafOther   LeafKind = "other"   // any other string, members that are not known included
)

// Leaf is a value of a body that may carry people's data: a string literal, or
// a number of nine digits and more where users own the numbers.
type Leaf struct {
	Kind       LeafKind
	Start, End int    // of the literal in the body, quotes included
	Key        []byte // name of the member it stands under, escapes resolved; nil for none
	Number     bool
	// Model says that the model wrote it, going by the role of the content.
	Model bool
	// Run numbers texts that continue each other, over parts and contents: those
	// of one side and kind with no other part between them. 0 for other leaves.
	Run       int
	Candidate int    // its index; 0 outside of candidates
	Tool      string // LeafArgs, LeafPartial, LeafResult: the function's name, "" if there is none
	Path      string // LeafPartial: the JSON path
	Continues bool   // LeafPartial: the string goes on in the next piece of its path
	MIME      string // LeafBlob
}

// LeafPart is a part of a content, as [Leaves] passes it.
type LeafPart struct {
	Start, End int
	Candidate  int
	Kind       translate.PartKind // text, thought, or other for all else
	Leaf       int                // text, thought: index of its leaf; else -1
}

// Skipped counts bytes of a body that are no leaves, by why.
type Skipped struct {
	Protocol int // strings that are the API's own: names, ids, enum values, signatures
	Keys     int // member names that users own
	Numbers  int // numbers, true and false, where users own them
}

// Body is what [Leaves] finds.
type Body struct {
	Leaves  []Leaf
	Parts   []LeafPart
	Skipped Skipped
}

// protocol are the members whose strings are the API's own. All others are
// leaves, so that a member that is new is looked at rather than missed.
var protocol = nameSet(
	"role", "id", "name", "thoughtSignature", "mimeType", "fileUri", "model", "modelVersion", "responseId",
	"finishReason", "blockReason", "category", "threshold", "method", "probability", "severity", "mode",
	"allowedFunctionNames", "type", "format", "language", "outcome", "jsonPath", "createTime", "updateTime",
	"expireTime", "ttl", "cachedContent", "responseMimeType", "responseModalities", "mediaResolution", "level",
	"toolType", "taskType", "scheduling", "behavior", "voiceName", "languageCode", "startOffset", "endOffset",
	"traceId", "sessionId", "userPromptId", "project", "trafficType", "serviceTier", "modality", "retryDelay",
	"@type", "status", "reason", "domain", "object", "aspectRatio", "imageSize", "thinkingLevel", "sha256Hash",
	"toolCallId", "callId", "previousInteractionId",
)

var protocolLists = nameSet("allowedFunctionNames", "responseModalities")

func nameSet(names ...string) map[string]bool {
	m := make(map[string]bool, 2*len(names))
	for _, n := range names {
		m[n] = true
		m[snakeCase(n)] = true
	}
	return m
}

// Leaves lists the strings of a body that may carry people's data, in their
// order: a body of any call of the family, request or answer, and other JSON as
// far as its member names mean what they mean here. Of duplicate members all
// are listed. Errors are of type *[SyntaxError].
func Leaves(body []byte) (*Body, error) {
	w := &walker{scanner: scanner{b: body}}
	w.open()
	if err := w.message(LeafOther, nil); err != nil {
		return nil, err
	}
	if err := w.done(); err != nil {
		return nil, err
	}
	return &w.Body, nil
}

// walker lists leaves while it scans.
type walker struct {
	scanner
	Body

	runs  int // the newest run's number
	lane  LeafKind
	side  bool // of the open run: it is the model's
	going bool
}

// leaf takes the string at the cursor.
func (w *walker) leaf(kind LeafKind, key []byte) error {
	l := Leaf{Kind: kind, Start: w.i, Key: key}
	err := w.str()
	l.End = w.i
	w.Leaves = append(w.Leaves, l)
	return err
}

// pass skips a value and counts its strings as the API's own.
func (w *walker) pass() error {
	from := w.i
	err := w.skip()
	if c := w.b[from]; c == '"' || c == '[' || c == '{' {
		w.Skipped.Protocol += w.i - from
	}
	return err
}

// message walks a value of the API's own: what strings are is told by the names
// they stand under.
func (w *walker) message(kind LeafKind, key []byte) error {
	switch w.peek() {
	case '"':
		return w.leaf(kind, key)
	case '[':
		return w.array(func() error { return w.message(kind, key) })
	case '{':
		return w.object(func(key []byte) error { return w.member(kind, key) })
	}
	return w.skip()
}

// member walks the value of a member of a message.
func (w *walker) member(kind LeafKind, key []byte) error {
	c := w.peek()
	composite := c == '{' || c == '['
	switch name := string(key); {
	case c == '"' && protocol[name], c == '[' && protocolLists[name]:
		return w.pass()
	case !composite:
	case name == "contents":
		w.going = false
		err := w.each(func() error { return w.content(LeafText, key) })
		w.going = false
		return err
	case name == "content":
		w.going = false
		err := w.each(func() error { return w.content(LeafText, key) })
		w.going = false
		return err
	case name == "systemInstruction" || name == "system_instruction":
		w.going = false
		err := w.each(func() error { return w.content(LeafSystem, key) })
		w.going = false
		return err
	case name == "parts":
		from := len(w.Parts)
		err := w.each(func() error { return w.part(LeafText, key) })
		w.assign(from, false)
		w.going = false
		return err
	case name == "candidates":
		return w.each(func() error { return w.candidate(key) })
	case name == "functionCall" || name == "function_call", name == "functionResponse" || name == "function_response",
		name == "functionCalls" || name == "function_calls", name == "functionResponses" || name == "function_responses",
		name == "toolCall" || name == "tool_call" || name == "toolResponse" || name == "tool_response":
		return w.each(w.function)
	case name == "inlineData" || name == "inline_data" || name == "blob":
		return w.each(w.blob)
	case name == "args" || name == "arguments":
		return w.free(LeafArgs, key)
	case name == "labels" || name == "partMetadata" || name == "part_metadata" || name == "metadata" || name == "instances":
		return w.free(LeafOther, key)
	case name == "tools" || name == "toolConfig" || name == "tool_config":
		kind = LeafTools
	case name == "parameters" || name == "parametersJsonSchema" || name == "parameters_json_schema",
		name == "response" && kind == LeafTools, name == "responseJsonSchema" || name == "response_json_schema",
		name == "responseSchema" || name == "response_schema":
		return w.schema(LeafTools, key)
	}
	return w.message(kind, key)
}

// each walks the elements of an array, or what stands in the place of one.
func (w *walker) each(element func() error) error {
	if w.peek() == '[' {
		return w.array(element)
	}
	return element()
}

// free walks a value that users own: all of its strings, and numbers that are
// long enough to name somebody.
func (w *walker) free(kind LeafKind, key []byte) error {
	switch c := w.peek(); {
	case c == '"':
		return w.leaf(kind, key)
	case c == '[':
		return w.array(func() error { return w.free(kind, key) })
	case c == '{':
		return w.object(func(key []byte) error {
			w.Skipped.Keys += len(key)
			return w.free(kind, key)
		})
	case c == '-' || c >= '0' && c <= '9':
		from := w.i
		if err := w.number(); err != nil {
			return err
		}
		if w.i-from < minNumber {
			w.Skipped.Numbers += w.i - from
			return nil
		}
		w.Leaves = append(w.Leaves, Leaf{Kind: kind, Start: from, End: w.i, Key: key, Number: true})
		return nil
	}
	from := w.i
	err := w.skip()
	w.Skipped.Numbers += w.i - from
	return err
}

// minNumber is the least length of a number that is a leaf.
const minNumber = 9

// schema walks a JSON schema: names of properties are the user's, types and
// patterns the schema's.
func (w *walker) schema(kind LeafKind, key []byte) error {
	switch w.peek() {
	case '"':
		return w.leaf(kind, key)
	case '[':
		return w.array(func() error { return w.schema(kind, key) })
	case '{':
		return w.object(func(key []byte) error {
			switch c := w.peek(); string(key) {
			case "properties", "$defs", "definitions", "patternProperties":
				if c == '{' {
					return w.object(func(key []byte) error {
						w.Skipped.Keys += len(key)
						return w.schema(kind, key)
					})
				}
			case "type", "format", "required", "propertyOrdering", "property_ordering", "$ref", "ref", "pattern":
				return w.pass()
			}
			return w.schema(kind, key)
		})
	}
	return w.skip()
}

// content walks a content. What has no parts is a message like any other.
func (w *walker) content(kind LeafKind, key []byte) error {
	if w.peek() != '{' {
		return w.message(kind, key)
	}
	from := len(w.Parts)
	model := false
	err := w.object(func(key []byte) error {
		switch string(key) {
		case "parts":
			return w.each(func() error { return w.part(kind, key) })
		case "role":
			at := w.i
			err := w.skip()
			model = string(w.b[at:w.i]) == `"model"`
			return err
		}
		return w.member(LeafOther, key)
	})
	w.assign(from, model)
	return err
}

// assign numbers the runs of the parts since from.
func (w *walker) assign(from int, model bool) {
	for _, p := range w.Parts[from:] {
		if p.Leaf < 0 {
			w.going = false
			continue
		}
		l := &w.Leaves[p.Leaf]
		l.Model = model
		if !w.going || w.lane != l.Kind || w.side != model {
			w.runs++
			w.going, w.lane, w.side = true, l.Kind, model
		}
		l.Run = w.runs
	}
}

func (w *walker) candidate(key []byte) error {
	if w.peek() != '{' {
		return w.message(LeafOther, key)
	}
	leaves, parts, index := len(w.Leaves), len(w.Parts), 0
	w.going = false
	err := w.object(func(key []byte) error {
		switch string(key) {
		case "index":
			v, err := w.value()
			index = intOf(v)
			return err
		case "content":
			return w.content(LeafText, key)
		}
		return w.member(LeafOther, key)
	})
	w.going = false
	for i := range w.Leaves[leaves:] {
		w.Leaves[leaves+i].Candidate, w.Leaves[leaves+i].Model = index, true
	}
	for i := range w.Parts[parts:] {
		w.Parts[parts+i].Candidate = index
	}
	return err
}

// part walks one part.
func (w *walker) part(kind LeafKind, key []byte) error {
	if w.peek() != '{' {
		return w.message(kind, key)
	}
	p := LeafPart{Start: w.i, Kind: translate.KindOther, Leaf: -1}
	var texts []int
	thought, data := false, false
	err := w.object(func(key []byte) error {
		switch name := string(key); name {
		case "text":
			if w.peek() == '"' {
				texts = append(texts, len(w.Leaves))
				return w.leaf(kind, key)
			}
		case "thought":
			v, err := w.value()
			thought = string(v) == "true"
			return err
		case "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata", "mediaResolution", "media_resolution",
			"partMetadata", "part_metadata":
			return w.member(LeafOther, key)
		case "executableCode", "executable_code", "codeExecutionResult", "code_execution_result":
			data = true
			return w.message(LeafCode, key)
		default:
			data = data || w.peek() != 'n'
			return w.member(LeafOther, key)
		}
		return w.message(LeafOther, key)
	})
	p.End = w.i
	for _, i := range texts {
		if thought && kind == LeafText {
			w.Leaves[i].Kind = LeafThought
		}
		if len(texts) > 1 || data { // which one counts is for the receiver to say: each is a text of its own
			w.runs++
			w.Leaves[i].Run = w.runs
		}
	}
	if len(texts) == 1 && !data {
		p.Leaf, p.Kind = texts[0], translate.KindText
		if w.Leaves[p.Leaf].Kind == LeafThought {
			p.Kind = translate.KindThought
		}
	}
	w.Parts = append(w.Parts, p)
	return err
}

// function walks a function call or response.
func (w *walker) function() error {
	if w.peek() != '{' {
		return w.message(LeafOther, nil)
	}
	from, tool := len(w.Leaves), ""
	err := w.object(func(key []byte) error {
		switch string(key) {
		case "name":
			if w.peek() == '"' {
				at := w.i
				err := w.pass()
				tool = unquote(w.b[at:w.i])
				return err
			}
		case "args", "arguments":
			return w.free(LeafArgs, key)
		case "response", "result", "output":
			return w.free(LeafResult, key)
		case "partialArgs", "partial_args":
			return w.each(w.partialArg)
		case "parts":
			return w.each(func() error { return w.member(LeafResult, []byte("part")) })
		}
		return w.member(LeafResult, key)
	})
	for i := range w.Leaves[from:] {
		w.Leaves[from+i].Tool = tool
	}
	return err
}

func (w *walker) partialArg() error {
	if w.peek() != '{' {
		return w.message(LeafOther, nil)
	}
	from, path, more := len(w.Leaves), "", false
	err := w.object(func(key []byte) error {
		switch string(key) {
		case "jsonPath", "json_path":
			if w.peek() == '"' {
				at := w.i
				err := w.pass()
				path = unquote(w.b[at:w.i])
				return err
			}
		case "stringValue", "string_value":
			if w.peek() == '"' {
				return w.leaf(LeafPartial, nil)
			}
		case "numberValue", "number_value":
			return w.free(LeafArgs, nil)
		case "willContinue", "will_continue":
			v, err := w.value()
			more = string(v) == "true"
			return err
		}
		return w.member(LeafArgs, key)
	})
	for i := range w.Leaves[from:] {
		if l := &w.Leaves[from+i]; l.Kind == LeafPartial {
			l.Path, l.Continues = path, more
		}
	}
	return err
}

// blob walks inline data.
func (w *walker) blob() error {
	if w.peek() != '{' {
		return w.message(LeafOther, nil)
	}
	from, mime := len(w.Leaves), ""
	err := w.object(func(key []byte) error {
		switch string(key) {
		case "mimeType", "mime_type":
			at := w.i
			err := w.pass()
			mime = textOf(w.b[at:w.i])
			return err
		case "data":
			if w.peek() == '"' {
				return w.leaf(LeafBlob, nil)
			}
		}
		return w.member(LeafOther, key)
	})
	for i := range w.Leaves[from:] {
		if l := &w.Leaves[from+i]; l.Kind == LeafBlob {
			l.MIME = mime
		}
	}
	return err
}

// Splice exchanges ranges of a body: each edit replaces body[Start:End]. They
// are in order and do not overlap. No edits give body itself.
func Splice(body []byte, edits []SpliceEdit) []byte {
	if len(edits) == 0 {
		return body
	}
	n := len(body)
	for _, e := range edits {
		n += len(e.New) - (e.End - e.Start)
	}
	out, from := make([]byte, 0, n), 0
	for _, e := range edits {
		out = append(append(out, body[from:e.Start]...), e.New...)
		from = e.End
	}
	return append(out, body[from:]...)
}

// SpliceEdit replaces a range of a body, or inserts where it is empty.
type SpliceEdit struct {
	Start, End int
	New        []byte
}

// Unquote is the text of a JSON string literal, Quote the literal of a text.
// What Unquote makes of any literal, lone surrogates included, Quote turns back
// into one that means the same.
func Unquote(literal []byte) string { return unquote(literal) }

// Quote is the JSON string literal of a text.
func Quote(text string) []byte { return quoted(text) }

// WithoutOffsets drops from candidates what tells places in their text, or
// repeats it token by token: citations, grounding supports and log
// probabilities. changed says of a candidate's index whether its text is not
// what these were made for.
func (w Wire) WithoutOffsets(doc []byte, changed func(index int) bool) []byte {
	at := w.body(doc)
	if !at.ok() {
		return doc
	}
	resp := at.of(doc)
	raws := elements(get(resp, "candidates"))
	edited := false
	for i, raw := range raws {
		if !isObject(raw) || !changed(intOf(get(raw, "index"))) {
			continue
		}
		n := drop(drop(raw, "citationMetadata"), "logprobsResult")
		if g := get(n, "groundingMetadata"); isObject(g) && find(g, "groundingSupports").ok() {
			n = set(n, "groundingMetadata", drop(g, "groundingSupports"), false)
		}
		edited = edited || len(n) != len(raw)
		raws[i] = n
	}
	if !edited {
		return doc
	}
	return replace(doc, at, set(resp, "candidates", list(raws), false))
}

// DataLeaves lists the strings and long numbers of a JSON document that users
// own: one that stands in a string, mostly.
func DataLeaves(doc []byte) ([]Leaf, error) {
	w := &walker{scanner: scanner{b: doc}}
	w.open()
	if err := w.free(LeafOther, nil); err != nil {
		return nil, err
	}
	if err := w.done(); err != nil {
		return nil, err
	}
	return w.Leaves, nil
}
