package toolloop

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// Agents echo what they were sent in their own manner: keys re-ordered, numbers
// in another form, nulls dropped, other escapes. A digest is taken over a form
// in which all of these are equal.
type digest = [sha256.Size]byte

// digester collects fields, each framed by its length, and sums them once.
type digester struct{ buf []byte }

func (d *digester) bytes(b []byte) *digester {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(b)))
	d.buf = append(d.buf, b...)
	return d
}

func (d *digester) string(s string) *digester {
	d.buf = binary.AppendUvarint(d.buf, uint64(len(s)))
	d.buf = append(d.buf, s...)
	return d
}

func (d *digester) int(n int) *digester {
	d.buf = binary.AppendVarint(d.buf, int64(n))
	return d
}

func (d *digester) sum() digest { return sha256.Sum256(d.buf) }

// canonicalDepth bounds recursion over hostile JSON; what is deeper is taken as
// it is written.
const canonicalDepth = 64

// appendCanonical appends a form of a JSON value that is equal for values that
// mean the same. Absent and null are an empty object, which is what agents make
// of missing arguments.
func appendCanonical(dst []byte, raw []byte) []byte {
	v := gjson.ParseBytes(raw)
	if v.Type == gjson.Null {
		return append(dst, "{}"...)
	}
	return canonicalValue(dst, v, 0)
}

func canonicalValue(dst []byte, v gjson.Result, depth int) []byte {
	switch {
	case v.Type == gjson.String:
		s := v.Str
		dst = append(dst, '"')
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		return append(dst, s...)
	case v.Type == gjson.Number:
		return appendNumber(dst, v)
	case depth > canonicalDepth || v.Type != gjson.JSON:
		return append(dst, v.Raw...)
	case v.IsArray():
		dst = append(dst, '[')
		v.ForEach(func(_, e gjson.Result) bool {
			dst = append(canonicalValue(dst, e, depth+1), ',')
			return true
		})
		return append(dst, ']')
	}
	type member struct {
		key string
		val gjson.Result
	}
	var ms []member
	v.ForEach(func(k, e gjson.Result) bool {
		if e.Type != gjson.Null {
			ms = append(ms, member{k.Str, e})
		}
		return true
	})
	slices.SortStableFunc(ms, func(a, b member) int { return strings.Compare(a.key, b.key) })
	dst = append(dst, '{')
	for i, m := range ms {
		if i+1 < len(ms) && ms[i+1].key == m.key {
			continue // the last of duplicate keys counts
		}
		dst = binary.AppendUvarint(dst, uint64(len(m.key)))
		dst = append(dst, m.key...)
		dst = append(canonicalValue(dst, m.val, depth+1), ',')
	}
	return append(dst, '}')
}

// appendNumber writes a number as the double that JSON readers make of it, so
// that 1, 1.0 and 1e0 are equal.
func appendNumber(dst []byte, v gjson.Result) []byte {
	f, err := strconv.ParseFloat(strings.TrimSpace(v.Raw), 64)
	if err != nil || math.IsInf(f, 0) {
		return append(dst, v.Raw...)
	}
	if f == 0 {
		f = 0 // -0 is 0
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64)
}

// argsDigest is the digest of a call's arguments or a result's response.
func argsDigest(raw []byte) digest {
	var d digester
	d.buf = appendCanonical(d.buf, raw)
	return d.sum()
}

// appendText appends the value of a JSON string literal.
func appendText(dst []byte, literal []byte) []byte {
	if len(literal) < 2 {
		return dst
	}
	in := literal[1 : len(literal)-1]
	if bytes.IndexByte(in, '\\') < 0 {
		return append(dst, in...)
	}
	return append(dst, gjson.ParseBytes(literal).Str...)
}

// textOf is the value of a text part.
func textOf(p translate.Part) string { return string(appendText(nil, p.Text)) }

// keys makes the ledger's keys for one call. All of them hold the tenant.
type keys struct {
	tenant  string
	session string
}

func (k keys) start(kind string, session bool) *digester {
	d := &digester{buf: make([]byte, 0, 256)}
	d.string("hookline/1").string(kind).string(k.tenant)
	if session {
		d.string(k.session)
	}
	return d
}

// turn names the agent's turn: its text, its calls and the user's side before it.
// The session's key holds also how often the like was seen earlier in the history.
func (k keys) turn(base digest, ordinal int) store.Key {
	return store.Key(k.start("turn", true).bytes(base[:]).int(ordinal).sum())
}

// anyTurn names the same turn whatever the session, by the loose neighbour.
func (k keys) anyTurn(base digest) store.Key {
	return store.Key(k.start("anyturn", false).bytes(base[:]).sum())
}

// record names a turn's record, once.
func (k keys) record(requestID string, candidate int) store.Key {
	return store.Key(k.start("record", true).string(requestID).int(candidate).sum())
}

// call names a function call by its identity (see [callIdentity]).
func (k keys) call(id digest) store.Key {
	return store.Key(k.start("call", false).bytes(id[:]).sum())
}

func (k keys) signature(sig string) store.Key {
	return store.Key(k.start("sig", false).string(sig).sum())
}

// result names what became of a function result: of that content in this
// session (and of how many like it there were before), of that content in any
// session, of any content.
func (k keys) result(call, response digest, repeat int) store.Key {
	d := k.start("result", true).bytes(call[:]).bytes(response[:])
	if repeat > 0 {
		d.int(repeat)
	}
	return store.Key(d.sum())
}

func (k keys) oldResult(call, response digest) store.Key {
	return store.Key(k.start("oldresult", false).bytes(call[:]).bytes(response[:]).sum())
}

func (k keys) maskedResult(call digest) store.Key {
	return store.Key(k.start("maskedresult", false).bytes(call[:]).sum())
}

// callIdentity is what a call is found by: its id where it has one, else its
// place: the user's side before it, and which of the like it is in its turn.
func callIdentity(id, name string, args, near digest, ordinal int) digest {
	var d digester
	if id != "" {
		return d.string("id").string(id).string(name).bytes(args[:]).sum()
	}
	return d.string("place").bytes(near[:]).string(name).bytes(args[:]).int(ordinal).sum()
}

// user names a prompt: its text, and what the model said before it.
func (k keys) user(prompt digest, ordinal int) store.Key {
	return store.Key(k.start("user", true).bytes(prompt[:]).int(ordinal).sum())
}

func (k keys) anyUser(prompt digest) store.Key {
	return store.Key(k.start("anyuser", false).bytes(prompt[:]).sum())
}

// deniedPrompt names a prompt that was denied by its text alone, wherever it stands.
func (k keys) deniedPrompt(said string) store.Key {
	return store.Key(k.start("denied", false).string(said).sum())
}

// waits names the entry that says whether the session's newest answer left calls open.
func (k keys) waits() store.Key { return store.Key(k.start("waits", true).sum()) }

// sessionStart names the entry that says that a session has begun.
func (k keys) sessionStart() store.Key { return store.Key(k.start("session", true).sum()) }

// sessionPrompt names the beginning of a session with its first prompt.
func (k keys) sessionPrompt(prompt digest) store.Key {
	return store.Key(k.start("sessionprompt", true).bytes(prompt[:]).sum())
}
