//go:build unix

package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

func persistent(script string) *hooks.Hook {
	return &hooks.Hook{Type: "command", Command: script, Name: "test", Persistent: true}
}

// eachLine is a bash hook that does body for each line, which is $line.
func eachLine(body string) string {
	return `while IFS= read -r line; do ` + body + `; done`
}

const answerPid = `printf '{"pid":%d,"n":%d}\n' $$ $((++n))`

func ask(t *testing.T, r *Runner, h *hooks.Hook, in string) (pid, n int) {
	t.Helper()
	res := r.Handle(t.Context(), h, []byte(in), hooks.Env{})
	var a struct{ Pid, N int }
	if res.Err != nil || json.Unmarshal(res.Stdout, &a) != nil {
		t.Fatalf("got %+v; want an answer", res)
	}
	return a.Pid, a.N
}

// restartNow takes the wait out of the back-off.
func restartNow(r *Runner, h *hooks.Hook) {
	p, _ := r.pool(h)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = time.Time{}
}

func TestWorkerStays(t *testing.T) {
	r := newRunner(t, Options{})
	h := persistent(eachLine(answerPid))
	first, _ := ask(t, r, h, `{}`)
	for i := 2; i < 20; i++ {
		if pid, n := ask(t, r, h, `{"i":1}`); pid != first || n != i {
			t.Fatalf("event %d: got process %d, its event %d; want process %d", i, pid, n, first)
		}
	}
	other := persistent(h.Command)
	if pid, _ := ask(t, r, other, `{}`); pid == first {
		t.Error("two hooks share one process")
	}
}

func TestWorkerLines(t *testing.T) {
	big := `{"x":"` + strings.Repeat("y", 300_000) + `"}`
	tests := []struct {
		name, body, in, want string
		failure              hooks.FailureKind
	}{
		{name: "echo", body: `printf '%s\n' "$line"`, in: `{"x":"é\\n"}`, want: `{"x":"é\\n"}`},
		{name: "large input", body: `printf '{"n":%d}\n' ${#line}`, in: big, want: `{"n":300008}`},
		{name: "nothing to say", body: `echo`, in: `{}`},
		{name: "CR LF", body: `printf '{}\r\n'`, in: `{}`, want: `{}`},
		{name: "text", body: `echo ready`, failure: hooks.FailureJSON},
		{name: "array", body: `echo '[1]'`, failure: hooks.FailureJSON},
		{name: "broken JSON", body: `echo '{"a":'`, failure: hooks.FailureJSON},
		{name: "two lines", body: `env printf '{}\n{}\n'`, failure: hooks.FailureJSON},
		{name: "too long", body: `head -c 1100000 /dev/zero; echo`, failure: hooks.FailureSize},
		{name: "ends in the middle", body: `printf '{"a":'; exit`, failure: hooks.FailureDown},
		{name: "ends", body: `exit 3`, failure: hooks.FailureDown},
	}
	r := newRunner(t, Options{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := persistent(eachLine(tt.body))
			res := r.Handle(t.Context(), h, []byte(tt.in), hooks.Env{})
			if tt.failure != "" {
				if f := failureOf(t, res); f.Kind != tt.failure {
					t.Errorf("got %+v; want %s", f, tt.failure)
				}
				return
			}
			if res.Err != nil || string(res.Stdout) != tt.want {
				t.Errorf("got %.80q, %v; want %q", res.Stdout, res.Err, tt.want)
			}
		})
	}
}

func TestWorkerBackOff(t *testing.T) {
	r := newRunner(t, Options{})
	mark := filepath.Join(t.TempDir(), "well")
	h := persistent(`[ -e ` + mark + ` ] || exit 1; ` + eachLine(answerPid))
	fail := func(text string) {
		t.Helper()
		if f := failureOf(t, r.Handle(t.Context(), h, []byte(`{}`), hooks.Env{})); f.Kind != hooks.FailureDown || !strings.Contains(f.Text, text) {
			t.Errorf("got %+v; want %q", f, text)
		}
	}
	p, _ := r.pool(h)
	want := []time.Duration{0, minBackoff, 2 * minBackoff, 4 * minBackoff}
	for _, w := range want {
		restartNow(r, h)
		began := time.Now()
		fail("before it answered")
		if got := p.next.Sub(began); got < w || got > w+5*time.Second {
			t.Errorf("got a back-off of %v; want %v", got, w)
		}
		p.next = time.Now().Add(time.Hour)
		fail("is down")
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	restartNow(r, h)
	ask(t, r, h, `{}`)
	if p.fails != 0 {
		t.Errorf("got %d failures in a row after an answer; want 0", p.fails)
	}
	for range 100 {
		p.backOff()
	}
	if wait := time.Until(p.next); wait > maxBackoff || wait < maxBackoff/2 {
		t.Errorf("got a back-off of %v; want %v", wait, maxBackoff)
	}
}

// A process that ends between two events is nobody's failure.
func TestWorkerEndsIdle(t *testing.T) {
	r := newRunner(t, Options{})
	h := persistent(`read -r line; ` + answerPid)
	seen := map[int]bool{}
	p, _ := r.pool(h)
	for range 5 {
		pid, _ := ask(t, r, h, `{}`)
		seen[pid] = true
		<-p.idle[0].exited
	}
	if len(seen) != 5 {
		t.Errorf("got %d processes; want 5", len(seen))
	}
}

// A line too many is found before the next event, which another process then decides.
func TestWorkerStrayLine(t *testing.T) {
	r := newRunner(t, Options{})
	h := persistent(eachLine(answerPid))
	p, _ := r.pool(h)
	first, _ := ask(t, r, h, `{}`)
	w := p.idle[0]
	if _, err := w.stdin.Write([]byte("{}\n")); err != nil { // an answer that nobody waits for
		t.Fatal(err)
	}
	if _, err := w.stdout.Read(make([]byte, 1)); err != nil { // it has come
		t.Fatal(err)
	}
	if pid, n := ask(t, r, h, `{}`); pid == first || n != 1 {
		t.Errorf("got process %d, its event %d; want a new process, not %d", pid, n, first)
	}
}

func TestWorkerTimeout(t *testing.T) {
	r := newRunner(t, Options{})
	h := persistent(`trap '' TERM; ` + eachLine(`case $line in *slow*) sleep 0.4;; esac; printf '{"pid":%d,"n":%d}\n' $$ ${#line}`))
	first, _ := ask(t, r, h, `{}`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if f := failureOf(t, r.Handle(ctx, h, []byte(`{"slow":1}`), hooks.Env{})); f.Kind != hooks.FailureCanceled {
		t.Errorf("got %+v", f)
	}
	p, _ := r.pool(h)
	p.slots <- struct{}{} // the exchange has ended the process by now
	<-p.slots
	// The next event finds a process, or a guard would let it through.
	pid, n := ask(t, r, h, `{"a":"next"}`)
	if pid == first || n != len(`{"a":"next"}`) {
		t.Errorf("got process %d, length %d; want a new process and the answer to this event", pid, n)
	}
}

// A caller that hangs up does not cost the process: it may be slow to start.
func TestWorkerCallerLeaves(t *testing.T) {
	r := newRunner(t, Options{})
	dir := t.TempDir()
	started, proceed := filepath.Join(dir, "started"), filepath.Join(dir, "proceed")
	for _, f := range []string{started, proceed} {
		if err := syscall.Mkfifo(f, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h := persistent(eachLine(`case $line in *slow*) echo > ` + started + `; read -r _ < ` + proceed + `;; esac; ` + answerPid))
	first, _ := ask(t, r, h, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan hooks.Result, 1)
	go func() { gone <- r.Handle(ctx, h, []byte(`{"slow":1}`), hooks.Env{}) }()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	cancel()
	if f := failureOf(t, <-gone); f.Kind != hooks.FailureCanceled {
		t.Errorf("got %+v", f)
	}
	if err := os.WriteFile(proceed, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, n := ask(t, r, h, `{}`); pid != first || n != 3 {
		t.Errorf("got process %d, its event %d; want process %d, event 3", pid, n, first)
	}
}

// Two instances answer two events at once: each waits for the other to begin.
func TestWorkerInstances(t *testing.T) {
	r := newRunner(t, Options{})
	dir := t.TempDir()
	h := persistent(eachLine(`: > ` + dir + `/$$; while [ "$(ls ` + dir + ` | wc -l)" -lt 2 ]; do sleep 0.01; done; ` + answerPid))
	h.Instances = 2
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			if res := r.Handle(t.Context(), h, []byte(`{}`), hooks.Env{}); res.Err != nil {
				t.Errorf("got %v", res.Err)
			}
		})
	}
	wg.Wait()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("got %d processes, %v; want 2", len(files), err)
	}
}

func TestWorkerStderr(t *testing.T) {
	type entry struct{ hook, line string }
	lines := make(chan entry, 10)
	r := newRunner(t, Options{Stderr: func(hook string, line []byte) { lines <- entry{hook, string(line)} }})
	h := persistent(`echo hello >&2; head -c 20000 /dev/zero | tr '\0' x >&2; echo >&2; echo last >&2; ` + eachLine(answerPid))
	ask(t, r, h, `{}`)
	want := []entry{{"test", "hello"}, {"test", strings.Repeat("x", maxStderrLine)}, {"test", "last"}}
	for _, w := range want {
		if got := <-lines; got != w {
			t.Errorf("got %.20q of %d bytes; want %.20q of %d", got.line, len(got.line), w.line, len(w.line))
		}
	}
}

func TestCloseEndsAll(t *testing.T) {
	r := newRunner(t, Options{})
	dir := t.TempDir()
	life1, assertGone1 := lifeline(t)
	life2, assertGone2 := lifeline(t)
	life3, assertGone3 := lifeline(t)
	h := persistent(life1 + eachLine(answerPid))
	ask(t, r, h, `{}`)
	started := filepath.Join(dir, "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	results := make(chan hooks.Result, 2)
	go func() {
		results <- r.Handle(t.Context(), command(life2+`echo > `+started+`; exec sleep 60`), nil, hooks.Env{})
	}()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	busy := persistent(life3 + eachLine(`echo > `+started+`; sleep 60`))
	go func() { results <- r.Handle(t.Context(), busy, []byte(`{}`), hooks.Env{}) }()
	if _, err := os.ReadFile(started); err != nil {
		t.Fatal(err)
	}
	r.Close()
	for range 2 {
		if res := <-results; res.Err == nil {
			t.Errorf("got %+v; want a failure", res)
		}
	}
	assertGone1()
	assertGone2()
	assertGone3()
	for _, h := range []*hooks.Hook{h, command("true")} {
		if f := failureOf(t, r.Handle(t.Context(), h, nil, hooks.Env{})); f.Kind != hooks.FailureCanceled {
			t.Errorf("after Close: got %+v", f)
		}
	}
}

func TestPending(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := pending(in); err != nil {
		t.Errorf("open and empty: got %v", err)
	}
	if _, err := out.Write([]byte("xy")); err != nil {
		t.Fatal(err)
	}
	if err := pending(in); !errors.Is(err, errStray) {
		t.Errorf("unasked output: got %v", err)
	}
	out.Close()
	if _, err := bytes.NewBuffer(nil).ReadFrom(in); err != nil {
		t.Fatal(err)
	}
	if err := pending(in); !errors.Is(err, errNotSent) {
		t.Errorf("closed: got %v", err)
	}
}
