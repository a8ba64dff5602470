package hooks

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func contextOf(s string) string { return `{"hookSpecificOutput":{"additionalContext":"` + s + `"}}` }

// An async hook is not waited for, decides nothing, and what it says comes with
// the session's next prompt, once.
func TestAsync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := HandlerFunc(func(ctx context.Context, h *Hook, _ []byte, _ Env) Result {
			if h.Async {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return Result{Err: ctx.Err()}
				}
			}
			return Result{Stdout: []byte(h.Command)}
		})
		s, err := New(Options{Handlers: map[string]Handler{"command": h}, Definitions: map[Event][]Definition{
			AfterTool: {
				{Async: true, Hooks: []Hook{{Type: "command", Command: contextOf("one")}}},
				{Hooks: []Hook{{Type: "command", Async: true, Command: `{"decision":"deny","systemMessage":"two"}`}, {Type: "command", Command: contextOf("now")}}},
			}}})
		if err != nil {
			t.Fatal(err)
		}
		if !s.Has(BeforeAgent) || s.Has(AfterAgent) {
			t.Error("Has: a prompt has something to bring, other events have not")
		}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		d := s.Fire(ctx, Input{Event: AfterTool, Tenant: "t", SessionID: "S"})
		if diff := cmp.Diff(Decision{Context: []string{"now"}}, d, noRuns); diff != "" || time.Since(began) != 0 {
			t.Errorf("Fire after %v (-want +got):\n%s", time.Since(began), diff)
		}
		cancel() // the request is over; the hooks are not
		prompt := Input{Event: BeforeAgent, Tenant: "t", SessionID: "S"}
		if diff := cmp.Diff(Decision{}, s.Fire(t.Context(), prompt)); diff != "" {
			t.Errorf("before they ended (-want +got):\n%s", diff)
		}
		time.Sleep(2 * time.Second)
		for _, other := range []Input{{Event: BeforeAgent, Tenant: "t", SessionID: "X"}, {Event: BeforeAgent, Tenant: "u", SessionID: "S"}} {
			if diff := cmp.Diff(Decision{}, s.Fire(t.Context(), other)); diff != "" {
				t.Errorf("another session (-want +got):\n%s", diff)
			}
		}
		want := Decision{Context: []string{"one"}, Notices: []Notice{{Hook: "AfterTool[1].hooks[0]", Text: "two"}}}
		if diff := cmp.Diff(want, s.Fire(t.Context(), prompt)); diff != "" {
			t.Errorf("next prompt (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(Decision{}, s.Fire(t.Context(), prompt)); diff != "" {
			t.Errorf("the one after (-want +got):\n%s", diff)
		}
		// Close ends what runs, and nothing is started any more.
		s.Fire(t.Context(), Input{Event: AfterTool, SessionID: "S"})
		began = time.Now()
		if err := s.Close(); err != nil || time.Since(began) != 0 {
			t.Errorf("Close took %v: %v", time.Since(began), err)
		}
		s.Fire(t.Context(), Input{Event: AfterTool, SessionID: "S"})
	})
}

func TestAsyncBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		ran := 0
		h := HandlerFunc(func(ctx context.Context, _ *Hook, _ []byte, _ Env) Result {
			ran++
			<-ctx.Done()
			return Result{Err: ctx.Err()}
		})
		s, err := New(Options{Handlers: map[string]Handler{"command": h}, MaxAsync: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)), Definitions: map[Event][]Definition{
			BeforeTool: {{Async: true, Hooks: []Hook{{Type: "command", Command: "x"}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.Fire(t.Context(), Input{Event: BeforeTool})
			synctest.Wait()
		}
		if ran != 1 || strings.Count(log.String(), "async hook not started") != 1 {
			t.Errorf("%d ran at a time; want 1, and a warning:\n%s", ran, log.String())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A hook that runs once does so in each session, until that ends.
func TestOnce(t *testing.T) {
	s, h := newSet(t, SessionStart, Definition{Hooks: []Hook{{Command: "{}", Once: true}}})
	for _, id := range []string{"a", "a", "b", "a"} {
		s.Fire(t.Context(), Input{Event: SessionStart, SessionID: id})
	}
	if n := len(h.got["{}"]); n != 2 {
		t.Errorf("ran %d times; want once in each of two sessions", n)
	}
	s.Fire(t.Context(), Input{Event: SessionEnd, SessionID: "a"})
	s.Fire(t.Context(), Input{Event: SessionStart, SessionID: "a"})
	if n := len(h.got["{}"]); n != 3 {
		t.Errorf("ran %d times; want once more in a session that begins anew", n)
	}
}
