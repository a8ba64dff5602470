package stream

import (
	"fmt"
	"io"
)

// Writer frames documents. Each method makes at most one call of the underlying
// Write, and never an empty one: a transport that flushes after each call sends
// each event as a piece of its own. A Writer is not safe for concurrent use.
type Writer struct {
	w    io.Writer
	f    Format
	n    int // events written
	raw  bool
	line []byte // one framed event, re-used
}

// NewWriter makes a Writer of the given format.
func NewWriter(w io.Writer, f Format) *Writer { return &Writer{w: w, f: f} }

// WriteEvent sends one JSON document; data may be re-used after it returns. As
// an SSE event it takes one line: line breaks between its tokens become spaces,
// and what some clients take for a line end inside strings (U+2028, U+2029,
// U+0085 and other control characters) is escaped.
func (w *Writer) WriteEvent(data []byte) error {
	b := w.line[:0]
	switch w.f {
	case SSE:
		b = append(b, "data: "...)
		b = appendLine(b, data)
		b = append(b, "\r\n\r\n"...)
	case Array:
		if w.n == 0 {
			b = append(b, '[')
		} else {
			b = append(b, "\n,\r\n"...)
		}
		b = append(b, data...)
	default:
		b = append(b, data...)
	}
	w.n++
	return w.write(b)
}

// WriteTail sends bytes that are no event as they are. Nothing may follow.
func (w *Writer) WriteTail(raw []byte) error {
	w.raw = true
	if len(raw) == 0 {
		return nil
	}
	_, err := w.w.Write(raw)
	return err
}

// Close ends the body: it closes the array. It does not close the underlying
// writer. Without Close an array stays open, as a stream that broke must.
func (w *Writer) Close() error {
	if w.f != Array || w.raw {
		return nil
	}
	b := w.line[:0]
	if w.n == 0 {
		b = append(b, '[')
	} else {
		b = append(b, '\n')
	}
	return w.write(append(b, "]\n"...))
}

const keptLine = 64 << 10 // a larger buffer is not kept for the next event

func (w *Writer) write(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if cap(b) <= keptLine {
		w.line = b
	} else {
		w.line = nil
	}
	_, err := w.w.Write(b)
	return err
}

// special marks bytes that appendLine has to look at: control characters and
// the first bytes of C1 controls and of U+2028 and U+2029 in UTF-8.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = c != '\t'
	}
	t[0xc2], t[0xe2], t[0x7f] = true, true, true
	return t
}()

// appendLine appends a JSON document as one line.
func appendLine(dst, doc []byte) []byte {
	kept := 0 // doc[:kept] has been dealt with
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		if !special[c] {
			continue
		}
		r, size := rune(c), 1
		switch {
		case c == '\n' || c == '\r':
			// Between tokens white space; inside a string it is no JSON.
			dst = append(dst, doc[kept:i]...)
			dst = append(dst, ' ')
			kept = i + 1
			continue
		case c == 0xc2:
			if i+1 >= len(doc) || doc[i+1] < 0x80 || doc[i+1] > 0x9f {
				continue
			}
			r, size = rune(doc[i+1]), 2
		case c == 0xe2:
			if i+2 >= len(doc) || doc[i+1] != 0x80 || doc[i+2] != 0xa8 && doc[i+2] != 0xa9 {
				continue
			}
			r, size = 0x2000|rune(doc[i+2]&0x3f), 3
		}
		dst = append(dst, doc[kept:i]...)
		dst = fmt.Appendf(dst, `\u%04x`, r)
		i += size - 1
		kept = i + 1
	}
	return append(dst, doc[kept:]...)
}
