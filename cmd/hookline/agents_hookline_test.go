package main_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
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
	url  string
	cmd  *exec.Cmd
	log  *lines
	read chan struct{} // closed when all that it wrote has been read
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
// address, upstream and state; what hookline logs is shown when the test fails.
func startHookline(t *testing.T, model string, config map[string]any) *gateway {
	t.Helper()
	g, err := launch(configure(t, model, config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.end(t) })
	return g
}

// configure writes a configuration into a folder of its own.
func configure(t *testing.T, model string, config map[string]any) (file string) {
	t.Helper()
	dir := t.TempDir()
	whole := map[string]any{
		"listen":   "127.0.0.1:0",
		"upstream": map[string]any{"gemini": map[string]any{"baseUrl": model}},
		"state":    map[string]any{"dir": filepath.Join(dir, "state")},
	}
	for k, v := range config {
		whole[k] = v
	}
	b, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(dir, "hookline.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// launch starts hookline and waits until it listens. environ is added to its
// environment.
func launch(file string, environ ...string) (*gateway, error) {
	g := &gateway{cmd: exec.Command("hookline", "serve", "--config", file), log: &lines{}, read: make(chan struct{})}
	g.cmd.Dir = filepath.Dir(file)
	g.cmd.Env = append(os.Environ(), environ...)
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	addr := make(chan string, 1) // the reader sends once and goes on reading
	go func() {                  // ends when hookline does
		defer close(g.read)
		for sc := bufio.NewScanner(stderr); sc.Scan(); {
			g.log.add(sc.Text())
			if m := listening.FindStringSubmatch(sc.Text()); m != nil && len(addr) == 0 {
				addr <- m[1]
			}
		}
	}()
	select {
	case a := <-addr:
		g.url = "http://" + a
		return g, nil
	case <-g.read:
		return nil, fmt.Errorf("hookline did not start:\n%s", g.log)
	case <-time.After(30 * time.Second):
		return nil, fmt.Errorf("hookline did not say that it listens:\n%s", g.log)
	}
}

// end stops hookline as a service manager does.
func (g *gateway) end(t *testing.T) {
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-g.read
	if err := g.cmd.Wait(); err != nil {
		t.Errorf("hookline ended badly: %v", err)
	}
	if t.Failed() {
		t.Logf("hookline wrote:\n%s", g.log)
	}
}

// kill ends hookline as a power cut does.
func (g *gateway) kill() error {
	if err := g.cmd.Process.Kill(); err != nil {
		return err
	}
	<-g.read
	var exit *exec.ExitError // it says that it was killed
	if err := g.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}
