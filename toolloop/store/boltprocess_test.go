package store_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/toolloop/store"
)

// child starts this test program as another process that writes to the file,
// counting from first. kill ends it as kill -9 does and gives what it had still
// printed.
func child(t *testing.T, path string, first uint64) (lines *bufio.Reader, kill func() []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childFile+"="+path, fmt.Sprint(childFirst, "=", first))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines = bufio.NewReader(out)
	return lines, func() []string {
		t.Helper()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // "signal: killed"
		return strings.Fields(string(rest))
	}
}

// A process killed while it writes leaves a file that opens, with all that Put
// had returned from in this and earlier rounds, and no half of a Put.
func TestBoltKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	returned := map[uint64]bool{}
	for round := range uint64(5) {
		first := round * 1_000_000
		last := first
		note := func(line string) {
			n, err := strconv.ParseUint(line, 10, 64)
			if err != nil {
				t.Fatalf("the other process printed %q", line)
			}
			returned[n], last = true, max(last, n)
		}
		lines, kill := child(t, path, first)
		for range 20 + 7*round {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			note(strings.TrimSpace(line))
		}
		for _, line := range kill() {
			note(line)
		}

		s := openBolt(t, store.BoltOptions{Path: path})
		check := func(n uint64) {
			keys := pair(n)
			got, err := s.Get(t.Context(), keys[:])
			if err != nil {
				t.Fatal(err)
			}
			left, right := string(got[0]), string(got[1])
			if left != right || left != "" && left != fmt.Sprint("value ", n) {
				t.Errorf("round %d: pair %d is %q, %q, want both or none", round, n, left, right)
			}
			if left == "" && returned[n] {
				t.Errorf("round %d: pair %d is lost, though its Put had returned", round, n)
			}
		}
		for n := range returned {
			check(n)
		}
		for n := first; n < last+100; n++ {
			check(n) // those whose Put had not returned, too
		}
		if _, err := os.Stat(path + ".damaged"); err == nil {
			t.Fatalf("round %d: the file was thought damaged", round)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBoltSecondProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.db")
	lines, kill := child(t, path, 0)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	_, err := store.OpenBolt(store.BoltOptions{Path: path})
	took := time.Since(start)
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "Redis") {
		t.Errorf("OpenBolt of another process's file: %v, want an error with the path and a hint to Redis", err)
	}
	if took > 10*time.Second { // a busy machine is no error
		t.Errorf("the error took %v, want about a second", took)
	}
	kill()
	openBolt(t, store.BoltOptions{Path: path}) // free again
}
