package gemini

import (
	"bytes"

	"github.com/hookline-proxy/hookline/translate"
)

// Emit gives the documents to send for a chunk: one line each, line separators
// escaped. With OnePart there is one for each part, and finish reason, usage and
// whatever else a candidate has come with the last.
func (w Wire) Emit(c *translate.Chunk) [][]byte {
	most := 0
	for _, cand := range c.Candidates {
		most = max(most, len(cand.Parts))
	}
	if !w.OnePart || most < 2 || c.Error {
		return [][]byte{forWire(c.Raw)}
	}
	docs := make([][]byte, 0, most)
	for n := range most {
		doc, err := w.edited(c, func(resp []byte) []byte { return nthParts(resp, c, n, n == most-1) })
		if err != nil {
			return [][]byte{forWire(c.Raw)}
		}
		docs = append(docs, forWire(doc.Raw))
	}
	return docs
}

// forWire gives a document in the form that every client's reader takes.
func forWire(doc []byte) []byte {
	return EscapeLineSeparators(oneLine(bytes.TrimPrefix(doc, []byte("\xEF\xBB\xBF"))))
}

// nthParts is the response with the nth part of each candidate alone.
func nthParts(resp []byte, c *translate.Chunk, n int, last bool) []byte {
	var cands [][]byte
	for i, raw := range objectsOf(get(resp, "candidates")) {
		cand := c.Candidates[i]
		switch count := len(cand.Parts); {
		case n < count-1:
			short := []byte(`{}`)
			for _, name := range [...]string{"content", "index"} {
				if v := get(raw, name); v != nil {
					short = insert(short, name, v, false)
				}
			}
			cands = append(cands, setParts(short, cand.Parts[n:n+1]))
		case n == count-1:
			cands = append(cands, setParts(raw, cand.Parts[n:n+1]))
		case count == 0 && last:
			cands = append(cands, raw)
		}
	}
	if !last {
		resp = drop(resp, "usageMetadata")
	}
	return set(resp, "candidates", list(cands), false)
}

// Join makes one unary document of the chunks of an answer: parts one after the
// other by candidate index, plain text that meets joined; of all other members
// the last one counts. An error document among them is the result. No chunks
// give an empty document.
func (w Wire) Join(chunks []*translate.Chunk) (*translate.Chunk, error) {
	if len(chunks) == 1 {
		return chunks[0], nil
	}
	outer, inner := []byte(`{}`), []byte(`{}`)
	var order []int
	cands := map[int][]byte{}
	parts := map[int][]translate.Part{}
	for _, c := range chunks {
		if c.Error {
			return c, nil
		}
		at := w.body(c.Raw)
		if w.Envelope {
			outer = overlay(outer, c.Raw, "response")
		}
		if !at.ok() {
			continue
		}
		resp := at.of(c.Raw)
		inner = overlay(inner, resp, "candidates")
		for i, raw := range objectsOf(get(resp, "candidates")) {
			cand := c.Candidates[i]
			if _, ok := cands[cand.Index]; !ok {
				order = append(order, cand.Index)
				cands[cand.Index] = []byte(`{}`)
			}
			joint := cands[cand.Index]
			if content := get(raw, "content"); isObject(content) {
				now := get(joint, "content")
				if !isObject(now) {
					now = []byte(`{}`)
				}
				joint = set(joint, "content", overlay(now, content, "parts"), false)
			}
			cands[cand.Index] = overlay(joint, raw, "content")
			parts[cand.Index] = appendParts(parts[cand.Index], cand.Parts)
		}
	}
	if len(order) > 0 {
		raws := make([][]byte, len(order))
		for i, index := range order {
			raws[i] = cands[index]
			if len(parts[index]) > 0 {
				raws[i] = setParts(raws[i], parts[index])
			}
		}
		inner = prepend(inner, "candidates", list(raws))
	}
	if w.Envelope {
		inner = prepend(outer, "response", inner)
	}
	return w.ParseChunk(inner)
}

// overlay sets the members of from in obj, but not the one named except.
func overlay(obj, from []byte, except string) []byte {
	s := scanner{b: from}
	s.open()
	from = from[s.i:]
	eachMember(from, func(key []byte, at field) {
		if !isNamed(key, except) {
			obj = set(obj, string(key), at.val.of(from), false)
		}
	})
	return obj
}

// prepend adds a member in front.
func prepend(obj []byte, name string, val []byte) []byte {
	m := append(append([]byte(`{"`+name+`":`), val...), ',')
	if isEmptyObject(obj) {
		m = m[:len(m)-1]
	}
	return append(m, obj[1:]...)
}

// appendParts appends parts, joining plain text with the plain text before it.
// Signed parts stay as they are: a signature belongs to its part.
func appendParts(to, parts []translate.Part) []translate.Part {
	for _, p := range parts {
		if last := len(to) - 1; last >= 0 && isPlain(p) && isPlain(to[last]) {
			lit := make([]byte, 0, len(p.Text)+len(to[last].Text))
			lit = append(lit, to[last].Text[:len(to[last].Text)-1]...)
			to[last] = literalPart(append(lit, p.Text[1:]...))
			continue
		}
		to = append(to, p)
	}
	return to
}

// isPlain reports whether a part is text and nothing else.
func isPlain(p translate.Part) bool {
	if p.Kind != translate.KindText || p.Signature != "" {
		return false
	}
	return members(p.Raw) == 1
}
