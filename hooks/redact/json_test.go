package redact

import (
	"errors"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	e := testEngine(t, Options{})
	for _, tt := range []struct{ name, in, want string }{
		{"clean bytes stay", `{ "a" : 1.50, "b":[true,null,"x\u0041"] }`, `{ "a" : 1.50, "b":[true,null,"x\u0041"] }`},
		{"a leaf", `{"to":"mail bob@example.org now","n":2}`, `{"to":"mail [EMAIL_ADDRESS] now","n":2}`},
		{"keys stay", `{"bob@example.org":"bob@example.org"}`, `{"bob@example.org":"[EMAIL_ADDRESS]"}`},
		{"escapes around stay", `{"t":"caf\u00e9\n\"bob@example.org\"\ud83d\ude00"}`, `{"t":"caf\u00e9\n\"[EMAIL_ADDRESS]\"\ud83d\ude00"}`},
		{"an escaped value", `{"t":"bob\u0040example.org"}`, `{"t":"[EMAIL_ADDRESS]"}`},
		{"the key is context", `{"ssn":"219099998","n":"219099998"}`, `{"ssn":"[US_SSN]","n":"219099998"}`},
		{"keys of arrays are context", `{"ssns":["219099998"]}`, `{"ssns":["[US_SSN]"]}`},
		{"a card as a number", `{"card":4012888888881881,"n":12}`, `{"card":"[CREDIT_CARD]","n":12}`},
		{"passwords of any kind", `{"password":"correct horse","db_password":"x y z"}`, `{"password":"[PASSWORD]","db_password":"[PASSWORD]"}`},
		{"no password", `{"password":"${DB_PASSWORD}","passwords":3}`, `{"password":"${DB_PASSWORD}","passwords":3}`},
		{"JSON in a string", `{"body":"{\"mail\":\"bob@example.org\"}"}`, `{"body":"{\"mail\":\"[EMAIL_ADDRESS]\"}"}`},
		{"a string alone", `"bob@example.org"`, `"[EMAIL_ADDRESS]"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := e.JSON([]byte(tt.in), nil)
			if err != nil || string(r.JSON) != tt.want {
				t.Errorf("got %s, %v, want %s", r.JSON, err, tt.want)
			}
		})
	}
	for _, in := range []string{"", "{", `{"a":}`, `{"a":"bob@example.org"`, strings.Repeat("[", 20_000)} {
		if _, err := e.JSON([]byte(in), nil); !errors.Is(err, ErrJSON) {
			t.Errorf("%.20q: got %v, want %v", in, err, ErrJSON)
		}
	}
}

func TestRoundTripJSON(t *testing.T) {
	e := testEngine(t, Options{Action: Placeholder})
	v := &MemoryVault{}
	in := `{"to":["bob@example.org","ann@example.org"],"cc":"bob@example.org","note":"call (415) 555-0132","key":"-----BEGIN PRIVATE KEY-----\nMIIEfakefakefakefake0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH\n-----END PRIVATE KEY-----\n"}`
	r, err := e.JSON([]byte(in), v)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"to":["<EMAIL_ADDRESS_1>","<EMAIL_ADDRESS_2>"],"cc":"<EMAIL_ADDRESS_1>","note":"call <PHONE_NUMBER_1>","key":"<PRIVATE_KEY_1>\n"}`
	if string(r.JSON) != want {
		t.Errorf("got %s, want %s", r.JSON, want)
	}
	back, err := RestoreJSON(r.JSON, v)
	if err != nil || string(back) != in {
		t.Errorf("restored: got %s, %v, want %s", back, err, in)
	}
}
