package shield

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// laneKey tells the lanes of an answer apart.
type laneKey struct {
	candidate int
	kind      gemini.LeafKind // text, thought or partial
	path      string          // partial
}

func (k laneKey) compare(o laneKey) int {
	return cmp.Or(cmp.Compare(k.candidate, o.candidate), -cmp.Compare(k.kind, o.kind), cmp.Compare(k.path, o.path))
}

// part makes a part that carries text of the lane.
func (k laneKey) part(text []byte) []byte {
	lit := gemini.Quote(string(text))
	switch k.kind {
	case gemini.LeafThought:
		return append(append([]byte(`{"text":`), lit...), `,"thought":true}`...)
	case gemini.LeafPartial:
		b := append([]byte(`{"functionCall":{"partialArgs":[{"jsonPath":`), gemini.Quote(k.path)...)
		b = append(append(b, `,"stringValue":`...), lit...)
		return append(b, `}],"willContinue":true}}`...)
	}
	return append(append([]byte(`{"text":`), lit...), '}')
}

// work is what a border does to the documents of an answer.
type work interface {
	// lane opens a lane; nil for one that passes as it is.
	lane(k laneKey, l *gemini.Leaf) filter
	// done is told of a lane that has ended, and of one that has moved on.
	done(f filter) error
	// value changes a leaf that is no lane's; nil for no change.
	value(doc []byte, l *gemini.Leaf) ([]byte, error)
	// counts is told of each document.
	counts(b *gemini.Body)
}

// pipe takes the documents of an answer through the lanes of a border. Texts are
// held back as their lanes say; all else keeps flowing. It is for one goroutine.
type pipe struct {
	w     gemini.Wire
	work  work
	whole bool // the answer is one document
	lanes map[laneKey]*lane
	like  *translate.Chunk
	// ending are documents that may be the last ones: a finish reason was seen,
	// and what the lanes hold still has to go before it. It is no sure sign (old
	// models sent one with each chunk), so that they wait for the next document.
	ending [][]byte
	// moved are the candidates whose text is not what came, so that places in it
	// are others.
	moved map[int]bool
	// emptied: all of some text of the document at hand is held.
	emptied bool
}

// lane is a filter that is at work, with the end of its text that is held.
type lane struct {
	filter
	raw []byte
}

// took reports whether what came out is what went in.
func (l *lane) took(text string, out []byte, last bool) bool {
	l.raw = append(l.raw, text...)
	held := 0
	if !last {
		held = min(l.heldBytes(), len(l.raw))
	}
	n := len(l.raw) - held
	same := bytes.Equal(l.raw[:n], out)
	l.raw = append(l.raw[:0], l.raw[n:]...)
	return same
}

func (p *pipe) heldBytes() int {
	n := 0
	for _, f := range p.lanes {
		n += f.heldBytes()
	}
	return n
}

// doc takes one document and gives those that can go on.
func (p *pipe) doc(data []byte) (out [][]byte, err error) {
	chunk, err := p.w.ParseChunk(data)
	if err != nil {
		return nil, unreadable("the answer", err)
	}
	b, err := gemini.Leaves(data)
	if err != nil {
		return nil, unreadable("the answer", err)
	}
	p.work.counts(b)
	if len(b.Parts) > 0 || chunk.Error {
		out, p.ending = p.ending, nil
	}
	finish := false
	for _, c := range chunk.Candidates {
		finish = finish || c.Finish != ""
	}
	p.emptied = false
	edits, err := p.edit(data, b)
	if err != nil {
		return out, err
	}
	doc := p.placed(gemini.Splice(data, edits))
	if !chunk.Error {
		p.like = chunk
	}
	if p.emptied && !p.whole {
		left := false
		if doc, left = p.withoutEmpty(doc, chunk); !left && !finish {
			return out, nil // it comes with what it holds
		}
	}
	if len(p.ending) > 0 || p.whole || finish && p.heldBytes() > 0 {
		p.ending = append(p.ending, bytes.Clone(doc))
		return out, nil
	}
	return append(out, doc), nil
}

// placed drops from a document what tells places in a text that has moved.
func (p *pipe) placed(doc []byte) []byte {
	if len(p.moved) == 0 {
		return doc
	}
	return p.w.WithoutOffsets(doc, func(index int) bool { return p.moved[index] })
}

func (p *pipe) move(candidate int) {
	if p.moved == nil {
		p.moved = map[int]bool{}
	}
	p.moved[candidate] = true
}

// edit takes the leaves of a document through their lanes.
func (p *pipe) edit(data []byte, b *gemini.Body) (edits []gemini.SpliceEdit, err error) {
	part := 0
	next := func(upTo int) error { // the parts that begin before a place
		for ; part < len(b.Parts) && b.Parts[part].Start < upTo; part++ {
			at := &b.Parts[part]
			tails, err := p.leave(at, data)
			if err != nil {
				return err
			}
			for _, t := range tails {
				edits = append(edits, gemini.SpliceEdit{Start: at.Start, End: at.Start, New: append(t, ',')})
			}
		}
		return nil
	}
	inPart := map[int]bool{}
	for _, at := range b.Parts {
		if at.Leaf >= 0 {
			inPart[at.Leaf] = true
		}
	}
	for i := range b.Leaves {
		l := &b.Leaves[i]
		if err := next(l.Start); err != nil {
			return nil, err
		}
		var lit []byte
		switch {
		case inPart[i] && (l.Kind == gemini.LeafText || l.Kind == gemini.LeafThought):
			lit, err = p.push(laneKey{l.Candidate, l.Kind, ""}, data, l, false)
		case l.Kind == gemini.LeafPartial:
			lit, err = p.push(laneKey{l.Candidate, l.Kind, l.Path}, data, l, !l.Continues)
		default:
			lit, err = p.work.value(data, l)
		}
		if err != nil {
			return nil, err
		}
		if lit != nil {
			edits = append(edits, gemini.SpliceEdit{Start: l.Start, End: l.End, New: lit})
		}
	}
	return edits, next(len(data))
}

// push takes a leaf through a lane; nil for no change.
func (p *pipe) push(k laneKey, data []byte, l *gemini.Leaf, last bool) ([]byte, error) {
	ln := p.lanes[k]
	if ln == nil {
		f := p.work.lane(k, l)
		if f == nil {
			return nil, nil
		}
		if p.lanes == nil {
			p.lanes = map[laneKey]*lane{}
		}
		ln = &lane{filter: f}
		p.lanes[k] = ln
	}
	text := gemini.Unquote(data[l.Start:l.End])
	out := bytes.Clone(ln.push([]byte(text)))
	if last {
		out = append(out, ln.flush()...)
		delete(p.lanes, k)
	}
	if !ln.took(text, out, last) {
		p.move(k.candidate)
	}
	if err := p.work.done(ln.filter); err != nil {
		return nil, err
	}
	if string(out) == text {
		return nil, nil
	}
	p.emptied = p.emptied || len(out) == 0
	return gemini.Quote(string(out)), nil
}

// withoutEmpty drops the parts of a document of which nothing is left, and
// reports whether there are others. Clients take a part without text for a
// broken answer (@google/generative-ai then forgets the whole turn). A signed
// part stays, and so do all if made had some to begin with.
func (p *pipe) withoutEmpty(doc []byte, made *translate.Chunk) (out []byte, left bool) {
	c, err := p.w.ParseChunk(doc)
	if err != nil || len(c.Candidates) != len(made.Candidates) {
		return doc, true
	}
	isEmpty := func(q translate.Part) bool { return string(q.Text) == `""` && q.Signature == "" }
	e := translate.Edit{Parts: map[int][]translate.Part{}}
	for i, cand := range c.Candidates {
		parts := []translate.Part{}
		for _, q := range cand.Parts {
			if !isEmpty(q) || slices.ContainsFunc(made.Candidates[i].Parts, isEmpty) {
				parts = append(parts, q)
			}
		}
		left = left || len(parts) > 0
		if len(parts) < len(cand.Parts) {
			e.Parts[cand.Index] = parts
		}
	}
	n, err := p.w.Edit(c, e)
	if err != nil {
		return doc, true
	}
	return n.Raw, left
}

// leave ends the lanes of a candidate that a part does not continue, and gives
// parts with what they still held.
func (p *pipe) leave(at *gemini.LeafPart, data []byte) (parts [][]byte, err error) {
	if len(p.lanes) == 0 || !inList(data, at.Start) {
		return nil, nil
	}
	// A piece of a streamed call goes on without a name.
	piece := at.Kind == translate.KindOther && p.w.Part(data[at.Start:at.End]).Partial && p.w.Part(data[at.Start:at.End]).Name == ""
	for _, k := range p.keys() {
		goesOn := k.kind == gemini.LeafText && at.Kind == translate.KindText ||
			k.kind == gemini.LeafThought && at.Kind == translate.KindThought ||
			k.kind == gemini.LeafPartial && piece
		if k.candidate != at.Candidate || goesOn {
			continue
		}
		tail, err := p.close(k)
		if err != nil {
			return nil, err
		}
		if len(tail) > 0 {
			parts = append(parts, k.part(tail))
		}
	}
	return parts, nil
}

// inList reports whether a value stands in an array, so that another one can be
// put before it.
func inList(data []byte, at int) bool {
	b := bytes.TrimRight(data[:at], " \r\n\t")
	return len(b) > 0 && (b[len(b)-1] == '[' || b[len(b)-1] == ',')
}

func (p *pipe) keys() []laneKey {
	return slices.SortedFunc(maps.Keys(p.lanes), laneKey.compare)
}

func (p *pipe) close(k laneKey) ([]byte, error) {
	ln := p.lanes[k]
	tail := bytes.Clone(ln.flush())
	delete(p.lanes, k)
	if !ln.took("", tail, true) {
		p.move(k.candidate)
	}
	return tail, p.work.done(ln.filter)
}

// end gives what is left at the end of an answer that came whole.
func (p *pipe) end() (out [][]byte, err error) {
	for _, k := range p.keys() {
		tail, err := p.close(k)
		if err != nil {
			return nil, err
		}
		if len(tail) == 0 {
			continue
		}
		if !p.append(k, tail) {
			c := p.w.Answer(p.like, k.candidate, []translate.Part{p.w.Part(k.part(tail))}, "")
			out = append(out, c.Raw)
		}
	}
	for _, doc := range p.ending {
		out = append(out, p.placed(doc))
	}
	p.ending = nil
	return out, nil
}

// append puts the end of a lane into one of the last documents.
func (p *pipe) append(k laneKey, tail []byte) bool {
	for i := len(p.ending) - 1; i >= 0; i-- {
		doc := p.ending[i]
		c, err := p.w.ParseChunk(doc)
		if err != nil {
			continue
		}
		for _, cand := range c.Candidates {
			if cand.Index != k.candidate {
				continue
			}
			if b, err := gemini.Leaves(doc); err == nil {
				if j := len(b.Parts) - 1; j >= 0 && b.Parts[j].Leaf >= 0 && k.kind != gemini.LeafPartial {
					for ; j >= 0; j-- {
						at := b.Parts[j]
						if at.Candidate != k.candidate || at.Leaf < 0 || b.Leaves[at.Leaf].Kind != k.kind {
							continue
						}
						l := b.Leaves[at.Leaf]
						lit := gemini.Quote(gemini.Unquote(doc[l.Start:l.End]) + string(tail))
						p.ending[i] = gemini.Splice(doc, []gemini.SpliceEdit{{Start: l.Start, End: l.End, New: lit}})
						return true
					}
				}
			}
			parts := append(slices.Clone(cand.Parts), p.w.Part(k.part(tail)))
			n, err := p.w.Edit(c, translate.Edit{Parts: map[int][]translate.Part{k.candidate: parts}})
			if err != nil {
				continue
			}
			p.ending[i] = n.Raw
			return true
		}
	}
	return false
}

// drop gives the documents that waited, and forgets what the lanes hold: the
// answer was cut.
func (p *pipe) drop() [][]byte {
	out := p.ending
	p.ending, p.lanes = nil, nil
	return out
}
