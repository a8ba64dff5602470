package redact

// group is a maximal run of letters, digits and underscores in a segment.
type group struct {
	s, e   int
	digits int
	other  bool // has an underscore or an accented letter: no identifier
}

// candidate is one or more groups with single separators between them, read
// as one identifier.
type candidate struct {
	s, e   int // offsets in the scanned text
	n      int // letters and digits
	digits int
	lower  bool     // has a lower-case letter
	id     [40]byte // letters in upper case and digits, no separators
	ng     int
	g      [12]uint8 // lengths of the groups
	sep    byte      // the separator, 0 for none, sepMixed for several kinds
}

const (
	sepMixed  = 1
	maxIDLen  = 34 // of an IBAN with all its letters
	maxGroups = 12
)

// verdict is what a recogniser says: the score before context, and whether
// check digits confirmed it. The zero value is no match.
type verdict struct {
	score   float32
	checked bool
}

// Scores before context. A match below minScore needs a context word near it;
// one of bareScore and above is also taken when it is all there is.
const (
	faint     = 0.05 // a shape that many other things have
	bareScore = 0.2
	shaped    = 0.3 // a shape few other things have, or check digits
	likely    = 0.5
	sure      = 0.85
	minScore  = 0.4
)

func weakIf(ok bool, s float32) verdict {
	if !ok {
		return verdict{}
	}
	return verdict{s, false}
}

func checkedIf(ok bool, s float32) verdict {
	if !ok {
		return verdict{}
	}
	return verdict{s, true}
}

// grouped reports whether the groups have these lengths.
func (c *candidate) grouped(lens ...uint8) bool {
	if c.ng != len(lens) {
		return false
	}
	for i, l := range lens {
		if c.g[i] != l {
			return false
		}
	}
	return true
}

func (c *candidate) sepIn(seps string) bool {
	for i := range len(seps) {
		if c.sep == seps[i] {
			return true
		}
	}
	return false
}

// plain reports one group, formatted one of the usual groupings.
func (c *candidate) plain() bool { return c.ng == 1 }

// num reads digits [i,j) as a number; -1 if one is a letter.
func (c *candidate) num(i, j int) int {
	v := 0
	for ; i < j; i++ {
		d := c.id[i] - '0'
		if d > 9 {
			return -1
		}
		v = v*10 + int(d)
	}
	return v
}

// d is the digit at i (undefined for a letter).
func (c *candidate) d(i int) int { return int(c.id[i] - '0') }

// fits matches the identifier against a pattern of classes: '9' a digit,
// 'A' a letter, '*' either, any other byte itself.
func (c *candidate) fits(pattern string) bool {
	if len(pattern) != c.n {
		return false
	}
	for i := range len(pattern) {
		b := c.id[i]
		switch p := pattern[i]; p {
		case '9':
			if !isDigit(b) {
				return false
			}
		case 'A':
			if !isUpper(b) {
				return false
			}
		case '*':
		default:
			if b != p {
				return false
			}
		}
	}
	return true
}

func (c *candidate) allDigits() bool { return c.digits == c.n }

// same reports whether all characters are one and the same.
func (c *candidate) same() bool {
	for i := 1; i < c.n; i++ {
		if c.id[i] != c.id[0] {
			return false
		}
	}
	return true
}

// weighted is the sum of the first len(w) digits times their weights.
func (c *candidate) weighted(w ...int) int {
	s := 0
	for i, x := range w {
		s += c.d(i) * x
	}
	return s
}

// luhn checks digits [i,j) by the Luhn formula.
func (c *candidate) luhn(i, j int) bool { return luhn(c.id[i:j]) }

func luhn(id []byte) bool {
	s, double := 0, false
	for k := len(id) - 1; k >= 0; k-- {
		d := int(id[k] - '0')
		if d < 0 || d > 9 {
			return false
		}
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		s += d
		double = !double
	}
	return s%10 == 0
}

// iso7064 checks an ISO 7064 MOD 11,10 number: the last digit is the check.
func iso7064(id []byte) bool {
	p := 10
	for _, b := range id[:len(id)-1] {
		s := (int(b-'0') + p) % 10
		if s == 0 {
			s = 10
		}
		p = s * 2 % 11
	}
	return (11-p)%10 == int(id[len(id)-1]-'0')
}

var (
	verhoeffD = [10][10]uint8{
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 3, 4, 0, 6, 7, 8, 9, 5}, {2, 3, 4, 0, 1, 7, 8, 9, 5, 6},
		{3, 4, 0, 1, 2, 8, 9, 5, 6, 7}, {4, 0, 1, 2, 3, 9, 5, 6, 7, 8}, {5, 9, 8, 7, 6, 0, 4, 3, 2, 1},
		{6, 5, 9, 8, 7, 1, 0, 4, 3, 2}, {7, 6, 5, 9, 8, 2, 1, 0, 4, 3}, {8, 7, 6, 5, 9, 3, 2, 1, 0, 4},
		{9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
	}
	verhoeffP = [8][10]uint8{
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 5, 7, 6, 2, 8, 3, 0, 9, 4}, {5, 8, 0, 3, 7, 9, 6, 1, 4, 2},
		{8, 9, 1, 6, 0, 4, 3, 5, 2, 7}, {9, 4, 5, 3, 1, 2, 6, 8, 7, 0}, {4, 2, 8, 6, 5, 7, 3, 9, 0, 1},
		{2, 7, 9, 3, 8, 0, 6, 4, 1, 5}, {7, 0, 4, 6, 9, 1, 3, 2, 5, 8},
	}
)

func verhoeff(id []byte) bool {
	c := uint8(0)
	for i := range id {
		c = verhoeffD[c][verhoeffP[i%8][id[len(id)-1-i]-'0']]
	}
	return c == 0
}

// date reports whether day and month can be; year 0 stands for a leap year.
func date(y, m, d int) bool {
	if m < 1 || m > 12 || d < 1 {
		return false
	}
	days := [...]int{31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
	if m == 2 && y%4 != 0 {
		days = 28
	}
	return d <= days
}
