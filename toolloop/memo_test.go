package toolloop

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

func TestMemoForgetsTheOldestGeneration(t *testing.T) {
	m := memo[int]{limit: 2, cost: func(int) int { return 1 }}
	key := func(s string) memoKey { return keyOf([]byte(s)) }
	for i, s := range []string{"a", "b", "c"} {
		m.put(key(s), i)
	}
	if v, ok := m.get(key("a")); !ok || v != 0 {
		t.Errorf("a of the old generation: got %d, %v", v, ok)
	}
	m.put(key("d"), 3) // c and a are young, so b goes
	for s, want := range map[string]bool{"a": true, "b": false, "c": true, "d": true} {
		if _, ok := m.get(key(s)); ok != want {
			t.Errorf("%s: got %v, wanted %v", s, ok, want)
		}
	}
}

// What is remembered must not refer to a request's body, which is not the loop's
// for longer than the request, and must differ where edits differ.
func TestMemoOfEdits(t *testing.T) {
	w := gemini.Wire{}
	part := func() translate.Part {
		return w.Part([]byte(`{"functionResponse":{"id":"1","name":"f","response":{"output":"` + strings.Repeat("x", memoFrom) + `"}}}`))
	}
	ms := newMemos()
	edits := []resultEdit{
		{context: "c"}, {context: "d"}, {notice: true}, {context: "c", notice: true}, {response: []byte(`{"error":"no"}`)},
		{setID: true}, {setID: true, id: "2"}, {response: []byte(`{"error":"no"}`), setID: true, id: "2"},
		{setID: true, id: "1"},
	}
	for _, e := range edits {
		want := e.apply(w, part())
		for range 2 {
			p := part()
			got := ms.edit(w, p, e)
			if !bytes.Equal(got.Raw, want.Raw) {
				t.Errorf("%+v: got %s, wanted %s", e, got.Raw, want.Raw)
			}
			for i := range p.Raw {
				p.Raw[i] = '?'
			}
		}
	}
}
