// Bench measures what hookline costs on the way of a streamed answer. One run
// holds every contender - no proxy at all, nginx, net/http/httputil, hookline
// without and with hooks - in random order, several rounds, each a process of its
// own on this machine; each answer is compared byte for byte. It prints a table
// in Markdown; -out also writes it to a file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	if err := bench(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type settings struct {
	duration time.Duration
	rounds   int
	part     string
	only     string
	out      string
	hookline string // the program
	dir      string // for files of this run
}

func bench() error {
	var s settings
	var role, upstream string
	flag.DurationVar(&s.duration, "duration", 2*time.Second, "length of one round of one contender")
	flag.IntVar(&s.rounds, "rounds", 7, "rounds of each contender")
	flag.StringVar(&s.part, "part", "", "throughput, hooks or memory; empty for all three")
	flag.StringVar(&s.only, "only", "", "throughput: contenders to run, separated by commas; empty for all")
	flag.StringVar(&s.out, "out", "", "file to write the table to as well")
	flag.StringVar(&s.hookline, "hookline", "", "hookline's program; empty to build it")
	flag.StringVar(&role, "role", "", "internal: what this process is to be")
	flag.StringVar(&upstream, "upstream", "", "internal: URL of the upstream")
	flag.Parse()
	if role != "" {
		return serveRole(role, upstream)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var table strings.Builder
	if err := measure(ctx, s, io.MultiWriter(&table, os.Stdout)); err != nil {
		return err
	}
	if s.out != "" {
		return os.WriteFile(s.out, []byte(table.String()), 0o644)
	}
	return nil
}

// measure runs everything and prints the report.
func measure(ctx context.Context, s settings, w io.Writer) error {
	var err error
	if s.dir, err = os.MkdirTemp("", "hookline-bench"); err != nil {
		return err
	}
	defer os.RemoveAll(s.dir)
	if s.hookline == "" {
		if s.hookline, err = buildHookline(ctx, s.dir); err != nil {
			return err
		}
	}
	up, err := startRole(ctx, "upstream", "")
	if err != nil {
		return err
	}
	defer up.stop()
	fmt.Fprintf(w, "%s\n\n", machine())
	if s.part == "" || s.part == "throughput" {
		err = throughput(ctx, s, up.addr, w)
	}
	if s.part == "" || s.part == "hooks" {
		err = errors.Join(err, hookCosts(ctx, s, up.addr, w))
	}
	if s.part == "" || s.part == "memory" {
		err = errors.Join(err, openStreams(ctx, s, up.addr, w))
	}
	return err
}
