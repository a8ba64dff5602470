package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const manyStreams = 2000

// openStreams measures hookline's memory with many streams that have begun and
// are silent.
func openStreams(ctx context.Context, s settings, upstream string, w io.Writer) error {
	fmt.Fprintf(w, "Resident memory of a stream that has begun and is silent (%d of them):\n\n| way | KiB each |\n|---|---:|\n", manyStreams)
	for _, hook := range []string{"", "persistent"} {
		each, err := memoryOf(ctx, s, upstream, hook)
		if err != nil {
			return err
		}
		name := "hookline"
		if hook != "" {
			name += ", " + hook + " hook"
		}
		fmt.Fprintf(w, "| %s | %.1f |\n", name, float64(each)/1024)
	}
	fmt.Fprintln(w)
	return nil
}

func memoryOf(ctx context.Context, s settings, upstream, hook string) (each int, err error) {
	c, err := startHookline(ctx, s, upstream, hook)
	if err != nil {
		return 0, err
	}
	defer c.stop()
	warm, err := newClient(c.addr, "gemini-2.5-flash")
	if err != nil {
		return 0, err
	}
	defer warm.c.Close()
	if err := warm.once(); err != nil {
		return 0, err
	}
	before, err := resident(c.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	for range manyStreams {
		cl, err := newClient(c.addr, "hold")
		if err != nil {
			return 0, err
		}
		defer cl.c.Close()
		if _, err := cl.c.Write(cl.req); err != nil {
			return 0, err
		}
		if err := cl.head(); err != nil {
			return 0, err
		}
		if _, err := cl.chunk(); err != nil {
			return 0, err
		}
		cl.r = nil
	}
	after, err := resident(c.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	return (after - before) / manyStreams, nil
}

// resident is a process's resident memory in bytes.
func resident(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("memory is measured on Linux only: %w", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(b))[1])
	return pages * os.Getpagesize(), err
}

// machine describes where a run took place, without naming it.
func machine() string {
	cpu := "unknown CPU"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				cpu = strings.TrimSpace(v)
				break
			}
		}
	}
	return fmt.Sprintf("%s, %d cores, %s/%s, %s. Clients, upstream and proxy share them.", cpu, runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
