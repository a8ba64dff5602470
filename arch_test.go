package hookline

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// rooms in the order of ARCHITECTURE.md: a package may import rooms to its left
// only. A child folder belongs to its room unless it is listed itself.
var rooms = []string{"config", "stream", "translate", "hooks", "toolloop", "proxy", "cmd", "bench", "examples"}

// families are imported by proxy, cmd and what stands to their right only.
var families = []string{"translate/gemini"}

const module = "github.com/hookline-proxy/hookline/"

func rank(pkg string) int {
	for i, r := range rooms {
		if pkg == r || strings.HasPrefix(pkg, r+"/") {
			return i
		}
	}
	return -1
}

func TestArrows(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		from, ok := strings.CutPrefix(f[0], module)
		if !ok {
			continue // the root holds this test only
		}
		seen++
		if rank(from) < 0 {
			t.Errorf("%s belongs to no room: add it to the list, or move it", from)
		}
		for _, imp := range f[1:] {
			to, ok := strings.CutPrefix(imp, module)
			if !ok {
				continue
			}
			if rank(to) > rank(from) {
				t.Errorf("%s imports %s, which stands to its right", from, to)
			}
			for _, fam := range families {
				in := to == fam || strings.HasPrefix(to, fam+"/")
				own := from == fam || strings.HasPrefix(from, fam+"/")
				if in && !own && rank(from) < rank("proxy") {
					t.Errorf("%s imports %s: only proxy and cmd know wire families", from, to)
				}
			}
			if from == "config" || rank(from) == rank("stream") && rank(to) == rank("config") {
				t.Errorf("%s imports %s: config and the leaf rooms stand alone", from, to)
			}
		}
	}
	if seen == 0 {
		t.Fatal("go list named no package of this module")
	}
}
