package storetest

import (
	"sync"
	"testing"
	"time"
)

// Clock is moved by hand. The zero value starts at an arbitrary time.
type Clock struct {
	mu    sync.Mutex
	since time.Duration
}

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(c.since)
}

// Advance moves the clock forward.
func (c *Clock) Advance(_ testing.TB, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since += d
}
