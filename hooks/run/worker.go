package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	minBackoff = 100 * time.Millisecond
	maxBackoff = 30 * time.Second
	// maxStderrLine is what is kept of a line of a persistent hook's stderr, in
	// bytes.
	maxStderrLine = 4 << 10
)

// pool holds the processes of one persistent hook.
type pool struct {
	runner *Runner
	hook   *hooks.Hook
	slots  chan struct{} // a token per instance, held during a request

	mu     sync.Mutex
	idle   []*worker // guarded by mu, like all below; the last one is taken first
	all    map[*worker]bool
	fails  int       // processes that died in a row without an answer
	next   time.Time // no start before this
	closed bool
}

func newPool(r *Runner, h *hooks.Hook) *pool {
	return &pool{runner: r, hook: h, slots: make(chan struct{}, max(h.Instances, 1)), all: map[*worker]bool{}}
}

// worker is one persistent process. One request at a time uses it.
type worker struct {
	*proc
	out *bufio.Reader
}

// handle sends one event and reads its answer. When the caller goes away before
// its time is up, the exchange goes on without it: the process is not at fault,
// and its late answer must not meet the next event.
func (p *pool) handle(ctx context.Context, in []byte) hooks.Result {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return hooks.Result{Err: hooks.Failuref(hooks.FailureCanceled, "ended while all instances were busy")}
	}
	timeout := p.hook.Timeout
	if timeout == 0 {
		timeout = hooks.DefaultTimeout
	}
	// ctx tells when the time is up; the own time-out is for callers that left.
	ectx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout+time.Second)
	answer := make(chan hooks.Result, 1) // one send, which must not wait for a caller that left
	p.runner.inBackground(func() {       // ends with ectx at the latest
		defer cancel()
		defer func() { <-p.slots }()
		answer <- p.exchange(ectx, in)
	})
	select {
	case res := <-answer:
		return res
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			cancel() // the hook's own time is up
		}
		return hooks.Result{Err: hooks.Failuref(hooks.FailureCanceled, "ended before it answered")}
	}
}

func (p *pool) exchange(ctx context.Context, in []byte) hooks.Result {
	for {
		w, fresh, failure := p.take()
		if failure != nil {
			return hooks.Result{Err: failure}
		}
		line, err := w.ask(ctx, in, p.runner.maxOutput)
		if err == nil {
			p.giveBack(w)
			return hooks.Result{Stdout: line}
		}
		unused := errors.Is(err, errNotSent) && !fresh
		p.discard(w, unused)
		if unused && ctx.Err() == nil {
			continue // it ended, or said too much, while nobody needed it: nothing was lost
		}
		return hooks.Result{Err: workerFailure(ctx, err)}
	}
}

// take gives an idle process, or starts one. fresh tells which.
func (p *pool) take() (w *worker, fresh bool, failure *hooks.Failure) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errClosed
	}
	for n := len(p.idle); n > 0; n-- {
		w = p.idle[n-1]
		p.idle = p.idle[:n-1]
		if !w.gone() {
			return w, false, nil
		}
		p.drop(w)
	}
	if wait := time.Until(p.next); wait > 0 {
		return nil, false, &hooks.Failure{Kind: hooks.FailureDown, Text: "is down: it keeps ending without an answer",
			Hint: fmt.Sprintf("the next start is in %v; start it by hand with a line of JSON on stdin to see why it ends", wait.Round(time.Millisecond))}
	}
	w, failure = p.start()
	if failure != nil {
		p.backOff()
		return nil, false, failure
	}
	p.all[w] = true
	return w, true, nil
}

func (p *pool) start() (*worker, *hooks.Failure) {
	r := p.runner
	environ := r.environFor(p.hook, hooks.Env{})
	proc, failure := start(argv(p.hook, environ), environ, r.dir)
	if failure != nil {
		return nil, failure
	}
	w := &worker{proc: proc, out: bufio.NewReaderSize(proc.stdout, 4<<10)}
	go w.wait()
	go w.drainStderr(p.hook.Label(), r.stderr) // ends with the pipe, or closePipes
	return w, nil
}

// giveBack keeps a process that answered for the next event.
func (p *pool) giveBack(w *worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fails = 0
	if !p.closed {
		p.idle = append(p.idle, w)
	}
}

// discard ends a process that did not answer: what it may still say can then
// never be taken for the answer to another event.
func (p *pool) discard(w *worker, blameless bool) {
	p.mu.Lock()
	p.drop(w)
	if !blameless {
		p.backOff()
	}
	p.mu.Unlock()
}

// drop forgets a process and ends it in the background. p.mu is held.
func (p *pool) drop(w *worker) {
	if !p.all[w] {
		return // it is on its way to the end
	}
	delete(p.all, w)
	p.runner.inBackground(func() {
		w.closePipes()
		w.end()
	})
}

// backOff puts off the next start, longer each time. One failure alone puts off
// nothing: until the next start a hook decides on nothing, and a guard would let
// through what comes right behind an event that it was too slow for. p.mu is held.
func (p *pool) backOff() {
	wait := maxBackoff
	switch {
	case p.fails == 0:
		wait = 0
	case p.fails < 10: // 100 ms << 8 is 25.6 s
		wait = minBackoff << (p.fails - 1)
	}
	p.fails++
	p.next = time.Now().Add(wait)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.idle = nil
	for w := range p.all {
		p.drop(w)
	}
}

func (w *worker) gone() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

var (
	// errNotSent: the process could not be given the event, and knows nothing of it.
	errNotSent = errors.New("not sent")
	errStray   = errors.New("unasked output")
	errTooLong = errors.New("line too long")
	errNoJSON  = errors.New("no JSON object")
)

// ask writes one line and reads one, limit bytes at most.
func (w *worker) ask(ctx context.Context, in []byte, limit int) ([]byte, error) {
	if err := pending(w.stdout); err != nil {
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	}
	// The end of ctx wakes the write and the read below.
	stop := context.AfterFunc(ctx, func() {
		past := time.Unix(1, 0)
		if w.stdout.SetReadDeadline(past) != nil || w.stdin.SetWriteDeadline(past) != nil {
			kill(w.cmd.Process) // pipes without deadlines: their end wakes them
		}
	})
	defer stop()
	if err := w.send(in); err != nil {
		return nil, err
	}
	line, err := readLine(w.out, limit)
	switch {
	case err != nil:
		return nil, err
	case !stop():
		return nil, ctx.Err() // the deadlines are set: it cannot be used again
	case w.out.Buffered() > 0:
		return nil, errStray
	}
	line = bytes.TrimSpace(line)
	if len(line) > 0 && (line[0] != '{' || !json.Valid(line)) {
		return nil, errNoJSON
	}
	return line, nil
}

// send writes the event and its line end, without a copy when it is large.
func (w *worker) send(in []byte) error {
	var n int
	var err error
	if len(in) < 64<<10 {
		line := append(append(make([]byte, 0, len(in)+1), in...), '\n')
		n, err = w.stdin.Write(line)
	} else if n, err = w.stdin.Write(in); err == nil {
		_, err = w.stdin.Write([]byte{'\n'})
	}
	if err != nil && n == 0 && !errors.Is(err, os.ErrDeadlineExceeded) {
		return errNotSent
	}
	return err
}

func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if len(line)+len(part) > limit+1 {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func workerFailure(ctx context.Context, err error) *hooks.Failure {
	switch {
	case errors.Is(err, errStray):
		return &hooks.Failure{Kind: hooks.FailureJSON, Text: "answered one event with several lines; it is restarted",
			Hint: "a persistent hook prints one line of JSON per event to stdout and nothing else; logs belong on stderr"}
	case errors.Is(err, errTooLong):
		return &hooks.Failure{Kind: hooks.FailureSize, Text: "printed a line that is too long; it is restarted", Hint: "a hook answers with one JSON object"}
	case errors.Is(err, errNoJSON):
		return &hooks.Failure{Kind: hooks.FailureJSON, Text: "answered with a line that is not a JSON object; it is restarted",
			Hint: "a persistent hook prints one line of JSON per event to stdout and nothing else; logs belong on stderr"}
	case ctx.Err() != nil:
		return hooks.Failuref(hooks.FailureCanceled, "ended before it answered; it is restarted")
	case errors.Is(err, io.EOF), errors.Is(err, errNotSent), errors.Is(err, io.ErrUnexpectedEOF):
		return &hooks.Failure{Kind: hooks.FailureDown, Text: "closed its output before it answered; it is restarted",
			Hint: "a persistent hook reads lines from stdin until the end, and answers each with a line"}
	}
	return hooks.Failuref(hooks.FailureDown, "cannot be talked to; it is restarted")
}

// drainStderr keeps the process from blocking on its own logs.
func (w *worker) drainStderr(hook string, sink func(string, []byte)) {
	if sink == nil {
		_, _ = io.Copy(io.Discard, w.stderr)
		return
	}
	r := bufio.NewReaderSize(w.stderr, maxStderrLine)
	cut := false // inside a line whose begin was handed over
	for {
		part, err := r.ReadSlice('\n')
		if len(part) > 0 && !cut {
			sink(hook, bytes.TrimRight(part, "\r\n"))
		}
		cut = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !cut {
			return
		}
	}
}
