package toolloop

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
)

// A turnRecord says what the model's side holds for one turn of the agent: the
// rounds between which hookline answered by itself, and how the calls that the
// agent saw stand in the last of them.
type turnRecord struct {
	// Same: the model's side is what the agent has; nothing else is set.
	Same bool
	// Tail: the calls are tail calls of earlier results; the turn is not shown
	// to the model, and its results become those of the calls that began it.
	Tail bool
	// Unasked: the prompt that the turn answers is not shown to the model.
	Unasked bool
	// Clear: the history up to and with this many rounds' answers is forgotten;
	// 0 for none. What is left begins with that round's Reply.
	Clear int
	// Retries counts the AfterAgent retries within the turn.
	Retries int
	// Rounds are what the model's side holds; none: the turn is left out.
	Rounds []mRound
	Shown  []shownCall
	// Joined are the results of calls in the last round that the agent never saw.
	Joined []joined
}

// mRound is one model turn, and hookline's answer to it within the agent's turn.
type mRound struct {
	Parts [][]byte
	Reply [][]byte // none for the last round
}

// shownCall is a call as the agent saw it.
type shownCall struct {
	ID        string
	ModelID   string // id the model gave; "" for none
	Args      digest
	Name      string
	Pos       int    // of the model's own part in the last round's Parts; -1 for a tail call
	Rewritten bool   // arguments changed by a hook: the result says so
	Context   string // of BeforeTool: appended to the result; "" for none
}

type joined struct {
	Pos    int // of the call in the last round's Parts
	Result []byte
}

// open reports whether the last round ends with calls whose results follow.
func (r *turnRecord) open() bool { return len(r.Shown)+len(r.Joined) > 0 }

// A resultRecord says what became of one function result.
type resultRecord struct {
	Response []byte // replaces the response, also when the agent has masked it; nil: none
	Output   []byte // stands in the place of what the model reads of the response; nil: none
	Context  string // appended to the response; "" for none
	Stop     string // the turn ends with this reason; "" for no stop
	Tail     *tailRecord
}

// tailRecord is the call whose result takes this result's place.
type tailRecord struct {
	ID        string // "" when the call it extends has none
	Name      string
	Args      []byte // as the agent is to run it
	Rewritten bool
	Context   string // of BeforeTool: appended to its result; "" for none
	Depth     int    // how many tail calls this one makes of the model's call
}

// A userRecord says what became of a prompt.
type userRecord struct {
	Prompt string   // stands in the place of the user's words; "" for none
	Blocks []string // text parts that the model is shown after it
	Drop   bool     // the model is not shown it
	Answer string   // the turn was ended with this reason; "" when it went on
}

const (
	tagTurn    = 't'
	tagResult  = 'r'
	tagPointer = 'p'
	tagUser    = 'u'
	recVersion = 3
)

var errRecord = errors.New("ledger entry is damaged")

// A store's values are a tag, a version and fields framed by their length.
type encoder struct{ b []byte }

func (e *encoder) bytes(p []byte) {
	e.b = binary.AppendUvarint(e.b, uint64(len(p)))
	e.b = append(e.b, p...)
}
func (e *encoder) string(s string) { e.bytes([]byte(s)) }
func (e *encoder) int(n int)       { e.b = binary.AppendVarint(e.b, int64(n)) }
func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
	} else {
		e.b = append(e.b, 0)
	}
}

func (e *encoder) list(l [][]byte) {
	e.int(len(l))
	for _, p := range l {
		e.bytes(p)
	}
}

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail() { d.err, d.b = errRecord, nil }

func (d *decoder) int() int {
	n, w := binary.Varint(d.b)
	if w <= 0 {
		d.fail()
		return 0
	}
	d.b = d.b[w:]
	return int(n)
}

// count reads a length that can't be larger than what is left.
func (d *decoder) count() int {
	n := d.int()
	if n < 0 || n > len(d.b) {
		d.fail()
		return 0
	}
	return n
}

func (d *decoder) bytes() []byte {
	n, w := binary.Uvarint(d.b)
	if w <= 0 || n > uint64(len(d.b)-w) {
		d.fail()
		return nil
	}
	p := d.b[w : w+int(n) : w+int(n)]
	d.b = d.b[w+int(n):]
	return p
}

func (d *decoder) string() string { return string(d.bytes()) }

func (d *decoder) bool() bool {
	if len(d.b) == 0 {
		d.fail()
		return false
	}
	v := d.b[0] == 1
	d.b = d.b[1:]
	return v
}

func (d *decoder) list() [][]byte {
	n := d.count()
	if n == 0 {
		return nil
	}
	l := make([][]byte, 0, n)
	for range n {
		l = append(l, d.bytes())
	}
	return l
}

func (r *turnRecord) encode() []byte {
	e := encoder{b: []byte{tagTurn, recVersion}}
	e.bool(r.Same)
	e.bool(r.Tail)
	e.bool(r.Unasked)
	e.int(r.Clear)
	e.int(r.Retries)
	e.int(len(r.Rounds))
	for _, m := range r.Rounds {
		e.list(m.Parts)
		e.list(m.Reply)
	}
	e.int(len(r.Shown))
	for _, s := range r.Shown {
		e.string(s.ID)
		e.string(s.ModelID)
		e.bytes(s.Args[:])
		e.string(s.Name)
		e.int(s.Pos)
		e.bool(s.Rewritten)
		e.string(s.Context)
	}
	e.int(len(r.Joined))
	for _, j := range r.Joined {
		e.int(j.Pos)
		e.bytes(j.Result)
	}
	return e.b
}

func decodeTurn(b []byte) (*turnRecord, error) {
	if len(b) < 2 || b[0] != tagTurn || b[1] != recVersion {
		return nil, errRecord
	}
	d := decoder{b: b[2:]}
	r := &turnRecord{Same: d.bool(), Tail: d.bool(), Unasked: d.bool(), Clear: d.int(), Retries: d.int()}
	for range d.count() {
		r.Rounds = append(r.Rounds, mRound{Parts: d.list(), Reply: d.list()})
	}
	for range d.count() {
		s := shownCall{ID: d.string(), ModelID: d.string()}
		copy(s.Args[:], d.bytes())
		s.Name, s.Pos, s.Rewritten, s.Context = d.string(), d.int(), d.bool(), d.string()
		r.Shown = append(r.Shown, s)
	}
	for range d.count() {
		r.Joined = append(r.Joined, joined{Pos: d.int(), Result: d.bytes()})
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, r.check()
}

// check keeps positions of a damaged or hostile entry within bounds, and what is
// no JSON out of requests.
func (r *turnRecord) check() error {
	for _, m := range r.Rounds {
		if !validParts(m.Parts) || !validParts(m.Reply) {
			return errRecord
		}
	}
	last := 0
	if n := len(r.Rounds); n > 0 {
		last = len(r.Rounds[n-1].Parts)
	}
	if r.Clear < 0 || r.Clear > len(r.Rounds) {
		return errRecord
	}
	for _, s := range r.Shown {
		if s.Pos < -1 || s.Pos >= last || (s.Pos < 0) != r.Tail {
			return errRecord
		}
	}
	for _, j := range r.Joined {
		if j.Pos < 0 || j.Pos >= last || !isObject(j.Result) {
			return errRecord
		}
	}
	return nil
}

func validParts(parts [][]byte) bool {
	return !slices.ContainsFunc(parts, func(p []byte) bool { return !isObject(p) })
}

func isObject(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && gjson.ValidBytes(raw)
}

func (r *resultRecord) encode() []byte {
	e := encoder{b: []byte{tagResult, recVersion}}
	e.bytes(r.Response)
	e.bytes(r.Output)
	e.string(r.Context)
	e.string(r.Stop)
	e.bool(r.Tail != nil)
	if t := r.Tail; t != nil {
		e.string(t.ID)
		e.string(t.Name)
		e.bytes(t.Args)
		e.bool(t.Rewritten)
		e.string(t.Context)
		e.int(t.Depth)
	}
	return e.b
}

func decodeResult(b []byte) (*resultRecord, error) {
	if len(b) < 2 || b[0] != tagResult || b[1] != recVersion {
		return nil, errRecord
	}
	d := decoder{b: b[2:]}
	r := &resultRecord{Response: d.bytes(), Output: d.bytes(), Context: d.string(), Stop: d.string()}
	if len(r.Response) == 0 {
		r.Response = nil
	}
	if len(r.Output) == 0 {
		r.Output = nil
	}
	if d.bool() {
		r.Tail = &tailRecord{ID: d.string(), Name: d.string(), Args: d.bytes(), Rewritten: d.bool(), Context: d.string(), Depth: d.int()}
	}
	return r, d.err
}

func (r *userRecord) encode() []byte {
	e := encoder{b: []byte{tagUser, recVersion}}
	e.int(len(r.Blocks))
	for _, b := range r.Blocks {
		e.string(b)
	}
	e.bool(r.Drop)
	e.string(r.Answer)
	e.string(r.Prompt)
	return e.b
}

func decodeUser(b []byte) (*userRecord, error) {
	if len(b) < 2 || b[0] != tagUser || b[1] != recVersion {
		return nil, errRecord
	}
	d := decoder{b: b[2:]}
	r := &userRecord{}
	for range d.count() {
		r.Blocks = append(r.Blocks, d.string())
	}
	r.Drop, r.Answer, r.Prompt = d.bool(), d.string(), d.string()
	return r, d.err
}
