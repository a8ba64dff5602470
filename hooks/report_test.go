package hooks

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReports(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}))
		result := Result{}
		h := HandlerFunc(func(context.Context, *Hook, []byte, Env) Result { return result })
		define := func(h Hook) []Definition { h.Type, h.Command = "command", "x"; return []Definition{{Hooks: []Hook{h}}} }
		s, err := New(Options{Logger: logger, Handlers: map[string]Handler{"command": h}, Definitions: map[Event][]Definition{
			BeforeTool:   define(Hook{Name: "guard"}),
			AfterModel:   define(Hook{Name: "strict", FailMode: FailClosed}),
			Notification: define(Hook{Name: "bell", FailMode: FailClosed}),
		}})
		if err != nil {
			t.Fatal(err)
		}
		tests := []struct {
			name string
			ev   Event
			res  Result
			want string
		}{
			{"exit 1", BeforeTool, Result{Exit: 1, Stdout: []byte("hush"), Stderr: []byte("hush")},
				`level=WARN msg="hook failed" hook=guard event=BeforeTool failure="exit code 1" effect="none: the event goes on" hint="0 is success, 2 blocks, all others are failures of the hook"`},
			{"the same again", BeforeTool, Result{Exit: 1}, ""},
			{"another one", BeforeTool, Result{Exit: 127}, `level=WARN msg="hook failed" hook=guard event=BeforeTool failure="exit code 127" effect="none: the event goes on" hint="command not found: is it installed, and is its path right, seen from the hook's working directory?"`},
			{"exit 3 with JSON", BeforeTool, Result{Exit: 3, Stdout: []byte(`{"decision":"deny"}`)}, `level=WARN msg="hook failed" hook=guard event=BeforeTool failure="exit code 3" effect="none: the event goes on" hint="its JSON answer was ignored, because only exit code 0 makes it count (2 blocks, with stderr as the reason)"`},
			{"closed", AfterModel, Result{Exit: 1}, `level=WARN msg="hook failed" hook=strict event=AfterModel failure="exit code 1" effect="denied, as failMode closed says" hint="0 is success, 2 blocks, all others are failures of the hook"`},
			{"closed in vain", Notification, Result{Exit: 126}, `level=WARN msg="hook failed" hook=bell event=Notification failure="exit code 126" effect="none: this event cannot be denied" hint="the command is not executable: chmod +x the script, or start it by its interpreter"`},
			{"decides in vain", Notification, Result{Exit: 2, Stderr: []byte("hush")}, `level=WARN msg="hook decided in vain" hook=bell event=Notification hint="this event does not honour that decision"`},
			{"ask in vain", AfterModel, Result{Stdout: []byte(`{"decision":"ask"}`)}, `level=WARN msg="hook decided in vain" hook=strict event=AfterModel hint="this event does not honour that decision"`},
			{"bad field", BeforeTool, Result{Stdout: []byte(`{"decision":"hush"}`)}, `level=WARN msg="hook failed" hook=guard event=BeforeTool failure="bad field decision in its output" effect="the field is ignored" hint="want allow, deny, block or ask, got another string"`},
			{"says", BeforeTool, Result{Stdout: []byte(`{"systemMessage":"look out"}`)}, `level=INFO msg="hook says" hook=guard event=BeforeTool systemMessage="look out"`},
			{"says it again", BeforeTool, Result{Stdout: []byte(`{"systemMessage":"look out"}`)}, ``},
			{"log line before JSON", BeforeTool, Result{Stdout: []byte("x\n{\"decision\":\"deny\"}")}, "level=WARN msg=\"hook's answer is odd\" hook=guard event=BeforeTool hint=\"there is text round its JSON answer, so the answer was ignored: print nothing else to stdout, logs belong on stderr\"\n" + `level=INFO msg="hook says" hook=guard event=BeforeTool systemMessage="x\n{\"decision\":\"deny\"}"`},
			{"own error", BeforeTool, Result{Err: errors.New("no route")}, `level=WARN msg="hook failed" hook=guard event=BeforeTool failure="the handler of type \"command\" failed: no route" effect="none: the event goes on"`},
		}
		for _, tt := range tests {
			log.Reset()
			result = tt.res
			s.Fire(t.Context(), Input{Event: tt.ev})
			if diff := cmp.Diff(tt.want, strings.TrimSpace(log.String())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
		time.Sleep(quiet)
		log.Reset()
		result = Result{Exit: 1}
		s.Fire(t.Context(), Input{Event: BeforeTool})
		if !strings.Contains(log.String(), "repeated=1") {
			t.Errorf("after a minute: got %q; want the count of what was left out", log.String())
		}
		for i := range 2 * maxReports {
			s.log.due("h", strings.Repeat("x", i))
		}
		if len(s.log.last) > maxReports {
			t.Errorf("the reporter remembers %d reports; want %d at most", len(s.log.last), maxReports)
		}
	})
}

func TestHandlerPanics(t *testing.T) {
	h := HandlerFunc(func(context.Context, *Hook, []byte, Env) Result { panic("hush") })
	s, err := New(Options{Handlers: map[string]Handler{"builtin": h}, Definitions: map[Event][]Definition{
		AfterModel: {{Hooks: []Hook{{Type: "builtin", Name: "a"}, {Type: "builtin", Name: "b", FailMode: FailClosed}}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	d := s.Fire(t.Context(), Input{Event: AfterModel})
	if !d.Deny || d.Runs[0].Outcome != "failed" || d.Runs[0].Failure != `the handler of type "builtin" panicked (string)` {
		t.Errorf("got %+v", d)
	}
}

// A deny's replacement and the loser of two replacements are told.
func TestReplacedAnswerIsTold(t *testing.T) {
	var log bytes.Buffer
	defs := commands(`{"hookSpecificOutput":{"llm_response":{"text":"1"}}}`, `{"hookSpecificOutput":{"llm_response":{"text":"2"}}}`)
	for i := range defs.Hooks {
		defs.Hooks[i].Type = "command"
	}
	s, err := New(Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handlers: map[string]Handler{"command": &says{}}, Definitions: map[Event][]Definition{AfterModel: {defs}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Fire(t.Context(), Input{Event: AfterModel})
	if !strings.Contains(log.String(), `hook's answer replaced`) || !strings.Contains(log.String(), "by=AfterModel[0].hooks[1]") {
		t.Errorf("got %q", log.String())
	}
}
