package shield

import (
	"container/list"
	"crypto/sha256"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/hookline-proxy/hookline/hooks/redact"
)

// Bounds of what is remembered, in bytes of values.
const (
	sessionBytes = 4 << 20  // of one session
	totalBytes   = 64 << 20 // of all sessions; the one that was silent longest goes first
	entryCost    = 96       // what an entry costs beside its value
)

// vaults remember which value has which number, by session, in memory alone.
// They are a convenience: a history that is scanned from its top gives the same
// numbers again, as long as it has not been cut at its beginning.
type vaults struct {
	mu    sync.Mutex
	by    map[sessionKey]*list.Element
	order *list.List // of *session, the newest in front
	bytes int
}

type sessionKey [sha256.Size]byte

func newVaults() *vaults {
	return &vaults{by: map[sessionKey]*list.Element{}, order: list.New()}
}

// keyOf names a session by parts that are no secret of its own.
func keyOf(parts ...string) sessionKey {
	h := sha256.New()
	for _, p := range parts {
		h.Write(strconv.AppendInt(nil, int64(len(p)), 10))
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return sessionKey(h.Sum(nil))
}

type session struct {
	key     sessionKey
	numbers map[entry]int
	last    map[string]int           // the highest number given, by entity
	taken   map[placeholder]struct{} // numbers that stand in texts by themselves
	bytes   int
}

// entry is a value as it is told from others. number says that it stood as a
// JSON number.
type entry struct {
	entity, value string
	number        bool
}

type placeholder struct {
	entity string
	n      int
}

func newSession(key sessionKey) *session {
	return &session{key: key, numbers: map[entry]int{}, last: map[string]int{}, taken: map[placeholder]struct{}{}}
}

// with calls f with the session of that key, made if there is none.
func (v *vaults) with(key sessionKey, f func(*session)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	el := v.by[key]
	if el == nil {
		el = v.order.PushFront(newSession(key))
		v.by[key] = el
	}
	v.order.MoveToFront(el)
	s := el.Value.(*session)
	before := s.bytes
	f(s)
	v.bytes += s.bytes - before
	for v.bytes > totalBytes && v.order.Len() > 1 {
		old := v.order.Remove(v.order.Back()).(*session)
		delete(v.by, old.key)
		v.bytes -= old.bytes
	}
}

// number is the number of a value, 0 if there is no room for it.
func (s *session) number(e entry) int {
	if n, ok := s.numbers[e]; ok {
		return n
	}
	cost := len(e.value) + entryCost
	if s.bytes+cost > sessionBytes {
		return 0
	}
	n := s.last[e.entity] + 1
	for {
		if _, ok := s.taken[placeholder{e.entity, n}]; !ok {
			break
		}
		n++
	}
	s.bytes += cost
	s.numbers[e], s.last[e.entity] = n, n
	return n
}

// take keeps a number from being given: it stands in a text already.
func (s *session) take(p placeholder) {
	if p.n <= s.last[p.entity] || s.bytes+entryCost > sessionBytes {
		return
	}
	if _, ok := s.taken[p]; !ok {
		s.taken[p] = struct{}{}
		s.bytes += entryCost
	}
}

// vault is the view that one call has of its session. It restores what the
// call itself has seen, and nothing else: a number that a model makes up never
// gives it a value of another conversation.
type vault struct {
	all *vaults
	key sessionKey
	own *session // a session of the call alone; nil for one of all

	mu   sync.Mutex
	live map[placeholder]entry
	seen []placeholder        // live, in order
	once map[placeholder]bool // of live, those of which a document's string has more escapes
}

var (
	_ redact.Vault  = (*vault)(nil)
	_ redact.Partly = (*vault)(nil)
)

func newVault(all *vaults, key sessionKey) *vault {
	return &vault{all: all, key: key, live: map[placeholder]entry{}}
}

func (v *vault) with(f func(*session)) {
	if v.own != nil {
		f(v.own)
		return
	}
	v.all.with(v.key, f)
}

// Placeholder implements [redact.Vault].
func (v *vault) Placeholder(entity string, value []byte) int { return v.put(entity, value, false) }

func (v *vault) put(entity string, value []byte, number bool) int {
	// What was found round a placeholder holds the value behind it.
	e := entry{entity, string(redact.Restore(append([]byte(nil), value...), v)), number}
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	v.with(func(s *session) { n = s.number(e) })
	if n > 0 {
		p := placeholder{entity, n}
		if _, ok := v.live[p]; !ok {
			v.live[p] = e
			v.seen = append(v.seen, p)
		}
	}
	return n
}

// partly is Placeholder for a value of a string in a document, of which one level
// of escapes was taken; the string may hold a document itself.
func (v *vault) partly(entity string, value []byte) int {
	v.mu.Lock()
	known := len(v.live)
	v.mu.Unlock()
	n := v.put(entity, value, false)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.live) > known {
		if v.once == nil {
			v.once = map[placeholder]bool{}
		}
		v.once[placeholder{entity, n}] = true
	}
	return n
}

// EscapedOnce implements [redact.Partly].
func (v *vault) EscapedOnce(entity string, n int) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.once[placeholder{entity, n}]
}

// Value implements [redact.Vault].
func (v *vault) Value(entity string, n int) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.live[placeholder{entity, n}]
	return e.value, ok
}

// numeric is the value of a placeholder that stands for a JSON number; text is
// all of the string that it stands in.
func (v *vault) numeric(text string) (string, bool) {
	m := aPlaceholder.FindStringSubmatch(text)
	if m == nil || len(m[0]) != len(text) {
		return "", false
	}
	n, _ := strconv.Atoi(m[2])
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.live[placeholder{m[1], n}]
	return e.value, ok && e.number
}

var aPlaceholder = regexp.MustCompile(`<([A-Z][A-Z0-9_]{0,99})_([1-9][0-9]{0,7})>`)

// notice takes note of placeholders that stand in a text of the agent's by
// themselves: their numbers are given to no value.
func (v *vault) notice(text string) {
	if strings.IndexByte(text, '<') < 0 {
		return
	}
	for _, m := range aPlaceholder.FindAllStringSubmatch(text, 64) {
		n, _ := strconv.Atoi(m[2])
		v.with(func(s *session) { s.take(placeholder{m[1], n}) })
	}
}

// numbers is the vault for JSON numbers.
type numbers struct{ *vault }

func (v numbers) Placeholder(entity string, value []byte) int { return v.put(entity, value, true) }
