package store_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

// openRedis waits long, unless o says otherwise: a slow disk is no dead server.
func openRedis(t testing.TB, o store.RedisOptions) *store.Redis {
	t.Helper()
	if o.OpTimeout == 0 {
		o.DialTimeout, o.OpTimeout = 30*time.Second, 30*time.Second
	}
	s, err := store.OpenRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func redisBackend(server *storetest.RedisServer) func(testing.TB) storetest.Backend {
	return func(t testing.TB) storetest.Backend {
		server.Do(t, "FLUSHALL")
		return storetest.Backend{
			Open: func(t testing.TB, ttl time.Duration) store.Store {
				return openRedis(t, store.RedisOptions{URL: server.URL, TTL: ttl})
			},
			Advance: server.Advance,
			Durable: true,
		}
	}
}

func TestRedis(t *testing.T) { storetest.Run(t, redisBackend(storetest.StartRedis(t))) }

func TestRedisPrefix(t *testing.T) {
	server := storetest.StartRedis(t)
	one := openRedis(t, store.RedisOptions{URL: server.URL})
	two := openRedis(t, store.RedisOptions{URL: server.URL, Prefix: "team2:"})
	putN(t, one, 0, 1, 5)
	putN(t, two, 1, 2, 5)
	if got := held(t, one, 2) + " " + held(t, two, 2); got != "0 1" {
		t.Errorf("entries held under either prefix: %q, want 0 and 1", got)
	}
	if _, err := two.Claim(t.Context(), storetest.KeyOf("k"), "o", time.Minute); err != nil {
		t.Fatal(err)
	}
	keys := fmt.Sprint(server.Do(t, "KEYS", "*"))
	if strings.Count(keys, "hookline:e:") != 1 || strings.Count(keys, "team2:e:") != 1 || strings.Count(keys, "team2:l:") != 1 {
		t.Errorf("keys are %s, want one entry under each prefix, and a lease", keys)
	}
}

// down asserts that every operation says so, soon and without the password.
func down(t *testing.T, s store.Store) {
	t.Helper()
	entry := []store.Entry{{Key: storetest.KeyOf("down"), Value: []byte("v")}}
	for name, op := range map[string]func() error{
		"Get":     func() error { _, err := s.Get(t.Context(), []store.Key{entry[0].Key}); return err },
		"Put":     func() error { return s.Put(t.Context(), entry) },
		"Claim":   func() error { _, err := s.Claim(t.Context(), entry[0].Key, "o", time.Minute); return err },
		"Release": func() error { return s.Release(t.Context(), entry[0].Key, "o") },
	} {
		start := time.Now()
		err := op()
		if !errors.Is(err, store.ErrDown) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want ErrDown", name, err)
		} else if strings.Contains(err.Error(), storetest.RedisPassword) {
			t.Errorf("%s: the password is in %v", name, err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %v to say so", name, took)
		}
	}
}

func TestRedisKilled(t *testing.T) {
	server := storetest.StartRedis(t)
	s := openRedis(t, store.RedisOptions{URL: server.URL})
	putN(t, s, 0, 3, 100)
	for range 2 {
		server.Kill()
		down(t, s)
		server.Restart(t)
		if got := held(t, s, 4); got != "012" {
			t.Errorf("entries held after a restart: %q, want 012", got)
		}
	}
}

func TestRedisHangs(t *testing.T) {
	server := storetest.StartRedis(t)
	patient := openRedis(t, store.RedisOptions{URL: server.URL})
	putN(t, patient, 0, 3, 100)
	s := openRedis(t, store.RedisOptions{URL: server.URL, DialTimeout: 100 * time.Millisecond, OpTimeout: 100 * time.Millisecond})
	server.Pause(t)
	down(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := s.Get(ctx, []store.Key{storetest.KeyOf("e0")}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrDown) {
		t.Errorf("Get whose context ends first: %v, want DeadlineExceeded and not ErrDown", err)
	}
	server.Resume(t)
	if err := patient.Ping(t.Context()); err != nil {
		t.Errorf("Ping afterwards: %v", err)
	}
	if got := held(t, patient, 3); got != "012" {
		t.Errorf("entries held afterwards: %q, want 012", got)
	}
}

// The server dies under writers. Whatever Put has returned from is there when it
// is back, pairs are whole, and no other error than ErrDown is seen.
func TestRedisKilledUnderWriters(t *testing.T) {
	server := storetest.StartRedis(t)
	s := openRedis(t, store.RedisOptions{URL: server.URL})
	const writers, enough = 4, 50
	var mu sync.Mutex
	returned, busy := map[uint64]bool{}, make(chan struct{})
	var wg sync.WaitGroup
	for w := range uint64(writers) {
		wg.Go(func() {
			for n := w; ; n += writers {
				keys := pair(n)
				err := s.Put(t.Context(), []store.Entry{{Key: keys[0], Value: []byte("v")}, {Key: keys[1], Value: []byte("v")}})
				if errors.Is(err, store.ErrDown) {
					return
				}
				if err != nil {
					t.Errorf("Put: %v, want nothing or ErrDown", err)
					return
				}
				mu.Lock()
				if returned[n] = true; len(returned) == enough {
					close(busy)
				}
				mu.Unlock()
			}
		})
	}
	<-busy
	server.Kill()
	wg.Wait()
	server.Restart(t)
	last := uint64(0)
	for n := range returned {
		last = max(last, n)
	}
	for n := range last + 10 {
		keys := pair(n)
		got, err := s.Get(t.Context(), keys[:])
		if err != nil {
			t.Fatal(err)
		}
		if (got[0] == nil) != (got[1] == nil) {
			t.Errorf("pair %d is %q, %q, want both or none", n, got[0], got[1])
		}
		if got[0] == nil && returned[n] {
			t.Errorf("pair %d is lost, though its Put had returned", n)
		}
	}
}

// A server that answers, but does not serve, is down as well.
func TestRedisRefuses(t *testing.T) {
	server := storetest.StartRedis(t)
	s := openRedis(t, store.RedisOptions{URL: server.URL})
	putN(t, s, 0, 1, 100)
	server.Do(t, "CONFIG", "SET", "maxmemory", "1")
	err := s.Put(t.Context(), []store.Entry{{Key: storetest.KeyOf("k"), Value: []byte("v")}})
	if !errors.Is(err, store.ErrDown) || !strings.Contains(err.Error(), server.Addr) {
		t.Errorf("Put without memory: %v, want ErrDown that names %s", err, server.Addr)
	}

	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("", "wrong-"+storetest.RedisPassword)
	down(t, openRedis(t, store.RedisOptions{URL: u.String()}))
}

func TestRedisURL(t *testing.T) {
	for _, u := range []string{
		"", "localhost:6379", "http://:s3cret@host", "redis://:s3cret/x@host:6379", "redis://:s3cret@host:port/0",
		"redis://:s3cret@host/zero", "redis://:s3cret@host/0?nothing=1", "redis://:%s3cret@host",
	} {
		_, err := store.OpenRedis(store.RedisOptions{URL: u})
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("OpenRedis(%q): %v, want an error without the password", u, err)
		}
	}
}

func BenchmarkRedis(b *testing.B) {
	server := storetest.StartRedis(b)
	server.Do(b, "CONFIG", "SET", "appendonly", "no")
	storetest.Bench(b, openRedis(b, store.RedisOptions{URL: server.URL}))
}
