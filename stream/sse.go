package stream

import (
	"bytes"
	"errors"
	"io"
)

// The framing: https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
// (read 2026-11-30), with the tolerance that Read's comment lists.

// sse reads server-sent events. The offsets are into src.buf and stay right
// when it moves.
type sse struct {
	src   *source
	yield func(Event, error) bool

	line   int  // where the line at hand starts
	seen   int  // up to here the line has no end
	skipLF bool // the last line ended in CR: a LF that follows belongs to it

	data     bool // the event at hand has a data line
	from, to int  // its data so far, joined in place
}

func readSSE(s *source, yield func(Event, error) bool) error {
	s.skipBOM()
	p := &sse{src: s, yield: yield}
	for {
		if err := p.swallowLF(); err != nil {
			return p.end(err)
		}
		if c, ok := p.lineStart(); ok && (c == '{' || c == '[') {
			if done, err := p.raw(c); done || err != nil {
				return err
			}
			continue
		}
		line, next, ok := p.cut()
		if !ok {
			if err := s.fill(); err != nil {
				return p.end(err)
			}
			continue
		}
		if err := p.take(line, next); err != nil {
			return err
		}
	}
}

// swallowLF completes a CRLF. It reads only if it has nothing to look at, so
// that an event whose blank line ends in CR is not held for the byte behind it.
func (p *sse) swallowLF() error {
	if p.line == len(p.src.buf) {
		p.compact()
		if err := p.src.fill(); err != nil {
			return err
		}
	}
	if p.skipLF {
		p.skipLF = false
		if p.src.buf[p.line] == '\n' {
			p.line++
			p.seen = p.line
			return p.swallowLF()
		}
	}
	return nil
}

// compact gives lines that are done with back, unless an event is under way.
func (p *sse) compact() {
	if !p.data {
		p.src.skip(p.line)
		p.seen -= p.line
		p.line = 0
	}
}

// lineStart is the first byte of the line at hand that is not blank.
func (p *sse) lineStart() (byte, bool) {
	for _, c := range p.src.buf[p.line:] {
		if c != ' ' && c != '\t' {
			return c, true
		}
	}
	return 0, false
}

// cut finds the end of the line at hand. next is where the one after it starts.
func (p *sse) cut() (line []byte, next int, ok bool) {
	b := p.src.buf[p.seen:]
	i := bytes.IndexByte(b, '\n')
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.IndexByte(b, '\r'); j >= 0 {
		p.skipLF = true
		i = j
	}
	if i < 0 {
		p.seen = len(p.src.buf)
		return nil, 0, false
	}
	end := p.seen + i
	return p.src.buf[p.line:end], end + 1, true
}

// take works off one line.
func (p *sse) take(line []byte, next int) error {
	if len(line) == 0 {
		p.line, p.seen = next, next
		return p.dispatch()
	}
	if value, ok := bytes.CutPrefix(line, []byte("data")); ok && (len(value) == 0 || value[0] == ':') {
		value = bytes.TrimPrefix(value, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		start := p.line + len(line) - len(value)
		if !p.data {
			p.data, p.from, p.to = true, start, start+len(value)
		} else {
			// Joined in place: what is written never passes what is read.
			p.src.buf[p.to] = ' '
			p.to += 1 + copy(p.src.buf[p.to+1:], value)
		}
	} // else: a comment, or a field that carries no document
	p.line, p.seen = next, next
	p.compact()
	return nil
}

var done = []byte("[DONE]") // how servers of other families end a stream; no document

// dispatch yields the event at hand, if there is one, and forgets its bytes.
func (p *sse) dispatch() error {
	if p.data {
		p.data = false
		doc := bytes.TrimSpace(p.src.buf[p.from:p.to])
		if len(doc) > 0 && !bytes.Equal(doc, done) {
			p.src.n++
			if !p.yield(Event{Data: doc}, nil) {
				return errStopped
			}
		}
	}
	p.compact()
	return nil
}

// raw handles JSON that stands in the stream without "data:". It reports
// whether the body has been read to its end.
func (p *sse) raw(first byte) (bool, error) {
	if err := p.dispatch(); err != nil {
		return false, err
	}
	s := p.src
	if s.n == 0 {
		if _, err := s.skipSpace(); err != nil {
			return false, err // a byte was seen: cannot be the end
		}
		if first == '{' {
			return true, readObject(s, p.yield)
		}
		s.skip(1)
		return true, readElements(s, p.yield)
	}
	return false, p.tail()
}

// tail yields raw JSON behind events, to the end of its last line.
func (p *sse) tail() error {
	s := p.src
	lead := 0
	for isSpace(s.buf[lead]) {
		lead++
	}
	var sc scanner
	end := -1
	for seen := lead; end < 0; {
		if n := sc.scan(s.buf[seen:]); n >= 0 {
			end = seen + n
			break
		}
		seen = len(s.buf)
		if err := s.fill(); err != nil {
			// What came of it is still what the upstream said.
			if !p.yield(Event{Tail: true, Raw: s.buf}, nil) {
				return errStopped
			}
			return unexpected(err)
		}
	}
	stop := end
	for {
		if i := bytes.IndexByte(s.buf[stop:], '\n'); i >= 0 {
			stop += i + 1
			break
		}
		stop = len(s.buf)
		if err := s.fill(); err != nil {
			if s.err == nil {
				return err // the limit
			}
			break // shows again at the next fill
		}
	}
	s.n++
	if !p.yield(Event{Data: s.buf[lead:end], Raw: s.buf[:stop], Tail: true}, nil) {
		return errStopped
	}
	s.skip(stop)
	p.line, p.seen = 0, 0
	return nil
}

// end is called when no more bytes come.
func (p *sse) end(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	if p.line < len(p.src.buf) {
		if e := p.take(p.src.buf[p.line:], len(p.src.buf)); e != nil {
			return e
		}
	}
	if p.data {
		// The blank line is missing. That is common and harmless, but half a
		// document is neither.
		var sc scanner
		doc := bytes.TrimSpace(p.src.buf[p.from:p.to])
		if n := sc.scan(doc); n < 0 && !sc.scalar && len(doc) > 0 {
			return io.ErrUnexpectedEOF
		}
	}
	return p.dispatch()
}
