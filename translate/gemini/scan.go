package gemini

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/hookline-proxy/hookline/translate"
)

// maxDepth is how deep objects and arrays may be nested. Google's own parser
// gives up at about 100.
const maxDepth = 500

// SyntaxError says where a body stops being the JSON that is expected.
type SyntaxError struct {
	Offset int // bytes from the start of the body
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not valid JSON at byte %d: %s", e.Offset, e.Reason)
}

// span is a half-open range of bytes; the zero value means absent.
type span struct{ start, end int }

func (s span) ok() bool             { return s.end > s.start }
func (s span) of(b []byte) []byte   { return b[s.start:s.end:s.end] }
func (s span) shift(delta int) span { return span{s.start + delta, s.end + delta} }

// scanner reads JSON once, front to back. Its callers say which objects they
// know; everything else is skipped and validated on the way.
type scanner struct {
	b     []byte
	i     int
	depth int

	key span // the name of the member that is being read, quotes included

	arena []translate.Part // backing of the parts of all turns or candidates

	snake   bool // the first telling name was snake_case
	spelled bool // a telling name was seen
}

func (s *scanner) fail(reason string) error {
	return &SyntaxError{Offset: s.i, Reason: reason}
}

// open skips what may stand before a document: a byte order mark and space.
func (s *scanner) open() {
	if len(s.b) >= 3 && s.b[0] == 0xEF && s.b[1] == 0xBB && s.b[2] == 0xBF {
		s.i = 3
	}
	s.space()
}

// done checks that only space follows.
func (s *scanner) done() error {
	s.space()
	if s.i != len(s.b) {
		return s.fail("more bytes after the end of the document")
	}
	return nil
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return
		}
	}
}

// peek is the next byte, 0 at the end.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// str skips a string, eight bytes at a time: histories are mostly long strings.
func (s *scanner) str() error {
	b, i := s.b, s.i+1
	for {
		for i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			q, e := w^(ones*'"'), w^(ones*'\\')
			// The lowest set high bit is the first quote, backslash or
			// control character; higher ones may be false.
			m := ((q-ones)&^q | (e-ones)&^e | (w-ones*0x20)&^w) & highs
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			i++
		}
		s.i = i
		switch {
		case i >= len(b):
			return s.fail("a string does not end")
		case b[i] == '"':
			s.i = i + 1
			return nil
		case b[i] < 0x20:
			return s.fail("a control character in a string")
		}
		n, ok := escapeLen(b[i:])
		if !ok {
			return s.fail("an unknown escape in a string")
		}
		i += n
	}
}

// escapeLen is the length of the escape at the start of b.
func escapeLen(b []byte) (int, bool) {
	if len(b) < 2 {
		return 0, false
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, true
	case 'u':
		if len(b) < 6 {
			return 0, false
		}
		for _, c := range b[2:6] {
			if hexValue(c) < 0 {
				return 0, false
			}
		}
		return 6, true
	}
	return 0, false
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// skip passes over the value at the cursor.
func (s *scanner) skip() error {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{':
		return s.object(func([]byte) error { return s.skip() })
	case '[':
		return s.array(func() error { return s.skip() })
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return s.number()
		}
		if s.i >= len(s.b) {
			return s.fail("the document ends too early")
		}
		return s.fail("a value is expected")
	}
}

// value passes over the value at the cursor and returns its bytes.
func (s *scanner) value() ([]byte, error) {
	start := s.i
	err := s.skip()
	return s.b[start:s.i:s.i], err
}

func (s *scanner) word(w string) error {
	if len(s.b)-s.i < len(w) || string(s.b[s.i:s.i+len(w)]) != w {
		return s.fail("a value is expected")
	}
	s.i += len(w)
	return nil
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() error {
	if s.peek() == '-' {
		s.i++
	}
	if s.peek() == '0' {
		s.i++
	} else if !s.digits() {
		return s.fail("a number has no digits")
	}
	if s.peek() == '.' {
		s.i++
		if !s.digits() {
			return s.fail("a number has no digits after its point")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.i++
		if c := s.peek(); c == '+' || c == '-' {
			s.i++
		}
		if !s.digits() {
			return s.fail("a number has no digits in its exponent")
		}
	}
	return nil
}

// object reads the object at the cursor. member is called with the cursor at
// each value and must pass over it. Keys come without quotes, escapes resolved.
func (s *scanner) object(member func(key []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.space()
	if s.peek() == '}' {
		s.i++
		s.depth--
		return nil
	}
	for {
		if s.peek() != '"' {
			return s.fail("a member name is expected")
		}
		start := s.i
		if err := s.str(); err != nil {
			return err
		}
		key, at := s.b[start+1:s.i-1], span{start, s.i}
		s.space()
		if s.peek() != ':' {
			return s.fail("':' is expected")
		}
		s.i++
		s.space()
		s.key = at
		if err := member(plainKey(key)); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case '}':
			s.i++
			s.depth--
			return nil
		default:
			return s.fail("',' or '}' is expected")
		}
	}
}

// array reads the array at the cursor. element is called with the cursor at
// each element and must pass over it.
func (s *scanner) array(element func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	s.space()
	if s.peek() == ']' {
		s.i++
		s.depth--
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		s.space()
		switch s.peek() {
		case ',':
			s.i++
			s.space()
		case ']':
			s.i++
			s.depth--
			return nil
		default:
			return s.fail("',' or ']' is expected")
		}
	}
}

func (s *scanner) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return s.fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	s.i++
	return nil
}

// spell takes note of how a name of more than one word is spelled.
func (s *scanner) spell(snake bool) {
	if !s.spelled {
		s.spelled, s.snake = true, snake
	}
}

// spellKey does so for any name; one-word names tell nothing.
func (s *scanner) spellKey(key []byte) {
	if s.spelled {
		return
	}
	for _, c := range key {
		if c == '_' || c >= 'A' && c <= 'Z' {
			s.spell(c == '_')
			return
		}
	}
}
