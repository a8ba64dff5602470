package store

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
)

// Puts that wait go into one transaction together, up to the limits of a group.
func TestBoltGroupCommit(t *testing.T) {
	for _, c := range []struct {
		name             string
		puts, rows, size int // entries of each put, bytes of each value
		want             int // transactions
	}{
		{"one", 1, 1, 10, 1},
		{"many", 200, 10, 10, 1},
		{"too many rows", 6, groupRows / 3, 10, 2},
		{"too many bytes", 3, 1, groupBytes / 2, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			synctest.Test(t, func(t *testing.T) {
				b, err := OpenBolt(BoltOptions{Path: path, CacheBytes: 1})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				// Another queue than the writer's holds the puts until all are there.
				b = &Bolt{o: b.o, now: b.now, log: b.log, file: b.file, cache: readCache{lru: newLRU(1, 1)}, queue: make(chan *write)}
				var wg sync.WaitGroup
				for p := range c.puts {
					wg.Go(func() {
						entries := make([]Entry, c.rows)
						for i := range entries {
							entries[i] = Entry{Key{byte(p), byte(i), byte(i >> 8)}, make([]byte, c.size)}
						}
						if err := b.Put(t.Context(), entries); err != nil {
							t.Errorf("Put: %v", err)
						}
					})
				}
				synctest.Wait()
				before := b.Commits()
				for range c.want {
					b.commit(b.gather(<-b.queue))
				}
				wg.Wait()
				if got := b.Commits() - before; got != c.want {
					t.Errorf("%d puts took %d transactions, want %d", c.puts, got, c.want)
				}
				if got, _ := b.Rows(); got != c.puts*c.rows {
					t.Errorf("%d entries, want %d", got, c.puts*c.rows)
				}
			})
		})
	}
}
