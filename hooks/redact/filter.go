package redact

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
)

// FilterOptions says how [Engine.Filter] reads and writes.
type FilterOptions struct {
	// JSONL: each line of the input is {"text":…}, each of the output
	// {"text":redacted,"spans":[…]}, in the same order. Otherwise the input is
	// one text.
	JSONL bool
	// Chunks streams a text in chunks of so many bytes; 0 for in one piece.
	Chunks int
	// Split streams a text in chunks of random sizes, from this seed; nil for
	// none. It goes before Chunks.
	Split *uint64
	// Report prints a table of what was found, by entity, instead of the text.
	Report bool
}

// maxLine is the longest line (bytes) of a JSONL input.
const maxLine = 64 << 20

// Filter redacts r and writes the result to w: the work of the command
// "hookline redact". Errors tell the number of a line, never its content.
func (e *Engine) Filter(r io.Reader, w io.Writer, o FilterOptions) error {
	f := filter{e: e, o: o, out: bufio.NewWriter(w), counts: map[string]count{}}
	var err error
	if o.JSONL {
		err = f.lines(r)
	} else {
		err = f.text(r)
	}
	if err != nil {
		return err
	}
	if o.Report {
		f.report()
	}
	return f.out.Flush()
}

type count struct{ matches, bytes int }

type filter struct {
	e      *Engine
	o      FilterOptions
	out    *bufio.Writer
	rnd    *rand.Rand
	counts map[string]count
}

func (f *filter) note(spans []Span) {
	for _, s := range spans {
		c := f.counts[s.Entity]
		f.counts[s.Entity] = count{c.matches + 1, c.bytes + s.End - s.Start}
	}
}

func (f *filter) text(r io.Reader) error {
	vault := &MemoryVault{}
	s := f.e.Stream(vault)
	s.Collect()
	in := bufio.NewReaderSize(r, 1<<16)
	buf := make([]byte, 1<<16)
	for {
		n, err := in.Read(buf[:f.size(len(buf))])
		if n > 0 {
			if err := f.let(s.Push(buf[:n])); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("read the text: %w", err)
		}
	}
	if err := f.let(s.Flush()); err != nil {
		return err
	}
	f.note(s.Spans())
	return nil
}

func (f *filter) let(b []byte) error {
	if f.o.Report {
		return nil
	}
	_, err := f.out.Write(b)
	return err
}

// size is that of the next chunk, at most n.
func (f *filter) size(n int) int {
	switch {
	case f.o.Split != nil:
		if f.rnd == nil {
			f.rnd = rand.New(rand.NewPCG(*f.o.Split, 0))
		}
		return min(n, 1+f.rnd.IntN(24))
	case f.o.Chunks > 0:
		return min(n, f.o.Chunks)
	}
	return n
}

func (f *filter) lines(r io.Reader) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), maxLine)
	enc := json.NewEncoder(f.out)
	enc.SetEscapeHTML(false)
	for n := 1; sc.Scan(); n++ {
		if len(sc.Bytes()) == 0 {
			continue
		}
		var in struct {
			Text *string `json:"text"`
		}
		if err := json.Unmarshal(sc.Bytes(), &in); err != nil || in.Text == nil {
			return fmt.Errorf(`line %d: want {"text":"…"}`, n)
		}
		text, spans := f.line([]byte(*in.Text))
		f.note(spans)
		if f.o.Report {
			continue
		}
		if spans == nil {
			spans = []Span{}
		}
		out := struct {
			Text  string `json:"text"`
			Spans []Span `json:"spans"`
		}{string(text), spans}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("a line is longer than %d bytes", maxLine)
	} else if err != nil {
		return fmt.Errorf("read lines: %w", err)
	}
	return nil
}

// line redacts one text, in chunks if so asked.
func (f *filter) line(text []byte) ([]byte, []Span) {
	vault := &MemoryVault{}
	if f.o.Split == nil && f.o.Chunks <= 0 {
		r := f.e.Redact(text, vault)
		return r.Text, r.Spans
	}
	s := f.e.Stream(vault)
	s.Collect()
	var out []byte
	for len(text) > 0 {
		n := f.size(len(text))
		out = append(out, s.Push(text[:n])...)
		text = text[n:]
	}
	out = append(out, s.Flush()...)
	return out, s.Spans()
}

func (f *filter) report() {
	w := tabwriter.NewWriter(f.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "ENTITY\tMATCHES\tBYTES")
	total := count{}
	for _, name := range slices.Sorted(maps.Keys(f.counts)) {
		c := f.counts[name]
		total.matches += c.matches
		total.bytes += c.bytes
		fmt.Fprintf(w, "%s\t%d\t%d\n", name, c.matches, c.bytes)
	}
	fmt.Fprintf(w, "total\t%d\t%d\n", total.matches, total.bytes)
	w.Flush()
}
