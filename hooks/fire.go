package hooks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// firing is one event on its way through its hooks.
type firing struct {
	set   *Set
	shown *shown
	out   []outcome // in config order; each is written by one goroutine
}

// sequence runs the hooks of a sequential group.
func (f *firing) sequence(ctx context.Context, st step) {
	c := chain{shown: f.shown}
	for i, h := range st.hooks {
		in := c.input(h)
		o := f.run(ctx, h, in, c.document(h, in))
		if o.Failure == nil || o.Failure.Kind == FailureField {
			c.take(h, &o)
		}
		f.out[st.at+i] = o
		if o.Stop || o.Deny {
			return
		}
	}
}

// errTimeout is the cause of a context that ended because of a hook's Timeout.
var errTimeout = errors.New("hook timed out")

// run runs one hook, which is shown in as doc, and reads what it says.
func (f *firing) run(ctx context.Context, h *Hook, in *Input, doc []byte) outcome {
	began := time.Now()
	res := f.handle(ctx, h, doc)
	o := outcome{Answer: h.listener.Read(in, h, res), hook: h, exit: res.Exit, took: time.Since(began)}
	if res.Err != nil {
		o.exit = -1
	}
	o.sawSystem = o.LLMRequest != nil && f.shown.sees(h)
	f.set.log.outcome(in.Event, &o)
	if o.Async && !h.Async {
		f.set.late.add(in, &o)
		o.Answer = Answer{Failure: o.Failure, Advice: o.Advice}
	}
	return o
}

// handle calls the hook's handler under its time-out. A handler that breaks is
// a hook that failed, not the end of the process.
func (f *firing) handle(ctx context.Context, h *Hook, doc []byte) (res Result) {
	in := f.shown.in
	timeout := h.timeout()
	hctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			res = Result{Err: Failuref(FailureInternal, "the handler of type %q panicked (%T)", h.Type, p)}
		}
	}()
	res = f.set.handlers[h.Type].Handle(hctx, h, doc, Env{
		Event: in.Event, SessionID: in.SessionID, TranscriptPath: in.TranscriptPath, Cwd: in.Cwd, PlansDir: f.set.plansDir,
	})
	if res.Err == nil || hctx.Err() == nil {
		return res
	}
	// The handler may have met the end of its context as some other error.
	if context.Cause(hctx) == errTimeout {
		res.Err = &Failure{Kind: FailureTimeout, Text: fmt.Sprintf("timed out after %v", timeout), Hint: timeoutHint(h)}
	} else {
		res.Err = Failuref(FailureCanceled, "canceled: nobody waits for it any more")
	}
	return res
}

func timeoutHint(h *Hook) string {
	if h.Persistent {
		return "a persistent hook must answer each line that it reads with one line, and flush it"
	}
	return "make it faster, or raise its timeout"
}

func (h *Hook) timeout() time.Duration {
	switch {
	case h.Timeout != 0:
		return h.Timeout
	case h.listener.Timeout != nil:
		return h.listener.Timeout(h.Type)
	}
	return DefaultTimeout
}
