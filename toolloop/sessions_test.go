package toolloop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/hookstest"
)

func watching() *hookstest.Firer {
	return &hookstest.Firer{On: map[hooks.Event]func(hooks.Input) hooks.Decision{
		hooks.SessionEnd: func(hooks.Input) hooks.Decision { return hooks.Decision{} },
	}}
}

// TestEndSession: a reported end fires once, with the report's reason, and the
// silence that follows fires nothing.
func TestEndSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		firer := watching()
		l := New(Options{Hooks: firer})
		l.sessions.touch(&Call{Tenant: "a", Session: "s"})
		l.sessions.touch(&Call{Tenant: "b", Session: "s"})
		l.sessions.touch(&Call{Tenant: "a", Session: "other"})
		if n := l.EndSession(t.Context(), "s", "logout"); n != 2 {
			t.Errorf("ended %d sessions, want 2", n)
		}
		if n := l.EndSession(t.Context(), "s", "logout"); n != 0 {
			t.Errorf("ended %d sessions again", n)
		}
		time.Sleep(2 * DefaultIdle)
		got := map[string]int{}
		for _, in := range firer.Fired(hooks.SessionEnd) {
			got[in.SessionID+" "+in.Text("reason")]++
		}
		if len(got) != 2 || got["s logout"] != 2 || got["other other"] != 1 {
			t.Errorf("fired %v", got)
		}
	})
}

// TestWith: sessions go on under other hooks, and end with the newest ones.
func TestWith(t *testing.T) {
	old, now := watching(), watching()
	l := New(Options{Hooks: old})
	next := l.With(Options{Hooks: now})
	l.sessions.touch(&Call{Session: "begun with the old ones"})
	next.Close(context.Background(), "exit")
	if n, m := len(old.Fired(hooks.SessionEnd)), len(now.Fired(hooks.SessionEnd)); n != 0 || m != 1 {
		t.Errorf("the old hooks saw %d ends, the new ones %d; want 0 and 1", n, m)
	}
}
