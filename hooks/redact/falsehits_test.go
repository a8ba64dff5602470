package redact

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// goSource is 1 MB of the standard library's source.
func goSource(t testing.TB) []byte {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	var out []byte
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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

// TestGoSource counts what is found in code. Addresses, e-mail addresses and
// passwords in URLs are not counted: those that stand there have the right
// form, they belong to tests and comments.
func TestGoSource(t *testing.T) {
	src := goSource(t)
	e := testEngine(t, Options{})
	n := 0
	for _, s := range e.Spans(src) {
		t.Logf("%s %v %q in %q", s.Entity, s.Score, src[s.Start:s.End], src[max(0, s.Start-40):min(len(src), s.End+20)])
		switch s.Entity {
		case "IP_ADDRESS", "EMAIL_ADDRESS", "URL_PASSWORD":
		default:
			n++
		}
	}
	if n > 5 {
		t.Errorf("%d false hits in 1 MB of Go, want 5 at most", n)
	}
}

func TestLockFiles(t *testing.T) {
	sum, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 5))
	var b strings.Builder
	b.Write(sum)
	for i := range 3000 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, "      \"integrity\": \"sha512-%s==\",\n", fill(n("#", 86), r))
		case 1:
			fmt.Fprintf(&b, "name = \"pkg%d\"\nversion = \"1.%d.%d\"\nchecksum = \"%s\"\n", i, i%40, i%7, fill(n("%", 64), r))
		case 2:
			fmt.Fprintf(&b, "js-tokens@^4.%d.0:\n  resolved \"https://registry.example.test/js-tokens/-/js-tokens-4.%d.0.tgz#%s\"\n", i, i, fill(n("%", 40), r))
		}
	}
	text := []byte(b.String())
	for _, s := range testEngine(t, Options{}).Spans(text) {
		t.Errorf("%s %q in %q", s.Entity, text[s.Start:s.End], text[max(0, s.Start-40):min(len(text), s.End+20)])
	}
}
