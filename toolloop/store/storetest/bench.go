package storetest

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/hookline-proxy/hookline/toolloop/store"
)

// Bench measures what one request of a long conversation asks of a store: a Get
// of 600 keys, of which a tenth have entries of 1 KiB, and a Put of 10.
func Bench(b *testing.B, s store.Store) {
	value := bytes.Repeat([]byte("v"), 1024)
	var keys []store.Key
	var entries []store.Entry
	for i := range 600 {
		k := KeyOf(fmt.Sprint("item", i))
		keys = append(keys, k)
		if i%10 == 0 {
			entries = append(entries, store.Entry{Key: k, Value: value})
		}
	}
	if err := s.Put(b.Context(), entries); err != nil {
		b.Fatal(err)
	}
	b.Run("get600", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Get(b.Context(), keys); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("put10", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := s.Put(b.Context(), entries[:10]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("put10parallel", func(b *testing.B) {
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := s.Put(b.Context(), entries[:10]); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}
