package redact

// recogniser looks at candidates of min to max characters.
type recogniser struct {
	kind     entity
	min, max int
	in       uint8 // digits, mixed or both
	match    func(*candidate) verdict
}

const (
	onlyDigits uint8 = 1
	mixed      uint8 = 2
)

var recognisers = []recogniser{
	{creditCard, 12, 19, onlyDigits, recCard},
	{ibanCode, 15, maxIDLen, mixed, recIBAN},
	{usSSN, 9, 9, onlyDigits, recSSN},
	{usITIN, 9, 9, onlyDigits, recITIN},
	{abaRouting, 9, 9, onlyDigits, recABA},
	{usPassport, 9, 9, onlyDigits | mixed, recUSPassport},
	{usBankNumber, 8, 17, onlyDigits, recUSBank},
	{usDriverLicense, 6, 14, onlyDigits | mixed, recUSDriver},
	{usMBI, 11, 11, mixed, recMBI},
	{usNPI, 10, 10, onlyDigits, recNPI},
	{medicalLicense, 9, 9, mixed, recDEA},
	{caSIN, 9, 9, onlyDigits, recCASIN},
	{auABN, 11, 11, onlyDigits, recABN},
	{auACN, 9, 9, onlyDigits, recACN},
	{auTFN, 9, 9, onlyDigits, recTFN},
	{auMedicare, 10, 10, onlyDigits, recMedicareAU},
	{inAadhaar, 12, 12, onlyDigits, recAadhaar},
	{inGSTIN, 15, 15, mixed, recGSTIN},
	{inPAN, 10, 10, mixed, recPAN},
	{inPassport, 8, 8, mixed, recINPassport},
	{inVehicle, 6, 11, mixed, recINVehicle},
	{inVoter, 10, 10, mixed, recVoter},
	{krRRN, 13, 13, onlyDigits, recRRN},
	{krFRN, 13, 13, onlyDigits, recFRN},
	{krBRN, 10, 10, onlyDigits, recBRN},
	{krDriverLicense, 12, 12, onlyDigits, recKRDriver},
	{krPassport, 9, 9, mixed, recKRPassport},
	{ngNIN, 11, 11, onlyDigits, recNIN},
	{ngVehicle, 8, 8, mixed, recNGVehicle},
	{phTIN, 9, 9, onlyDigits, recPHTIN},
	{phTIN, 12, 12, onlyDigits, recPHTIN},
	{phTIN, 14, 14, onlyDigits, recPHTIN},
	{sgNRIC, 9, 9, mixed, recNRIC},
	{sgUEN, 9, 10, mixed, recUEN},
	{thTNIN, 13, 13, onlyDigits, recTNIN},
	{trLicensePlate, 5, 10, mixed, recTRPlate},
	{trNationalID, 11, 11, onlyDigits, recTRNational},
	{zaID, 13, 13, onlyDigits, recZAID},
	{deBSNR, 9, 9, onlyDigits, recDEBSNR},
	{deLANR, 9, 9, onlyDigits, recDELANR},
	{deFuehrerschein, 11, 11, mixed, recDEFuehrerschein},
	{deHandelsregister, 4, 9, mixed, recDEHandelsregister},
	{deHealthInsurance, 10, 10, mixed, recDEHealthInsurance},
	{deIDCard, 9, 9, mixed, recDEIDCard},
	{dePassport, 9, 9, mixed, recDEPassport},
	{deKFZ, 3, 9, mixed, recDEKFZ},
	{dePLZ, 5, 5, onlyDigits, recDEPLZ},
	{deSocialSecurity, 12, 12, mixed, recDESocialSecurity},
	{deTaxID, 11, 11, onlyDigits, recDETaxID},
	{deTaxNumber, 10, 11, onlyDigits, recDETaxNumber},
	{deTaxNumber, 13, 13, onlyDigits, recDETaxNumber},
	{deVATID, 11, 11, mixed, recDEVATID},
	{esNIF, 8, 9, mixed, recESNIF},
	{esNIE, 9, 9, mixed, recESNIE},
	{esPassport, 9, 9, mixed, recESPassport},
	{fiPersonalIdentityCode, 10, 11, onlyDigits | mixed, recFI},
	{itDriverLicense, 10, 10, mixed, recITDriver},
	{itFiscalCode, 16, 16, mixed, recITFiscal},
	{itIdentityCard, 9, 9, mixed, recITIdentityCard},
	{itPassport, 9, 9, mixed, recITPassport},
	{itVATCode, 11, 11, onlyDigits, recITVAT},
	{plPESEL, 11, 11, onlyDigits, recPLPESEL},
	{seOrganisation, 10, 10, onlyDigits, recSEOrganisation},
	{sePersonnummer, 10, 12, onlyDigits, recSEPersonnummer},
	{ukDrivingLicence, 16, 16, mixed, recUKDriving},
	{ukNHS, 10, 10, onlyDigits, recUKNHS},
	{ukNINO, 9, 9, mixed, recUKNINO},
	{ukPassport, 9, 9, onlyDigits | mixed, recUKPassport},
	{ukPostcode, 5, 7, mixed, recUKPostcode},
	{ukVehicle, 5, 7, mixed, recUKVehicle},
}

// recogniserTable has the recognisers by length, for digits and for mixed
// candidates, that an engine's choice of entities leaves.
type recogniserTable [2][maxIDLen + 1][]*recogniser

func newRecogniserTable(on func(entity) bool) *recogniserTable {
	var t recogniserTable
	for i := range recognisers {
		r := &recognisers[i]
		if !on(r.kind) {
			continue
		}
		for n := r.min; n <= r.max; n++ {
			if r.in&onlyDigits != 0 {
				t[0][n] = append(t[0][n], r)
			}
			if r.in&mixed != 0 {
				t[1][n] = append(t[1][n], r)
			}
		}
	}
	return &t
}

// groupsOf splits b[a:e] into groups, re-using g.
func groupsOf(b []byte, a, e int, g []group) []group {
	for i := a; i < e; {
		if class[b[i]]&(cAlnum|cUnder|cHigh) == 0 || noBreak(b, i+1) {
			i++
			continue
		}
		w := group{s: i}
		for ; i < e; i++ {
			k := class[b[i]]
			if k&(cAlnum|cUnder|cHigh) == 0 {
				break
			}
			if k&cDigit != 0 {
				w.digits++
			}
			w.other = w.other || k&(cUnder|cHigh) != 0
		}
		w.e = i
		g = append(g, w)
	}
	return g
}

// identifiers runs the recognisers over all candidates of the groups of
// b[a:e].
func (m *scanner) identifiers(e int) {
	for i := range m.groups {
		g := &m.groups[i]
		if g.other || g.e-g.s > maxIDLen {
			continue
		}
		m.from(i, e)
		if g.digits > 0 && isLetter(m.b[g.s]) {
			m.glued(g)
		}
	}
}

// from tries the candidates that start with group i.
func (m *scanner) from(i, end int) {
	c := &m.cand
	*c = candidate{s: m.groups[i].s}
	if !m.leftFree(c.s) {
		return
	}
	for j := i; j < len(m.groups) && c.ng < maxGroups; j++ {
		g := &m.groups[j]
		if j > i {
			if g.other {
				return
			}
			sep := m.b[c.e]
			if g.s == c.e+2 && noBreak(m.b, g.s) {
				sep = ' '
			} else if g.s != c.e+1 {
				return
			}
			if sep != ' ' && class[sep]&(cDash|cDot|cSlash|cColon|cPlus) == 0 {
				return
			}
			if c.sep == 0 {
				c.sep = sep
			} else if c.sep != sep {
				c.sep = sepMixed
			}
		}
		if c.n+g.e-g.s > maxIDLen {
			return
		}
		for k := g.s; k < g.e; k++ {
			b := m.b[k]
			if isLower(b) {
				c.lower = true
				b -= 32
			}
			c.id[c.n] = b
			c.n++
		}
		c.digits += g.digits
		c.g[c.ng] = uint8(g.e - g.s)
		c.ng++
		c.e = g.e
		if c.digits == 0 || c.n < 3 {
			continue
		}
		kind := 1
		if c.digits == c.n {
			kind = 0
		}
		list := m.e.recs[kind][c.n]
		if len(list) == 0 || !m.rightFree(c.e, end) {
			continue
		}
		for _, r := range list {
			if v := r.match(c); v.score > 0 {
				m.judge(r.kind, c.s, c.e, v)
			}
		}
	}
}

// glued tries the Finnish and Swedish numbers that follow a letter directly.
func (m *scanner) glued(g *group) {
	i := g.s
	for i < g.e && isLetter(m.b[i]) {
		i++
	}
	if n := g.e - i; n != 11 && n != 12 || !m.rightFree(g.e, g.e) {
		return
	}
	c := &m.cand
	*c = candidate{s: i, e: g.e, ng: 1, digits: g.digits}
	for _, b := range m.b[i:g.e] {
		c.lower = c.lower || isLower(b)
		c.id[c.n] = toUpper(b)
		c.n++
	}
	c.g[0] = uint8(c.n)
	if m.e.on[fiPersonalIdentityCode] && c.n == 11 && c.digits < 11 {
		if v := recFI(c); v.score > 0 {
			m.judge(fiPersonalIdentityCode, c.s, c.e, v)
		}
	}
	if m.e.on[sePersonnummer] && c.n == 12 && c.digits == 12 {
		if v := recSEPersonnummer(c); v.score > 0 {
			m.judge(sePersonnummer, c.s, c.e, v)
		}
	}
}

// leftFree reports whether an identifier may start at i: what stands before
// it is no part of a longer number, path, version or word.
func (m *scanner) leftFree(i int) bool {
	if i <= m.floor || escaped(m.b, i) {
		return true
	}
	switch p := m.b[i-1]; {
	case p == '\\':
		return !isLetter(m.b[i]) // "\U00002557"
	case p == '-' || p == '+' || p == '.':
		// "ID-123" is a label; "--123" and "1-123" are not.
		return i-2 >= m.floor && isLetter(m.b[i-2]) && p == '-' && !isDigit(m.b[max(i-4, m.floor)])
	case p == '/' || p == '@' || p == '$' || p == '%' || p == '_' || p == '^' || p == '&':
		return false
	case p >= 0x80:
		return noBreak(m.b, i) || !letterBefore(m.b[m.floor:i])
	}
	return !isAlnum(m.b[i-1])
}

// rightFree reports whether an identifier may end before i; end is the end of
// the segment, past which only the byte that ended it is known.
func (m *scanner) rightFree(i, end int) bool {
	if i >= len(m.b) {
		return true
	}
	switch p := m.b[i]; {
	case p == '.' || p == ':':
		return i+1 >= end || !isAlnum(m.b[i+1])
	case p == '-' || p == '/' || p == '+' || p == '%' || p == '@' || p == '_' || p == '=' || p == '(' || p == '^':
		return false
	case p >= 0x80:
		return i >= end || !accented(m.b[i:end])
	}
	return !isAlnum(m.b[i])
}

// letterBefore reports whether b ends in a letter of an alphabet with spaces
// between words (in others, a number may follow a letter directly).
func letterBefore(b []byte) bool {
	if len(b) < 2 {
		return true
	}
	lead := b[len(b)-2]
	return lead >= 0xc3 && lead <= 0xdb // Latin with accents, Greek, Cyrillic, Armenian, Hebrew, Arabic
}

func accented(b []byte) bool { return b[0] >= 0xc3 && b[0] <= 0xdb }

// judge turns a verdict into a span, if its context allows.
func (m *scanner) judge(k entity, s, e int, v verdict) {
	score := v.score
	switch {
	case m.near(k, s, e):
		score = max(score+0.35, minScore)
	case m.bare && score >= bareScore:
		score = max(score, minScore)
	}
	if score < m.e.threshold {
		if score >= bareScore && len(m.waits) < maxWaits {
			m.waits = append(m.waits, wait{k, s, e, v})
		}
		return
	}
	m.add(v.match(k, s, e, score))
}

func (v verdict) match(k entity, s, e int, score float32) found {
	if v.checked {
		score = 1
	}
	return found{s: s, e: e, kind: int32(k), score: min(score, 1)}
}
