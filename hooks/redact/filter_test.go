package redact

import (
	"strings"
	"testing"
)

func TestFilter(t *testing.T) {
	e := testEngine(t, Options{})
	seed := uint64(7)
	for _, o := range []FilterOptions{{}, {Chunks: 1}, {Chunks: 7}, {Split: &seed}} {
		var out strings.Builder
		if err := e.Filter(strings.NewReader("hi, I am bob@example.org\n"), &out, o); err != nil {
			t.Fatal(err)
		}
		if want := "hi, I am [EMAIL_ADDRESS]\n"; out.String() != want {
			t.Errorf("%+v: got %q, want %q", o, out.String(), want)
		}
		o.JSONL = true
		out.Reset()
		if err := e.Filter(strings.NewReader("{\"text\":\"é bob@example.org <b>\"}\n{\"text\":\"\"}\n"), &out, o); err != nil {
			t.Fatal(err)
		}
		if want := `{"text":"é [EMAIL_ADDRESS] <b>","spans":[{"start":3,"end":18,"entity":"EMAIL_ADDRESS","score":1}]}` + "\n" + `{"text":"","spans":[]}` + "\n"; out.String() != want {
			t.Errorf("%+v: got %s, want %s", o, out.String(), want)
		}
	}
	var out strings.Builder
	if err := e.Filter(strings.NewReader("bob@example.org ann@example.org"), &out, FilterOptions{Report: true}); err != nil {
		t.Fatal(err)
	}
	if want := "ENTITY         MATCHES  BYTES\nEMAIL_ADDRESS  2        30\ntotal          2        30\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	err := e.Filter(strings.NewReader("{\"text\":\"x\"}\n{\"txt\":\"hunter2\"}\n"), &out, FilterOptions{JSONL: true})
	if err == nil || !strings.Contains(err.Error(), "line 2") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v, want one that names line 2 and not its content", err)
	}
}
