package shield

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/translate/gemini"
)

// TestCases takes the texts of the shared detection cases through both borders:
// what is restored is what was sent, a second pass finds nothing new, and so it
// is when the model's answer is cut at random.
func TestCases(t *testing.T) {
	var list []string
	for i, text := range sharedTexts(t, "7") {
		list = append(list, text)
		if *allSplits || i%5 == 0 {
			once := `{"k":` + q(text) + `}`
			list = append(list, once, `{"n":`+q(once)+`}`)
		}
	}
	s := both(t, placeholders)
	rnd := rand.New(rand.NewPCG(1, 2))
	n, again := 0, 0
	for _, text := range list {
		n++
		call := s.Call("r", "tenant", "session")
		body := `{"contents":[` + user(text) + `]}`
		out, err := call.Request(gemini.Wire{}, "m", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := call.Body(out); err != nil || string(twice) != string(out) {
			t.Logf("%q: a second pass makes %s of %s (%v)", text, twice, out, err)
			again++
		}
		said := texts([]string{string(out)}, gemini.LeafText)
		m := &model{events: append(pieces(said, rnd), stop)}
		a, err := exchange(t, s, body, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(a.docs, gemini.LeafText); got != text {
			t.Errorf("restored %q, want %q, by way of %q", got, text, strings.Join(m.events, ""))
		}
	}
	if t.Logf("%d texts", n); again > 0 {
		t.Errorf("a second pass changes %d of %d texts", again, n)
	}
}

// pieces are events that say a text, cut at random.
func pieces(text string, rnd *rand.Rand) (events []string) {
	for text != "" {
		k := 1 + rnd.IntN(min(len(text), 12))
		for k < len(text) && text[k]&0xC0 == 0x80 {
			k++
		}
		events = append(events, says(text[:k]))
		text = text[k:]
	}
	return events
}

// TestOwnWords: values that the model brings itself come to the agent as it wrote
// them, also in documents with their escapes.
func TestOwnWords(t *testing.T) {
	s := both(t, placeholders)
	rnd := rand.New(rand.NewPCG(5, 6))
	for i, text := range sharedTexts(t, "11") {
		if !*allSplits && i%9 != 0 {
			continue
		}
		once := `{"k":` + q(text) + `}`
		for _, said := range []string{text, once, `{"n":` + q(once) + `}`} {
			a, err := exchange(t, s, `{"contents":[`+user("hello")+`]}`, &model{events: append(pieces(said, rnd), stop)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := texts(a.docs, gemini.LeafText); got != said {
				t.Errorf("text %d: got %q, want %q", i, got, said)
			}
		}
	}
}
