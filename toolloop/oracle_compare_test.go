package toolloop_test

import (
	"fmt"
	"slices"
	"strings"
)

// compare holds what one prompt led to against the oracle.
func compare(want, have *turnLog) error {
	for _, l := range []struct {
		what       string
		want, have []string
		sorted     bool
	}{{"the model was shown", want.requests, have.requests, false}, {"the user saw", want.user, have.user, false}, {"hooks fired", want.events, have.events, true}} {
		w, h := l.want, l.have
		if l.sorted {
			w, h = without(l.want, l.have), without(l.have, l.want)
			slices.Sort(w)
			slices.Sort(h)
		}
		if !slices.Equal(w, h) {
			return fmt.Errorf("%s (- oracle, + hookline):\n%s", l.what, diffLines(w, h))
		}
	}
	return nil
}

// without is a less the elements of b, one for one.
func without(a, b []string) []string {
	n := map[string]int{}
	for _, s := range b {
		n[s]++
	}
	var out []string
	for _, s := range a {
		if n[s]--; n[s] < 0 {
			out = append(out, s)
		}
	}
	return out
}

// diffLines tells what differs, item by item.
func diffLines(want, have []string) string {
	var b strings.Builder
	for i := range max(len(want), len(have)) {
		w, h := "(nothing)", "(nothing)"
		if i < len(want) {
			w = want[i]
		}
		if i < len(have) {
			h = have[i]
		}
		if w == h {
			continue
		}
		wl, hl := strings.Split(w, "\n"), strings.Split(h, "\n")
		for k := range max(len(wl), len(hl)) {
			x, y := "", ""
			if k < len(wl) {
				x = wl[k]
			}
			if k < len(hl) {
				y = hl[k]
			}
			if x == y {
				fmt.Fprintf(&b, "  [%d]   %s\n", i, x)
			} else {
				fmt.Fprintf(&b, "  [%d] - %s\n  [%d] + %s\n", i, x, i, y)
			}
		}
		if len(wl)+len(hl) > 2 {
			break // what comes after a wrong history is wrong, too
		}
	}
	return b.String()
}
