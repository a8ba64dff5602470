package redact

import (
	"bytes"
	"testing"
)

func TestRestore(t *testing.T) {
	v := &MemoryVault{}
	v.Placeholder("EMAIL_ADDRESS", []byte(`bob@example.org`))
	v.Placeholder("PASSWORD", []byte("a\"b\n"))
	for _, tt := range []struct {
		name, in, want string
		json           bool
	}{
		{"as given", "to <EMAIL_ADDRESS_1>.", "to bob@example.org.", false},
		{"lower case", "to <email_address_1>.", "to bob@example.org.", false},
		{"back-ticks stay", "`<EMAIL_ADDRESS_1>`", "`bob@example.org`", false},
		{"Markdown", `\<EMAIL\_ADDRESS\_1\>`, "bob@example.org", false},
		{"HTML", "&lt;EMAIL_ADDRESS_1&gt;", "bob@example.org", false},
		{"JSON's escape in text", `\u003cEMAIL_ADDRESS_1\u003e`, "bob@example.org", false},
		{"URL", "q=%3CEMAIL_ADDRESS_1%3e&x", "q=bob@example.org&x", false},
		{"an unknown number stays", "<EMAIL_ADDRESS_2> <NAME_1>", "<EMAIL_ADDRESS_2> <NAME_1>", false},
		{"no placeholder", `a < b && c\d 5% <div class="x"> <EMAIL_ADDRESS`, `a < b && c\d 5% <div class="x"> <EMAIL_ADDRESS`, false},
		{"twice", "<<EMAIL_ADDRESS_1>><EMAIL_ADDRESS_1>", "<bob@example.org>bob@example.org", false},
		{"a value is escaped in JSON", `"p":"<PASSWORD_1>"`, `"p":"a\"b\n"`, true},
		{"escapes in JSON stay", `\\<b> \"\u003cPASSWORD_1\u003e\n \\<PASSWORD\\_1\\>`, `\\<b> \"a\"b\n\n a\"b\n`, true},
		{"a backslash before it in JSON", `C:\\\\<PASSWORD_1>`, `C:\\a\"b\n`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range len(tt.in) + 1 {
				r := NewRestorer(v, tt.json)
				got := append([]byte(nil), r.Push([]byte(tt.in[:i]))...)
				got = append(got, r.Push([]byte(tt.in[i:]))...)
				got = append(got, r.Flush()...)
				if string(got) != tt.want {
					t.Errorf("cut at %d: got %q, want %q", i, got, tt.want)
				}
			}
			r := NewRestorer(v, tt.json)
			var got []byte
			for i := range len(tt.in) {
				got = append(got, r.Push([]byte(tt.in[i:i+1]))...)
			}
			if got = append(got, r.Flush()...); string(got) != tt.want {
				t.Errorf("byte by byte: got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRoundTrip(t *testing.T) {
	e := testEngine(t, Options{Action: Placeholder})
	v := &MemoryVault{}
	in := []byte("Mail bob@example.org and BOB@example.org, card 4012-8888-8888-1881, again bob@example.org.")
	r := e.Redact(in, v)
	want := "Mail <EMAIL_ADDRESS_1> and <EMAIL_ADDRESS_2>, card <CREDIT_CARD_1>, again <EMAIL_ADDRESS_1>."
	if string(r.Text) != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	if got := Restore(r.Text, v); !bytes.Equal(got, in) {
		t.Errorf("restored: got %q, want %q", got, in)
	}
	if again := e.Redact(r.Text, v); len(again.Spans) > 0 {
		t.Errorf("placeholders are redacted again: %v", again.Spans)
	}
}
