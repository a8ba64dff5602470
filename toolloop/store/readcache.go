package store

import (
	"sync"
	"time"
)

// readCache holds entries of a store that no other process writes. It never
// shows a value older than one that it or the store has shown before.
//
// What a reader has fetched from the store may be out of date by the time it
// would be cached. So each write marks the slots of its keys before and after
// (a sequence lock), and a fetched value is kept only where no write has begun
// since before the fetch.
type readCache struct {
	mu  sync.Mutex
	lru *lru
	// seq is odd while a key of that slot is being written. Only one batch of
	// writes runs at a time.
	seq [256]uint64
}

// fetch is a key that the cache did not have, and where its value belongs.
type fetch struct {
	at  int
	seq uint64
}

func slot(k Key) byte { return k[len(k)-1] }

// get fills in what it has and says what is left to fetch.
func (c *readCache) get(keys []Key, values [][]byte, now time.Time) []fetch {
	var left []fetch
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, k := range keys {
		if v, ok := c.lru.get(k, now); ok {
			values[i] = v
			continue
		}
		if left == nil {
			left = make([]fetch, 0, len(keys)-i)
		}
		left = append(left, fetch{i, c.seq[slot(k)]})
	}
	return left
}

// fill keeps what was fetched.
func (c *readCache) fill(keys []Key, left []fetch, items []item, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range left {
		k := keys[f.at]
		if items[i].value != nil && f.seq%2 == 0 && c.seq[slot(k)] == f.seq {
			c.lru.put(k, items[i], now)
		}
	}
}

// begin is called before the entries are written to the store.
func (c *readCache) begin(rows []row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rows {
		c.seq[slot(r.key)] |= 1
		c.lru.remove(r.key)
	}
}

// end is called after they were, or after that failed.
func (c *readCache) end(rows []row, written bool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range rows {
		s := slot(r.key)
		c.seq[s] = (c.seq[s] | 1) + 1
		if written {
			c.lru.put(r.key, r.item, now)
		}
	}
}
