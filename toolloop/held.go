package toolloop

import (
	"encoding/json"
	"slices"

	"github.com/hookline-proxy/hookline/translate"
)

// hold sends a chunk, or keeps it while the end of the turn is not clear: a call
// may still be denied, and a finish reason may turn out to be none.
func (r *round) hold(chunk *translate.Chunk) error {
	calls, finish := false, false
	for _, cand := range chunk.Candidates {
		finish = finish || cand.Finish != ""
		for _, p := range cand.Parts {
			calls = calls || p.Kind == translate.KindCall
		}
	}
	if !r.calls && !(r.call.FoldEnd && bare(chunk)) {
		if err := r.flush(); err != nil {
			return err
		}
	}
	r.calls = r.calls || calls
	if r.calls || finish || r.call.FoldEnd {
		r.held = append(r.held, chunk)
		return nil
	}
	return r.show(chunk)
}

// fold lays documents without parts worth having over the ones before them.
func (r *round) fold() error {
	if !r.call.FoldEnd {
		return nil
	}
	var out []*translate.Chunk
	for _, c := range r.held {
		if len(out) == 0 || !bare(c) {
			out = append(out, c)
			continue
		}
		e := translate.Edit{Finish: map[int]string{}, Usage: c.Usage}
		for _, cand := range c.Candidates {
			if cand.Finish != "" {
				e.Finish[cand.Index] = cand.Finish
			}
		}
		folded, err := r.call.Wire.Edit(out[len(out)-1], e)
		if err != nil {
			return r.broken(err)
		}
		out[len(out)-1] = folded
	}
	r.held = out
	return nil
}

// bare reports whether a document has no part but empty texts.
func bare(c *translate.Chunk) bool {
	for _, cand := range c.Candidates {
		for _, p := range cand.Parts {
			if p.Kind != translate.KindText || len(p.Text) > 2 {
				return false
			}
		}
	}
	return true
}

// show sends a chunk to the agent.
func (r *round) show(c *translate.Chunk) error {
	for _, cand := range c.Candidates {
		r.lane(cand.Index).see(cand.Parts)
	}
	if len(c.Usage) > 0 {
		c = r.withUsage(c)
	}
	return r.emit(c)
}

// flush sends what is held as it is.
func (r *round) flush() error {
	held := r.held
	r.held = nil
	for _, c := range held {
		if err := r.show(c); err != nil {
			return err
		}
	}
	return nil
}

// streamed reports whether a call among chunks comes in pieces.
func streamed(chunks []*translate.Chunk) bool {
	for _, c := range chunks {
		for _, cand := range c.Candidates {
			if slices.ContainsFunc(cand.Parts, func(p translate.Part) bool { return p.Kind == translate.KindCall && p.Partial }) {
				return true
			}
		}
	}
	return false
}

// edited makes the held chunks what the agent is to see of them.
func (r *round) edited(changes map[int]*change) ([]*translate.Chunk, error) {
	var out []*translate.Chunk
	next := map[int]int{}
	signature := map[int]string{}
	replace := func(index int, p translate.Part) (translate.Part, bool) {
		if p.Name == "" {
			return p, true // a piece of a streamed call, which goes out whole
		}
		ch := changes[index]
		k := next[index]
		if ch == nil || k >= len(ch.calls) {
			return p, true
		}
		next[index]++
		v := ch.verdicts[k]
		p = ch.calls[k]
		if sig := p.Signature; sig != "" && signature[index] == "" && (v.kind == verdictDeny || v.kind == verdictStop) {
			signature[index] = sig
		}
		switch v.kind {
		case verdictDeny, verdictStop:
			if len(changes) > 1 || index != 0 {
				return r.call.Wire.TextPart(v.reason), false
			}
			return p, true
		case verdictRewrite:
			p = r.call.Wire.WithArgs(p, v.args)
		}
		if sig := signature[index]; sig != "" && p.Signature == "" {
			// The first call that the agent sees carries the signature.
			p = r.call.Wire.WithSignature(p, sig)
		}
		signature[index] = ""
		return p, false
	}
	err := r.editHeld(replace, true, func(c *translate.Chunk) error {
		out = append(out, c)
		return nil
	})
	return out, err
}

// emitHeld sends the held chunks without some of their parts.
func (r *round) emitHeld(replace func(int, translate.Part) (translate.Part, bool), final bool) error {
	return r.editHeld(replace, final, r.show)
}

// editHeld replaces or drops parts of the held chunks. A chunk that is left
// without parts is not sent: its finish reason and usage move to the last chunk
// that has some; when the turn is not final they are dropped.
func (r *round) editHeld(replace func(int, translate.Part) (translate.Part, bool), final bool, send func(*translate.Chunk) error) error {
	held := r.held
	r.held, r.calls = nil, false
	var out []*translate.Chunk
	finish := map[int]string{}
	var usage json.RawMessage
	for _, c := range held {
		e := translate.Edit{Parts: map[int][]translate.Part{}, Finish: map[int]string{}}
		left := 0
		for _, cand := range c.Candidates {
			parts := []translate.Part{}
			changed := false
			for _, p := range cand.Parts {
				if p.Kind != translate.KindCall {
					if p.Kind == translate.KindText && len(p.Text) <= 2 && (p.Signature == "" || r.call.FoldEnd) {
						changed = true
						continue
					}
					parts = append(parts, p)
					continue
				}
				q, drop := replace(cand.Index, p)
				changed = true
				if !drop {
					parts = append(parts, q)
				}
			}
			left += len(parts)
			if changed {
				e.Parts[cand.Index] = parts
			}
			if cand.Finish != "" {
				finish[cand.Index] = cand.Finish
				e.Finish[cand.Index] = ""
			}
		}
		if len(c.Usage) > 0 {
			usage = c.Usage
			e.Usage = json.RawMessage{}
		}
		if left == 0 {
			continue
		}
		edited, err := r.call.Wire.Edit(c, e)
		if err != nil {
			return err
		}
		out = append(out, edited)
	}
	if final {
		if len(out) == 0 {
			return nil
		}
		last, err := r.call.Wire.Edit(out[len(out)-1], translate.Edit{Finish: finish, Usage: usage})
		if err != nil {
			return err
		}
		out[len(out)-1] = last
	}
	for _, c := range out {
		if err := send(c); err != nil {
			return err
		}
	}
	return nil
}
