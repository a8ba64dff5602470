package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// hookCosts measures what a hook on every chunk adds to a chunk, and what the
// bare start of the same command costs: rounds of each, in turns.
func hookCosts(ctx context.Context, s settings, upstream string, w io.Writer) error {
	ways := []struct {
		hook    string
		answers int // asked for in one round
		client  *client
		took    []float64 // milliseconds per chunk
	}{{hook: "", answers: 100}, {hook: "persistent", answers: 20}, {hook: "spawned", answers: 2}}
	for i := range ways {
		c, err := startHookline(ctx, s, upstream, ways[i].hook)
		if err != nil {
			return err
		}
		defer c.stop()
		cl, err := newClient(c.addr, "gemini-2.5-flash")
		if err != nil {
			return err
		}
		defer cl.c.Close()
		if err := cl.once(); err != nil {
			return fmt.Errorf("hook %q: %w", ways[i].hook, err)
		}
		ways[i].client = cl
	}
	var bare []float64
	for range s.rounds {
		for i := range ways {
			begun := time.Now()
			for range ways[i].answers {
				if err := ways[i].client.once(); err != nil {
					return fmt.Errorf("hook %q: %w", ways[i].hook, err)
				}
			}
			ways[i].took = append(ways[i].took, ms(time.Since(begun))/float64(ways[i].answers*chunks))
		}
		d, err := bareSpawn(ctx, 100)
		if err != nil {
			return err
		}
		bare = append(bare, ms(d)/100)
	}
	none, persistent, spawned, spawn := median(ways[0].took), median(ways[1].took), median(ways[2].took), median(bare)
	var times []float64 // of the bare start, in the same round
	for i, d := range ways[2].took {
		times = append(times, (d-none)/bare[i])
	}
	fmt.Fprintf(w, "What an AfterModel hook on every chunk adds, one client, medians of %d rounds:\n\n| hook | ms a chunk | |\n|---|---:|---|\n", s.rounds)
	fmt.Fprintf(w, "| none | %.4f | |\n", none)
	fmt.Fprintf(w, "| persistent | %.3f | |\n", persistent-none)
	fmt.Fprintf(w, "| spawned, `%s` | %.2f | %.2f × the bare start of the command |\n", spawnedHook, spawned-none, median(times))
	fmt.Fprintf(w, "| the bare start of that command | %.2f | |\n\n", spawn)
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// bareSpawn starts the spawned hook's command n times as a plain Go program
// would, with as much input as hookline gives it.
func bareSpawn(ctx context.Context, n int) (time.Duration, error) {
	in := strings.Repeat("x", 2000)
	begun := time.Now()
	for range n {
		cmd := exec.CommandContext(ctx, "bash", "-c", spawnedHook)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil || string(out) != "{}\n" {
			return 0, fmt.Errorf("%s gave %q: %w", spawnedHook, out, err)
		}
	}
	return time.Since(begun), nil
}
