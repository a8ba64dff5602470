package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// DefaultMaxEvent is the size limit of one event in bytes: a picture of 40 MB
// in base64 fits.
const DefaultMaxEvent = 64 << 20

// ErrEventTooLarge says that one event, its framing included, passed
// [Limits.Event].
var ErrEventTooLarge = errors.New("event too large")

// ErrSyntax says that a body does not have the framing it was said to have.
var ErrSyntax = errors.New("bad framing")

// Limits bound what a reader holds. The zero value is usable.
type Limits struct {
	// Event is the size of one event in bytes, framing included; 0 means
	// [DefaultMaxEvent].
	Event int
}

// Read cuts r into events as they arrive: an event is yielded as soon as its
// last byte has been read, never later.
//
// SSE accepts what servers of the family were seen to send: lines ended by CRLF,
// LF or CR; "data:" with or without a space; several data lines (they are joined
// by a space, which inside JSON is as good as a line feed); comments and other
// fields, which are skipped, as is "[DONE]"; a leading byte order mark; no blank
// line at the end. JSON that stands in the stream without "data:" after events is
// a tail ([Event.Tail]). JSON in the place of a stream is read as what it is: an
// object gives one event, an array its elements.
//
// Array cuts elements by a tokenizer; an object in the place of the array (an
// error, mostly) is one event. An array that ends before its "]" gives
// [io.ErrUnexpectedEOF]. Unary reads the whole body as one event; an empty body
// gives none.
//
// The slices of an event are valid until the next iteration; the consumer may
// not write to them. A non-nil error is terminal and last: an error of r as it
// came, [io.ErrUnexpectedEOF], or one that wraps [ErrEventTooLarge] or [ErrSyntax].
// Read closes nothing.
func Read(r io.Reader, f Format, l Limits) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if l.Event <= 0 {
			l.Event = DefaultMaxEvent
		}
		s := &source{r: r, max: l.Event}
		var err error
		switch f {
		case SSE:
			err = readSSE(s, yield)
		case Array:
			err = readArray(s, yield)
		default:
			err = readUnary(s, yield)
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(Event{}, err)
		}
	}
}

// errStopped travels up from a yield that returned false.
var errStopped = errors.New("consumer stopped")

// source is the window on a reader that the three framings work on: the bytes
// of the event at hand, and what came with them.
type source struct {
	r   io.Reader
	max int
	buf []byte // unconsumed bytes
	mem []byte // what buf is a window of
	err error  // of r, sticky
	n   int    // events yielded
}

const firstBuffer = 2 << 10 // a typical event fits; thousands of idle streams stay small

// fill reads more bytes behind buf, which may move. It returns r's error when
// there are none to come.
func (s *source) fill() error {
	if s.err != nil {
		return s.err
	}
	if len(s.buf) >= s.max {
		return fmt.Errorf("event %d has %d bytes and is not at its end, the limit is %d: %w", s.n+1, len(s.buf), s.max, ErrEventTooLarge)
	}
	switch {
	case len(s.buf) == 0:
		if s.mem == nil {
			s.mem = make([]byte, firstBuffer)
		}
		s.buf = s.mem[:0]
	case len(s.buf) == cap(s.buf):
		// The window has reached the end of mem: move it to the front if that
		// frees half of it, else grow.
		if len(s.buf) > len(s.mem)/2 {
			s.mem = make([]byte, 2*len(s.mem))
		}
		s.buf = s.mem[:copy(s.mem, s.buf)]
	}
	for range 100 { // as bufio does: a reader that never gives anything is broken
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		s.err = err
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

func (s *source) skip(n int) { s.buf = s.buf[n:] }

// skipBOM drops a byte order mark at the start.
func (s *source) skipBOM() {
	for len(s.buf) < 3 && bytes.HasPrefix(bom, s.buf) {
		if s.fill() != nil {
			return // whatever is wrong shows again at the next fill
		}
	}
	if bytes.HasPrefix(s.buf, bom) {
		s.skip(len(bom))
	}
}

var bom = []byte("\ufeff")

// skipSpace consumes JSON white space and returns the byte that follows it.
func (s *source) skipSpace() (byte, error) {
	for {
		for i, c := range s.buf {
			if !isSpace(c) {
				s.skip(i)
				return c, nil
			}
		}
		s.buf = s.buf[:0]
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// value reads until a JSON value that starts at the first byte is complete and
// returns its length. r's error means: it ended before that.
func (s *source) value() (int, error) {
	var sc scanner
	for seen := 0; ; {
		if n := sc.scan(s.buf[seen:]); n >= 0 {
			return seen + n, nil
		}
		seen = len(s.buf)
		if err := s.fill(); err != nil {
			if errors.Is(err, io.EOF) && sc.scalar {
				return seen, nil
			}
			return 0, err
		}
	}
}

func readUnary(s *source, yield func(Event, error) bool) error {
	for {
		err := s.fill()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	data := bytes.TrimSpace(bytes.TrimPrefix(s.buf, bom))
	if len(data) > 0 && !yield(Event{Data: data, Raw: s.buf}, nil) {
		return errStopped
	}
	return nil
}
