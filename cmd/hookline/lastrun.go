package main

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// lastRun is what is known of a hook's newest run.
type lastRun struct {
	At      time.Time `json:"at"`
	Outcome string    `json:"outcome"` // as [hooks.Run.Outcome]; "ok" for none
	Exit    int       `json:"exit"`    // -1 for none
	Millis  int64     `json:"ms"`
	Failure string    `json:"failure,omitempty"`
}

const (
	// maxLastRuns bounds what is remembered of one configuration.
	maxLastRuns = 1000
	// flushAfter is how long a run may wait until it is written.
	flushAfter = 2 * time.Second
)

// lastRuns notes runs of hooks that have a name, for "hooks list". Nothing of it
// concerns the calls: what cannot be written is lost.
type lastRuns struct {
	work workplace
	log  *slog.Logger

	mu      sync.Mutex
	byName  map[string]lastRun
	waiting *time.Timer // the next write; nil for none
	closed  bool
}

func newLastRuns(w workplace, log *slog.Logger) *lastRuns {
	return &lastRuns{work: w, log: log, byName: map[string]lastRun{}}
}

func lastRunsFile(w workplace) string { return filepath.Join(w.state, "last-runs.json") }

// note takes the runs of one firing.
func (l *lastRuns) note(runs []hooks.Run) {
	if len(runs) == 0 || l.work.file == "" {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	for _, r := range runs {
		if _, known := l.byName[r.Hook]; known || len(l.byName) < maxLastRuns {
			l.byName[r.Hook] = lastRun{At: time.Now().UTC(), Outcome: outcomeText(r), Exit: r.Exit, Millis: r.Duration.Milliseconds(), Failure: r.Failure}
		}
	}
	if l.waiting == nil {
		l.waiting = time.AfterFunc(flushAfter, l.flush)
	}
}

func outcomeText(r hooks.Run) string {
	if r.Outcome == "" {
		return "ok"
	}
	return r.Outcome
}

// flush writes what was noted into the file that all hooklines of this user share.
func (l *lastRuns) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = nil
	if len(l.byName) == 0 {
		return
	}
	all := readAllLastRuns(l.work)
	mine := all[l.work.file]
	if mine == nil || len(mine) > maxLastRuns {
		mine = map[string]lastRun{}
	}
	maps.Copy(mine, l.byName)
	all[l.work.file] = mine
	if err := replaceFile(lastRunsFile(l.work), all); err != nil {
		l.log.Debug("last runs of hooks not written", "error", err)
	}
}

// close writes what is left.
func (l *lastRuns) close() {
	l.mu.Lock()
	l.closed = true
	if l.waiting != nil {
		l.waiting.Stop()
	}
	l.mu.Unlock()
	l.flush()
}

func readAllLastRuns(w workplace) map[string]map[string]lastRun {
	all := map[string]map[string]lastRun{}
	if data, err := os.ReadFile(lastRunsFile(w)); err == nil {
		_ = json.Unmarshal(data, &all) // what cannot be read is not known
	}
	return all
}

func readLastRuns(w workplace) map[string]lastRun { return readAllLastRuns(w)[w.file] }

// replaceFile writes a document for the user alone, in one step.
func replaceFile(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".new-*") // has mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
