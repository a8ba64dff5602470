package store_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

var secret = []byte("0123456789abcdef0123456789abcdef")

func seal(t testing.TB, inner store.Store, secret []byte, former ...[]byte) store.Store {
	t.Helper()
	s, err := store.Sealed(inner, secret, former...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sealing(start func(testing.TB) storetest.Backend) func(testing.TB) storetest.Backend {
	return func(t testing.TB) storetest.Backend {
		b := start(t)
		inner := b.Open
		b.Open = func(t testing.TB, ttl time.Duration) store.Store { return seal(t, inner(t, ttl), secret) }
		return b
	}
}

func TestSealed(t *testing.T) {
	t.Run("memory", func(t *testing.T) { storetest.Run(t, sealing(memoryBackend)) })
	t.Run("bolt", func(t *testing.T) { storetest.Run(t, sealing(boltBackend(0))) })
}

func TestSealedHides(t *testing.T) {
	inner := store.NewMemory(store.MemoryOptions{})
	s := seal(t, inner, secret)
	keys := []store.Key{storetest.KeyOf("e0"), storetest.KeyOf("e1")}
	value := []byte(strings.Repeat("attack at dawn ", 20))
	if err := s.Put(t.Context(), []store.Entry{{Key: keys[0], Value: value}, {Key: keys[1], Value: value}}); err != nil {
		t.Fatal(err)
	}
	boxes, err := inner.Get(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(boxes[0], value[:8]) {
		t.Error("the value can be read in the store beneath")
	}
	if bytes.Equal(boxes[0][25:], boxes[1][25:]) {
		t.Error("two entries of the same value look alike")
	}
}

func TestSealedOpensOnlyItsOwn(t *testing.T) {
	other := bytes.Repeat([]byte("x"), store.MinSecret)
	flip := func(at int) func(box []byte) []byte {
		return func(box []byte) []byte {
			box = bytes.Clone(box)
			box[(at+len(box))%len(box)] ^= 1
			return box
		}
	}
	same := func(box []byte) []byte { return box }
	for _, c := range []struct {
		name    string
		secrets [][]byte
		key     string
		change  func([]byte) []byte
		want    string
	}{
		{"as it was put", [][]byte{secret}, "e0", same, "0"},
		{"former secret", [][]byte{other, secret}, "e0", same, "0"},
		{"other secret", [][]byte{other}, "e0", same, ""},
		{"under another key", [][]byte{secret}, "e1", same, ""},
		{"version", [][]byte{secret}, "e0", flip(0), ""},
		{"nonce", [][]byte{secret}, "e0", flip(1), ""},
		{"text", [][]byte{secret}, "e0", flip(25), ""},
		{"tag", [][]byte{secret}, "e0", flip(-1), ""},
		{"cut", [][]byte{secret}, "e0", func(b []byte) []byte { return b[:len(b)-1] }, ""},
		{"cut to the nonce", [][]byte{secret}, "e0", func(b []byte) []byte { return b[:25] }, ""},
		{"plain", [][]byte{secret}, "e0", func([]byte) []byte { return []byte("a value from before the key was set") }, ""},
		{"empty", [][]byte{secret}, "e0", func([]byte) []byte { return nil }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := store.NewMemory(store.MemoryOptions{})
			putN(t, seal(t, inner, secret), 0, 1, 50)
			boxes, err := inner.Get(t.Context(), []store.Key{storetest.KeyOf("e0")})
			if err != nil {
				t.Fatal(err)
			}
			moved := store.NewMemory(store.MemoryOptions{})
			err = moved.Put(t.Context(), []store.Entry{{Key: storetest.KeyOf(c.key), Value: c.change(boxes[0])}})
			if err != nil {
				t.Fatal(err)
			}
			if got := held(t, seal(t, moved, c.secrets[0], c.secrets[1:]...), 2); got != c.want {
				t.Errorf("entries held: %q, want %q", got, c.want)
			}
		})
	}
}

func TestSealedShortSecret(t *testing.T) {
	for _, secrets := range [][][]byte{{nil}, {secret[:15]}, {secret, []byte("short")}} {
		_, err := store.Sealed(store.NewMemory(store.MemoryOptions{}), secrets[0], secrets[1:]...)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(store.MinSecret)) {
			t.Errorf("Sealed with a short secret: %v, want an error that says how long it must be", err)
		}
	}
}

func BenchmarkSealed(b *testing.B) {
	b.Run("memory", func(b *testing.B) { storetest.Bench(b, seal(b, store.NewMemory(store.MemoryOptions{}), secret)) })
	b.Run("bolt", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "ledger.db")
		storetest.Bench(b, seal(b, openBolt(b, store.BoltOptions{Path: path}), secret))
	})
}
