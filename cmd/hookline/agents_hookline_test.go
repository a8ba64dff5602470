package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// gateway is a running hookline.
type gateway struct {
	url string
	log *lines
}

// lines collects what a process writes.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

var listening = regexp.MustCompile(`listening.*?(127\.0\.0\.1:\d+)`)

// startHookline runs `hookline serve`, the program as users run it, in front of
// a model. It ends with the test. config is the configuration without listen
// address and upstream; what hookline logs is shown when the test fails.
func startHookline(t *testing.T, model string, config map[string]any) gateway {
	t.Helper()
	dir := t.TempDir()
	whole := map[string]any{
		"listen":   "127.0.0.1:0",
		"upstream": map[string]any{"gemini": map[string]any{"baseUrl": model}},
	}
	for k, v := range config {
		whole[k] = v
	}
	b, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "hookline.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "hookline", "serve", "--config", file)
	cmd.Dir = dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log := &lines{}
	addr := make(chan string, 1) // the reader sends once and goes on reading
	read := make(chan struct{})
	go func() { // ends when hookline does
		defer close(read)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			log.add(sc.Text())
			if m := listening.FindStringSubmatch(sc.Text()); m != nil && cap(addr) > len(addr) {
				addr <- m[1]
			}
		}
	}()
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-read
		if err := cmd.Wait(); err != nil {
			t.Errorf("hookline ended badly: %v", err)
		}
		if t.Failed() {
			t.Logf("hookline wrote:\n%s", log)
		}
	})
	select {
	case a := <-addr:
		return gateway{url: "http://" + a, log: log}
	case <-read:
		t.Fatalf("hookline did not start:\n%s", log)
	case <-time.After(30 * time.Second):
		t.Fatalf("hookline did not say that it listens:\n%s", log)
	}
	return gateway{}
}
