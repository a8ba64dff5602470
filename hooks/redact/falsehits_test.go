package redact

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// goSource is 1 MB of the standard library's source.
func goSource(t testing.TB) []byte {
	root := filepath.Join(runtime.GOROOT(), "src")
	var out []byte
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == "cmd") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || len(out) > 1<<20 {
			return nil
		}
		// Every 9th byte of a file's size spreads the sample over the packages.
		if info, err := d.Info(); err != nil || info.Size()%9 != 0 {
			return err
		}
		b, err := os.ReadFile(path)
		out = append(out, b...)
		return err
	})
	if err != nil || len(out) < 1<<20 {
		t.Skipf("the standard library's source is not here: %v", err)
	}
	return out[:1<<20]
}

func TestGoSource(t *testing.T) {
	src := goSource(t)
	e := testEngine(t, Options{})
	for _, s := range e.Spans(src) {
		t.Logf("%s %v %q in %q", s.Entity, s.Score, src[s.Start:s.End], src[max(0, s.Start-40):min(len(src), s.End+20)])
	}
}
