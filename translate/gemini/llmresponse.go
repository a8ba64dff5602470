package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/hookline-proxy/hookline/translate"
)

// LLMResponse is what hooks are shown of a chunk: {text?, candidates,
// usageMetadata?}, compact. parts are the text parts as strings, thoughts left
// out; text is the first candidate's, absent when it has no parts at all.
func (w Wire) LLMResponse(c *translate.Chunk) json.RawMessage {
	out := make([]byte, 0, len(c.Raw)+128)
	out = append(out, '{')
	if len(c.Candidates) > 0 && len(c.Candidates[0].Parts) > 0 {
		out = append(out, `"text":"`...)
		for _, p := range c.Candidates[0].Parts {
			if p.Kind == translate.KindText {
				out = append(out, p.Text[1:len(p.Text)-1]...)
			}
		}
		out = append(out, '"', ',')
	}
	out = append(out, `"candidates":[`...)
	for i, cand := range c.Candidates {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"content":{"role":"model","parts":[`...)
		first := true
		for _, p := range cand.Parts {
			if p.Kind != translate.KindText {
				continue
			}
			if !first {
				out = append(out, ',')
			}
			first = false
			out = append(out, p.Text...)
		}
		out = append(out, ']', '}')
		if cand.Finish != "" {
			out = append(out, `,"finishReason":`...)
			out = appendQuoted(out, cand.Finish)
		}
		out = append(out, `,"index":`...)
		out = strconv.AppendInt(out, int64(cand.Index), 10)
		out = append(out, '}')
	}
	out = append(out, ']')
	if c.Usage != nil {
		out = append(out, `,"usageMetadata":`...)
		out = appendCompact(out, c.Usage)
	}
	return append(out, '}')
}

// reply is a hook's llm_response, taken apart.
type reply struct {
	candidates []replyCandidate
	text       []byte // string literal; nil when not given
	usage      []byte
}

type replyCandidate struct {
	index  int
	finish string
	texts  [][]byte // string literals
}

var errReply = errors.New("llm_response")

// parseReply reads what a hook returned. Every candidate needs content.parts,
// a list of strings or {"text":…} objects.
func parseReply(doc []byte) (r reply, err error) {
	s := &scanner{b: doc}
	s.open()
	if s.peek() != '{' {
		return r, fmt.Errorf("%w is not an object", errReply)
	}
	v, err := s.value()
	if err == nil {
		err = s.done()
	}
	if err != nil {
		return r, fmt.Errorf("%w: %w", errReply, err)
	}
	text, candidates, usage := get(v, "text"), get(v, "candidates"), get(v, "usageMetadata")
	switch {
	case text != nil && !isString(text):
		return r, fmt.Errorf("%w.text is not a string", errReply)
	case candidates != nil && !isArray(candidates):
		return r, fmt.Errorf("%w.candidates is not an array", errReply)
	case usage != nil && !isObject(usage):
		return r, fmt.Errorf("%w.usageMetadata is not an object", errReply)
	}
	r.text, r.usage = text, usage
	for i, cand := range elements(candidates) {
		c, err := parseReplyCandidate(cand)
		if err != nil {
			return r, fmt.Errorf("%w.candidates[%d]%w", errReply, i, err)
		}
		if get(cand, "index") == nil {
			c.index = -1
		}
		r.candidates = append(r.candidates, c)
	}
	return r, nil
}

func parseReplyCandidate(cand []byte) (c replyCandidate, err error) {
	content := get(cand, "content")
	parts := get(content, "parts")
	switch {
	case !isObject(cand):
		return c, errors.New(" is not an object")
	case !isObject(content):
		return c, errors.New(".content is not an object")
	case !isArray(parts):
		return c, errors.New(".content.parts is not an array")
	}
	c.index = intOf(get(cand, "index"))
	c.finish = enumName(get(cand, "finishReason"), finishReasons[:])
	for i, p := range elements(parts) {
		if isObject(p) {
			p = get(p, "text")
		}
		if !isString(p) {
			return c, fmt.Errorf(".content.parts[%d] is not a string", i)
		}
		c.texts = append(c.texts, EscapeLineSeparators(p))
	}
	return c, nil
}

// ApplyLLMResponse replaces the text of a chunk. The strings of a candidate
// (found by its index, without one by its place) go to its text parts one by
// one; strings beyond them go behind the last text, or before the first call;
// text parts beyond the strings go. A part whose text becomes empty goes, too,
// unless it is signed: the signature stays so that the agent sends it back.
// Calls, thoughts, finish reason, usage and unknown members stay. text counts
// where candidates are absent or as they were shown.
func (w Wire) ApplyLLMResponse(c *translate.Chunk, response json.RawMessage) (*translate.Chunk, error) {
	r, err := parseReply(response)
	if err != nil {
		return nil, err
	}
	e := translate.Edit{Parts: map[int][]translate.Part{}}
	for i, cand := range r.candidates {
		if cand.index < 0 {
			if cand.index = i; i < len(c.Candidates) {
				cand.index = c.Candidates[i].Index
			}
		}
		old := candidateParts(c, cand.index)
		if parts := withTexts(old, cand.texts); !sameParts(parts, old) {
			e.Parts[cand.index] = parts
		}
	}
	if len(e.Parts) == 0 && r.text != nil {
		index := 0
		if len(c.Candidates) > 0 {
			index = c.Candidates[0].Index
		}
		if old := candidateParts(c, index); unquote(r.text) != partsText(old) {
			e.Parts[index] = withTexts(old, [][]byte{EscapeLineSeparators(r.text)})
		}
	}
	if len(e.Parts) == 0 {
		return c, nil
	}
	return w.Edit(c, e)
}

func candidateParts(c *translate.Chunk, index int) []translate.Part {
	for _, cand := range c.Candidates {
		if cand.Index == index {
			return cand.Parts
		}
	}
	return nil
}

// withTexts gives parts other texts. The result is never nil.
func withTexts(old []translate.Part, texts [][]byte) []translate.Part {
	parts := make([]translate.Part, 0, len(old)+1)
	next, behind := 0, -1
	for _, p := range old {
		if p.Kind != translate.KindText {
			parts = append(parts, p)
			continue
		}
		lit := []byte(`""`)
		if next < len(texts) {
			lit = texts[next]
		}
		given := next < len(texts)
		next++
		switch {
		case given && unquote(lit) == unquote(p.Text):
			parts = append(parts, p)
		case len(lit) > 2 || p.Signature != "":
			parts = append(parts, withText(p, lit, true))
		}
		behind = len(parts)
	}
	var more []translate.Part
	for _, lit := range texts[min(next, len(texts)):] {
		if len(lit) > 2 {
			more = append(more, literalPart(lit))
		}
	}
	if len(more) == 0 {
		return parts
	}
	if behind < 0 {
		for behind = 0; behind < len(parts) && parts[behind].Kind != translate.KindCall; behind++ {
		}
	}
	out := append(make([]translate.Part, 0, len(parts)+len(more)), parts[:behind]...)
	out = append(out, more...)
	return append(out, parts[behind:]...)
}

// Synthesize makes a whole answer of a hook's llm_response: each string a text
// part, a missing finish reason STOP. {"text":…} alone is an answer of one
// candidate; no candidate and no text is an error.
func (w Wire) Synthesize(like *translate.Chunk, response json.RawMessage) (*translate.Chunk, error) {
	r, err := parseReply(response)
	if err != nil {
		return nil, err
	}
	if len(r.candidates) == 0 {
		if r.text == nil {
			return nil, fmt.Errorf("%w has no candidates", errReply)
		}
		r.candidates = []replyCandidate{{texts: [][]byte{EscapeLineSeparators(r.text)}}}
	}
	raws := make([][]byte, len(r.candidates))
	for i, cand := range r.candidates {
		if cand.index < 0 {
			cand.index = i
		}
		if cand.finish == "" {
			cand.finish = "STOP"
		}
		if len(cand.texts) == 0 {
			cand.texts = [][]byte{[]byte(`""`)}
		}
		var parts []translate.Part
		for _, lit := range cand.texts {
			parts = append(parts, literalPart(lit))
		}
		raws[i] = w.newCandidate(cand.index, parts, cand.finish)
	}
	return w.document(like, raws, r.usage), nil
}
