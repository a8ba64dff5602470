package stream

// scanner finds the end of one JSON value, fed in pieces. It knows strings,
// escapes and depth; whether the value is valid JSON is for others to say.
type scanner struct {
	depth   int
	started bool
	str     bool // inside a string
	esc     bool // after a backslash inside a string
	scalar  bool // a number or a literal, which ends only where something else begins
}

// scan consumes b. It returns how many bytes of b belong to the value, or -1
// when the value goes on behind b.
func (s *scanner) scan(b []byte) int {
	for i := 0; i < len(b); i++ {
		c := b[i]
		if s.str {
			switch {
			case s.esc:
				s.esc = false
			case c == '\\':
				s.esc = true
			case c == '"':
				s.str = false
				if s.depth == 0 {
					return i + 1
				}
			}
			continue
		}
		switch c {
		case '"':
			if s.scalar {
				return i
			}
			s.str, s.started = true, true
		case '{', '[':
			if s.scalar {
				return i
			}
			s.depth++
			s.started = true
		case '}', ']':
			if s.depth == 0 {
				return i
			}
			if s.depth--; s.depth == 0 {
				return i + 1
			}
		case ',':
			if s.depth == 0 {
				return i
			}
		case ' ', '\t', '\r', '\n':
			if s.depth == 0 && s.started {
				return i
			}
		default:
			if s.depth == 0 {
				s.scalar, s.started = true, true
			}
		}
	}
	return -1
}
