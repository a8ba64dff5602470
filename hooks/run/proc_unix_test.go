//go:build unix

package run

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func assertGroupGone(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	// Members that were not ours to reap may still be zombies, which is gone
	// enough: only a living one takes the signal.
	if err := syscall.Kill(-pid, 0); err == nil && !onlyZombies(pid) {
		t.Errorf("group %d is still there", pid)
	} else if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Logf("group %d: %v", pid, err)
	}
}

func onlyZombies(pgid int) bool {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return true // no way to tell
	}
	for _, d := range dirs {
		b, err := os.ReadFile("/proc/" + d.Name() + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" {
			return false
		}
	}
	return true
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
