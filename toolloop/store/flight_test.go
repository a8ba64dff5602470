package store_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

// replicas are flights of several processes on one store.
func replicas(n int, s store.Store) []*store.Flight {
	fs := make([]*store.Flight, n)
	for i := range fs {
		fs[i] = &store.Flight{Store: s}
	}
	return fs
}

func value(v string) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return []byte(v), nil }
}

func never(t *testing.T) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) {
		t.Error("fired, want not")
		return nil, nil
	}
}

var item = storetest.KeyOf("item")

func wantValue(t *testing.T, got []byte, err error, want string) {
	t.Helper()
	if err != nil || string(got) != want || got == nil {
		t.Errorf("Do = %q, %v, want %q", got, err, want)
	}
}

func wantSince(t *testing.T, start time.Time, least, most time.Duration) {
	t.Helper()
	if took := time.Since(start); took < least || took > most {
		t.Errorf("took %v, want %v to %v", took, least, most)
	}
}

// Ten requests in each of three processes, and the work takes longer than a lease.
func TestFlightOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := store.NewMemory(store.MemoryOptions{})
		var fired atomic.Int32
		var wg sync.WaitGroup
		for _, f := range replicas(3, s) {
			for range 10 {
				wg.Go(func() {
					got, err := f.Do(t.Context(), item, func(context.Context) ([]byte, error) {
						time.Sleep(time.Minute)
						return fmt.Append(nil, "work ", fired.Add(1)), nil
					})
					wantValue(t, got, err, "work 1")
				})
			}
		}
		wg.Wait()
		if n := fired.Load(); n != 1 {
			t.Errorf("fired %d times, want once", n)
		}
		wantSince(t, start, time.Minute, time.Minute+time.Second)

		start = time.Now()
		for _, f := range replicas(2, s) {
			got, err := f.Do(t.Context(), item, never(t))
			wantValue(t, got, err, "work 1")
		}
		wantSince(t, start, 0, 0)
		if free, err := s.Claim(t.Context(), item, "anybody", time.Minute); !free || err != nil {
			t.Errorf("the lease is free afterwards: %v, %v, want true", free, err)
		}
	})
}

func TestFlightDeadHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		s := &counting{Store: store.NewMemory(store.MemoryOptions{})}
		if _, err := s.Claim(t.Context(), item, "the dead", 30*time.Second); err != nil {
			t.Fatal(err)
		}
		f := &store.Flight{Store: s}
		got, err := f.Do(t.Context(), item, value("v"))
		wantValue(t, got, err, "v")
		wantSince(t, start, 30*time.Second, 31*time.Second)
		if n := s.claims.Load(); n > 300 {
			t.Errorf("asked for the lease %d times in 30 seconds, want at most 300", n)
		}
	})
}

type counting struct {
	store.Store
	claims atomic.Int32
}

func (c *counting) Claim(ctx context.Context, k store.Key, owner string, ttl time.Duration) (bool, error) {
	c.claims.Add(1)
	return c.Store.Claim(ctx, k, owner, ttl)
}

func TestFlightCallersLeave(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		f := &store.Flight{Store: store.NewMemory(store.MemoryOptions{})}
		first, firstLeaves := context.WithCancel(context.WithValue(t.Context(), key{}, "of the first"))
		var wg sync.WaitGroup
		fire := func(ctx context.Context) ([]byte, error) {
			select {
			case <-time.After(time.Minute):
				return fmt.Append(nil, ctx.Value(key{})), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		wg.Go(func() {
			start := time.Now()
			if _, err := f.Do(first, item, fire); !errors.Is(err, context.Canceled) {
				t.Errorf("Do of a caller that left: %v, want context.Canceled", err)
			}
			wantSince(t, start, time.Second, time.Second)
		})
		synctest.Wait()
		wg.Go(func() {
			got, err := f.Do(t.Context(), item, never(t))
			wantValue(t, got, err, "of the first")
		})
		time.Sleep(time.Second)
		firstLeaves()
		wg.Wait()
	})
}

func TestFlightAllLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewMemory(store.MemoryOptions{})
		fs := replicas(2, s)
		var wg sync.WaitGroup
		ended := make(chan time.Time, 1)
		for i := range 3 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
				defer cancel()
				_, err := fs[0].Do(ctx, item, func(ctx context.Context) ([]byte, error) {
					<-ctx.Done()
					ended <- time.Now()
					time.Sleep(time.Second) // it takes its time to end
					return nil, context.Cause(ctx)
				})
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Do: %v, want DeadlineExceeded", err)
				}
			})
		}
		start := time.Now()
		wg.Wait()
		if got := (<-ended).Sub(start); got != 3*time.Second {
			t.Errorf("the work was told to end after %v, want 3s: when the last caller left", got)
		}
		// A caller that comes while the abandoned work ends starts anew, after it.
		got, err := fs[0].Do(t.Context(), item, value("second"))
		wantValue(t, got, err, "second")
		wantSince(t, start, 4*time.Second, 4*time.Second)
		got, err = fs[1].Do(t.Context(), item, never(t))
		wantValue(t, got, err, "second")
	})
}

// Work that succeeds although nobody waits any more is kept.
func TestFlightLateValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &store.Flight{Store: store.NewMemory(store.MemoryOptions{})}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := f.Do(ctx, item, func(context.Context) ([]byte, error) {
			time.Sleep(time.Minute)
			return []byte("late"), nil
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do: %v, want DeadlineExceeded", err)
		}
		got, err := f.Do(t.Context(), item, never(t))
		wantValue(t, got, err, "late")
	})
}

func TestFlightError(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		fire func(context.Context) ([]byte, error)
		want string
	}{
		{"error", func(context.Context) ([]byte, error) { return []byte("half"), broken }, "broken"},
		{"panic", func(context.Context) ([]byte, error) { panic("at work") }, "panic: at work"},
		{"goroutine ends", func(context.Context) ([]byte, error) { runtime.Goexit(); return nil, nil }, "the work ended its goroutine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				fs := replicas(2, store.NewMemory(store.MemoryOptions{}))
				var wg sync.WaitGroup
				for range 3 {
					wg.Go(func() {
						got, err := fs[0].Do(t.Context(), item, func(ctx context.Context) ([]byte, error) {
							time.Sleep(time.Second)
							return c.fire(ctx)
						})
						if got != nil || err == nil || err.Error() != c.want {
							t.Errorf("Do = %q, %v, want error %q", got, err, c.want)
						}
					})
				}
				synctest.Wait()
				// The other process takes its own turn, soon after.
				got, err := fs[1].Do(t.Context(), item, value("second"))
				wantValue(t, got, err, "second")
				wantSince(t, start, time.Second, 2*time.Second)
				wg.Wait()
			})
		})
	}
}

func TestFlightTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.NewMemory(store.MemoryOptions{})
		f := &store.Flight{Store: s, Timeout: time.Minute}
		start := time.Now()
		_, err := f.Do(t.Context(), item, func(ctx context.Context) ([]byte, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})
		if err == nil || !strings.Contains(err.Error(), "no result within 1m0s") {
			t.Errorf("Do of endless work: %v, want an error that names the time", err)
		}
		if _, err := s.Claim(t.Context(), item, "somebody slow", time.Hour); err != nil {
			t.Fatal(err)
		}
		_, err = f.Do(t.Context(), item, never(t))
		if err == nil || !strings.Contains(err.Error(), "no result within 1m0s") {
			t.Errorf("Do while another process works for ever: %v, want an error that names the time", err)
		}
		wantSince(t, start, 2*time.Minute, 2*time.Minute)
	})
}

// failing is a store with some operations down.
type failing struct {
	store.Store
	get, put, claim bool
}

var errGone = fmt.Errorf("%w: gone", store.ErrDown)

func (f *failing) Get(ctx context.Context, keys []store.Key) ([][]byte, error) {
	if f.get {
		return nil, errGone
	}
	return f.Store.Get(ctx, keys)
}

func (f *failing) Put(ctx context.Context, es []store.Entry) error {
	if f.put {
		return errGone
	}
	return f.Store.Put(ctx, es)
}

func (f *failing) Claim(ctx context.Context, k store.Key, owner string, ttl time.Duration) (bool, error) {
	if f.claim {
		return false, errGone
	}
	return f.Store.Claim(ctx, k, owner, ttl)
}

func TestFlightStoreDown(t *testing.T) {
	for _, c := range []struct {
		name  string
		store failing
		open  bool
		fired int32
		value string
		down  bool
	}{
		{"closed, all down", failing{get: true, put: true, claim: true}, false, 0, "", true},
		{"closed, get down", failing{get: true}, false, 0, "", true},
		{"closed, put down", failing{put: true}, false, 1, "v", true},
		{"open, all down", failing{get: true, put: true, claim: true}, true, 1, "v", true},
		{"open, get down", failing{get: true}, true, 1, "v", false},
		{"open, put down", failing{put: true}, true, 1, "v", true},
		{"open, leases down", failing{claim: true}, true, 1, "v", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c.store.Store = store.NewMemory(store.MemoryOptions{})
				f := &store.Flight{Store: &c.store, FailOpen: c.open}
				var fired atomic.Int32
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() {
						got, err := f.Do(t.Context(), item, func(context.Context) ([]byte, error) {
							fired.Add(1)
							time.Sleep(time.Second)
							return []byte("v"), nil
						})
						if string(got) != c.value || errors.Is(err, store.ErrDown) != c.down {
							t.Errorf("Do = %q, %v, want %q, store down %v", got, err, c.value, c.down)
						}
					})
				}
				wg.Wait()
				if n := fired.Load(); n != c.fired {
					t.Errorf("fired %d times, want %d", n, c.fired)
				}
				wantSince(t, start, 0, time.Second)
				if free, err := c.store.Store.Claim(t.Context(), item, "anybody", time.Minute); !free || err != nil {
					t.Errorf("the lease is free afterwards: %v, %v, want true", free, err)
				}
			})
		})
	}
}

func TestFlightNilIsEmpty(t *testing.T) {
	s := store.NewMemory(store.MemoryOptions{})
	for _, f := range replicas(2, s) {
		got, err := f.Do(t.Context(), item, func(context.Context) ([]byte, error) { return nil, nil })
		wantValue(t, got, err, "")
	}
}

// Two processes' worth of clients and a real server: each of many items, brought
// by all at once, is worked on once.
func TestFlightRedis(t *testing.T) {
	server := storetest.StartRedis(t)
	const items = 20
	var fired [items]atomic.Int32
	var wg sync.WaitGroup
	for range 2 {
		f := &store.Flight{Store: openRedis(t, store.RedisOptions{URL: server.URL})}
		for range 10 {
			for i := range items {
				wg.Go(func() {
					got, err := f.Do(t.Context(), storetest.KeyOf(fmt.Sprint("item", i)), func(context.Context) ([]byte, error) {
						return fmt.Append(nil, i, " ", fired[i].Add(1)), nil
					})
					wantValue(t, got, err, fmt.Sprint(i, " ", 1))
				})
			}
		}
	}
	wg.Wait()
	for i := range fired {
		if n := fired[i].Load(); n != 1 {
			t.Errorf("item %d was worked on %d times, want once", i, n)
		}
	}
	if left := fmt.Sprint(server.Do(t, "KEYS", "*:l:*")); left != "[]" {
		t.Errorf("leases left: %s, want none", left)
	}
}
