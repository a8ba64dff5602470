package toolloop_test

import (
	"fmt"
	"testing"

	"github.com/hookline-proxy/hookline/hooks"
)

// prefixWorld is a conversation of 30 prompts in which hooks may do anything but
// forget the history.
func prefixWorld(seed uint64, signs bool, habits []string) *world {
	w := &world{Seed: seed, Signs: signs, IDs: signs, Explicit: true, Watch: true, Rate: 7, Habits: habits}
	for _, ev := range hooks.Events() {
		for _, k := range allDecisions[ev] {
			if k != "answer.clear" && k != "answer.stopclear" {
				w.Decide = append(w.Decide, k)
			}
		}
	}
	for i := range 30 {
		w.Steps = append(w.Steps, step{Do: "prompt", Say: fmt.Sprintf("p%02d prompt", i), Other: i%3 == 1})
		if i%10 == 9 {
			w.Steps = append(w.Steps, step{Do: "restart"})
		}
	}
	return w
}

// TestPrefix holds a conversation of 30 turns with every kind of hook result: each
// upstream request must begin with the bytes of the one before it, or the
// provider's prompt cache starts anew.
func TestPrefix(t *testing.T) {
	for _, tt := range []struct {
		name   string
		seed   uint64
		signs  bool
		habits []string
	}{
		{"agent that echoes all", 240, true, nil},
		{"agent without ids and signatures", 252, false, []string{"dropSigs", "dropCallIDs", "dropIDs", "sortKeys", "floats", "join", "dropEmpty", "dropThoughts"}},
		{"agent with a content for each chunk", 240, true, []string{"split", "splitResults", "shuffle"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := prefixWorld(tt.seed, tt.signs, tt.habits)
			d, err := newDriver(w, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range w.Steps {
				if err := d.step(s); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if d.convs[0].loose {
				t.Error("an answer was left empty: the rest was not compared")
			}
			for _, k := range w.Decide {
				if !d.fired[k] {
					t.Errorf("no hook decided %s: the seed is not fit", k)
				}
			}
			if err := d.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
