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
	list := sharedTexts(t, "7")
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
		var events []string
		for rest := said; rest != ""; {
			k := 1 + rnd.IntN(min(len(rest), 12))
			for k < len(rest) && rest[k]&0xC0 == 0x80 {
				k++
			}
			events = append(events, says(rest[:k]))
			rest = rest[k:]
		}
		m := &model{events: append(events, stop)}
		a, err := exchange(t, s, body, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		nested := strings.Contains(text, `\n`) && strings.Contains(text, `\"`)
		// A value with escapes in a document in a document that is a streamed text
		// comes back with the escapes of one document only.
		if got := texts(a.docs, gemini.LeafText); got != text && !nested {
			t.Errorf("restored %q, want %q, by way of %q", got, text, strings.Join(m.events, ""))
		}
	}
	if t.Logf("%d texts", n); again > 0 {
		t.Errorf("a second pass changes %d of %d texts", again, n)
	}
}
