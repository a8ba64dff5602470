package redact

import "strings"

// cardLengths gives the lengths that a card number with this prefix can have
// as a bit set (bit n: n digits), 0 for prefixes that no scheme issues.
func cardLengths(c *candidate) uint32 {
	const l12to19 = 1<<20 - 1<<12
	const l16to19 = 1<<20 - 1<<16
	p2, p3, p4 := c.num(0, 2), c.num(0, 3), c.num(0, 4)
	switch {
	case c.id[0] == '4': // Visa
		return 1<<13 | 1<<16 | 1<<19
	case p2 >= 51 && p2 <= 55, p4 >= 2221 && p4 <= 2720: // Mastercard
		return 1 << 16
	case p2 == 34, p2 == 37: // American Express
		return 1 << 15
	case p3 >= 300 && p3 <= 305, p4 == 3095, p2 == 36, p2 == 38, p2 == 39: // Diners Club
		return 1<<14 | l16to19
	case p4 >= 3528 && p4 <= 3589: // JCB
		return l16to19
	case p4 == 1800, p4 == 2131:
		return 1 << 15
	case p4 == 6011, p3 >= 644 && p3 <= 649, p2 == 65: // Discover
		return l16to19
	case p2 == 62, p2 == 81: // UnionPay
		return l16to19
	case p4 == 5019: // Dankort
		return 1 << 16
	case p4 == 5018, p4 == 5020, p4 == 5038, p4 == 5893, p4 == 6304, p4 == 6759, p4 >= 6761 && p4 <= 6763: // Maestro
		return l12to19
	case p2 == 50, p2 >= 56 && p2 <= 58, p2 == 60, p2 == 63, p2 == 67: // Maestro, Verve, RuPay, Elo, Hipercard
		return 1<<16 | 1<<19
	case p4 >= 2200 && p4 <= 2204: // Mir
		return l16to19
	case p4 == 9792: // Troy
		return 1 << 16
	case c.id[0] == '1': // UATP
		return 1 << 15
	}
	return 0
}

func recCard(c *candidate) verdict {
	if cardLengths(c)>>c.n&1 == 0 || !c.luhn(0, c.n) {
		return verdict{}
	}
	zeros := true
	for _, b := range c.id[1:c.n] {
		zeros = zeros && b == '0'
	}
	if zeros || c.same() {
		return verdict{}
	}
	if !c.plain() {
		ok := c.sepIn("- ") && (c.grouped(4, 4, 4, 4) || c.grouped(4, 6, 5) || c.grouped(4, 6, 4) ||
			c.grouped(4, 4, 4, 4, 3) || c.grouped(4, 4, 5) || c.grouped(4, 4, 4, 3) || c.grouped(6, 13) || c.grouped(4, 4, 4, 1))
		return checkedIf(ok, sure)
	}
	switch {
	case c.n > 16, c.n < 15:
		// Numbers of such lengths are also ids and times in milliseconds.
		return verdict{shaped, true}
	case c.id[0] == '1':
		return verdict{shaped, true}
	}
	return verdict{sure, true}
}

// ibanForms gives the account part by country, in the notation of the SWIFT
// registry without its '!': n digits, a letters, c both; the length is implied.
// https://www.swift.com/standards/data-standards/iban-international-bank-account-number, release 99.
var ibanForms = func() map[string]string {
	m := map[string]string{}
	for f := range strings.FieldsSeq(`AD4n4n12c AE3n16n AL8n16c AT5n11n AZ4a20c BA3n3n8n2n BE3n7n2n BG4a4n2n8c BH4a14c
		BI5n5n11n2n BR8n5n10n1a1c BY4c4n16c CH5n12c CR4n14n CY3n5n16c CZ4n6n10n DE8n10n DJ5n5n11n2n DK4n9n1n DO4c20n
		EE2n2n11n1n EG4n4n17n ES4n4n1n1n10n FI3n11n FK2a12n FO4n9n1n FR5n5n11c2n GB4a6n8n GE2a16n GI4a15c GL4n9n1n
		GR3n4n16c GT4c20c HN4a20n HR7n10n HU3n4n1n15n1n IE4a6n8n IL3n3n13n IQ4a3n12n IS4n2n6n10n IT1a5n5n12c
		JO4a4n18c KW4a22c KZ3n13c LB4n20c LC4a24c LI5n12c LT5n11n LU3n13c LV4a13c LY3n3n15n MC5n5n11c2n MD2c18c
		ME3n13n2n MK3n10c2n MN4n12n MR5n5n11n2n MT4a5n18c MU4a2n2n12n3n3a NI4a20n NL4a10n NO4n6n1n OM3n16c PK4a16c
		PL8n16n PS4a21c PT4n4n11n2n QA4a21c RO4a16c RS3n13n2n RU9n5n15c SA2n18c SC4a2n2n16n3a SD2n12n SE3n16n1n
		SI5n8n2n SK4n6n10n SM1a5n5n12c SO4n3n12n ST4n4n11n2n SV4a20n TL3n14n2n TN2n3n13n2n TR5n1n16c UA6n19c VA3n15n
		VG4a16n XK4n10n2n YE4a4n18c`) {
		m[f[:2]] = expandForm(f[2:])
	}
	return m
}()

// expandForm turns "4a2n" into "aaaann".
func expandForm(f string) string {
	var b strings.Builder
	n := 0
	for _, c := range f {
		if c >= '0' && c <= '9' {
			n = n*10 + int(c-'0')
			continue
		}
		b.WriteString(strings.Repeat(string(c), n))
		n = 0
	}
	return b.String()
}

func recIBAN(c *candidate) verdict {
	form, ok := ibanForms[string(c.id[:2])]
	if !ok || len(form) != c.n-4 || c.lower || c.num(2, 4) < 2 || !(c.plain() || c.sepIn(" -")) {
		return verdict{}
	}
	if !c.plain() {
		for i := range c.ng - 1 {
			if c.g[i] != 4 {
				return verdict{}
			}
		}
		if c.g[c.ng-1] > 4 {
			return verdict{}
		}
	}
	for i := range len(form) {
		digit := isDigit(c.id[4+i])
		if form[i] == 'n' && !digit || form[i] == 'a' && digit {
			return verdict{}
		}
	}
	return checkedIf(mod97(c.id[:c.n]), sure)
}

// mod97 checks an ISO 13616 number, its first four characters moved to the end.
func mod97(id []byte) bool {
	if len(id) < 5 {
		return false
	}
	r := 0
	for i := range id {
		b := id[(i+4)%len(id)]
		switch {
		case isDigit(b):
			r = (r*10 + int(b-'0')) % 97
		case isUpper(b):
			r = (r*100 + int(b-'A') + 10) % 97
		default:
			return false
		}
	}
	return r == 1
}
