package redact

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEntities reads testdata/entities.txt: the entity, a tab, and a text in
// which every match of the entity stands between « and ».
func TestEntities(t *testing.T) {
	data, err := os.ReadFile("testdata/entities.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := testEngine(t, Options{Entities: []string{"all"}})
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		name, marked, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		var want, got []string
		text := ""
		for i, part := range strings.Split(strings.ReplaceAll(marked, "»", "«"), "«") {
			text += part
			if i%2 == 1 {
				want = append(want, part)
				seen[name] = true
			}
		}
		for _, s := range e.Spans([]byte(text)) {
			if s.Entity == name {
				got = append(got, text[s.Start:s.End])
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s in %q: got %q, want %q", name, text, got, want)
		}
	}
	for _, n := range Entities() {
		if !seen[n] {
			t.Errorf("%s: no text has one", n)
		}
	}
}

func TestAliases(t *testing.T) {
	for alias, want := range map[string]string{
		"EMAIL": "EMAIL_ADDRESS", "US_SOCIAL_SECURITY_NUMBER": "US_SSN", "CREDIT_DEBIT_CARD_NUMBER": "CREDIT_CARD",
		"PHONE": "PHONE_NUMBER", "IBAN_CODE": "IBAN_CODE", "UK_NATIONAL_INSURANCE_NUMBER": "UK_NINO", "INDIA_AADHAAR_INDIVIDUAL": "IN_AADHAAR",
	} {
		if k, ok := entityByName[alias]; !ok || entities[k].name != want {
			t.Errorf("%s: got %v, %v, want %s", alias, k, ok, want)
		}
	}
}
