package hooks

import (
	"hash/maphash"
	"log/slog"
	"sync"
	"time"
)

// quiet is how long a report of one kind about one hook is not repeated: a hook
// that fails at every chunk would else fill the log.
const quiet = time.Minute

// maxReports bounds what the reporter remembers.
const maxReports = 1024

// reporter tells people what hooks do wrong and what they have to say.
type reporter struct {
	*slog.Logger
	seed maphash.Seed
	mu   sync.Mutex
	last map[reportKey]*report
}

// reportKey is a report without its wording, which may be long.
type reportKey struct {
	hook string
	kind uint64
}

type report struct {
	at      time.Time
	skipped int
}

func newReporter(l *slog.Logger) *reporter {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &reporter{Logger: l, seed: maphash.MakeSeed(), last: map[reportKey]*report{}}
}

// due reports whether it is time to tell, and how often it was not told.
func (r *reporter) due(hook, kind string) (skipped int, ok bool) {
	key, now := reportKey{hook, maphash.String(r.seed, kind)}, time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.last[key]
	switch {
	case seen == nil:
		if len(r.last) >= maxReports {
			clear(r.last)
		}
		r.last[key] = &report{at: now}
		return 0, true
	case now.Sub(seen.at) < quiet:
		seen.skipped++
		return 0, false
	}
	skipped = seen.skipped
	*seen = report{at: now}
	return skipped, true
}

func (r *reporter) warn(hook, kind, msg string, args ...any) {
	skipped, ok := r.due(hook, kind)
	if !ok {
		return
	}
	args = append([]any{"hook", hook}, args...)
	if skipped > 0 {
		args = append(args, "repeated", skipped)
	}
	r.Warn(msg, args...)
}

// outcome tells of a run what people must know.
func (r *reporter) outcome(ev Event, o *outcome) {
	hook := o.hook.Label()
	if f := o.Failure; f != nil {
		effect := "none: the event goes on"
		switch {
		case o.Deny:
			effect = "denied, as failMode closed says"
		case o.hook.FailMode == FailClosed:
			effect = "none: this event cannot be denied"
		case f.Kind == FailureField:
			effect = "the field is ignored"
		}
		args := []any{"event", ev, "failure", f.Text, "effect", effect}
		if f.Hint != "" {
			args = append(args, "hint", f.Hint)
		}
		if f.Kind == FailureCanceled {
			r.Debug("hook canceled", append([]any{"hook", hook}, args...)...)
		} else {
			r.warn(hook, string(ev)+" "+string(f.Kind)+" "+f.Text, "hook failed", args...)
		}
	}
	if o.Ignored && o.Failure == nil {
		r.warn(hook, string(ev)+" ignored", "hook decided in vain", "event", ev, "hint", "this event does not honour that decision")
	}
	if o.Advice != "" {
		r.warn(hook, string(ev)+" advice", "hook's answer is odd", "event", ev, "hint", o.Advice)
	}
	if o.Notice != "" {
		if _, ok := r.due(hook, "notice "+o.Notice); ok {
			r.Info("hook says", "hook", hook, "event", ev, "systemMessage", o.Notice)
		}
	}
}

// lost tells that a hook's answer was replaced by a later hook's.
func (r *reporter) lost(ev Event, loser, winner *Hook, what string) {
	r.warn(loser.Label(), string(ev)+" lost "+what, "hook's answer replaced", "event", ev, "field", what, "by", winner.Label(),
		"hint", `of several the last in the config counts; in a "sequential" group each sees what the one before made`)
}
