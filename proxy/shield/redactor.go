package shield

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// Redactor is a detection engine with what is to be done about its finds.
type Redactor struct {
	engine     *redact.Engine
	reversible bool
}

// NewRedactor makes one. The errors are [redact.New]'s.
func NewRedactor(o redact.Options) (*Redactor, error) {
	e, err := redact.New(o)
	if err != nil {
		return nil, err
	}
	r := &Redactor{engine: e, reversible: o.Action == redact.Placeholder}
	for _, a := range o.Actions {
		r.reversible = r.reversible || a == redact.Placeholder
	}
	return r, nil
}

// BlockedError says that a call holds data whose action is block.
type BlockedError struct {
	Entities []string // their names, sorted
	Answer   bool     // it is in the model's answer, not in the request
}

func (e *BlockedError) Error() string {
	where := "request"
	if e.Answer {
		where = "answer"
	}
	return fmt.Sprintf("hookline stopped this %s: it holds data of the kind %s, which redact in hookline's configuration blocks", where, strings.Join(e.Entities, ", "))
}

// blocked names what was blocked among the finds of a text.
func (r *Redactor) blocked(found map[string]int) []string {
	var names []string
	for n := range found {
		if r.engine.ActionOf(n) == redact.Block {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return names
}

// filter is one lane of text on its way.
type filter interface {
	// push adds a piece and gives what can be let out, valid until the next call.
	push(piece []byte) []byte
	// flush ends the lane.
	flush() []byte
	// heldBytes is how many bytes are held back.
	heldBytes() int
}

// redacting is the filter that redacts.
type redacting struct {
	r     *Redactor
	s     *redact.Stream
	known replacer
	seen  int            // spans that were counted
	found map[string]int // by entity
	fed   int            // bytes
	begin byte           // the first byte that is no space; 0 before it
}

// unescaping is the vault of a lane. In a text that begins like a JSON document
// values are kept as they read in its strings, since that is how restoring takes
// them.
type unescaping struct {
	redact.Vault
	f *redacting
}

// Placeholder implements [redact.Vault].
func (u unescaping) Placeholder(entity string, value []byte) int {
	if (u.f.begin == '{' || u.f.begin == '[') && bytes.IndexByte(value, '\\') >= 0 {
		if lit := append(append([]byte{'"'}, value...), '"'); json.Valid(lit) {
			value = []byte(gemini.Unquote(lit))
			if v, ok := u.Vault.(*vault); ok {
				return v.partly(entity, value)
			}
		}
	}
	return u.Vault.Placeholder(entity, value)
}

func (r *Redactor) lane(v redact.Vault, k *known, key []byte) *redacting {
	f := &redacting{r: r, known: replacer{k: k}}
	f.s = r.engine.Stream(unescaping{v, f})
	f.s.Collect()
	if len(key) > 0 {
		f.s.Context(key)
	}
	return f
}

func (f *redacting) push(piece []byte) []byte {
	f.fed += len(piece)
	if t := bytes.TrimLeft(piece, " \r\n\t"); f.begin == 0 && len(t) > 0 {
		f.begin = t[0]
	}
	out := f.known.push(f.s.Push(piece), false)
	f.count()
	return out
}

func (f *redacting) flush() []byte {
	out := f.known.push(f.s.Flush(), true)
	f.count()
	return out
}

// heldBytes may count bytes that have become a placeholder by their own length.
func (f *redacting) heldBytes() int { return f.s.Held() + len(f.known.held) }

// released is how much of what was pushed has been let out or replaced; behind
// it everything is still held.
func (f *redacting) released() int { return f.fed - f.s.Held() - len(f.known.held) }

func (f *redacting) count() {
	spans := f.s.Spans()
	for _, s := range spans[f.seen:] {
		if f.found == nil {
			f.found = map[string]int{}
		}
		f.found[s.Entity]++
	}
	f.seen = len(spans)
}

// touched reports whether something was replaced, as far as can be told by the
// counts; a report alone counts, too.
func (f *redacting) touched() bool { return len(f.found) > 0 || f.known.hits > 0 }

// restoring is the filter that puts values back. In a text that begins like a
// JSON document they are escaped as its strings need it.
type restoring struct {
	v redact.Vault
	r *redact.Restorer // nil before the first byte that is no space
}

func (f *restoring) push(piece []byte) []byte {
	if f.r == nil {
		t := bytes.TrimLeft(piece, " \r\n\t")
		if len(t) == 0 {
			return piece
		}
		f.r = redact.NewRestorer(f.v, t[0] == '{' || t[0] == '[')
	}
	return f.r.Push(piece)
}

func (f *restoring) flush() []byte {
	if f.r == nil {
		return nil
	}
	return f.r.Flush()
}

func (f *restoring) heldBytes() int {
	if f.r == nil {
		return 0
	}
	return f.r.Held()
}
