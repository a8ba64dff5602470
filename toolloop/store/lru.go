package store

import (
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// perEntry is what an entry is reckoned to cost beside its value: the key, and
// the list and map cells that hold it. It keeps a flood of empty values bounded.
const perEntry = 160

// sweepPerPut is how many of the least recently used entries each put examines
// for being out of date, so that expiry costs no timer and bounded work.
const sweepPerPut = 4

type item struct {
	value []byte
	until time.Time // from then on it is missing
}

// lru is bounded by entries and by bytes. It isn't safe for concurrent use.
//
// golang-lru's expirable variant is not used: its janitor goroutine can't be
// stopped, and it knows no bound in bytes.
type lru struct {
	list  *simplelru.LRU[Key, item]
	bytes int64 // of the values, plus perEntry each
	max   int64
}

func newLRU(entries int, bytes int64) *lru {
	l := &lru{max: bytes}
	list, err := simplelru.NewLRU(entries, func(_ Key, it item) { l.bytes -= cost(it) })
	if err != nil {
		panic("store: " + err.Error()) // entries was not positive: a broken default
	}
	l.list = list
	return l
}

func cost(it item) int64 { return perEntry + int64(len(it.value)) }

func (l *lru) get(k Key, now time.Time) ([]byte, bool) {
	it, ok := l.list.Get(k)
	if !ok {
		return nil, false
	}
	if !now.Before(it.until) {
		l.list.Remove(k)
		return nil, false
	}
	return it.value, true
}

// put keeps it, not a copy. An item larger than the whole bound is not kept,
// and drives out nothing but an older value of the same key.
func (l *lru) put(k Key, it item, now time.Time) {
	l.list.Remove(k) // Add would replace without telling the callback
	if cost(it) > l.max {
		return
	}
	l.list.Add(k, it)
	l.bytes += cost(it)
	for l.bytes > l.max {
		l.list.RemoveOldest()
	}
	for range sweepPerPut {
		_, oldest, ok := l.list.GetOldest()
		if !ok || now.Before(oldest.until) {
			break
		}
		l.list.RemoveOldest()
	}
}

func (l *lru) remove(k Key) { l.list.Remove(k) }
