package gemini

import (
	"bytes"
	"fmt"

	"github.com/hookline-proxy/hookline/translate"
)

// WithTurns replaces the history. Turns with Raw go out as those bytes, others
// as {"parts":[…],"role":"…"}. The list is joined as its writer joined it, so
// that a longer history starts with the bytes of the shorter one (prompt caches
// go by prefix). The turns that r already has give r itself.
func (w Wire) WithTurns(r *translate.Request, turns []translate.Turn) (*translate.Request, error) {
	d, err := docOf(r)
	if err != nil {
		return nil, err
	}
	if sameTurns(r.Turns, turns) {
		return r, nil
	}
	if !d.object.ok() {
		return nil, fmt.Errorf("the body has no request to put a history of %d turns in", len(turns))
	}
	if !d.fields[fieldContents].ok() {
		r, d = d.setField(r, fieldContents, []byte("[]"))
		d.sep = ","
	}
	at, size := d.fields[fieldContents].val, 2+len(d.lead)+len(d.trail)
	for _, t := range turns {
		size += len(d.sep) + len(t.Raw)
		if t.Raw == nil {
			size += len(`{"parts":[],"role":""}`) + len(t.Role)
			for _, p := range t.Parts {
				size += len(p.Raw) + 1
			}
		}
	}
	out := make([]byte, 0, len(r.Raw)-(at.end-at.start)+size)
	out = append(append(append(out, r.Raw[:at.start]...), '['), d.lead...)
	places := make([]span, len(turns))
	for i, t := range turns {
		if i > 0 {
			out = append(out, d.sep...)
		}
		from := len(out)
		if out, err = appendTurn(out, t); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i, err)
		}
		places[i] = span{from, len(out)}
	}
	if len(turns) > 0 {
		out = append(out, d.trail...)
	}
	out = append(out, ']')
	end := len(out)
	next := *r
	next.Raw = append(out, r.Raw[at.end:]...)
	next.Doc = d.moved(at, end-at.start)
	next.Turns = make([]translate.Turn, len(turns))
	for i, t := range turns {
		t.Raw = places[i].of(next.Raw)
		if t.Parts == nil {
			if read, err := parseTurn(t.Raw); err == nil {
				t = read
			}
		}
		next.Turns[i] = t
	}
	return &next, nil
}

func sameTurns(a, b []translate.Turn) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if b[i].Raw == nil || !bytes.Equal(a[i].Raw, b[i].Raw) {
			return false
		}
	}
	return true
}

func appendTurn(dst []byte, t translate.Turn) ([]byte, error) {
	if t.Raw != nil {
		return append(dst, t.Raw...), nil
	}
	dst = append(dst, `{"parts":[`...)
	for i, p := range t.Parts {
		if len(p.Raw) == 0 {
			return nil, fmt.Errorf("part %d of kind %s has no bytes", i, p.Kind)
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.Raw...)
	}
	dst = append(dst, ']')
	if t.Role != "" {
		dst = append(dst, `,"role":`...)
		dst = appendQuoted(dst, t.Role)
	}
	return append(dst, '}'), nil
}
