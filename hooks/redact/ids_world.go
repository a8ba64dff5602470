package redact

import "strings"

func recABA(c *candidate) verdict {
	if strings.IndexByte("0123678", c.id[0]) < 0 || c.num(0, 9) == 0 || c.weighted(3, 7, 1, 3, 7, 1, 3, 7, 1)%10 != 0 {
		return verdict{}
	}
	return checkedIf(c.plain() || c.grouped(4, 4, 1) && c.sep == '-', bareScore)
}

func recSSN(c *candidate) verdict {
	area := c.num(0, 3)
	if area == 0 || area == 666 || area >= 900 || c.num(3, 5) == 0 || c.num(5, 9) == 0 || c.same() {
		return verdict{}
	}
	switch string(c.id[:9]) {
	case "123456789", "078051120", "219099999": // known from books and adverts
		return verdict{}
	}
	switch {
	case c.plain():
		return verdict{bareScore, false}
	case c.grouped(3, 2, 4) && c.sepIn("-. "):
		return verdict{likely, false}
	}
	return weakIf((c.grouped(3, 6) || c.grouped(5, 4)) && c.sep == '-', bareScore)
}

func recITIN(c *candidate) verdict {
	g := c.num(3, 5)
	if c.id[0] != '9' || !(g >= 50 && g <= 65 || g >= 70 && g <= 88 || g >= 90 && g <= 92 || g >= 94) {
		return verdict{}
	}
	if c.grouped(3, 2, 4) && c.sepIn("- ") {
		return verdict{likely, false}
	}
	return weakIf(c.plain() || (c.grouped(3, 6) || c.grouped(5, 4)) && c.sepIn("- "), bareScore)
}

func recUSPassport(c *candidate) verdict {
	if c.allDigits() {
		return weakIf(c.plain(), faint)
	}
	return weakIf(c.plain() && c.fits("A99999999"), bareScore)
}

func recUSBank(c *candidate) verdict { return weakIf(c.plain(), faint) }

func recUSDriver(c *candidate) verdict {
	if !c.plain() || c.lower {
		return verdict{}
	}
	if c.allDigits() {
		return verdict{faint, false}
	}
	letters := 0
	for letters < c.n && isUpper(c.id[letters]) {
		letters++
	}
	if letters == 1 && c.num(1, c.n) >= 0 || letters == 2 && c.num(2, c.n) >= 0 && c.n <= 9 {
		return verdict{bareScore, false}
	}
	return weakIf(c.digits >= 5 && c.n-c.digits <= 5, faint)
}

const mbiLetters = "ACDEFGHJKMNPQRTUVWXY"

func recMBI(c *candidate) verdict {
	if !(c.plain() || c.grouped(4, 3, 4) && c.sep == '-') {
		return verdict{}
	}
	for i, p := range "9A*9A*9AA99" {
		b := c.id[i]
		letter := strings.IndexByte(mbiLetters, b) >= 0
		if p == '9' && !isDigit(b) || p == 'A' && !letter || p == '*' && !letter && !isDigit(b) {
			return verdict{}
		}
	}
	if c.id[0] == '0' {
		return verdict{}
	}
	if c.plain() {
		return verdict{shaped, false}
	}
	return verdict{likely, false}
}

func recNPI(c *candidate) verdict {
	if c.id[0] != '1' && c.id[0] != '2' || c.num(1, 9) == 0 || c.num(0, 9) == 111111111 || c.num(0, 9) == 222222222 {
		return verdict{}
	}
	id := [15]byte{'8', '0', '8', '4', '0'}
	copy(id[5:], c.id[:10])
	if !luhn(id[:]) {
		return verdict{}
	}
	return checkedIf(c.plain() || c.grouped(4, 3, 3) && c.sepIn("- "), bareScore)
}

func recDEA(c *candidate) verdict {
	if !c.plain() || strings.IndexByte("ABCDEFGHJKLMPRSTUX", c.id[0]) < 0 || !isUpper(c.id[1]) && c.id[1] != '9' || c.num(2, 9) < 0 {
		return verdict{}
	}
	s := c.d(2) + c.d(4) + c.d(6) + 2*(c.d(3)+c.d(5)+c.d(7))
	return checkedIf(s%10 == c.d(8), shaped)
}

func recCASIN(c *candidate) verdict {
	if c.id[0] == '0' || c.id[0] == '8' || c.same() || !c.luhn(0, 9) {
		return verdict{}
	}
	if c.plain() {
		return verdict{bareScore, true}
	}
	return checkedIf(c.grouped(3, 3, 3) && c.sepIn("- "), shaped)
}

func recABN(c *candidate) verdict {
	if c.id[0] == '0' || !(c.plain() || c.grouped(2, 3, 3, 3) && c.sep == ' ') {
		return verdict{}
	}
	return checkedIf((c.weighted(10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19)-10)%89 == 0, bareScore)
}

func threes(c *candidate) bool { return c.plain() || c.grouped(3, 3, 3) && c.sep == ' ' }

func recACN(c *candidate) verdict {
	return checkedIf(threes(c) && (10-c.weighted(8, 7, 6, 5, 4, 3, 2, 1)%10)%10 == c.d(8) && !c.same(), bareScore)
}

func recTFN(c *candidate) verdict {
	return checkedIf(threes(c) && c.weighted(1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0 && !c.same(), bareScore)
}

func recMedicareAU(c *candidate) verdict {
	ok := (c.plain() || c.grouped(4, 5, 1) && c.sep == ' ') && c.id[0] >= '2' && c.id[0] <= '6'
	return checkedIf(ok && c.weighted(1, 3, 7, 9, 1, 3, 7, 9)%10 == c.d(8), bareScore)
}

func recAadhaar(c *candidate) verdict {
	if c.id[0] < '2' || !verhoeff(c.id[:12]) || c.same() {
		return verdict{}
	}
	if c.plain() {
		return verdict{bareScore, true}
	}
	return checkedIf(c.grouped(4, 4, 4) && c.sepIn(" -:"), shaped)
}

func recGSTIN(c *candidate) verdict {
	st := c.num(0, 2)
	return weakIf(c.plain() && c.fits("99AAAAA9999A*Z*") && st >= 1 && st <= 37 && c.id[12] != '0', sure)
}

func recPAN(c *candidate) verdict {
	if !c.plain() {
		return verdict{}
	}
	if c.fits("AAAAA9999A") {
		if strings.IndexByte("ABCFGHJLPT", c.id[3]) >= 0 && !c.lower {
			return verdict{likely, false}
		}
		return verdict{shaped, false}
	}
	return weakIf(c.digits >= 3 && isUpper(c.id[0]), faint)
}

func recINPassport(c *candidate) verdict {
	return weakIf(c.plain() && c.fits("A9999999") && c.id[1] != '0' && c.id[7] != '0', bareScore)
}

const indianStates = " AN AP AR AS BH BR CG CH DD DL DN GA GJ HP HR JH JK KA KL LA LD MH ML MN MP MZ NL OD OR PB PY RJ SK TN TR TS UK UP UT WB "

func recINVehicle(c *candidate) verdict {
	if !(c.plain() || c.sepIn(" -")) || c.num(c.n-4, c.n) < 0 {
		return verdict{}
	}
	if c.n == 6 || c.n == 7 { // older and army plates
		for _, b := range c.id[:c.n-4] {
			if !isUpper(b) {
				return verdict{}
			}
		}
		return weakIf(c.plain(), bareScore)
	}
	key := [4]byte{' ', c.id[0], c.id[1], ' '}
	if !strings.Contains(indianStates, string(key[:])) || !isDigit(c.id[2]) {
		return verdict{}
	}
	i := 3
	if isDigit(c.id[i]) {
		i++
	}
	l := c.n - 4 - i
	if l < 1 || l > 3 {
		return verdict{}
	}
	for _, b := range c.id[i : i+l] {
		if !isUpper(b) {
			return verdict{}
		}
	}
	if c.lower {
		return verdict{bareScore, true}
	}
	return verdict{minScore, true}
}

func recVoter(c *candidate) verdict {
	return weakIf(c.plain() && c.fits("AAA9999999"), bareScore)
}

// korean checks the birth date of a 13-digit number and the parts they share.
func korean(c *candidate, first, last byte) verdict {
	if !(c.plain() || c.grouped(6, 7) && c.sep == '-') || c.id[6] < first || c.id[6] > last ||
		!date(0, c.num(2, 4), c.num(4, 6)) || c.num(7, 9) > 95 {
		return verdict{}
	}
	add := 0
	if first == '5' {
		add = 2
	}
	ok := ((11-c.weighted(2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)%11)%10+add)%10 == c.d(12)
	if c.plain() {
		return verdict{bareScore, ok}
	}
	return verdict{likely, ok}
}

func recRRN(c *candidate) verdict { return korean(c, '1', '4') }
func recFRN(c *candidate) verdict { return korean(c, '5', '8') }

func recBRN(c *candidate) verdict {
	if (10-(c.weighted(1, 3, 7, 1, 3, 7, 1, 3, 5)+c.d(8)*5/10)%10)%10 != c.d(9) || c.same() {
		return verdict{}
	}
	if c.plain() {
		return verdict{bareScore, true}
	}
	return checkedIf(c.grouped(3, 2, 5) && c.sep == '-', likely)
}

func recKRDriver(c *candidate) verdict {
	r := c.num(0, 2)
	if r < 11 || r > 28 || r == 27 {
		return verdict{}
	}
	if c.plain() {
		return verdict{faint, false}
	}
	return weakIf(c.grouped(2, 2, 6, 2) && c.sepIn("- "), likely)
}

func recKRPassport(c *candidate) verdict {
	ok := c.plain() && strings.IndexByte("MSRDOG", c.id[0]) >= 0
	return weakIf(ok && (c.fits("A999A9999") || c.fits("A99999999")), bareScore)
}

func recNIN(c *candidate) verdict {
	if !c.plain() || c.same() {
		return verdict{}
	}
	if verhoeff(c.id[:11]) {
		return verdict{bareScore, true}
	}
	return verdict{faint, false}
}

func recNGVehicle(c *candidate) verdict {
	if !c.fits("AAA999AA") || c.lower {
		return verdict{}
	}
	if c.plain() {
		return verdict{shaped, false}
	}
	return weakIf(c.grouped(3, 5) && c.sep == '-', likely)
}

func recPHTIN(c *candidate) verdict {
	switch {
	case c.sep == '-' && (c.grouped(3, 3, 3, 3) || c.grouped(3, 3, 3, 5)):
		return verdict{minScore, false}
	case c.sep == '-' && c.grouped(3, 3, 3):
		return verdict{bareScore, false}
	}
	return weakIf(c.plain() && c.id[0] == '0' && !c.same(), faint)
}

func recNRIC(c *candidate) verdict {
	if !c.plain() || !c.fits("A9999999A") {
		return verdict{}
	}
	letter := c.id[0]
	if strings.IndexByte("STFGM", letter) < 0 {
		return verdict{bareScore, false}
	}
	s := 0
	for i, w := range [...]int{2, 7, 6, 5, 4, 3, 2} {
		s += c.d(i+1) * w
	}
	alphabet := "JZIHGFEDCBA"
	switch letter {
	case 'T', 'G':
		s += 4
	case 'M':
		s += 3
	}
	if letter == 'F' || letter == 'G' {
		alphabet = "XWUTRQPNMLK"
	}
	ok := letter == 'M' && "KLJNPQRTUWX"[10-s%11] == c.id[8] || letter != 'M' && alphabet[s%11] == c.id[8]
	if c.lower {
		return verdict{bareScore, ok}
	}
	return verdict{likely, ok}
}

func recUEN(c *candidate) verdict {
	if !c.plain() || c.lower {
		return verdict{}
	}
	last := c.id[c.n-1]
	switch {
	case c.fits("99999999A"):
		return checkedIf("XMKECAWLJDB"[c.weighted(10, 4, 9, 3, 8, 2, 7, 1)%11] == last, shaped)
	case c.fits("999999999A"):
		y := c.num(0, 4)
		return checkedIf(y > 1900 && y < 2100 && "ZKCMDNERGWH"[c.weighted(10, 8, 6, 4, 9, 7, 5, 3, 1)%11] == last, shaped)
	case c.fits("A99AA9999A") && strings.IndexByte("TRS", c.id[0]) >= 0:
		const alphabet = "ABCDEFGHJKLMNPQRSTUVWX0123456789"
		s := 0
		for i, w := range [...]int{4, 3, 5, 3, 10, 2, 2, 5, 7} {
			s += strings.IndexByte(alphabet, c.id[i]) * w
		}
		return checkedIf(alphabet[((s-5)%11+11)%11] == last, minScore)
	}
	return verdict{}
}

func recTNIN(c *candidate) verdict {
	p := c.num(1, 3) / 10
	if !c.plain() || c.id[0] == '0' || c.id[0] == '9' || p == 0 || !thaiProvince(c.num(1, 3)) {
		return verdict{}
	}
	s := c.weighted(13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)
	return checkedIf((11-s%11)%10 == c.d(12), bareScore)
}

func thaiProvince(p int) bool {
	last := [10]int{-1, 9, 7, 9, 9, 8, 7, 7, 6, 6}
	return p%10 <= last[p/10]
}

func recTRPlate(c *candidate) verdict {
	p := c.num(0, 2)
	if p < 1 || p > 81 || !(c.plain() || c.grouped3(2) && c.sepIn(" -")) {
		return verdict{}
	}
	i := 2
	for i < c.n && isUpper(c.id[i]) {
		i++
	}
	letters, digits := i-2, c.n-i
	if letters < 1 || letters > 3 || digits < 2 || digits > 5 || c.num(i, c.n) < 0 {
		return verdict{}
	}
	if !c.plain() && (int(c.g[1]) != letters || c.ng != 3) {
		return verdict{}
	}
	if letters == 3 && strings.Contains("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC", string(c.id[2:5])) {
		return verdict{}
	}
	return verdict{bareScore, false}
}

func (c *candidate) grouped3(first uint8) bool { return c.ng == 3 && c.g[0] == first }

func recTRNational(c *candidate) verdict {
	if !c.plain() || c.id[0] == '0' {
		return verdict{}
	}
	odd := c.d(0) + c.d(2) + c.d(4) + c.d(6) + c.d(8)
	even := c.d(1) + c.d(3) + c.d(5) + c.d(7)
	ok := ((odd*7-even)%10+10)%10 == c.d(9) && (odd+even+c.d(9))%10 == c.d(10)
	return checkedIf(ok, bareScore)
}

func recZAID(c *candidate) verdict {
	ok := c.plain() && date(0, c.num(2, 4), c.num(4, 6)) && c.id[10] <= '2' && c.luhn(0, 13)
	return checkedIf(ok, bareScore)
}
