package stream

import (
	"errors"
	"fmt"
	"io"
)

// readArray cuts a JSON array into its elements.
func readArray(s *source, yield func(Event, error) bool) error {
	s.skipBOM()
	c, err := s.skipSpace()
	if err != nil {
		return unexpected(err)
	}
	if c == '{' {
		return readObject(s, yield)
	}
	if c != '[' {
		return fmt.Errorf("a JSON array was expected, the body starts with %q: %w", c, ErrSyntax)
	}
	s.skip(1)
	return readElements(s, yield)
}

// readElements goes on behind the "[".
func readElements(s *source, yield func(Event, error) bool) error {
	for first := true; ; first = false {
		c, err := s.skipSpace()
		if err != nil {
			return unexpected(err)
		}
		if !first && c == ',' {
			s.skip(1)
			if c, err = s.skipSpace(); err != nil {
				return unexpected(err)
			}
		} else if !first && c != ']' {
			return fmt.Errorf("after element %d: %q instead of a comma or a bracket: %w", s.n, c, ErrSyntax)
		}
		if c == ']' {
			s.skip(1)
			return readEnd(s)
		}
		n, err := s.value()
		if err != nil {
			return unexpected(err)
		}
		if n == 0 {
			return fmt.Errorf("after element %d: %q starts no JSON value: %w", s.n, c, ErrSyntax)
		}
		s.n++
		if !yield(Event{Data: s.buf[:n]}, nil) {
			return errStopped
		}
		s.skip(n)
	}
}

// readObject reads a document that stands where a stream was expected.
func readObject(s *source, yield func(Event, error) bool) error {
	n, err := s.value()
	if err != nil {
		return unexpected(err)
	}
	s.n++
	if !yield(Event{Data: s.buf[:n]}, nil) {
		return errStopped
	}
	s.skip(n)
	return readEnd(s)
}

// readEnd makes sure that nothing but white space follows.
func readEnd(s *source) error {
	c, err := s.skipSpace()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("%q after the end of the JSON body: %w", c, ErrSyntax)
}

// unexpected makes the end of input an error where more had to come.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
