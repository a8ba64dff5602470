package redact

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// goFiles calls f with the files of the standard library's source.
func goFiles(t testing.TB, f func([]byte)) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("no go command: %v", err)
	}
	root := filepath.Join(strings.TrimSpace(string(goroot)), "src")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == "cmd") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		b, err := os.ReadFile(path)
		f(b)
		return err
	})
	if err != nil {
		t.Skipf("the standard library's source is not here: %v", err)
	}
}

// goSource is 1 MB of the standard library's source, of files from all over it.
func goSource(t testing.TB) []byte {
	var out []byte
	goFiles(t, func(b []byte) {
		if len(b)%23 == 0 && len(out) < 1<<20 {
			out = append(out, b...)
		}
	})
	if len(out) < 1<<20 {
		t.Skipf("the standard library's source is not here: %d bytes", len(out))
	}
	return out[:1<<20]
}

// aSection are numbers of sections, versions and the like.
var aSection = regexp.MustCompile(`^1?[0-9]\.1?[0-9]\.1?[0-9]\.1?[0-9]$`)

// trueShape reports whether what was found is a thing of its kind. It errs on
// the other side: an address that stands in no quotes may be one all the same.
func trueShape(src []byte, s Span) bool {
	v := string(src[s.Start:s.End])
	quoted := s.Start > 0 && s.End < len(src) && bytes.ContainsRune([]byte("\"'`[("), rune(src[s.Start-1])) && bytes.ContainsRune([]byte("\"'`]):%,"), rune(src[s.End]))
	switch s.Entity {
	case "IP_ADDRESS":
		_, err := netip.ParsePrefix(v)
		if _, noAddr := netip.ParseAddr(v); err != nil && noAddr != nil || strings.Count(v, ":") == 7 && len(v) == 23 {
			return false // eight groups of two digits are a hardware address
		}
		return quoted || !aSection.MatchString(v)
	case "EMAIL_ADDRESS":
		return !strings.ContainsAny(v, "%!") && !strings.HasPrefix(v, "u00")
	case "MAC_ADDRESS", "URL_PASSWORD", "PRIVATE_KEY", "BEARER_TOKEN":
		return true
	case "SECRET":
		return quoted
	}
	return false
}

// TestGoSource counts all that is found in code, whatever its kind, and what of
// it is none of that kind.
func TestGoSource(t *testing.T) {
	e := testEngine(t, Options{})
	count := func(src []byte, by map[string]int) (wrong int) {
		for _, s := range e.Spans(src) {
			by[s.Entity]++
			if !trueShape(src, s) {
				wrong++
				t.Logf("%s %v %q in %q", s.Entity, s.Score, src[s.Start:s.End], src[max(0, s.Start-40):min(len(src), s.End+20)])
			}
		}
		return wrong
	}
	by := map[string]int{}
	n := count(goSource(t), by)
	if t.Logf("1 MB: %v, %d false", by, n); n > 5 {
		t.Errorf("%d false hits in 1 MB of Go, want 5 at most", n)
	}
	if !*full {
		return
	}
	by, size, n := map[string]int{}, 0, 0
	goFiles(t, func(src []byte) {
		size += len(src)
		n += count(src, by)
	})
	if t.Logf("%d bytes: %v, %d false", size, by, n); n*1e6 > 5*size {
		t.Errorf("%d false hits in %d bytes", n, size)
	}
}

// TestSectionNumbers: numbers of sections have the form of an address.
func TestSectionNumbers(t *testing.T) {
	e := testEngine(t, Options{})
	for _, s := range []string{
		"the server, according to RFC 8446, Section\n// 4.2.11.2. Note", "nameTypeIP = 7\n\n// RFC 5280, 4.2.2.1\ntype",
		"the address [DWARF3 6.2.5.2]", "host (see section 3.2.1.3)", "server version 10.2.3.4", "client v1.2.3.4", "host OID 2.5.4.42",
		"for the client in ISO 8601-1:2.3.4.5",
	} {
		if got := e.Spans([]byte(s)); len(got) > 0 {
			t.Errorf("%q: %v", s, got)
		}
	}
	for _, s := range []string{"the server 4.2.11.2. Note", "div 10.2.3.4", "host: 1.2.3.4", "port 8080, 10.1.2.3", "the host\n// 10.9.8.7"} {
		if got := e.Spans([]byte(s)); len(got) != 1 {
			t.Errorf("%q: %v", s, got)
		}
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
