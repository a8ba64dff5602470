package store_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

// childFile, when set, makes this program one that writes to the state file
// that it names, until it is killed.
const (
	childFile  = "HOOKLINE_STORE_TEST_FILE"
	childFirst = "HOOKLINE_STORE_TEST_FIRST" // the number that it counts from
)

func TestMain(m *testing.M) {
	if path := os.Getenv(childFile); path != "" {
		if err := writeForEver(path, os.Getenv(childFirst)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	goleak.VerifyTestMain(m)
}

// pair names two entries that are always put together.
func pair(n uint64) [2]store.Key {
	return [2]store.Key{storetest.KeyOf(fmt.Sprint("left", n)), storetest.KeyOf(fmt.Sprint("right", n))}
}

// writeForEver puts pairs, several at once, and prints the number of each that
// Put has returned from.
func writeForEver(path, first string) error {
	from, err := strconv.ParseUint(first, 10, 64)
	if err != nil {
		return err
	}
	s, err := store.OpenBolt(store.BoltOptions{Path: path})
	if err != nil {
		return err
	}
	const writers = 4
	failed := make(chan error)
	for w := range uint64(writers) {
		go func() {
			for n := from + w; ; n += writers {
				value := []byte(fmt.Sprint("value ", n))
				var entries []store.Entry
				for _, k := range pair(n) {
					entries = append(entries, store.Entry{Key: k, Value: value})
				}
				if err := s.Put(context.Background(), entries); err != nil {
					failed <- err
				}
				fmt.Println(n) // one write call: lines of several writers don't mix
			}
		}()
	}
	return <-failed
}
