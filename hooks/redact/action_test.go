package redact

import (
	"strings"
	"testing"
)

func TestActions(t *testing.T) {
	in := "mail jane@example.com, card 4012-8888-8888-1881, DB_PASSWORD=\"s3cretValue9\""
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"mask", Options{}, "mail [EMAIL_ADDRESS], card [CREDIT_CARD], DB_PASSWORD=\"[PASSWORD]\""},
		{"partial", Options{Action: Partial}, "mail j***@example.com, card ****-****-****-1881, DB_PASSWORD=\"s***********\""},
		{"hash", Options{Action: Hash, Key: []byte("k"), Actions: map[string]Action{"SECRET": Mask, "CREDIT_CARD": Mask}},
			"mail [EMAIL_ADDRESS:HASH], card [CREDIT_CARD], DB_PASSWORD=\"[PASSWORD]\""},
		{"report", Options{Action: Report, Actions: map[string]Action{"EMAIL": Mask}}, "mail [EMAIL_ADDRESS], card 4012-8888-8888-1881, DB_PASSWORD=\"s3cretValue9\""},
		{"placeholder without a vault", Options{Action: Placeholder}, "mail [EMAIL_ADDRESS], card [CREDIT_CARD], DB_PASSWORD=\"[PASSWORD]\""},
		{"some entities", Options{Entities: []string{"EMAIL"}, NoSecrets: true}, "mail [EMAIL_ADDRESS], card 4012-8888-8888-1881, DB_PASSWORD=\"s3cretValue9\""},
		{"allowed", Options{Allow: Allow{Values: []string{"Jane@Example.com"}, Regexes: []string{`4012.*`}}}, "mail jane@example.com, card 4012-8888-8888-1881, DB_PASSWORD=\"[PASSWORD]\""},
		{"allowed domain", Options{Allow: Allow{Domains: []string{"example.com"}}}, "mail jane@example.com, card [CREDIT_CARD], DB_PASSWORD=\"[PASSWORD]\""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := testEngine(t, tt.o)
			got, _ := e.Text([]byte(in))
			if i := strings.Index(string(got), "[EMAIL_ADDRESS:"); i >= 0 {
				got = []byte(string(got[:i]) + "[EMAIL_ADDRESS:HASH]" + string(got[i+len("[EMAIL_ADDRESS:")+13:]))
			}
			if string(got) != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	e := testEngine(t, Options{Actions: map[string]Action{"CREDIT_CARD": Block}})
	if r := e.Redact([]byte(in), nil); !r.Blocked {
		t.Error("a card did not block")
	}
	if r := e.Redact([]byte("mail jane@example.com"), nil); r.Blocked {
		t.Error("an address blocked")
	}
	for _, o := range []Options{{Entities: []string{"NAME"}}, {Action: "burn"}, {Actions: map[string]Action{"NOPE": Mask}}, {Rules: []Rule{{Name: "X", Regex: "("}}}, {Rules: []Rule{{Name: "X", Regex: "a", Validate: "crc"}}}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestUserRules(t *testing.T) {
	e := testEngine(t, Options{Entities: []string{}, NoSecrets: true, Rules: []Rule{
		{Name: "TICKET", Regex: `\bHL-\d{4,}\b`},
		{Name: "MEMBER", Regex: `\b\d{10}\b`, Keywords: []string{"member"}, Validate: "luhn"},
	}})
	for in, want := range map[string]string{
		"see HL-12345, and hl-12345":                      "see [TICKET], and hl-12345",
		"member no 5567037485":                            "member no [MEMBER]",
		"member no 5567037486, order 5567037485 at least": "member no 5567037486, order [MEMBER] at least",
		"order 5567037485":                                "order 5567037485",
	} {
		if got, _ := e.Text([]byte(in)); string(got) != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	wide := testEngine(t, Options{Entities: []string{}, NoSecrets: true, Rules: []Rule{{Name: "PROJECT", Regex: `(?i)project (?:falcon|night owl)`}}})
	in := "The Project Night Owl team,\nproject falcon and Project\nFalcon."
	want := "The [PROJECT] team,\n[PROJECT] and Project\nFalcon."
	s := wide.Stream(nil)
	for i := range in {
		if got := string(stream(wide, []byte(in), []int{i}, s)); got != want {
			t.Errorf("cut at %d: got %q, want %q", i, got, want)
		}
	}
}
