package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

func boltBackend(cache int64) func(t testing.TB) storetest.Backend {
	return func(t testing.TB) storetest.Backend {
		c, path := &storetest.Clock{}, filepath.Join(t.TempDir(), "new", "ledger.db")
		return storetest.Backend{
			Open: func(t testing.TB, ttl time.Duration) store.Store {
				return openBolt(t, store.BoltOptions{Path: path, TTL: ttl, CacheBytes: cache, Now: c.Now})
			},
			Advance: c.Advance,
			Durable: true,
		}
	}
}

func openBolt(t testing.TB, o store.BoltOptions) *store.Bolt {
	t.Helper()
	s, err := store.OpenBolt(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestBolt(t *testing.T) {
	t.Run("cached", func(t *testing.T) { storetest.Run(t, boltBackend(0)) })
	t.Run("uncached", func(t *testing.T) { storetest.Run(t, boltBackend(1)) })
	t.Run("cache of two values", func(t *testing.T) { storetest.Run(t, boltBackend(5000)) })
}

func putN(t testing.TB, s store.Store, from, to, size int) {
	t.Helper()
	var es []store.Entry
	for i := from; i < to; i++ {
		es = append(es, store.Entry{Key: storetest.KeyOf(fmt.Sprint("e", i)), Value: make([]byte, size)})
	}
	if err := s.Put(t.Context(), es); err != nil {
		t.Fatal(err)
	}
}

func TestBoltModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	path := filepath.Join(dir, "b", "ledger.db")
	mode := func(path string) os.FileMode {
		t.Helper()
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().Perm()
	}
	openBolt(t, store.BoltOptions{Path: path}).Close()
	if got := mode(path); got != 0o600 {
		t.Errorf("file has mode %o, want 600", got)
	}
	if got := mode(dir); got != 0o700 {
		t.Errorf("folder has mode %o, want 700", got)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	openBolt(t, store.BoltOptions{Path: path}).Close()
	if got := mode(path); got != 0o600 {
		t.Errorf("file that was readable for others has mode %o after opening, want 600", got)
	}
}

// Time is the bubble's: the sweep's ticker and the entries' expiry.
func TestBoltSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		s := openBolt(t, store.BoltOptions{Path: path, TTL: time.Hour, SweepEvery: time.Minute})
		defer s.Close() // within the bubble
		putN(t, s, 0, 2500, 10)
		time.Sleep(30 * time.Minute)
		putN(t, s, 0, 100, 20) // these live longer
		synctest.Wait()
		if e, x := s.Rows(); e != 2500 || x != 2500 {
			t.Fatalf("%d entries, %d expiries, want 2500 of both", e, x)
		}
		time.Sleep(31*time.Minute + time.Second)
		synctest.Wait()
		if e, x := s.Rows(); e != 100 || x != 100 {
			t.Errorf("after the sweep %d entries, %d expiries, want 100 of both", e, x)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if e, x := s.Rows(); e != 0 || x != 0 || s.Bytes() != 0 {
			t.Errorf("in the end %d entries, %d expiries, %d bytes, want none", e, x, s.Bytes())
		}
	})
}

func TestBoltMaxBytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	synctest.Test(t, func(t *testing.T) {
		s := openBolt(t, store.BoltOptions{Path: path, MaxBytes: 100_000, CacheBytes: 1})
		defer s.Close()
		for i := range 30 {
			putN(t, s, i, i+1, 10_000)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if s.Bytes() > 100_000 || s.Bytes() < 85_000 {
			t.Errorf("file holds %d bytes, want just below 100000", s.Bytes())
		}
		e, _ := s.Rows()
		for i := range 30 {
			want := i >= 30-e
			got, err := s.Get(t.Context(), []store.Key{storetest.KeyOf(fmt.Sprint("e", i))})
			if err != nil || (got[0] != nil) != want {
				t.Errorf("entry %d of 30 there: %v (%v), want %v: the newest %d", i, got[0] != nil, err, want, e)
			}
		}
		before := s.Bytes()
		s.Close()
		s = openBolt(t, store.BoltOptions{Path: path, MaxBytes: 100_000})
		defer s.Close()
		if s.Bytes() != before {
			t.Errorf("after opening it again the file holds %d bytes, want %d", s.Bytes(), before)
		}
	})
}

func TestBoltBrokenDisk(t *testing.T) {
	s := openBolt(t, store.BoltOptions{Path: filepath.Join(t.TempDir(), "ledger.db")})
	putN(t, s, 0, 1, 100)
	s.BreakDisk()
	err := s.Put(t.Context(), []store.Entry{{Key: storetest.KeyOf("e0"), Value: []byte("lost")}})
	if !errors.Is(err, store.ErrDown) {
		t.Errorf("Put on a broken disk: %v, want ErrDown", err)
	}
	got, err := s.Get(t.Context(), []store.Key{storetest.KeyOf("e0")})
	if err != nil || len(got[0]) != 100 {
		t.Errorf("Get after a Put that was lost: %q, %v, want the value before", got[0], err)
	}
}

// A caller that has hung up leaves the writer able to go on.
func TestBoltPutContext(t *testing.T) {
	s := openBolt(t, store.BoltOptions{Path: filepath.Join(t.TempDir(), "ledger.db")})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			err := s.Put(ctx, []store.Entry{{Key: storetest.KeyOf("k"), Value: []byte("v")}})
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("Put: %v, want nothing or context.Canceled", err)
			}
		})
	}
	wg.Wait()
	putN(t, s, 0, 1, 1)
}

// damage overwrites all but the two meta pages.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	meta := int64(2 * os.Getpagesize())
	if _, err := f.WriteAt(bytes.Repeat([]byte{0xA5}, int(st.Size()-meta)), meta); err != nil {
		t.Fatal(err)
	}
}

func truncate(size int64) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		t.Helper()
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBoltDamagedAtStart(t *testing.T) {
	page := int64(os.Getpagesize())
	for _, c := range []struct {
		name   string
		damage func(*testing.T, string)
	}{
		{"pages", damage},
		{"cut short by a half", truncate(20 * page)},
		{"cut to the meta pages", truncate(2 * page)},
		{"cut in the first page", truncate(100)},
		{"meta pages", func(t *testing.T, path string) {
			all, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[40]++ // in the meta data of both: their checksums are wrong now
			all[page+40]++
			if err := os.WriteFile(path, all, 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"zeros", func(t *testing.T, path string) {
			if err := os.WriteFile(path, make([]byte, 4*page), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			var log bytes.Buffer
			o := store.BoltOptions{Path: path, Log: slog.New(slog.NewTextHandler(&log, nil))}
			s := openBolt(t, o)
			putN(t, s, 0, 1000, 200)
			s.Close()
			c.damage(t, path)

			s = openBolt(t, o)
			putN(t, s, 5, 10, 200)
			if got := held(t, s, 10); got != "56789" {
				t.Errorf("entries held: %q, want those that were put since", got)
			}
			if _, err := os.Stat(path + ".damaged"); err != nil {
				t.Errorf("the damaged file: %v", err)
			}
			if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), path+".damaged") {
				t.Errorf("log is %q, want an error that names the file", log.String())
			}
			s.Close()
			s = openBolt(t, o)
			if got := held(t, s, 10); got != "56789" {
				t.Errorf("entries held after opening again: %q, want the same", got)
			}
		})
	}
}

func TestBoltDamagedWhileOpen(t *testing.T) {
	get := func(t *testing.T, s *store.Bolt) {
		if got := held(t, s, 3); got != "" {
			t.Errorf("Get of a damaged file found %q, want nothing", got)
		}
	}
	for _, c := range []struct {
		name   string
		damage func(*testing.T, string)
		use    func(*testing.T, *store.Bolt)
	}{
		{"pages, read", damage, get},
		{"pages, write", damage, func(t *testing.T, s *store.Bolt) { putN(t, s, 2000, 2001, 10) }},
		{"cut, read", truncate(3 * int64(os.Getpagesize())), get},
		{"cut, write", truncate(3 * int64(os.Getpagesize())), func(t *testing.T, s *store.Bolt) { putN(t, s, 2000, 2001, 10) }},
		{"pages, by many at once", damage, func(t *testing.T, s *store.Bolt) {
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() { get(t, s); putN(t, s, 2000+i, 2001+i, 10) })
			}
			wg.Wait()
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			o := store.BoltOptions{Path: path, CacheBytes: 1}
			s := openBolt(t, o)
			putN(t, s, 0, 1000, 200)
			c.damage(t, path)
			c.use(t, s)
			putN(t, s, 5, 10, 200)
			if got := held(t, s, 10); got != "56789" {
				t.Errorf("entries held: %q, want those that were put since", got)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			s = openBolt(t, o)
			if got := held(t, s, 10); got != "56789" {
				t.Errorf("entries held after opening again: %q, want the same", got)
			}
		})
	}
}

// One flipped bit in a value, which bbolt doesn't notice.
func TestBoltDamagedValue(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	s := openBolt(t, store.BoltOptions{Path: path})
	var es []store.Entry
	for i, v := range []string{"the first value", "the second value"} {
		es = append(es, store.Entry{Key: storetest.KeyOf(fmt.Sprint("e", i)), Value: []byte(v)})
	}
	if err := s.Put(t.Context(), es); err != nil {
		t.Fatal(err)
	}
	s.Close()
	all, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(all, []byte("second"), []byte("sec0nd")), 0o600); err != nil {
		t.Fatal(err)
	}
	s = openBolt(t, store.BoltOptions{Path: path})
	if got := held(t, s, 2); got != "0" {
		t.Errorf("entries held: %q, want only the undamaged one", got)
	}
	putN(t, s, 1, 2, 10)
	if got := held(t, s, 2); got != "01" {
		t.Errorf("entries held after a new Put: %q, want both", got)
	}
}

// Files that may be somebody's are refused and left as they are.
func TestBoltForeignFile(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		want string
	}{
		{"not bbolt's", func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("SQLite format 3\x00"), 2000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "no ledger"},
		{"another program's", func(t *testing.T, path string) {
			foreign(t, path, "theirs", "", "")
		}, "another program's"},
		{"a later format", func(t *testing.T, path string) {
			foreign(t, path, "meta", "format", "2")
		}, `format "2"`},
		{"a folder", func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ledger.db")
			c.make(t, path)
			before, _ := os.ReadFile(path)
			for range 2 { // the second time shows that the lock was given free
				_, err := store.OpenBolt(store.BoltOptions{Path: path})
				if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
					t.Errorf("OpenBolt: %v, want an error with the path and %q", err, c.want)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func foreign(t *testing.T, path, bucket, k, v string) {
	t.Helper()
	db, err := bbolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte(bucket))
		if err != nil || k == "" {
			return err
		}
		return b.Put([]byte(k), []byte(v))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func BenchmarkBolt(b *testing.B) {
	for name, cache := range map[string]int64{"cached": 0, "uncached": 1} {
		b.Run(name, func(b *testing.B) {
			storetest.Bench(b, openBolt(b, store.BoltOptions{Path: filepath.Join(b.TempDir(), "ledger.db"), CacheBytes: cache}))
		})
	}
}
