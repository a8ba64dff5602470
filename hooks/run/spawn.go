package run

import (
	"context"
	"fmt"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// pipeRoom is what fits into an empty pipe everywhere without a reader.
const pipeRoom = 4 << 10

// spawn runs a hook as a process of its own for one event.
func (r *Runner) spawn(ctx context.Context, h *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
	if !r.enter() {
		return hooks.Result{Err: errClosed}
	}
	defer r.background.Done()
	if ctx.Err() != nil {
		return hooks.Result{Err: hooks.Failuref(hooks.FailureCanceled, "canceled before its start")}
	}
	dir := env.Cwd
	if dir == "" {
		dir = r.dir
	}
	environ := r.environFor(h, env)
	p, failure := start(argv(h, environ), environ, dir)
	if failure != nil {
		return hooks.Result{Err: failure}
	}
	if len(in) <= pipeRoom {
		_, _ = p.stdin.Write(in) // a hook need not read its input
		p.stdin.Close()
	} else {
		// Ends when all is written, or nobody can read any more, or closePipes.
		go func() {
			_, _ = p.stdin.Write(in)
			p.stdin.Close()
		}()
	}
	stdout, stderr := newCapped(r.maxOutput), newCapped(r.maxOutput)
	drained := make(chan struct{}, 2) // one send per reader, which never waits
	// The readers end with the pipes, or closePipes.
	go func() { stdout.readFrom(p.stdout); drained <- struct{}{} }()
	go func() { stderr.readFrom(p.stderr); drained <- struct{}{} }()
	go p.wait()

	select {
	case <-p.exited:
	case <-stdout.over:
		return r.abandon(p, tooMuch(r.maxOutput))
	case <-stderr.over:
		return r.abandon(p, tooMuch(r.maxOutput))
	case <-r.stopped.Done():
		return r.abandon(p, errClosed)
	case <-ctx.Done():
		return r.abandon(p, hooks.Failuref(hooks.FailureCanceled, "ended before it answered"))
	}
	awaitBoth(drained)
	p.closePipes() // what it left behind may hold the other ends
	if len(stdout.bytes()) > r.maxOutput || len(stderr.bytes()) > r.maxOutput {
		return hooks.Result{Err: tooMuch(r.maxOutput)}
	}
	code, failure := p.exitCode()
	res := hooks.Result{Stdout: stdout.bytes(), Stderr: stderr.bytes(), Exit: code}
	if failure != nil {
		res.Err = failure
	}
	return res
}

// awaitBoth waits for both readers, lingerDelay at most.
func awaitBoth(drained <-chan struct{}) {
	linger := time.NewTimer(lingerDelay)
	defer linger.Stop()
	for range 2 {
		select {
		case <-drained:
		case <-linger.C:
			return
		}
	}
}

func tooMuch(limit int) *hooks.Failure {
	return &hooks.Failure{Kind: hooks.FailureSize, Text: fmt.Sprintf("printed more than %s", size(limit)), Hint: "a hook answers with one JSON object; logs belong into a file"}
}

// size writes a limit for people.
func size(n int) string {
	if n >= 1<<20 && n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// abandon ends a process in the background: the answer does not wait for it.
func (r *Runner) abandon(p *proc, why *hooks.Failure) hooks.Result {
	r.inBackground(func() { // ends killDelay from now
		p.closePipes()
		p.end()
	})
	return hooks.Result{Err: why}
}
