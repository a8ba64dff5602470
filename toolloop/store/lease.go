package store

import (
	"sync"
	"time"
)

// leases are those of one process: enough for stores that only one process has
// open, because a holder dies together with them. The zero value is ready.
type leases struct {
	mu   sync.Mutex
	held map[Key]lease
	full int // number of leases at which those that ran out are swept
}

type lease struct {
	owner string
	until time.Time
}

// sweepLeases is the least number of leases that is worth a sweep.
const sweepLeases = 1024

func (l *leases) claim(k Key, owner string, ttl time.Duration, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h, ok := l.held[k]; ok && h.owner != owner && now.Before(h.until) {
		return false
	}
	if l.held == nil {
		l.held, l.full = map[Key]lease{}, sweepLeases
	}
	if len(l.held) >= l.full {
		for k, h := range l.held {
			if !now.Before(h.until) {
				delete(l.held, k)
			}
		}
		// Doubling keeps the cost of sweeping constant per claim.
		l.full = max(sweepLeases, 2*len(l.held))
	}
	l.held[k] = lease{owner, now.Add(ttl)}
	return true
}

func (l *leases) release(k Key, owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[k].owner == owner {
		delete(l.held, k)
	}
}
