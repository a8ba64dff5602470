package store

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"
)

// DefaultTTL is how long entries live when the options name no other time.
const DefaultTTL = 7 * 24 * time.Hour

// errClosed is what a store says after Close.
var errClosed = fmt.Errorf("%w: it was closed", ErrDown)

// MemoryOptions configure a Memory. The zero value works.
type MemoryOptions struct {
	Entries int              // most entries kept; 0: 100,000
	Bytes   int64            // most bytes kept, values plus some overhead each; 0: 64 MiB
	TTL     time.Duration    // life of an entry since it was last put; 0: DefaultTTL
	Now     func() time.Time // nil: time.Now
}

// Memory keeps entries in this process, for as long as it runs. When a bound is
// reached the least recently used entries go. Its only error is that it was
// closed, or that the context has ended.
type Memory struct {
	ttl    time.Duration
	now    func() time.Time
	leases leases

	mu      sync.Mutex
	entries *lru // nil once closed
}

// NewMemory returns an empty store.
func NewMemory(o MemoryOptions) *Memory {
	return &Memory{
		ttl:     orDefault(o.TTL, DefaultTTL),
		now:     clock(o.Now),
		entries: newLRU(orDefault(o.Entries, 100_000), orDefault(o.Bytes, 64<<20)),
	}
}

// orDefault gives def for a v that is zero or less.
func orDefault[T ~int | ~int64](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Get implements Store.
func (m *Memory) Get(ctx context.Context, keys []Key) ([][]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	values, now := make([][]byte, len(keys)), m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		return nil, errClosed
	}
	for i, k := range keys {
		values[i], _ = m.entries.get(k, now)
	}
	return values, nil
}

// Put implements Store. A value too large for the store's bound is dropped.
func (m *Memory) Put(ctx context.Context, entries []Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		return errClosed
	}
	for _, e := range entries {
		m.entries.put(e.Key, item{owned(e.Value), now.Add(m.ttl)}, now)
	}
	return nil
}

// owned copies a value; the copy is never nil, because nil means missing.
func owned(v []byte) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return bytes.Clone(v)
}

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, key Key, owner string, ttl time.Duration) (bool, error) {
	if err := m.usable(ctx); err != nil {
		return false, err
	}
	return m.leases.claim(key, owner, ttl, m.now()), nil
}

// Release implements Store.
func (m *Memory) Release(ctx context.Context, key Key, owner string) error {
	if err := m.usable(ctx); err != nil {
		return err
	}
	m.leases.release(key, owner)
	return nil
}

func (m *Memory) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		return errClosed
	}
	return nil
}

// Close drops all entries.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entries = nil
	return nil
}
