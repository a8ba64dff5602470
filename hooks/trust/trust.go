// Package trust keeps hooks that come with a project from running before their
// user has agreed to them. What was agreed to is a hook as it is configured and
// the content of the scripts in the project that it starts: a hook of which any
// of this has changed is a new one, and the change can be shown.
//
// Invariants: nothing is trusted by being seen; what is kept holds no value of a
// header or an environment variable, only hashes of them.
package trust

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Print is what is agreed to.
type Print struct {
	Project string `json:"project"` // absolute
	File    string `json:"file"`    // where the hook is configured
	Name    string `json:"name,omitempty"`
	Command string `json:"command"` // of an http hook the URL, of others the prompt
	// Rest is a hash of all else that is configured.
	Rest string `json:"rest"`
	// Scripts of the project that the command starts: paths relative to the
	// project, and hashes of their content.
	Scripts map[string]string `json:"scripts,omitempty"`
}

func (p *Print) equal(o *Print) bool {
	return p.Project == o.Project && p.File == o.File && p.Name == o.Name && p.Command == o.Command && p.Rest == o.Rest &&
		maps.Equal(p.Scripts, o.Scripts)
}

// label is what people call the hook.
func (p *Print) label() string { return cmp.Or(p.Name, p.Command) }

// Diff says in what a hook differs from what was agreed to, a line for each.
func (p *Print) Diff(agreed *Print) []string {
	var d []string
	if p.Name != agreed.Name {
		d = append(d, fmt.Sprintf("name was %q, is %q", agreed.Name, p.Name))
	}
	if p.Command != agreed.Command {
		d = append(d, "command was "+agreed.Command, "command is  "+p.Command)
	}
	if p.Rest != agreed.Rest {
		d = append(d, "other settings changed: type, args, shell, env, headers, time-out or the like")
	}
	return append(d, scriptDiff(agreed.Scripts, p.Scripts)...)
}

func scriptDiff(was, is map[string]string) (d []string) {
	names := maps.Clone(was)
	if names == nil {
		names = map[string]string{}
	}
	maps.Copy(names, is)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		old, had := was[name]
		now, has := is[name]
		switch {
		case !has:
			d = append(d, "script is gone: "+name)
		case !had:
			d = append(d, "script is new: "+name)
		case old != now:
			d = append(d, "script changed: "+name)
		}
	}
	return d
}

// State is whether a hook may run.
type State string

const (
	Trusted State = "trusted"
	Unknown State = "untrusted" // nobody agreed to it
	Changed State = "changed"   // it is not what was agreed to
)

// Store is the file that holds what was agreed to. It is safe for concurrent
// use by one process; of two processes that write at once the last one counts.
type Store struct {
	path string
	mu   sync.Mutex
}

// Open names the file; it need not be there.
func Open(path string) *Store { return &Store{path: path} }

type file struct {
	Trusted []Print `json:"trusted"`
}

const maxStore = 8 << 20

func (s *Store) load() (f file, err error) {
	data, err := readLimited(s.path, maxStore)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return file{}, fmt.Errorf("read %s: %w", s.path, err)
	}
	return f, nil
}

// save replaces the file in one step. It is the user's alone.
func (s *Store) save(f file) error {
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".trust-*") // has mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}

// All gives what was agreed to.
func (s *Store) All() ([]Print, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	return f.Trusted, err
}

// Check says whether p was agreed to, and in what it has changed. The prints are
// those of All.
func Check(agreed []Print, p *Print) (State, []string) {
	var near *Print
	for i := range agreed {
		a := &agreed[i]
		switch {
		case a.equal(p):
			return Trusted, nil
		case a.Project == p.Project && a.File == p.File && a.Name == p.Name && (p.Name != "" || a.Command == p.Command):
			near = a
		}
	}
	if near == nil {
		return Unknown, nil
	}
	return Changed, p.Diff(near)
}

// Trust agrees to hooks. What was agreed to of the same hooks before no longer
// counts.
func (s *Store) Trust(ps ...Print) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return err
	}
	for _, p := range ps {
		f.Trusted = slices.DeleteFunc(f.Trusted, func(a Print) bool {
			return a.Project == p.Project && a.File == p.File && a.Name == p.Name && (p.Name != "" || a.Command == p.Command)
		})
	}
	f.Trusted = append(f.Trusted, ps...)
	return s.save(f)
}

// Revoke takes agreements back: those of a project, of the name (or the command
// of a hook without one) if it is not "". It gives how many there were.
func (s *Store) Revoke(project, name string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return 0, err
	}
	before := len(f.Trusted)
	f.Trusted = slices.DeleteFunc(f.Trusted, func(a Print) bool {
		return a.Project == project && (name == "" || a.label() == name)
	})
	n := before - len(f.Trusted)
	if n == 0 {
		return 0, nil
	}
	return n, s.save(f)
}
