package shield

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// Values of these lengths, in bytes, are looked for literally.
const (
	leastKnown = 8
	mostKnown  = 256
)

// known finds values that have a placeholder already, wherever they stand: also
// where no detector would know them, as a number right before a letter after its
// placeholder was restored. The same value has the same placeholder then.
type known struct {
	by     map[uint64][]literal // by the first 8 bytes, the longest first
	filter [1 << 10]uint64
	heads  map[string]bool // beginnings of values, shorter than 8 bytes
	have   int             // how many of the vault's are in
}

type literal struct {
	value []byte
	mask  []byte // its placeholder
}

func newKnown() *known { return &known{by: map[uint64][]literal{}, heads: map[string]bool{}} }

// learn adds what v has come to hold. It is not to be called while a text is in
// the middle: what a text itself brings is not looked for in it, so that the
// result does not depend on how it is cut.
func (k *known) learn(v *vault) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for ; k.have < len(v.seen); k.have++ {
		p := v.seen[k.have]
		e := v.live[p]
		if len(e.value) < leastKnown || len(e.value) > mostKnown || e.number {
			continue
		}
		l := literal{[]byte(e.value), fmt.Appendf(nil, "<%s_%d>", p.entity, p.n)}
		h := binary.LittleEndian.Uint64(l.value)
		if slices.ContainsFunc(k.by[h], func(o literal) bool { return bytes.Equal(o.value, l.value) }) {
			continue // under another name already
		}
		k.by[h] = append(k.by[h], l)
		slices.SortStableFunc(k.by[h], func(a, b literal) int { return len(b.value) - len(a.value) })
		f := slot(h)
		k.filter[f>>6] |= 1 << (f & 63)
		for n := 1; n < leastKnown; n++ {
			k.heads[e.value[:n]] = true
		}
	}
}

// slot is a place in the filter.
func slot(h uint64) uint64 {
	return bits.RotateLeft64(h*0x9E3779B97F4A7C15, 16) & (1<<16 - 1)
}

// replacer replaces known values in a text that comes in pieces.
type replacer struct {
	k    *known
	held []byte
	out  []byte
	hits int
}

// push adds a piece and returns what can be let out, valid until the next call.
func (r *replacer) push(chunk []byte, final bool) []byte {
	if len(r.k.by) == 0 {
		return chunk
	}
	r.held = append(r.held, chunk...)
	r.out = r.out[:0]
	b, from, i := r.held, 0, 0
scan:
	for i < len(b) {
		if len(b)-i < leastKnown {
			if !final && r.k.heads[string(b[i:])] {
				break
			}
			i++
			continue
		}
		h := binary.LittleEndian.Uint64(b[i:])
		if f := slot(h); r.k.filter[f>>6]&(1<<(f&63)) == 0 {
			i++
			continue
		}
		for _, l := range r.k.by[h] {
			switch {
			case bytes.HasPrefix(b[i:], l.value):
				r.out = append(append(r.out, b[from:i]...), l.mask...)
				i += len(l.value)
				from = i
				r.hits++
				continue scan
			case !final && len(l.value) > len(b)-i && bytes.HasPrefix(l.value, b[i:]):
				break scan
			}
		}
		i++
	}
	r.out = append(r.out, b[from:i]...)
	r.held = append(r.held[:0], b[i:]...)
	return r.out
}
