package toolloop

import (
	"context"
	"sync"
)

// background runs hooks that nobody waits for: those of events that only tell.
// They must not hold up the end of an answer.
type background struct {
	ctx    context.Context // ends with the loop; what runs here belongs to no call
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

func newBackground() *background {
	b := &background{}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	return b
}

// run starts f, which ends soon after its context has.
func (b *background) run(f func(context.Context)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.wg.Go(func() { f(b.ctx) })
	}
}

// close waits for what runs until ctx ends, and then ends it.
func (b *background) close(ctx context.Context) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	stop := context.AfterFunc(ctx, b.cancel)
	b.wg.Wait()
	stop()
	b.cancel()
}
