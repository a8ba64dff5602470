package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// spawnedHook is a hook as people write them; it costs what starting a shell
// and one small program costs.
const spawnedHook = `cat >/dev/null; echo '{}'`

// hookConfig is a configuration with one AfterModel hook; "" for none.
func hookConfig(kind string) ([]byte, error) {
	hook := map[string]any{"type": "command", "name": kind}
	switch kind {
	case "":
		return []byte("{}"), nil
	case "spawned":
		hook["command"] = spawnedHook
	case "persistent":
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		hook["command"], hook["args"], hook["persistent"] = self, []string{"-role", "hook"}, true
	}
	return json.Marshal(map[string]any{"hooks": map[string]any{"AfterModel": []any{map[string]any{"hooks": []any{hook}}}}})
}

// startHookline starts the real program, with state of its own.
func startHookline(ctx context.Context, s settings, upstream, kind string) (*child, error) {
	dir, err := os.MkdirTemp(s.dir, "hookline")
	if err != nil {
		return nil, err
	}
	cfg, err := hookConfig(kind)
	if err != nil {
		return nil, err
	}
	file, ready := filepath.Join(dir, "hookline.jsonc"), filepath.Join(dir, "ready")
	if err := os.WriteFile(file, cfg, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.hookline, "serve", "--config", file, "--listen", "127.0.0.1:0", "--upstream", "http://"+upstream, "--ready-file", ready, "--drain", "1s")
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+dir)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, end: closerFunc(func() error { return cmd.Process.Signal(syscall.SIGTERM) })}
	for range 500 { // a file cannot be waited for without a watcher
		if b, err := os.ReadFile(ready); err == nil && len(strings.TrimSpace(string(b))) > 0 {
			c.addr = strings.TrimSpace(string(b))
			return c, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.stop()
	text, err := os.ReadFile(log.Name())
	return nil, errors.Join(fmt.Errorf("hookline is not ready after ten seconds: %s", text), err)
}

// buildHookline compiles the program that is measured.
func buildHookline(ctx context.Context, dir string) (string, error) {
	bin := filepath.Join(dir, "hookline")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "github.com/hookline-proxy/hookline/cmd/hookline").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build hookline: %w: %s", err, out)
	}
	return bin, nil
}

// persistentHook answers each line with one.
func persistentHook() error {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		_, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if _, err := io.WriteString(os.Stdout, "{}\n"); err != nil {
			return err
		}
	}
}
