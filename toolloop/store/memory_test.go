package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

func memoryBackend(testing.TB) storetest.Backend {
	c := &storetest.Clock{}
	return storetest.Backend{
		Open: func(_ testing.TB, ttl time.Duration) store.Store {
			return store.NewMemory(store.MemoryOptions{TTL: ttl, Now: c.Now})
		},
		Advance: c.Advance,
	}
}

func TestMemory(t *testing.T) { storetest.Run(t, memoryBackend) }

// held says which of the entries e0 to e(n-1) are there, as a string of digits.
func held(t *testing.T, s store.Store, n int) string {
	t.Helper()
	var keys []store.Key
	for i := range n {
		keys = append(keys, storetest.KeyOf(fmt.Sprint("e", i)))
	}
	values, err := s.Get(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	is := ""
	for i, v := range values {
		if v != nil {
			is += fmt.Sprint(i)
		}
	}
	return is
}

func TestMemoryBounds(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     store.MemoryOptions
		sizes []int // of e0, e1, …, put one after the other
		want  string
	}{
		{"entries", store.MemoryOptions{Entries: 3}, []int{1, 1, 1, 1, 1}, "234"},
		{"bytes", store.MemoryOptions{Bytes: 3000}, []int{1000, 1000, 1000}, "12"},
		{"a large one drives out several", store.MemoryOptions{Bytes: 3000}, []int{500, 500, 2500}, "2"},
		{"too large for the store", store.MemoryOptions{Bytes: 3000}, []int{500, 500, 5000}, "01"},
		{"empty values count", store.MemoryOptions{Bytes: 400}, []int{0, 0, 0, 0}, "23"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := store.NewMemory(c.o)
			for i, n := range c.sizes {
				e := store.Entry{Key: storetest.KeyOf(fmt.Sprint("e", i)), Value: make([]byte, n)}
				if err := s.Put(t.Context(), []store.Entry{e}); err != nil {
					t.Fatal(err)
				}
			}
			if got := held(t, s, len(c.sizes)); got != c.want {
				t.Errorf("entries held: %q, want %q", got, c.want)
			}
		})
	}
}

// What is read stays, what is rewritten counts once.
func TestMemoryKeepsWhatIsUsed(t *testing.T) {
	s := store.NewMemory(store.MemoryOptions{Entries: 2, Bytes: 5000})
	put := func(i int) {
		t.Helper()
		e := store.Entry{Key: storetest.KeyOf(fmt.Sprint("e", i)), Value: make([]byte, 1500)}
		if err := s.Put(t.Context(), []store.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	for range 10 {
		put(1)
	}
	if got := held(t, s, 2); got != "01" {
		t.Fatalf("entries held after rewriting one: %q, want both", got)
	}
	held(t, s, 1) // reads e0
	put(2)
	if got := held(t, s, 3); got != "02" {
		t.Errorf("entries held: %q, want 02", got)
	}
}

func BenchmarkMemory(b *testing.B) { storetest.Bench(b, store.NewMemory(store.MemoryOptions{})) }
