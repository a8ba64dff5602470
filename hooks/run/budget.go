package run

import (
	"fmt"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// DefaultTokensPerHour and DefaultCallsPerMinute bound the model calls of a
	// Judge's hooks.
	DefaultTokensPerHour  = 1_000_000
	DefaultCallsPerMinute = 60
)

// budget bounds what model calls cost. A call is weighed before it is made and
// booked by what it really took, so the bound may be passed by as much as the
// calls under way were weighed wrongly.
type budget struct {
	mu      sync.Mutex
	tokens  window // guarded by mu, as below
	calls   window
	pending int // tokens of calls under way, by their weights
}

func newBudget(tokensPerHour, callsPerMinute int) *budget {
	return &budget{tokens: window{limit: tokensPerHour, span: time.Hour}, calls: window{limit: callsPerMinute, span: time.Minute}}
}

// take books a call of some weight in tokens, or says that it cannot be made.
// Call settle with the same weight and the tokens it took, when it is over.
func (b *budget) take(weight int) *hooks.Failure {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	switch {
	case b.calls.sum(now)+1 > b.calls.limit:
		return &hooks.Failure{Kind: hooks.FailureBudget, Text: fmt.Sprintf("the %d model calls of this minute are used up", b.calls.limit),
			Hint: "let hooks ask for fewer events, or raise hooksConfig.callsPerMinute"}
	case b.tokens.sum(now)+b.pending+weight > b.tokens.limit:
		return &hooks.Failure{Kind: hooks.FailureBudget, Text: fmt.Sprintf("the %d tokens of this hour are used up, or too few for this call", b.tokens.limit),
			Hint: "let hooks ask for fewer events, or raise hooksConfig.tokensPerHour"}
	}
	b.calls.add(now, 1)
	b.pending += weight
	return nil
}

func (b *budget) settle(weight, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pending -= weight
	b.tokens.add(time.Now(), max(tokens, 0))
}

// window sums what happened in the last span, to a slot's exactness.
type window struct {
	limit int
	span  time.Duration
	slots [60]int
	last  int64 // number of the newest slot since the epoch
}

// sum is what is in the window now.
func (w *window) sum(now time.Time) (n int) {
	w.advance(now)
	for _, v := range w.slots {
		n += v
	}
	return n
}

func (w *window) add(now time.Time, n int) {
	w.advance(now)
	w.slots[w.last%int64(len(w.slots))] += n
}

// advance empties the slots that have gone by.
func (w *window) advance(now time.Time) {
	slot := now.UnixNano() / int64(w.span/time.Duration(len(w.slots)))
	if slot-w.last >= int64(len(w.slots)) {
		clear(w.slots[:])
		w.last = slot
	}
	for w.last < slot {
		w.last++
		w.slots[w.last%int64(len(w.slots))] = 0
	}
}
