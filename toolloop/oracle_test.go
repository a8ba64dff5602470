package toolloop_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/tools/txtar"
)

var (
	oracleSeed  = flag.Uint64("oracle.seed", 1, "seed of the first random conversation; 0 draws one")
	oracleSteps = flag.Int("oracle.steps", 0, "model calls that the random conversations make, at least; 0: 20,000, less with the race detector")
	oracleKeep  = flag.String("oracle.keep", "", "folder to write shrunk failures to, as goldens")
)

// random draws a world.
func random(seed uint64) *world {
	w := &world{Seed: seed}
	d := w.dice("world")
	w.Signs, w.IDs, w.Explicit = chance(d, 50), chance(d, 50), chance(d, 60)
	w.Unary, w.Watch, w.Bolt = chance(d, 20), chance(d, 60), chance(d, 2)
	w.Rate = []int{3, 8, 15, 25}[d.IntN(4)]
	part := 20 + d.IntN(80)
	for _, ev := range []string{"start.context", "prompt.deny", "prompt.stop", "prompt.context", "model.deny", "model.stop", "model.synthetic", "model.edit", "model.config",
		"chunk.replace", "chunk.deny", "chunk.stop", "chunk.blank", "tool.deny", "tool.stop", "tool.rewrite", "tool.ask",
		"result.deny", "result.stop", "result.context", "result.tail", "answer.deny", "answer.clear", "answer.stop", "answer.stopclear"} {
		if chance(d, part) {
			w.Decide = append(w.Decide, ev)
		}
	}
	part = d.IntN(60)
	for _, h := range allHabits {
		if chance(d, part) {
			w.Habits = append(w.Habits, h)
		}
	}
	two := chance(d, 25)
	w.Polls = !two && chance(d, 20)
	w.Steps = steps(d, two)
	lost := func(habits ...string) bool {
		return slices.ContainsFunc(habits, func(h string) bool { return slices.Contains(w.Habits, h) })
	}
	if w.Polls && lost("dropCallIDs", "dropSigs", "moveSig") {
		// What the agent dropped is what tells one poll from the other in a session
		// that never saw them.
		w.Steps = slices.DeleteFunc(w.Steps, func(s step) bool { return s.Do == "resume" })
	}
	if w.Polls && (!w.IDs || lost("dropCallIDs")) {
		// Nothing tells a poll from the one that stood in its place before.
		w.Steps = slices.DeleteFunc(w.Steps, func(s step) bool { return s.Do == "rewind" })
	}
	return w
}

func steps(d *rand.Rand, two bool) []step {
	var out []step
	begun := map[int]int{}
	firsts := "p" + words(d, 1)
	for range 4 + d.IntN(10) {
		s := step{Do: "prompt"}
		if two {
			s.Conv = d.IntN(2)
		}
		if n := begun[s.Conv]; n > 1 && chance(d, 25) {
			s.Do = []string{"rewind", "resume", "restart", "rewind", "restart"}[d.IntN(5)]
			s.To = d.IntN(n)
			out = append(out, s)
			if s.Do == "rewind" {
				begun[s.Conv] = s.To
			}
			s = step{Do: "prompt", Conv: s.Conv}
		}
		if s.Say = "p" + words(d, d.IntN(3)); begun[s.Conv] == 0 && two {
			s.Say = firsts
		}
		begun[s.Conv]++
		if s.Other = chance(d, 30); begun[s.Conv] > 1 && !two && chance(d, 8) {
			s.Do = "abort"
		}
		if chance(d, 10) {
			s.Again = 1 + d.IntN(3)
		}
		if chance(d, 10) {
			s.Retry = 1 + d.IntN(2)
		}
		s.Down = chance(d, 5)
		out = append(out, s)
	}
	if chance(d, 30) { // fate strikes late: from then on nothing can be compared
		out = append(out, step{Do: []string{"mask", "drop", "compress", "lose"}[d.IntN(4)], To: 1 + d.IntN(6)})
		for range 3 {
			out = append(out, step{Do: "prompt", Say: "p" + words(d, 1), Other: chance(d, 30)})
		}
	}
	return out
}

// outcome is what came of a world.
type outcome struct {
	calls int
	fired map[string]bool
}

// play plays a world to its end or its first failure.
func play(w *world, dir string) (o outcome, err error) {
	d, err := newDriver(w, dir)
	if err != nil {
		return o, err
	}
	defer func() {
		if r := recover(); r != nil {
			buf := make([]byte, 4096)
			err = fmt.Errorf("panic: %v\n%s", r, buf[:runtime.Stack(buf, false)])
		}
		o = outcome{d.calls, d.fired}
		if cerr := d.close(); err == nil {
			err = cerr
		}
	}()
	for i, s := range w.Steps {
		if err := d.step(s); err != nil {
			return o, fmt.Errorf("step %d (%s %q): %w", i, s.Do, s.Say, err)
		}
	}
	return o, nil
}

// shrink makes a failing world smaller for as long as it still fails.
func shrink(w *world, dir func() string) *world {
	_, err := play(w, dir())
	class := classOf(err)
	fails := func(w *world) bool {
		_, err := play(w, dir())
		return err != nil && classOf(err) == class
	}
	try := func(change func(*world)) bool {
		c := *w
		c.Steps, c.Habits, c.Decide = slices.Clone(w.Steps), slices.Clone(w.Habits), slices.Clone(w.Decide)
		change(&c)
		if !fails(&c) {
			return false
		}
		w = &c
		return true
	}
	for again := true; again; {
		again = false
		for i := len(w.Steps) - 1; i >= 0; i-- {
			again = try(func(c *world) { c.Steps = slices.Delete(c.Steps, i, i+1) }) || again
		}
		for i := len(w.Habits) - 1; i >= 0; i-- {
			again = try(func(c *world) { c.Habits = slices.Delete(c.Habits, i, i+1) }) || again
		}
		for i := len(w.Decide) - 1; i >= 0; i-- {
			again = try(func(c *world) { c.Decide = slices.Delete(c.Decide, i, i+1) }) || again
		}
		for i := range w.Steps {
			if s := w.Steps[i]; s.Again+s.Retry > 0 {
				again = try(func(c *world) { c.Steps[i].Again, c.Steps[i].Retry = 0, 0 }) || again
			}
			if w.Steps[i].Down {
				again = try(func(c *world) { c.Steps[i].Down = false }) || again
			}
			if w.Steps[i].Other {
				again = try(func(c *world) { c.Steps[i].Other = false }) || again
			}
		}
		for _, flip := range []func(*world) *bool{func(c *world) *bool { return &c.Watch }, func(c *world) *bool { return &c.Unary }, func(c *world) *bool { return &c.Bolt },
			func(c *world) *bool { return &c.Polls }, func(c *world) *bool { return &c.Signs }, func(c *world) *bool { return &c.IDs }} {
			if *flip(w) {
				again = try(func(c *world) { *flip(c) = false }) || again
			}
		}
	}
	return w
}

// TestOracle plays random conversations through hookline's loop and through the
// oracle's. At each upstream request the model must be shown what the oracle's
// model is shown.
func TestOracle(t *testing.T) {
	seed := *oracleSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	steps := *oracleSteps
	if steps == 0 {
		steps = 20_000 / raceSlow
		if testing.Short() {
			steps /= 20
		}
	}
	t.Logf("-oracle.seed=%d -oracle.steps=%d", seed, steps)
	var next, calls, worlds atomic.Int64
	fired := map[string]int{}
	var mu sync.Mutex
	var failed []string
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for calls.Load() < int64(steps) {
				w := random(seed + uint64(next.Add(1)-1))
				o, err := play(w, t.TempDir())
				worlds.Add(1)
				calls.Add(int64(o.calls))
				mu.Lock()
				for k := range o.fired {
					fired[k]++
				}
				if err != nil {
					failed = append(failed, report(t, w, err))
				}
				stop := len(failed) >= 3
				mu.Unlock()
				if stop {
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d model calls in %d conversations; conversations in which a hook so decided: %v", calls.Load(), worlds.Load(), fired)
	for _, f := range failed {
		t.Error(f)
	}
}

// report tells of a failure, shrunk, in the form of a golden.
func report(t *testing.T, w *world, err error) string {
	small := shrink(w, t.TempDir)
	_, serr := play(small, t.TempDir())
	doc, jerr := json.MarshalIndent(small, "", " ")
	if jerr != nil {
		t.Fatal(jerr)
	}
	a := &txtar.Archive{Comment: []byte("Why:\n"), Files: []txtar.File{{Name: "world.json", Data: append(doc, '\n')}}}
	if *oracleKeep != "" {
		name := filepath.Join(*oracleKeep, fmt.Sprintf("seed%d.txtar", w.Seed))
		if err := os.WriteFile(name, txtar.Format(a), 0o600); err != nil {
			t.Error(err)
		}
	}
	return fmt.Sprintf("-oracle.seed=%d -oracle.steps=1\n%v\nshrunk:\n%s\n%v", w.Seed, firstLines(err, 6), txtar.Format(a), serr)
}

// classOf is what kind of failure an error tells of.
func classOf(err error) string {
	_, s, _ := strings.Cut(fmt.Sprint(err), "\"): ")
	return s[:min(len(s), 24)]
}

func firstLines(err error, n int) string {
	ls := strings.SplitN(fmt.Sprint(err), "\n", n+1)
	return strings.Join(ls[:min(n, len(ls))], "\n")
}

// TestOracleGoldens plays the conversations that failed once.
func TestOracleGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/toolloop/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var w world
			if err := json.Unmarshal(a.Files[0].Data, &w); err != nil {
				t.Fatal(err)
			}
			if _, err := play(&w, t.TempDir()); err != nil {
				t.Errorf("%s\n%v", a.Comment, err)
			}
		})
	}
}
