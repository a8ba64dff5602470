package shield

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/translate/gemini"
)

// TestCases takes the texts of the shared detection cases through both borders:
// what is restored is what was sent, a second pass finds nothing new, and so it
// is when the model's answer is cut at random.
func TestCases(t *testing.T) {
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: the detection cases stand there")
	}
	lines, err := os.ReadFile(filepath.Join(shared, "pii", "presidio_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := exec.Command("python3", filepath.Join(shared, "pii", "gen_secrets.py"), "7").Output()
	if err != nil {
		t.Logf("no secrets: %v", err)
	}
	s := both(t, placeholders)
	rnd := rand.New(rand.NewPCG(1, 2))
	n, again := 0, 0
	for line := range bytes.Lines(append(lines, secrets...)) {
		var c struct{ Text string }
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		n++
		call := s.Call("r", "tenant", "session")
		body := `{"contents":[` + user(c.Text) + `]}`
		out, err := call.Request(gemini.Wire{}, "m", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if twice, err := call.Body(out); err != nil || string(twice) != string(out) {
			t.Logf("%q: a second pass makes %s of %s (%v)", c.Text, twice, out, err)
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
		nested := strings.Contains(c.Text, `\n`) && strings.Contains(c.Text, `\"`)
		// A value with escapes in a document in a document that is a streamed text
		// comes back with the escapes of one document only.
		if got := texts(a.docs, gemini.LeafText); got != c.Text && !nested {
			t.Errorf("restored %q, want %q, by way of %q", got, c.Text, strings.Join(m.events, ""))
		}
	}
	// The name in a placeholder counts as a word of context for what stands by it.
	if t.Logf("%d texts", n); again > n/500 {
		t.Errorf("a second pass changes %d of %d texts", again, n)
	}
}
