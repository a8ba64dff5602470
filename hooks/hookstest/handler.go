// Package hookstest is for tests of and with hooks: a suite that every
// hooks.Handler passes, and a hooks.Firer made of functions.
package hookstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// Behaviour is what a test wants a hook to do with an event.
type Behaviour string

const (
	Echo  Behaviour = "echo"  // answer {"echo":INPUT}
	Quiet Behaviour = "quiet" // answer nothing
	Hang  Behaviour = "hang"  // read the event, never answer
	Flood Behaviour = "flood" // answer 10 MB
	Die   Behaviour = "die"   // end, or break the connection, without an answer
)

// TestHandler runs the suite. build gives a handler of its own and a hook that
// behaves as asked, or a nil handler where the kind of hook cannot do that.
func TestHandler(t *testing.T, build func(t *testing.T, b Behaviour) (hooks.Handler, *hooks.Hook)) {
	run := func(b Behaviour, test func(t *testing.T, h hooks.Handler, hook *hooks.Hook)) {
		t.Run(string(b), func(t *testing.T) {
			h, hook := build(t, b)
			if h == nil {
				t.Skipf("this kind of hook cannot %s", b)
			}
			test(t, h, hook)
		})
	}
	run(Echo, testEcho)
	run(Quiet, func(t *testing.T, h hooks.Handler, hook *hooks.Hook) {
		res := h.Handle(t.Context(), hook, []byte(`{}`), hooks.Env{})
		if res.Err != nil || res.Exit != 0 || strings.TrimSpace(string(res.Stdout)) != "" {
			t.Errorf("got %+v; want no answer and no failure", res)
		}
	})
	run(Hang, testHang)
	run(Flood, func(t *testing.T, h hooks.Handler, hook *hooks.Hook) {
		wantFailure(t, h.Handle(t.Context(), hook, []byte(`{}`), hooks.Env{}), hooks.FailureSize)
	})
	run(Die, func(t *testing.T, h hooks.Handler, hook *hooks.Hook) {
		wantFailure(t, h.Handle(t.Context(), hook, []byte(`{}`), hooks.Env{}), "")
	})
}

// testEcho: the hook gets the document whole and unchanged, small or large, and
// each of many callers gets its own answer.
func testEcho(t *testing.T, h hooks.Handler, hook *hooks.Hook) {
	for _, in := range []string{`{}`, `{"x":"é\n\"\\<>&"}`, `{"x":"` + strings.Repeat("y", 300_000) + `"}`} {
		res := h.Handle(t.Context(), hook, []byte(in), hooks.Env{Event: hooks.BeforeTool})
		if want := `{"echo":` + in + `}`; res.Err != nil || strings.TrimSpace(string(res.Stdout)) != want {
			t.Errorf("got %.80q, %v; want %.80q", res.Stdout, res.Err, want)
		}
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			in := fmt.Sprintf(`{"i":%d}`, i)
			res := h.Handle(t.Context(), hook, []byte(in), hooks.Env{})
			if res.Err != nil || strings.TrimSpace(string(res.Stdout)) != `{"echo":`+in+`}` {
				t.Errorf("event %d: got %q, %v", i, res.Stdout, res.Err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := h.Handle(ctx, hook, []byte(`{}`), hooks.Env{}); res.Err == nil && len(res.Stdout) == 0 {
		t.Error("canceled before it began: got no answer and no failure")
	}
}

// testHang: the end of the context is the end of Handle.
func testHang(t *testing.T, h hooks.Handler, hook *hooks.Hook) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	wantFailure(t, h.Handle(ctx, hook, []byte(`{}`), hooks.Env{}), "")
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("Handle returned %v after its start; want 100ms", took)
	}
}

func wantFailure(t *testing.T, res hooks.Result, kind hooks.FailureKind) {
	t.Helper()
	var f *hooks.Failure
	if res.Err == nil || errors.As(res.Err, &f) && kind != "" && f.Kind != kind {
		t.Errorf("got %.80q, %v; want a failure %s", res.Stdout, res.Err, kind)
	}
}
