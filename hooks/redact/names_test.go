package redact

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// TestNamesAreNoContext: a text that was redacted is not read differently for
// the names that it now holds.
func TestNamesAreNoContext(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"a placeholder before", "Birinci: <PHONE_NUMBER_119>, Ikinci: 05359876543", ""},
		{"a placeholder behind", "Ikinci: 05359876543, Birinci: <PHONE_NUMBER_119>", ""},
		{"a mask", "Birinci: [PHONE_NUMBER], Ikinci: 05359876543", ""},
		{"a hash", "Birinci: [PHONE_NUMBER:5f1c0a7be94d], Ikinci: 05359876543", ""},
		{"a secret's", "<PASSWORD_1>hunter22x4", ""},
		{"a label in brackets", "Number two [US_SSN: 078051121]", "Number two [US_SSN: [US_SSN]]"},
		{"an element", "<PHONE>05359876543</PHONE>", "<PHONE>[PHONE_NUMBER]</PHONE>"},
		{"a word before the placeholder", "phone <PHONE_NUMBER_1>, second: 05359876543", "phone <PHONE_NUMBER_1>, second: [PHONE_NUMBER]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.in
			}
			e := testEngine(t, Options{})
			if got, _ := e.Text([]byte(tt.in)); string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestWholeCharacters: neither what a stream lets out nor what it replaces ends
// within a character, if no chunk does.
func TestWholeCharacters(t *testing.T) {
	e := testEngine(t, Options{})
	for in, want := range map[string]string{
		"a © b ©c «d» Âé 12 © 34 €©® end ": "a © b ©c «d» Âé 12 © 34 €©® end ",
		"mail \u00b5@example.com, ":        "mail [EMAIL_ADDRESS], ",
		"mail ©jane@example.com, ":         "mail [EMAIL_ADDRESS], ",
	} {
		s := e.Stream(nil)
		var all []byte
		for _, r := range in {
			out := s.Push([]byte(string(r)))
			if !utf8.Valid(out) {
				t.Errorf("%q: %q comes out", in, out)
			}
			all = append(all, out...)
		}
		all = append(all, s.Flush()...)
		if whole, _ := e.Text([]byte(in)); string(all) != want || !bytes.Equal(all, whole) {
			t.Errorf("%q gives %q as a stream and %q as a whole, want %q", in, all, whole, want)
		}
	}
}

func TestActionOf(t *testing.T) {
	e := testEngine(t, Options{Action: Placeholder, Actions: map[string]Action{"EMAIL": Block, "GITHUB_PAT": Off, "SECRET": Mask}})
	for name, want := range map[string]Action{
		"EMAIL_ADDRESS": Block, "email": Block, "GITHUB_PAT": Off, "JWT": Mask, "CREDIT_CARD_NUMBER": Placeholder, "NOBODY": "",
	} {
		if got := e.ActionOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
	if name, ok := Canonical("credit_card_number"); name != "CREDIT_CARD" || !ok {
		t.Errorf("got %q, %v", name, ok)
	}
	if _, ok := Canonical("JWT"); ok {
		t.Error("a kind of secret is taken for an entity")
	}
	const in = "x: ghp_16C7e42F292c6912E7710c838347Ae178B4a "
	if r := e.Redact([]byte(in), nil); string(r.Text) != in || len(r.Spans) > 0 {
		t.Errorf("got %q, %v", r.Text, r.Spans)
	}
}
