package gemini

import (
	"bytes"
	"errors"
	"strings"

	"github.com/hookline-proxy/hookline/translate"
)

// The members of a request that hookline reads or writes.
const (
	fieldContents = iota
	fieldSystem
	fieldTools
	fieldToolConfig
	fieldGeneration
	fieldCached
	fieldSession
	fieldModel // in Code Assist's envelope beside the request, else in it
	fieldCount
)

var fieldNames = [fieldCount]string{
	"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "cachedContent", "sessionId", "model",
}

// Doc is this family's bookkeeping in [translate.Request]: where things stand
// in Raw. It is never changed once made.
type Doc struct {
	object span // the request object; with an envelope the inner one
	outer  span // the whole object
	fields [fieldCount]field
	snake  bool

	lead, sep, trail string // what stands round the elements of contents
}

// value is the value of a member of the request, nil when it is absent or null.
func (d *Doc) value(raw []byte, f int) []byte {
	if at := d.fields[f]; at.ok() && !isNull(at.val.of(raw)) {
		return at.val.of(raw)
	}
	return nil
}

var errNotOurs = errors.New("the request was not parsed by this wire family")

func docOf(r *translate.Request) (*Doc, error) {
	if r == nil {
		return nil, errNotOurs
	}
	d, ok := r.Doc.(*Doc)
	if !ok {
		return nil, errNotOurs
	}
	return d, nil
}

// ParseRequest reads a request body in one pass. Turns refer to body, which
// must not change afterwards. model is the path's; when it is "" the body's own
// model member counts. Errors are of type *[SyntaxError].
func (w Wire) ParseRequest(body []byte, model string) (*translate.Request, error) {
	s := &scanner{b: body}
	r := &translate.Request{Raw: body}
	d := &Doc{}
	s.open()
	if s.peek() != '{' {
		return nil, s.fail("an object is expected")
	}
	d.outer.start = s.i
	var err error
	if w.Envelope {
		err = s.object(func(key []byte) error {
			s.spellKey(key)
			switch {
			case string(key) == "request" && s.peek() == '{':
				if d.object.ok() {
					return s.fail("request stands twice")
				}
				keep := d.fields[fieldModel]
				*d = Doc{outer: d.outer}
				err := s.request(r, d)
				d.fields[fieldModel] = keep
				return err
			case string(key) == "model":
				return s.note(d, fieldModel)
			}
			return s.skip()
		})
	} else {
		err = s.request(r, d)
	}
	if err != nil {
		return nil, err
	}
	d.outer.end = s.i
	if err := s.done(); err != nil {
		return nil, err
	}
	d.snake = s.snake
	r.Doc, r.Model = d, strings.TrimPrefix(model, "models/")
	if v := d.value(body, fieldModel); r.Model == "" && isString(v) {
		r.Model = strings.TrimPrefix(unquote(v), "models/")
	}
	return r, nil
}

// note remembers where a member stands and passes over it.
func (s *scanner) note(d *Doc, f int) error {
	at := field{key: s.key, val: span{start: s.i}}
	err := s.skip()
	at.val.end = s.i
	d.fields[f] = at
	return err
}

// request reads the object that holds the contents.
func (s *scanner) request(r *translate.Request, d *Doc) error {
	d.object.start = s.i
	err := s.object(func(key []byte) error {
		s.spellKey(key)
		switch string(key) {
		case "contents":
			if d.fields[fieldContents].ok() {
				return s.fail("contents stands twice") // upstreams differ in what they read then
			}
			at := field{key: s.key, val: span{start: s.i}}
			err := s.contents(r, d)
			at.val.end = s.i
			d.fields[fieldContents] = at
			return err
		case "systemInstruction", "system_instruction":
			return s.note(d, fieldSystem)
		case "tools":
			return s.note(d, fieldTools)
		case "toolConfig", "tool_config":
			return s.note(d, fieldToolConfig)
		case "generationConfig", "generation_config":
			return s.note(d, fieldGeneration)
		case "cachedContent", "cached_content":
			return s.note(d, fieldCached)
		case "session_id", "sessionId":
			return s.note(d, fieldSession)
		case "model":
			return s.note(d, fieldModel)
		}
		return s.skip()
	})
	d.object.end = s.i
	return err
}

// contents reads the history. One content without the array is what protobuf
// takes for an array of one; a null among them is nobody's turn.
func (s *scanner) contents(r *translate.Request, d *Doc) error {
	r.Turns, s.arena = nil, nil
	d.lead, d.sep, d.trail = "", ",", ""
	if c := s.peek(); c == 'n' {
		return s.skip()
	} else if c != '[' {
		return s.content(r)
	}
	// Where there is one turn only, the space after the colon tells how its
	// writer separates elements.
	if before := s.b[s.key.end:s.i]; len(before) > 1 && isSpace(before[len(before)-1]) {
		d.sep = ", "
	}
	n, last := 0, s.i+1
	err := s.array(func() error {
		between := string(s.b[last:s.i])
		switch n {
		case 0:
			if d.lead = between; between != "" {
				d.sep = "," + between
			}
		case 1:
			d.sep = between
		}
		n++
		var err error
		if s.peek() == 'n' {
			err = s.skip()
		} else {
			err = s.content(r)
		}
		last = s.i
		return err
	})
	if err == nil && n > 0 {
		d.trail = string(s.b[last : s.i-1])
	}
	return err
}

func (s *scanner) content(r *translate.Request) error {
	t, err := s.turn()
	r.Turns = append(r.Turns, t)
	return err
}

// turn reads one content. What is no object stays a turn without parts, for the
// upstream to judge.
func (s *scanner) turn() (translate.Turn, error) {
	var t translate.Turn
	start, first := s.i, len(s.arena)
	parts := false
	var err error
	if s.peek() != '{' {
		err = s.skip()
	} else {
		err = s.object(func(key []byte) error {
			switch string(key) {
			case "parts":
				if parts {
					return s.fail("parts stands twice")
				}
				parts = s.peek() != 'n'
				return s.parts()
			case "role":
				v, err := s.value()
				t.Role = roleOf(v)
				return err
			}
			return s.skip()
		})
	}
	t.Raw = s.b[start:s.i:s.i]
	t.Parts = s.taken(first)
	return t, err
}

// taken is what was appended to the arena since it had first elements.
func (s *scanner) taken(first int) []translate.Part {
	if len(s.arena) == first {
		return nil
	}
	return s.arena[first:len(s.arena):len(s.arena)]
}

func roleOf(v []byte) string {
	switch string(v) {
	case `"user"`:
		return "user"
	case `"model"`:
		return "model"
	}
	if !isString(v) {
		return ""
	}
	return unquote(v)
}

// parts appends the parts at the cursor to the arena.
func (s *scanner) parts() error {
	switch s.peek() {
	case '[':
		return s.array(s.part)
	case '{':
		return s.part()
	}
	return s.skip()
}

// part reads one part. The kinds are told by the data member; a part that holds
// more than one, which the API refuses, counts as call, result, text in this order.
func (s *scanner) part() error {
	p := translate.Part{Kind: translate.KindOther}
	start := s.i
	var text []byte
	var thought, call, result bool
	var calls, results spelling
	var err error
	if s.peek() != '{' {
		err = s.skip()
	} else {
		err = s.object(func(key []byte) error {
			switch string(key) {
			case "text":
				v, err := s.value()
				if text = nil; isString(v) {
					text = v
				}
				return err
			case "thought":
				v, err := s.value()
				thought = string(v) == "true"
				return err
			case "thoughtSignature", "thought_signature":
				s.spell(key[len("thought")] == '_')
				v, err := s.value()
				if p.Signature = ""; isString(v) {
					p.Signature = unquote(v)
				}
				return err
			case "functionCall", "function_call":
				s.spell(key[len("function")] == '_')
				if !calls.only(key) {
					return s.fail("one part has functionCall and function_call")
				}
				if call = s.peek() == '{'; !call {
					return s.skip()
				}
				return s.function(&p, "args")
			case "functionResponse", "function_response":
				s.spell(key[len("function")] == '_')
				if !results.only(key) {
					return s.fail("one part has functionResponse and function_response")
				}
				if result = s.peek() == '{'; !result {
					return s.skip()
				}
				if call {
					return s.skip()
				}
				return s.function(&p, "response")
			}
			return s.skip()
		})
	}
	p.Raw = s.b[start:s.i:s.i]
	if !call && !result {
		p.ID, p.Name, p.Body, p.Partial = "", "", nil, false
	}
	switch {
	case call:
		p.Kind = translate.KindCall
		p.Partial = p.Partial || p.Name == ""
	case result:
		p.Kind, p.Partial = translate.KindResult, false
	case text != nil && thought:
		p.Kind, p.Text = translate.KindThought, text
	case text != nil:
		p.Kind, p.Text = translate.KindText, text
	}
	s.arena = append(s.arena, p)
	return err
}

// spelling is how a member of a part is written. In both spellings it means one
// thing to this scanner and another to an agent that knows one of them.
type spelling byte

// only reports whether key is in the same spelling as those before it.
func (s *spelling) only(key []byte) bool {
	now := spelling(key[len("function")]) // '_' or a capital
	ok := *s == 0 || *s == now
	*s = now
	return ok
}

// function reads a function call or response into p; body names its payload.
func (s *scanner) function(p *translate.Part, body string) error {
	p.ID, p.Name, p.Body, p.Partial = "", "", nil, false
	return s.object(func(key []byte) error {
		v, err := s.value()
		switch string(key) {
		case "id":
			p.ID = textOf(v)
		case "name":
			p.Name = textOf(v)
		case "partialArgs", "partial_args":
			p.Partial = p.Partial || len(v) > 2 && isArray(v)
		case "willContinue", "will_continue":
			p.Partial = p.Partial || string(v) == "true"
		case body:
			if p.Body = nil; !isNull(v) {
				p.Body = v
			}
		}
		return err
	})
}

func textOf(v []byte) string {
	if !isString(v) {
		return ""
	}
	return unquote(v)
}

// parseTurn reads a content that stands alone, such as a system instruction.
func parseTurn(raw []byte) (translate.Turn, error) {
	s := &scanner{b: raw}
	s.open()
	t, err := s.turn()
	if err == nil {
		err = s.done()
	}
	return t, err
}

// parsePart reads a part that stands alone; what cannot be read is other.
func parsePart(raw []byte) translate.Part {
	s := &scanner{b: raw}
	s.open()
	if s.part() != nil || s.done() != nil {
		return translate.Part{Raw: raw, Kind: translate.KindOther}
	}
	return s.arena[0]
}

// with gives r with one range of its body exchanged and the bookkeeping moved
// along. The turns stay as they are.
func (d *Doc) with(r *translate.Request, at span, by []byte) (*translate.Request, *Doc) {
	next, nd := *r, d.moved(at, len(by))
	next.Raw, next.Doc = replace(r.Raw, at, by), nd
	return &next, nd
}

// moved is the bookkeeping after a range was exchanged for size bytes.
func (d *Doc) moved(at span, size int) *Doc {
	delta := size - (at.end - at.start)
	move := func(s span) span {
		switch {
		case s.start >= at.end:
			return s.shift(delta)
		case s.end > at.end, s.end == at.end && s.start <= at.start && at.ok():
			s.end += delta
		}
		return s
	}
	next := *d
	next.object, next.outer = move(d.object), move(d.outer)
	for i, f := range d.fields {
		if f.ok() {
			next.fields[i] = field{move(f.key), move(f.val)}
		}
	}
	return &next
}

// setField gives r with a member of the request set; val nil removes it.
func (d *Doc) setField(r *translate.Request, f int, val []byte) (*translate.Request, *Doc) {
	at := d.fields[f]
	switch {
	case val == nil && !at.ok():
		return r, d
	case val == nil:
		r, d = d.with(r, cut(r.Raw, at), nil)
		d.fields[f] = field{}
		return r, d
	case at.ok():
		if bytes.Equal(at.val.of(r.Raw), val) {
			return r, d
		}
		return d.with(r, at.val, val)
	}
	in := d.object
	if f == fieldModel {
		in = d.outer
	}
	m := newMember(r.Raw[in.start:in.end-1], fieldNames[f], val, d.snake)
	pos := in.end - 1
	r, d = d.with(r, span{pos, pos}, m)
	end := pos + len(m)
	name := end - len(val) - 1
	key := len(fieldNames[f]) + 2
	if d.snake {
		key = len(snakeCase(fieldNames[f])) + 2
	}
	d.fields[f] = field{span{name - key, name}, span{end - len(val), end}}
	return r, d
}
