// Package storetest is the test that every store.Store passes, and what tests
// need to run it: a clock that is moved by hand and a real Redis server.
package storetest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/toolloop/store"
)

// Backend is how the suite handles one kind of store.
type Backend struct {
	// Open gives a store whose entries live for ttl. Opened twice in the same
	// test it finds the entries of the first, if Durable. The suite closes it.
	Open func(t testing.TB, ttl time.Duration) store.Store
	// Advance moves the time by which Open's stores measure.
	Advance func(t testing.TB, d time.Duration)
	// Durable stores keep entries over Close.
	Durable bool
}

// Run runs the suite. start is called once for each test, for an empty backend.
func Run(t *testing.T, start func(t testing.TB) Backend) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, b Backend)
	}{
		{"get and put", getAndPut},
		{"values are copied", valuesAreCopied},
		{"time to live", timeToLive},
		{"durable", durable},
		{"lease", leaseHeld},
		{"lease and entry do not meet", leaseApart},
		{"one of many claims", oneClaim},
		{"context", contextEnded},
		{"closed", closed},
		{"concurrent", concurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, start(t)) })
	}
}

// KeyOf makes a key of a name.
func KeyOf(name string) store.Key {
	var k store.Key
	copy(k[:], name)
	binary.BigEndian.PutUint32(k[28:], crc32.ChecksumIEEE([]byte(name)))
	return k
}

func open(t *testing.T, b Backend, ttl time.Duration) store.Store {
	t.Helper()
	s := b.Open(t, ttl)
	t.Cleanup(func() { s.Close() })
	return s
}

func put(t *testing.T, s store.Store, kv ...string) {
	t.Helper()
	var es []store.Entry
	for i := 0; i < len(kv); i += 2 {
		es = append(es, store.Entry{Key: KeyOf(kv[i]), Value: []byte(kv[i+1])})
	}
	if err := s.Put(t.Context(), es); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

const missing = "\x00missing"

// want asserts names and values in turn.
func want(t *testing.T, s store.Store, kv ...string) {
	t.Helper()
	var keys []store.Key
	var wanted, got []string
	for i := 0; i < len(kv); i += 2 {
		keys, wanted = append(keys, KeyOf(kv[i])), append(wanted, kv[i+1])
	}
	values, err := s.Get(t.Context(), keys)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	for _, v := range values {
		if v == nil {
			got = append(got, missing)
		} else {
			got = append(got, string(v))
		}
	}
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
}

func getAndPut(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	want(t, s, "a", missing)
	put(t, s, "a", "1", "b", "2", "empty", "")
	want(t, s, "b", "2", "nobody", missing, "a", "1", "empty", "", "a", "1")
	put(t, s, "a", "new", "c", "first", "c", "last")
	want(t, s, "a", "new", "b", "2", "c", "last")

	if vs, err := s.Get(t.Context(), nil); err != nil || len(vs) != 0 {
		t.Errorf("Get of no keys = %v, %v, want none", vs, err)
	}
	if err := s.Put(t.Context(), nil); err != nil {
		t.Errorf("Put of no entries: %v", err)
	}
	big := string(bytes.Repeat([]byte("\x00\xff\r\n"), 1<<18))
	put(t, s, "big", big)
	want(t, s, "big", big)
}

func valuesAreCopied(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	v := []byte("before")
	if err := s.Put(t.Context(), []store.Entry{{Key: KeyOf("a"), Value: v}}); err != nil {
		t.Fatal(err)
	}
	copy(v, "AFTER!")
	want(t, s, "a", "before")
}

func timeToLive(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	put(t, s, "old", "1", "renewed", "1")
	b.Advance(t, 40*time.Minute)
	want(t, s, "old", "1", "renewed", "1")
	put(t, s, "renewed", "2", "young", "2")
	b.Advance(t, 40*time.Minute)
	want(t, s, "old", missing, "renewed", "2", "young", "2")
	put(t, s, "old", "again")
	want(t, s, "old", "again")
	b.Advance(t, 2*time.Hour)
	want(t, s, "old", missing, "renewed", missing, "young", missing)
}

func durable(t *testing.T, b Backend) {
	if !b.Durable {
		t.Skip("this store keeps nothing over Close")
	}
	s := open(t, b, time.Hour)
	put(t, s, "a", "1", "b", "2")
	put(t, s, "a", "3")
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	s = open(t, b, time.Hour)
	want(t, s, "a", "3", "b", "2", "c", missing)
	b.Advance(t, 61*time.Minute)
	want(t, s, "a", missing, "b", missing)
}

func claim(t *testing.T, s store.Store, name, owner string, ttl time.Duration, wanted bool) {
	t.Helper()
	got, err := s.Claim(t.Context(), KeyOf(name), owner, ttl)
	if err != nil {
		t.Fatalf("Claim: %v", err)
	}
	if got != wanted {
		t.Errorf("Claim(%s, %s) = %v, want %v", name, owner, got, wanted)
	}
}

func release(t *testing.T, s store.Store, name, owner string) {
	t.Helper()
	if err := s.Release(t.Context(), KeyOf(name), owner); err != nil {
		t.Fatalf("Release: %v", err)
	}
}

func leaseHeld(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	claim(t, s, "k", "one", time.Minute, true)
	claim(t, s, "k", "two", time.Minute, false)
	claim(t, s, "other", "two", time.Minute, true)
	release(t, s, "k", "two") // not its own: nothing happens
	claim(t, s, "k", "two", time.Minute, false)
	release(t, s, "k", "one")
	release(t, s, "k", "one")
	claim(t, s, "k", "two", time.Minute, true)

	// A holder's own claim renews.
	b.Advance(t, 40*time.Second)
	claim(t, s, "k", "two", time.Minute, true)
	b.Advance(t, 40*time.Second)
	claim(t, s, "k", "one", time.Minute, false)
	// A dead holder's lease runs out, and its late release takes nothing away.
	b.Advance(t, time.Minute)
	claim(t, s, "k", "one", time.Minute, true)
	release(t, s, "k", "two")
	claim(t, s, "k", "two", time.Minute, false)
}

func leaseApart(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	claim(t, s, "k", "one", time.Minute, true)
	want(t, s, "k", missing)
	put(t, s, "k", "v")
	claim(t, s, "k", "two", time.Minute, false)
	release(t, s, "k", "one")
	want(t, s, "k", "v")
}

func oneClaim(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	var wg sync.WaitGroup
	won := make(chan int, 16)
	for i := range cap(won) {
		wg.Go(func() {
			ok, err := s.Claim(t.Context(), KeyOf("k"), fmt.Sprint("owner", i), time.Minute)
			if err != nil {
				t.Errorf("Claim: %v", err)
			}
			if ok {
				won <- i
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d of %d owners got the lease, want 1", len(won), cap(won))
	}
}

func contextEnded(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range operate(ctx, s) {
		if !errors.Is(err, context.Canceled) || errors.Is(err, store.ErrDown) {
			t.Errorf("%s with an ended context: %v, want context.Canceled and not ErrDown", name, err)
		}
	}
}

func closed(t *testing.T, b Backend) {
	s := open(t, b, time.Hour)
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	for name, err := range operate(t.Context(), s) {
		if !errors.Is(err, store.ErrDown) {
			t.Errorf("%s after Close: %v, want ErrDown", name, err)
		}
	}
}

// operate gives the error of each operation.
func operate(ctx context.Context, s store.Store) map[string]error {
	_, get := s.Get(ctx, []store.Key{KeyOf("a")})
	_, claim := s.Claim(ctx, KeyOf("a"), "o", time.Minute)
	return map[string]error{
		"Get":     get,
		"Put":     s.Put(ctx, []store.Entry{{Key: KeyOf("a"), Value: []byte("v")}}),
		"Claim":   claim,
		"Release": s.Release(ctx, KeyOf("a"), "o"),
	}
}

// concurrent has writers count up, each in its own key and all in a shared one.
// What a writer has put it reads back at once, and values never go backwards
// for a reader, nor come in halves.
func concurrent(t *testing.T, b Backend) {
	const writers, rounds = 8, 30
	s := open(t, b, time.Hour)
	keys := []store.Key{KeyOf("shared")}
	for w := range writers {
		keys = append(keys, KeyOf(fmt.Sprint("own", w)))
	}
	var readers, writing sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			seen := make([]uint64, len(keys))
			for {
				select {
				case <-stop:
					return
				default:
				}
				runtime.Gosched() // on one core readers would keep writers from their turn
				values, err := s.Get(t.Context(), keys)
				if err != nil {
					t.Errorf("Get: %v", err)
					return
				}
				for i, v := range values {
					n, ok := counted(v)
					if !ok {
						t.Errorf("key %d holds a torn value of %d bytes", i, len(v))
						return
					}
					if i > 0 && n < seen[i] {
						t.Errorf("key %d went back from %d to %d", i, seen[i], n)
						return
					}
					seen[i] = n
				}
			}
		})
	}
	for w := range writers {
		writing.Go(func() {
			for n := range uint64(rounds) {
				v := count(n + 1)
				err := s.Put(t.Context(), []store.Entry{{Key: keys[w+1], Value: v}, {Key: keys[0], Value: v}})
				if err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				got, err := s.Get(t.Context(), keys[w+1:w+2])
				if err != nil || !bytes.Equal(got[0], v) {
					t.Errorf("Get after Put: %d bytes, %v, want those that were put", len(got[0]), err)
					return
				}
			}
		})
	}
	writing.Wait()
	close(stop)
	readers.Wait()
}

// count makes a value of 2 KiB that holds n throughout.
func count(n uint64) []byte {
	return bytes.Repeat(binary.BigEndian.AppendUint64(nil, n), 256)
}

// counted reads it back: 0 for a missing value, false for a torn one.
func counted(v []byte) (uint64, bool) {
	if v == nil {
		return 0, true
	}
	if len(v) != 2048 {
		return 0, false
	}
	n := binary.BigEndian.Uint64(v)
	return n, bytes.Equal(v, count(n))
}
