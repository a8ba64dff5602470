//go:build unix

package run

import (
	"bytes"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// BenchmarkSpawn sets a hook against its command started by os/exec, turn by
// turn, so that whatever else the machine does meets both. The hook may cost
// 1.2 times as much (the metric "x").
func BenchmarkSpawn(b *testing.B) {
	in := append(append([]byte(`{"x":"`), bytes.Repeat([]byte{'y'}, 2000)...), `"}`...)
	for _, script := range []string{`cat >/dev/null; echo '{}'`, `echo '{}'`} {
		b.Run(script, func(b *testing.B) {
			r := newRunner(b, Options{})
			h := command(script)
			var bare, hook []time.Duration
			for b.Loop() {
				began := time.Now()
				cmd := exec.Command("bash", "-c", script)
				cmd.Stdin = bytes.NewReader(in)
				if out, err := cmd.Output(); err != nil || len(out) != 3 {
					b.Fatal(out, err)
				}
				between := time.Now()
				if res := r.Handle(b.Context(), h, in, hooks.Env{Event: hooks.AfterModel}); res.Err != nil || len(res.Stdout) != 3 {
					b.Fatal(res)
				}
				bare, hook = append(bare, between.Sub(began)), append(hook, time.Since(between))
			}
			b.ReportMetric(float64(median(bare)), "bare-ns")
			b.ReportMetric(float64(median(hook)), "hook-ns")
			b.ReportMetric(float64(median(hook))/float64(median(bare)), "x")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// BenchmarkPersistent is the cost of an event for a persistent hook, which may
// be 0.3 ms.
func BenchmarkPersistent(b *testing.B) {
	in := append(append([]byte(`{"x":"`), bytes.Repeat([]byte{'y'}, 2000)...), `"}`...)
	for name, h := range map[string]*hooks.Hook{
		"bash": persistent(`while IFS= read -r l; do echo '{}'; done`),
		"cat":  {Type: "command", Name: "cat", Command: "cat", Args: []string{"-u"}, Persistent: true},
	} {
		b.Run(name, func(b *testing.B) {
			r := newRunner(b, Options{})
			for b.Loop() {
				if res := r.Handle(b.Context(), h, in, hooks.Env{}); res.Err != nil || len(res.Stdout) < 2 {
					b.Fatal(res)
				}
			}
		})
	}
}
