package gemini

import (
	"fmt"
	"math"
	"sort"
	"strconv"

	"github.com/hookline-proxy/hookline/translate"
)

// ParseChunk reads one response document: an event of a stream, an element of
// the array stream, or a unary answer. Errors are of type *[SyntaxError].
func (w Wire) ParseChunk(payload []byte) (*translate.Chunk, error) {
	s := &scanner{b: payload}
	c := &translate.Chunk{Raw: payload}
	s.open()
	var err error
	switch s.peek() {
	case '{':
		if w.Envelope {
			err = s.object(func(key []byte) error {
				switch string(key) {
				case "response":
					if s.peek() == '{' {
						return s.response(c)
					}
				case "error":
					c.Error = s.peek() != 'n'
				}
				return s.skip()
			})
		} else {
			err = s.response(c)
		}
	case '[':
		// An error body may come as an array of one error.
		var v []byte
		if v, err = s.value(); err == nil {
			if list := elements(v); len(list) == 0 || get(list[0], "error") == nil {
				return nil, &SyntaxError{Offset: 0, Reason: "an object is expected"}
			}
			c.Error = true
		}
	default:
		err = s.fail("an object is expected")
	}
	if err == nil {
		err = s.done()
	}
	if err != nil {
		return nil, err
	}
	// What has candidates is read by agents as an answer, whatever else it holds.
	c.Error = c.Error && len(c.Candidates) == 0
	return c, nil
}

// response reads the object that holds the candidates.
func (s *scanner) response(c *translate.Chunk) error {
	return s.object(func(key []byte) error {
		switch string(key) {
		case "candidates":
			c.Candidates, s.arena = nil, nil
			if s.peek() != '[' {
				return s.skip()
			}
			return s.array(func() error { return s.candidate(c) })
		case "usageMetadata", "usage_metadata":
			v, err := s.value()
			if c.Usage = nil; isObject(v) {
				c.Usage = v
			}
			return err
		case "error":
			c.Error = s.peek() != 'n'
		}
		return s.skip()
	})
}

func (s *scanner) candidate(c *translate.Chunk) error {
	if s.peek() != '{' {
		return s.skip()
	}
	var cand translate.Candidate
	err := s.object(func(key []byte) error {
		switch string(key) {
		case "index":
			v, err := s.value()
			cand.Index = intOf(v)
			return err
		case "finishReason", "finish_reason":
			v, err := s.value()
			cand.Finish = enumName(v, finishReasons[:])
			return err
		case "content":
			if cand.Parts = nil; s.peek() != '{' {
				return s.skip()
			}
			t, err := s.turn()
			cand.Parts = t.Parts
			return err
		}
		return s.skip()
	})
	c.Candidates = append(c.Candidates, cand)
	return err
}

// intOf reads an int32, as number or string; 0 for anything else.
func intOf(v []byte) int {
	if isString(v) {
		v = v[1 : len(v)-1]
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.Abs(f) > math.MaxInt32 {
		return 0
	}
	return int(f)
}

// body is where the response object stands in a chunk's document.
func (w Wire) body(raw []byte) span {
	s := scanner{b: raw}
	s.open()
	whole := span{s.i, len(raw)}
	if !w.Envelope {
		return whole
	}
	at := find(raw[s.i:], "response").val
	if !at.ok() || raw[s.i+at.start] != '{' {
		return span{}
	}
	return at.shift(s.i)
}

// edited gives c with its response object, which f changes, read again.
func (w Wire) edited(c *translate.Chunk, f func(resp []byte) []byte) (*translate.Chunk, error) {
	raw, at := c.Raw, w.body(c.Raw)
	if !at.ok() {
		s := scanner{b: raw}
		s.open()
		raw = append(append([]byte{}, raw[:s.i]...), insert(raw[s.i:], "response", []byte("{}"), false)...)
		at = w.body(raw)
	}
	return w.ParseChunk(replace(raw, at, f(at.of(raw))))
}

// Edit changes a chunk: parts, finish reasons and usage, by splicing. Members
// it does not name, known or not, keep their bytes. A candidate that the chunk
// does not have is added. Whole calls among new parts get args if they lack them.
func (w Wire) Edit(c *translate.Chunk, e translate.Edit) (*translate.Chunk, error) {
	if e.Parts == nil && e.Finish == nil && e.Usage == nil {
		return c, nil
	}
	if c.Error {
		return nil, fmt.Errorf("an error document cannot be edited")
	}
	return w.edited(c, func(resp []byte) []byte {
		resp = w.editCandidates(resp, c, e)
		switch {
		case e.Usage != nil && len(e.Usage) == 0:
			resp = drop(resp, "usageMetadata")
		case e.Usage != nil:
			resp = set(resp, "usageMetadata", e.Usage, false)
		}
		return resp
	})
}

func (w Wire) editCandidates(resp []byte, c *translate.Chunk, e translate.Edit) []byte {
	if len(e.Parts) == 0 && len(e.Finish) == 0 {
		return resp
	}
	raws := objectsOf(get(resp, "candidates"))
	done := map[int]bool{}
	for i, cand := range c.Candidates {
		if i >= len(raws) {
			break
		}
		parts, ok := e.Parts[cand.Index]
		if ok && done[cand.Index] {
			parts = nil // the same candidate twice in one document: it has its parts already
		}
		if ok && !sameParts(parts, cand.Parts) {
			raws[i] = setParts(raws[i], parts)
		}
		if finish, ok := e.Finish[cand.Index]; ok && finish != cand.Finish {
			raws[i] = w.setFinish(raws[i], finish)
		}
		done[cand.Index] = true
	}
	for _, index := range addedIndexes(e, done) {
		raws = append(raws, w.newCandidate(index, e.Parts[index], e.Finish[index]))
	}
	return set(resp, "candidates", list(raws), false)
}

// objectsOf are the objects of an array; ParseChunk passes over anything else.
func objectsOf(arr []byte) [][]byte {
	all := elements(arr)
	out := all[:0]
	for _, v := range all {
		if isObject(v) {
			out = append(out, v)
		}
	}
	return out
}

func addedIndexes(e translate.Edit, done map[int]bool) []int {
	var add []int
	for index, parts := range e.Parts {
		if !done[index] && len(parts) > 0 {
			add = append(add, index)
			done[index] = true
		}
	}
	for index, finish := range e.Finish {
		if !done[index] && finish != "" {
			add = append(add, index)
			done[index] = true
		}
	}
	sort.Ints(add)
	return add
}

func sameParts(a, b []translate.Part) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if string(a[i].Raw) != string(b[i].Raw) {
			return false
		}
	}
	return true
}

// setParts exchanges the parts of a candidate. Without parts the content keeps
// its role alone, as Google sends it.
func setParts(cand []byte, parts []translate.Part) []byte {
	content := get(cand, "content")
	if !isObject(content) {
		if len(parts) == 0 {
			return cand
		}
		content = []byte(`{"role":"model"}`)
	}
	if len(parts) == 0 {
		content = drop(content, "parts")
	} else {
		whole := make([]translate.Part, len(parts))
		for i, p := range parts {
			whole[i] = withArgsAlways(p)
		}
		content = set(content, "parts", rawParts(whole), false)
	}
	return set(cand, "content", content, false)
}

// setFinish sets a finish reason in the form that the candidate's has, or else
// that was asked for; "" removes it.
func (w Wire) setFinish(cand []byte, finish string) []byte {
	if finish == "" {
		return drop(cand, "finishReason")
	}
	number := w.IntEnums || isNumber(get(cand, "finishReason"))
	return set(cand, "finishReason", enumValue(finish, finishReasons[:], number), false)
}

func (w Wire) newCandidate(index int, parts []translate.Part, finish string) []byte {
	cand := []byte(`{"content":{"parts":`)
	whole := make([]translate.Part, len(parts))
	for i, p := range parts {
		whole[i] = withArgsAlways(p)
	}
	if len(parts) == 0 {
		cand = []byte(`{"content":{`)
	} else {
		cand = append(cand, rawParts(whole)...)
		cand = append(cand, ',')
	}
	cand = append(cand, `"role":"model"},`...)
	if finish != "" {
		cand = append(cand, `"finishReason":`...)
		cand = append(cand, enumValue(finish, finishReasons[:], w.IntEnums)...)
		cand = append(cand, ',')
	}
	cand = append(cand, `"index":`...)
	cand = strconv.AppendInt(cand, int64(index), 10)
	return append(cand, '}')
}

// Answer makes a chunk of one candidate. Ids and model version are like's.
func (w Wire) Answer(like *translate.Chunk, index int, parts []translate.Part, finish string) *translate.Chunk {
	return w.document(like, [][]byte{w.newCandidate(index, parts, finish)}, nil)
}

// document makes a response of candidates.
func (w Wire) document(like *translate.Chunk, candidates [][]byte, usage []byte) *translate.Chunk {
	resp := append([]byte(`{"candidates":`), list(candidates)...)
	resp = append(resp, '}')
	if usage != nil {
		resp = insert(resp, "usageMetadata", usage, false)
	}
	var outer []byte
	if like != nil && !like.Error {
		outer = like.Raw
		if at := w.body(outer); at.ok() {
			for _, name := range [...]string{"modelVersion", "responseId"} {
				if v := get(at.of(outer), name); v != nil {
					resp = insert(resp, name, v, false)
				}
			}
		}
	}
	if w.Envelope {
		env := append(append([]byte(`{"response":`), resp...), '}')
		if v := get(outer, "traceId"); v != nil {
			env = insert(env, "traceId", v, false)
		}
		resp = env
	}
	c, err := w.ParseChunk(resp)
	if err != nil {
		// Only parts that somebody made up, or nested to the limit, get here:
		// the receiver will say what is wrong with them.
		return &translate.Chunk{Raw: resp}
	}
	return c
}
