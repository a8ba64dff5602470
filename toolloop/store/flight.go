package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
	"time"
)

// Flight has each item worked on once, however many requests bring it at the
// same time: callers in this process share one run, and other processes that
// share the store are kept off by a lease. Store is required, the rest works as
// zero. A Flight is safe for concurrent use and must not be copied.
type Flight struct {
	Store Store
	// Owner tells this process's leases from those of others; "": a random one.
	Owner string
	// Lease is how long a process that died holds up the others; 0: 10 seconds.
	// It is renewed while the work goes on, which may take longer.
	Lease time.Duration
	// Timeout is for one run: waiting for another process, and the work; 0: 10
	// minutes.
	Timeout time.Duration
	// FailOpen: when the store is down, work all the same, once in this process.
	FailOpen bool

	mu    sync.Mutex
	owner string          // Owner, or what stands in for it
	runs  map[Key]*flight // removed when they are done
}

// flight is one run.
type flight struct {
	callers int                     // that wait; guarded by Flight.mu
	cancel  context.CancelCauseFunc // called when there are none left
	done    chan struct{}           // closed at the end, when value and err are set
	value   []byte
	err     error
}

// Another process is waited for by asking the store again, after these times;
// a message would be quicker, but no store but one could send it.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 250 * time.Millisecond
)

// lastWords is for storing what work has given and for releasing a lease, when
// the run's own context has ended.
const lastWords = 5 * time.Second

var (
	errAbandoned = errors.New("all callers have gone")
	errUnended   = errors.New("the work ended its goroutine")
)

// Do gives the value that the store has under key. If there is none, it calls
// fire and puts what that returns, nil as an empty value; entries that belong to
// it fire may put itself, so that whoever sees the value sees them, too. The
// value is shared between callers and must not be changed.
//
// fire runs in a goroutine of its own, with the values of the first caller's
// context; it goes on when that caller leaves, and its context ends only when
// all have left, or with the time-out. An error of fire goes to the callers in
// this process that wait, and nothing is stored. A panic of fire is an error.
//
// When ctx ends first, Do returns its error. When the store is down, Do returns
// an error that wraps ErrDown: without a value if fire was not called, with the
// value if it was and could not be stored.
func (f *Flight) Do(ctx context.Context, key Key, fire func(context.Context) ([]byte, error)) ([]byte, error) {
	for {
		r, mine := f.join(ctx, key, fire)
		select {
		case <-r.done:
			if mine {
				return r.value, r.err
			}
			// What has ended was abandoned before this caller came.
		case <-ctx.Done():
			if mine {
				f.leave(r)
			}
			return nil, ctx.Err()
		}
	}
}

// join adds the caller to the run of key, which it starts if there is none. It
// is not the caller's when it has been abandoned and comes to an end.
func (f *Flight) join(ctx context.Context, key Key, fire func(context.Context) ([]byte, error)) (r *flight, mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.runs[key]; r != nil {
		if r.callers == 0 {
			return r, false
		}
		r.callers++
		return r, true
	}
	if f.runs == nil {
		f.runs = map[Key]*flight{}
		if f.owner = f.Owner; f.owner == "" {
			f.owner = rand.Text()
		}
	}
	timeout := orDefault(f.Timeout, 10*time.Minute)
	// The run must outlive the caller that happened to come first.
	within, stop := context.WithTimeoutCause(context.WithoutCancel(ctx), timeout,
		fmt.Errorf("no result within %v", timeout))
	within, cancel := context.WithCancelCause(within)
	r = &flight{callers: 1, cancel: cancel, done: make(chan struct{}), err: errUnended}
	f.runs[key] = r
	go func() { // until fire returns; its context tells it when to
		defer stop()
		defer func() {
			f.mu.Lock()
			delete(f.runs, key)
			f.mu.Unlock()
			close(r.done)
		}()
		r.value, r.err = f.run(within, key, fire)
	}()
	return r, true
}

func (f *Flight) leave(r *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.callers--; r.callers == 0 {
		r.cancel(errAbandoned)
	}
}

// run looks and fires, when no other process does.
func (f *Flight) run(ctx context.Context, key Key, fire func(context.Context) ([]byte, error)) ([]byte, error) {
	for poll := firstPoll; ; poll = min(2*poll, lastPoll) {
		value, leased, err := f.claim(ctx, key)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case f.FailOpen && errors.Is(err, ErrDown):
			return f.work(ctx, key, fire)
		case err != nil || value != nil:
			return value, err
		case leased:
			defer f.hold(ctx, key)()
			return f.work(ctx, key, fire)
		}
		// Jitter keeps the waiters of many replicas apart.
		wait := time.NewTimer(poll/2 + mathrand.N(poll))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// claim gives the value, or else says whether the lease is this process's. It
// looks after it has claimed: whoever had the lease before has put its value by
// then.
func (f *Flight) claim(ctx context.Context, key Key) (value []byte, leased bool, err error) {
	leased, err = f.Store.Claim(ctx, key, f.owner, f.lease())
	if err != nil {
		return nil, false, err
	}
	values, err := f.Store.Get(ctx, []Key{key})
	if err == nil && values[0] == nil {
		return nil, leased, nil
	}
	if leased {
		f.release(ctx, key)
	}
	if err != nil {
		return nil, false, err
	}
	return values[0], false, nil
}

func (f *Flight) lease() time.Duration { return orDefault(f.Lease, 10*time.Second) }

func (f *Flight) release(ctx context.Context, key Key) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	// A store that is down now drops the lease when its time is over.
	_ = f.Store.Release(ctx, key, f.owner)
}

// hold renews the lease until the function that it returns is called, which
// gives it up.
func (f *Flight) hold(ctx context.Context, key Key) (release func()) {
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() { // until stop is called
		tick := time.NewTicker(max(f.lease()/3, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				// A lease that was lost, because the process or the store hung,
				// can't be got back by stopping the work.
				_, _ = f.Store.Claim(renewing, key, f.owner, f.lease())
			case <-renewing.Done():
				return
			}
		}
	})
	return func() {
		stop()
		done.Wait() // lest it claims again after the release
		f.release(ctx, key)
	}
}

// work fires and stores. Who has left meanwhile does not matter any more: the
// hook has fired, and the next request shall know.
func (f *Flight) work(ctx context.Context, key Key, fire func(context.Context) ([]byte, error)) ([]byte, error) {
	value, err := calm(ctx, fire)
	if err != nil {
		return nil, err
	}
	value = owned(value) // fire may go on using its own
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := f.Store.Put(ctx, []Entry{{key, value}}); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: nothing stored within %v", ErrDown, lastWords)
		}
		return value, err
	}
	return value, nil
}

// calm turns a panic into an error: in this goroutine no server recovers it, and
// it would end the process.
func calm(ctx context.Context, fire func(context.Context) ([]byte, error)) (value []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	return fire(ctx)
}
