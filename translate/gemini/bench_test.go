package gemini

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/translate"
	"github.com/tidwall/gjson"
)

// longHistory is a body of about 4 MB: 400 turns, 200 tool exchanges, results
// that hold source text with its escapes.
func longHistory() []byte {
	source := strings.Repeat(`func (s *scanner) value() ([]byte, error) {\n\tstart := s.i // \"quoted\" words, and some prose that goes on for a while\n`, 130)
	var b bytes.Buffer
	b.WriteString(`{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"fix the tests"}]}`)
	for n := range 200 {
		fmt.Fprintf(&b, `,{"parts":[{"text":"Let me look at file %d."},{"functionCall":{"id":"c%d","name":"read_file","args":{"path":"pkg/file%d.go","limit":%d}},"thoughtSignature":"%s"}],"role":"model"}`,
			n, n, n, n, strings.Repeat("QUJDRA==", 60))
		fmt.Fprintf(&b, `,{"parts":[{"functionResponse":{"id":"c%d","name":"read_file","response":{"output":"%s"}}}],"role":"user"}`, n, source)
	}
	b.WriteString(`],"tools":[{"functionDeclarations":[{"name":"read_file","parameters":{"type":"OBJECT"}}]}],"generationConfig":{"temperature":0.5,"topP":0.95}}`)
	return b.Bytes()
}

func BenchmarkParseRequest(b *testing.B) {
	body := longHistory()
	b.Run("gjson.Valid", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		for b.Loop() {
			if !gjson.ValidBytes(body) {
				b.Fatal("invalid")
			}
		}
	})
	b.Run("ParseRequest", func(b *testing.B) {
		b.SetBytes(int64(len(body)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (Wire{}).ParseRequest(body, "m"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkHistory(b *testing.B) {
	w := Wire{}
	r, err := w.ParseRequest(longHistory(), "m")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("LLMRequest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.LLMRequest(r, false)
		}
	})
	b.Run("WithTurns", func(b *testing.B) {
		b.ReportAllocs()
		turns := append([]translate.Turn{}, r.Turns...)
		turns[len(turns)-1].Raw = nil
		for b.Loop() {
			if _, err := w.WithTurns(r, turns); err != nil {
				b.Fatal(err)
			}
		}
	})
	echo := w.LLMRequest(r, false)
	b.Run("ApplyEcho", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.ApplyLLMRequest(r, echo, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	w := Wire{}
	doc := []byte(`{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("some words ", 9) + `"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":7,"totalTokenCount":9},"modelVersion":"m","responseId":"r"}`)
	b.Run("ParseChunk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := w.ParseChunk(doc); err != nil {
				b.Fatal(err)
			}
		}
	})
	c, _ := w.ParseChunk(doc)
	b.Run("LLMResponse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.LLMResponse(c)
		}
	})
	b.Run("Emit", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Emit(c)
		}
	})
}
