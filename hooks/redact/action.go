package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Action is what happens to a match.
type Action string

const (
	Mask        Action = "mask"        // [EMAIL_ADDRESS]
	Partial     Action = "partial"     // j***@example.com, ************1881
	Hash        Action = "hash"        // [EMAIL_ADDRESS:5f1c0a7be94d], keyed: the same value has the same hash
	Placeholder Action = "placeholder" // <EMAIL_ADDRESS_1>, restored on the way back
	Block       Action = "block"       // masked, and the result says Blocked
	Report      Action = "report"      // left as it is
	Off         Action = "off"         // left as it is, and not told of
)

// maxKept is the longest value (bytes) that is kept for a placeholder or a
// hash; what is longer is masked.
const maxKept = 16 << 10

// hashBytes is how much of a hash is shown.
const hashBytes = 6

// A Vault gives values placeholders that can be undone. Its methods are called
// by one goroutine per stream, so a Vault that streams share is safe for
// concurrent use.
type Vault interface {
	// Placeholder gives the number of a value of an entity, from 1: the same
	// value has the same number for the life of the vault. 0 says that the
	// vault is full; the value is masked then. The value is only valid during
	// the call.
	Placeholder(entity string, value []byte) int
	// Value is the value of a placeholder, ok false for one it never gave.
	Value(entity string, number int) (value string, ok bool)
}

type actions struct {
	all Action
	of  map[int32]Action
	key []byte
}

func (a Action) known() bool {
	switch a {
	case Mask, Partial, Hash, Placeholder, Block, Report, Off:
		return true
	}
	return false
}

func (a *actions) set(e *Engine, o Options) error {
	a.all = o.Action
	if a.all == "" {
		a.all = Mask
	}
	if !a.all.known() {
		return fmt.Errorf("unknown action %q", o.Action)
	}
	a.of = map[int32]Action{}
	if act, ok := o.Actions["SECRET"]; ok {
		for i := range e.rules {
			a.of[int32(numEntities)+int32(i)] = act
		}
	}
	for name, act := range o.Actions {
		if !act.known() {
			return fmt.Errorf("unknown action %q for %s", act, name)
		}
		if k, ok := e.kindOf(name); ok {
			a.of[k] = act
		} else if name != "SECRET" {
			return fmt.Errorf("unknown entity %q", name)
		}
	}
	a.key = o.Key
	if a.key == nil {
		a.key = make([]byte, 32)
		if _, err := rand.Read(a.key); err != nil {
			return fmt.Errorf("make a key for hashes: %w", err)
		}
	}
	return nil
}

// kindOf finds an entity by its name or an alias, or a rule by its name.
func (e *Engine) kindOf(name string) (int32, bool) {
	if k, ok := entityByName[strings.ToUpper(name)]; ok {
		return int32(k), true
	}
	n, ok := e.ruleNumber[name]
	return int32(numEntities) + int32(n), ok
}

// ActionOf is what the engine does with matches of that name, which may be an
// alias; "" for a name that it does not know.
func (e *Engine) ActionOf(name string) Action {
	k, ok := e.kindOf(name)
	if !ok {
		return ""
	}
	return e.acts.action(k)
}

func (a *actions) action(kind int32) Action {
	if act, ok := a.of[kind]; ok {
		return act
	}
	return a.all
}

// replace appends what stands for the value v to out. v is nil if it was too
// long to be kept. Block is for the caller to notice.
func (e *Engine) replace(out []byte, kind int32, v []byte, vault Vault) []byte {
	name := e.name(kind)
	act := e.acts.action(kind)
	if v == nil && act != Report {
		act = Mask
	}
	switch act {
	case Report:
		return append(out, v...)
	case Partial:
		return partial(out, kind, v)
	case Hash:
		h := hmac.New(sha256.New, e.acts.key)
		h.Write([]byte(name))
		h.Write([]byte{0})
		h.Write(v)
		out = append(append(append(out, '['), name...), ':')
		return append(hex.AppendEncode(out, h.Sum(nil)[:hashBytes]), ']')
	case Placeholder:
		if vault != nil {
			if n := vault.Placeholder(name, v); n > 0 {
				return fmt.Appendf(out, "<%s_%d>", name, n)
			}
		}
	}
	return append(append(append(out, '['), name...), ']')
}

// partial shows as much of a value as tells a person which one it is.
func partial(out []byte, kind int32, v []byte) []byte {
	stars := func(n int) {
		for range n {
			out = append(out, '*')
		}
	}
	switch entity(min(kind, int32(numEntities))) {
	case emailAddress:
		at := strings.IndexByte(string(v), '@')
		_, n := utf8.DecodeRune(v)
		out = append(out, v[:n]...)
		stars(3)
		return append(out, v[at:]...)
	case creditCard, ibanCode, phoneNumber, usSSN, usBankNumber, usITIN:
		keep := 4
		for i, c := range v {
			if isAlnum(c) && i < len(v)-keep {
				c = '*'
			}
			out = append(out, c)
		}
		return out
	}
	n := utf8.RuneCount(v)
	if n >= 8 {
		_, k := utf8.DecodeRune(v)
		out = append(out, v[:k]...)
		n--
	}
	stars(min(n, 12))
	return out
}
