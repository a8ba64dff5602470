package shield

import (
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// BenchmarkRequest: a long conversation with a find in each turn.
func BenchmarkRequest(b *testing.B) {
	s := both(b, redact.Options{Action: redact.Placeholder})
	prose := strings.Repeat("The quick brown fox of the north jumps over a lazy dog, and then it sleeps until noon. ", 50)
	turn := user("mail "+mail+": "+prose) + `,{"role":"model","parts":[{"text":` + q(prose) + `}]}`
	body := []byte(`{"contents":[` + strings.Repeat(turn+",", 120) + user("end") + `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call("r", "t", "s").Request(gemini.Wire{}, "m", body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChunk: one chunk of an answer through both borders.
func BenchmarkChunk(b *testing.B) {
	s := both(b, redact.Options{Action: redact.Placeholder})
	c := s.Call("r", "t", "s")
	if _, err := c.Request(gemini.Wire{}, "m", []byte(`{"contents":[`+user("mail "+mail)+`]}`)); err != nil {
		b.Fatal(err)
	}
	up := &pipe{work: &redaction{c}}
	down := &pipe{work: restoration{c}}
	doc := []byte(says("and so it went on, and on, and on some more then. "))
	b.ReportAllocs()
	for b.Loop() {
		docs, err := up.doc(doc)
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range docs {
			if _, err := down.doc(d); err != nil {
				b.Fatal(err)
			}
		}
	}
}
