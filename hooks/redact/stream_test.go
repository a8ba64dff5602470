package redact

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// cuts streams text cut at the given places and returns all that came out.
func stream(e *Engine, text []byte, cuts []int, s *Stream) []byte {
	if s == nil {
		s = e.Stream(nil)
	} else {
		s.Reset()
	}
	var out []byte
	at := 0
	for _, c := range cuts {
		out = append(out, s.Push(text[at:c])...)
		at = c
	}
	out = append(out, s.Push(text[at:])...)
	return append(out, s.Flush()...)
}

// everySplit checks every 2-way split, byte by byte, and random splits.
func everySplit(t *testing.T, e *Engine, text []byte, s *Stream, r *rand.Rand) (n, differ int) {
	want, _ := e.Text(text)
	check := func(cuts []int) {
		n++
		if got := stream(e, text, cuts, s); !bytes.Equal(got, want) {
			if differ++; differ < 3 {
				t.Errorf("%.300q cut at %v: got %q, want %q", text, cuts, got, want)
			}
		}
	}
	for i := range len(text) {
		check([]int{i})
	}
	all := make([]int, len(text))
	for i := range all {
		all[i] = i
	}
	check(all)
	for range 12 {
		cuts := make([]int, 2+r.IntN(6))
		for i := range cuts {
			cuts[i] = r.IntN(len(text) + 1)
		}
		for i := range cuts {
			for j := range i {
				if cuts[i] < cuts[j] {
					cuts[i], cuts[j] = cuts[j], cuts[i]
				}
			}
		}
		check(cuts)
	}
	return n, differ
}

// full makes TestSplits cut every text of the case sets, not a sample.
var full = flag.Bool("full", false, "cut every text of the case sets")

func TestSplits(t *testing.T) {
	var texts []string
	if os.Getenv("HOOKLINE_SHARED") != "" {
		step := 17
		if *full {
			step = 1
		}
		for i, c := range presidioCases(t) {
			if i%step == 0 {
				texts = append(texts, c.Text)
			}
		}
		for i, c := range secretCases(t, 20261130) {
			if i%(3*step) == 0 {
				texts = append(texts, c.Text)
			}
		}
	}
	own, err := os.ReadFile("testdata/texts.txt")
	if err != nil {
		t.Fatal(err)
	}
	texts = append(texts, strings.Split(string(own), "\n====\n")...)
	e := testEngine(t, Options{Entities: []string{"all"}})
	s := e.Stream(nil)
	r := rand.New(rand.NewPCG(1, 2))
	n, differ := 0, 0
	for i, text := range texts {
		for _, text := range []string{text, `{"k":` + strconv.Quote(text) + `}`, `See ("` + text + `") or so, é«` + text + "»— all."} {
			if len(text) > 0 && (i%4 == 0 || *full || len(text) < 100) {
				a, b := everySplit(t, e, []byte(text), s, r)
				n, differ = n+a, differ+b
			}
		}
	}
	t.Logf("%d texts, %d ways of cutting them, %d differ", len(texts), n, differ)
}
