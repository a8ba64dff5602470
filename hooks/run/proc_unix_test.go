//go:build unix

package run

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// lifeline gives shell text that ties a hook and all that it starts to a pipe,
// and a check that fails while any of them lives.
func lifeline(t *testing.T) (script string, assertGone func()) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "life")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = os.ReadFile(fifo) // ends when the last holder of the other end does
	}()
	return "exec 9>" + fifo + "; ", func() {
		t.Helper()
		// A hook that was ended before it tied itself leaves the reader waiting
		// for a first writer.
		if f, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		select {
		case <-gone:
		case <-time.After(20 * time.Second):
			t.Error("a process of the hook's group is still there")
		}
	}
}

func killChild(t *testing.T, answer []byte) {
	t.Helper()
	var a struct{ Child int }
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(a.Child, syscall.SIGKILL); err != nil {
		t.Errorf("the child that it left in the background is gone: %v", err)
	}
}
