package main

import (
	"crypto/sha256"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long files must be quiet before they are read: editors write in
// several steps.
const settle = 100 * time.Millisecond

// dataLink is the link that Kubernetes swaps to change all files of a volume.
const dataLink = "..data"

// watcher tells when one of a list of files changed: was written, replaced by
// another one, removed, or came into being. It watches folders, since editors
// replace files, and looks at contents, since a link further up may have changed.
type watcher struct {
	fs      *fsnotify.Watcher
	log     *slog.Logger
	prints  map[string][sha256.Size]byte // of the files that are there
	files   []string
	names   map[string]bool // names of files and folders on the way to them
	changed func(files []string)
	done    chan struct{} // closed by run
}

// printFiles are hashes of the files that are there.
func printFiles(files []string) map[string][sha256.Size]byte {
	prints := map[string][sha256.Size]byte{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Mode().IsRegular() && st.Size() <= 8<<20 {
			if data, err := os.ReadFile(f); err == nil {
				prints[f] = sha256.Sum256(data)
			}
		}
	}
	return prints
}

// newWatcher makes a watcher that run starts. prints are those of the files as they
// were last read; changed is called by run, with those that are another by now.
func newWatcher(files []string, prints map[string][sha256.Size]byte, changed func([]string), log *slog.Logger) (*watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	t := &watcher{fs: w, log: log, prints: prints, changed: changed, done: make(chan struct{})}
	t.watch(files)
	return t, nil
}

// watch replaces the list of files. It is called by run, and before that.
func (t *watcher) watch(files []string) {
	if t.files != nil {
		for f, sum := range printFiles(files) {
			if !slices.Contains(t.files, f) {
				t.prints[f] = sum // it was read just now
			}
		}
	}
	t.files, t.names = files, map[string]bool{dataLink: true}
	dirs := map[string]bool{}
	for _, f := range files {
		for _, part := range strings.Split(filepath.ToSlash(f), "/") {
			t.names[part] = true
		}
		dirs[nearestDir(filepath.Dir(f))] = true
		// The file that a link stands for may change in place.
		if real, err := filepath.EvalSymlinks(f); err == nil && real != f {
			t.names[filepath.Base(real)] = true
			dirs[filepath.Dir(real)] = true
		}
	}
	for _, d := range t.fs.WatchList() {
		if !dirs[d] {
			_ = t.fs.Remove(d) // it may be gone by itself
		}
	}
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		if err := t.fs.Add(d); err != nil {
			t.log.Warn("changes in a folder will not be noticed", "folder", d, "error", err)
		}
	}
}

// nearestDir is the folder, or the nearest one above it that is there.
func nearestDir(dir string) string {
	for {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return dir
		}
		dir = up
	}
}

// run watches until close.
func (t *watcher) run() {
	defer close(t.done)
	quiet := time.NewTimer(0) // a change since the files were read counts, too
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-t.fs.Events:
			if !ok {
				return
			}
			if t.names[filepath.Base(e.Name)] {
				quiet.Reset(settle)
			}
		case err, ok := <-t.fs.Errors:
			if !ok {
				return
			}
			t.log.Warn("a change of the configuration may have been missed", "error", err)
			quiet.Reset(settle)
		case <-quiet.C:
			t.look()
		}
	}
}

// look compares the files with what they were.
func (t *watcher) look() {
	now := printFiles(t.files)
	var files []string
	for _, f := range t.files {
		if a, b := t.prints[f], now[f]; a != b {
			files = append(files, f)
		}
	}
	t.prints = now
	if len(files) > 0 {
		t.changed(slices.Compact(files))
	}
	t.watch(t.files) // folders may have come or gone
}

func (t *watcher) close() error {
	err := t.fs.Close()
	<-t.done
	return err
}
