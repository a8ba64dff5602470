package redact

import "strings"

func recDEBSNR(c *candidate) verdict { return weakIf(c.plain() && c.num(0, 2) > 0, bareScore) }

func recDELANR(c *candidate) verdict {
	return checkedIf(c.plain() && c.num(7, 9) > 0 && (10-c.weighted(4, 9, 4, 9, 4, 9)%10)%10 == c.d(6), bareScore)
}

func recDEFuehrerschein(c *candidate) verdict {
	if !c.plain() {
		return verdict{}
	}
	if c.fits("AA99999999*") {
		return weakIf(true, bareScore)
	}
	return weakIf(c.fits("A99******9*") && c.digits >= 5, faint)
}

func recDEHandelsregister(c *candidate) verdict {
	if c.id[0] != 'H' || c.id[1] != 'R' || c.id[2] != 'A' && c.id[2] != 'B' || c.num(3, c.n) <= 0 {
		return verdict{}
	}
	if !(c.plain() || c.ng == 2 && c.g[0] == 3 && c.sep == ' ') {
		return verdict{}
	}
	if c.lower {
		return weakIf(true, bareScore)
	}
	return weakIf(true, likely)
}

// The letter counts as two digits, products count by their cross sums.
func crossSum(digits []int, weights []int) int {
	s := 0
	for i, d := range digits {
		p := d * weights[i]
		s += p/10 + p%10
	}
	return s
}

func recDEHealthInsurance(c *candidate) verdict {
	if !c.plain() || !c.fits("A999999999") {
		return verdict{}
	}
	l := int(c.id[0]-'A') + 1
	ds := []int{l / 10, l % 10}
	for i := 1; i < 9; i++ {
		ds = append(ds, c.d(i))
	}
	return checkedIf(crossSum(ds, []int{1, 2, 1, 2, 1, 2, 1, 2, 1, 2})%10 == c.d(9), shaped)
}

const germanCardLetters = "CFGHJKLMNPRTVWXYZ"

// mrzCheck is the check digit of machine-readable documents (ICAO 9303).
func mrzCheck(id []byte) int {
	s := 0
	for i, b := range id {
		v := int(b - '0')
		if isUpper(b) {
			v = int(b-'A') + 10
		}
		s += v * [3]int{7, 3, 1}[i%3]
	}
	return s % 10
}

func germanCard(c *candidate) bool {
	if !c.plain() || strings.IndexByte(germanCardLetters, c.id[0]) < 0 || !isDigit(c.id[8]) {
		return false
	}
	for _, b := range c.id[1:8] {
		if !isDigit(b) && strings.IndexByte(germanCardLetters, b) < 0 {
			return false
		}
	}
	return mrzCheck(c.id[:8]) == c.d(8)
}

func recDEIDCard(c *candidate) verdict {
	if germanCard(c) {
		return verdict{shaped, true}
	}
	return weakIf(c.plain() && c.fits("T99999999"), bareScore) // before 2010: no check digit
}

func recDEPassport(c *candidate) verdict { return checkedIf(germanCard(c), shaped) }

func recDEKFZ(c *candidate) verdict {
	if c.ng != 3 || c.lower || !(c.sepIn(" -") || c.sep == sepMixed) {
		return verdict{}
	}
	i := int(c.g[0] + c.g[1])
	if c.g[0] > 3 || c.g[1] > 2 || c.g[2] > 5 {
		return verdict{}
	}
	for _, b := range c.id[:i] {
		if !isUpper(b) {
			return verdict{}
		}
	}
	end := c.n
	if l := c.id[end-1]; l == 'E' || l == 'H' {
		end--
	}
	return weakIf(end-i >= 1 && end-i <= 4 && c.num(i, end) > 0 && c.id[i] != '0', shaped)
}

func recDEPLZ(c *candidate) verdict {
	n := c.num(0, 5)
	return weakIf(c.plain() && n > 1000 && n < 99999, faint)
}

func recDESocialSecurity(c *candidate) verdict {
	if !c.fits("99999999A999") || !(c.plain() || c.sep == ' ') {
		return verdict{}
	}
	day, month := c.num(2, 4), c.num(4, 6)
	if day > 50 {
		day -= 50 // several persons share a date and an initial
	}
	if !date(0, month, day) || c.num(0, 2) < 2 {
		return verdict{}
	}
	l := int(c.id[8]-'A') + 1
	ds := make([]int, 0, 12)
	for i := range 8 {
		ds = append(ds, c.d(i))
	}
	ds = append(ds, l/10, l%10, c.d(9), c.d(10))
	return checkedIf(crossSum(ds, []int{2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1})%10 == c.d(11), likely)
}

func recDETaxID(c *candidate) verdict {
	ok := c.plain() || c.grouped(2, 3, 3, 3) && c.sep == ' '
	var n [10]int
	for i := range 10 {
		if n[c.d(i)]++; n[c.d(i)] > 3 || i > 1 && c.id[i] == c.id[i-1] && c.id[i] == c.id[i-2] {
			return verdict{}
		}
	}
	return checkedIf(ok && c.id[0] != '0' && iso7064(c.id[:11]), bareScore)
}

func recDETaxNumber(c *candidate) verdict {
	if c.n == 13 && c.plain() {
		st := c.num(0, 2)
		return weakIf(st >= 1 && st <= 16, bareScore)
	}
	return weakIf(c.sep == '/' && (c.grouped(3, 3, 5) || c.grouped(2, 3, 5) || c.grouped(2, 4, 4) || c.grouped(3, 4, 4)), shaped)
}

func recDEVATID(c *candidate) verdict {
	if !c.fits("DE999999999") || c.ng > 4 || !(c.plain() || c.sepIn(" -.")) || c.ng > 1 && c.g[0] != 2 && c.g[0] != 5 {
		return verdict{}
	}
	if iso7064(c.id[2:11]) && !c.lower {
		return verdict{likely, true}
	}
	return weakIf(true, shaped)
}

const spanishLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

func spanish(c *candidate, number int) verdict {
	if number < 0 || spanishLetters[number%23] != c.id[c.n-1] {
		return verdict{}
	}
	if !(c.plain() || c.ng == 2 && c.sep == '-' && c.g[1] == 1) {
		return verdict{}
	}
	if c.lower {
		return verdict{shaped, true}
	}
	return verdict{likely, true}
}

func recESNIF(c *candidate) verdict {
	if !isUpper(c.id[c.n-1]) {
		return verdict{}
	}
	return spanish(c, c.num(0, c.n-1))
}

func recESNIE(c *candidate) verdict {
	x := c.id[0]
	if x < 'X' || x > 'Z' || !isUpper(c.id[8]) {
		return verdict{}
	}
	n := c.num(1, 8)
	if n < 0 {
		return verdict{}
	}
	return spanish(c, int(x-'X')*10_000_000+n)
}

func recESPassport(c *candidate) verdict {
	return weakIf(c.plain() && c.fits("AAA999999"), bareScore)
}

func recFI(c *candidate) verdict {
	// The century sign is '-', '+' or a letter: 131052-308T, 020594X903P.
	var num, cent int
	switch {
	case c.n == 10 && c.grouped(6, 4) && c.sepIn("-+"):
		cent, num = 0, c.num(6, 9)
	case c.n == 11 && c.plain() && strings.IndexByte("ABCDEFYXWVU", c.id[6]) >= 0:
		cent, num = 1, c.num(7, 10)
	default:
		return verdict{}
	}
	day := c.num(0, 6)
	if day < 0 || num < 2 || !date(c.num(4, 6), c.num(2, 4), c.num(0, 2)) {
		return verdict{}
	}
	want := "0123456789ABCDEFHJKLMNPRSTUVWXY"[(day*1000+num)%31]
	return checkedIf(c.id[9+cent] == want, likely)
}

func recITDriver(c *candidate) verdict {
	if !c.plain() {
		return verdict{}
	}
	if c.fits("AA9999999A") {
		return weakIf(true, bareScore)
	}
	return weakIf(c.fits("U1*******A") && c.digits >= 3, bareScore)
}

func recITFiscal(c *candidate) verdict {
	if !c.plain() || !isUpper(c.id[15]) || !isUpper(c.id[11]) || strings.IndexByte("ABCDEHLMPRST", c.id[8]) < 0 {
		return verdict{}
	}
	for _, b := range c.id[:6] {
		if !isUpper(b) {
			return verdict{}
		}
	}
	for _, i := range [...]int{6, 7, 9, 10, 12, 13, 14} { // letters replace digits of namesakes
		if b := c.id[i]; !isDigit(b) && strings.IndexByte("LMNPQRSTUV", b) < 0 {
			return verdict{}
		}
	}
	return weakIf(c.digits >= 3, likely)
}

func recITIdentityCard(c *candidate) verdict {
	if c.fits("AA9999999") && (c.plain() || c.grouped(2, 7) && c.sep == ' ') {
		return weakIf(true, bareScore)
	}
	return weakIf(c.plain() && (c.fits("9999999AA") || c.fits("AA99999AA")), bareScore)
}

func recITPassport(c *candidate) verdict {
	return weakIf(c.plain() && c.fits("AA9999999"), bareScore)
}

func recITVAT(c *candidate) verdict {
	return checkedIf(c.plain() && c.num(0, 7) > 0 && c.luhn(0, 11), bareScore)
}

func recPLPESEL(c *candidate) verdict {
	m := c.num(2, 4) % 20 // the century is in the month
	return checkedIf(c.plain() && date(0, m, c.num(4, 6)) && (10-c.weighted(1, 3, 7, 9, 1, 3, 7, 9, 1, 3)%10)%10 == c.d(10), bareScore)
}

func recSEOrganisation(c *candidate) verdict {
	if c.id[2] < '2' || !c.luhn(0, 10) {
		return verdict{}
	}
	if c.plain() {
		return verdict{bareScore, true}
	}
	return checkedIf(c.grouped(6, 4) && c.sep == '-', shaped)
}

func recSEPersonnummer(c *candidate) verdict {
	o := c.n - 10
	if o == 2 && (c.num(0, 2) < 18 || c.num(0, 2) > 20) || o != 0 && o != 2 {
		return verdict{}
	}
	day := c.num(o+4, o+6)
	if day > 60 {
		day -= 60 // a coordination number
	}
	if !date(0, c.num(o+2, o+4), day) || !c.luhn(o, c.n) {
		return verdict{}
	}
	switch {
	case c.plain() && o == 0:
		return verdict{bareScore, true}
	case c.plain():
		return verdict{shaped, true}
	case c.ng == 2 && c.g[1] == 4 && c.sepIn("-+"):
		return verdict{shaped, true}
	}
	return verdict{}
}

func recUKDriving(c *candidate) verdict {
	if !c.plain() || c.num(5, 11) < 0 || !isUpper(c.id[14]) || !isUpper(c.id[15]) || !isUpper(c.id[0]) {
		return verdict{}
	}
	pad := false // a short surname is filled with nines
	for _, b := range c.id[:5] {
		if pad = pad || b == '9'; !isUpper(b) && b != '9' || pad && b != '9' {
			return verdict{}
		}
	}
	if c.id[6] != '0' && c.id[6] != '1' && c.id[6] != '5' && c.id[6] != '6' {
		return verdict{}
	}
	return weakIf(date(0, c.num(6, 8)%50, c.num(8, 10)), likely)
}

func recUKNHS(c *candidate) verdict {
	s := c.weighted(10, 9, 8, 7, 6, 5, 4, 3, 2)
	if (11-s%11)%11 != c.d(9) || c.same() {
		return verdict{}
	}
	if c.plain() {
		return verdict{bareScore, true}
	}
	return checkedIf(c.grouped(3, 3, 4) && c.sepIn(" -"), shaped)
}

func recUKNINO(c *candidate) verdict {
	if !c.fits("AA999999A") || !(c.plain() || c.sep == ' ' || c.sep == '-') || c.id[8] > 'D' {
		return verdict{}
	}
	if strings.IndexByte("DFIQUV", c.id[0]) >= 0 || strings.IndexByte("DFIOQUV", c.id[1]) >= 0 {
		return verdict{}
	}
	switch string(c.id[:2]) {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return verdict{}
	}
	return weakIf(true, likely)
}

func recUKPassport(c *candidate) verdict {
	if c.allDigits() {
		return weakIf(c.plain(), faint)
	}
	return weakIf(c.plain() && c.fits("AA9999999"), bareScore)
}

const ukAreas = " AB AL B BA BB BD BH BL BN BR BS BT CA CB CF CH CM CO CR CT CV CW DA DD DE DG DH DL DN DT DY E EC EH EN EX FK FY G GL GU GY HA HD HG HP HR HS HU HX IG IM IP IV JE KA KT KW KY L LA LD LE LL LN LS LU M ME MK ML N NE NG NN NP NR NW OL OX PA PE PH PL PO PR RG RH RM S SA SE SG SK SL SM SN SO SP SR SS ST SW SY TA TD TF TN TQ TR TS TW UB W WA WC WD WF WN WR WS WV YO ZE "

func recUKPostcode(c *candidate) verdict {
	if !(c.plain() || c.ng == 2 && c.g[1] == 3 && c.sep == ' ') {
		return verdict{}
	}
	out, in := c.id[:c.n-3], c.id[c.n-3:c.n]
	if !isDigit(in[0]) || strings.IndexByte("ABDEFGHJLNPQRSTUWXYZ", in[1]) < 0 || strings.IndexByte("ABDEFGHJLNPQRSTUWXYZ", in[2]) < 0 {
		return verdict{}
	}
	l := 0
	for l < len(out) && isUpper(out[l]) {
		l++
	}
	var key [4]byte
	copy(key[1:], out[:min(l, 2)])
	key[0], key[1+min(l, 2)] = ' ', ' '
	rest := out[l:]
	ok := l <= 2 && l > 0 && strings.Contains(ukAreas, string(key[:2+l])) &&
		(len(rest) == 1 || len(rest) == 2 && (isDigit(rest[1]) || strings.IndexByte("ABCDEFGHJKPSTUW", rest[1]) >= 0)) || string(out) == "GIR"
	if !ok || len(rest) > 0 && !isDigit(rest[0]) {
		return verdict{}
	}
	if !c.plain() && !c.lower {
		return verdict{minScore, false}
	}
	return verdict{bareScore, false}
}

func ukPlateLetters(id []byte, more string) bool {
	for _, b := range id {
		if !isUpper(b) || b == 'I' || b == 'Q' || strings.IndexByte(more, b) >= 0 {
			return false
		}
	}
	return true
}

func recUKVehicle(c *candidate) verdict {
	if !(c.plain() || c.ng == 2 && c.sepIn(" -")) {
		return verdict{}
	}
	split := func(n int) bool { return c.plain() || int(c.g[0]) == n }
	if c.n == 7 && c.num(2, 4) >= 0 && split(4) && ukPlateLetters(c.id[:2], "Z") && ukPlateLetters(c.id[4:7], "") {
		age := c.num(2, 4)
		if age >= 2 && age <= 29 || age >= 51 && age <= 79 {
			if c.lower {
				return verdict{bareScore, true}
			}
			return verdict{minScore, true}
		}
		return verdict{}
	}
	// 1983 to 2001, a letter first; 1963 to 1982, a letter last.
	if d := c.n - 4; d >= 1 && d <= 3 && c.num(1, 1+d) > 0 && c.id[1] != '0' && split(1+d) &&
		ukPlateLetters(c.id[:1], "OUZ") && ukPlateLetters(c.id[1+d:c.n], "") {
		return verdict{bareScore, false}
	}
	d := c.n - 4
	return weakIf(d >= 1 && d <= 3 && c.num(3, 3+d) > 0 && c.id[3] != '0' && split(3) &&
		ukPlateLetters(c.id[:3], "") && ukPlateLetters(c.id[c.n-1:c.n], "OUZ"), bareScore)
}
