package redact

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestHostile checks that no text takes more than its share of time: twice the
// text must not take much more than twice the work.
func TestHostile(t *testing.T) {
	e := testEngine(t, Options{Entities: []string{"all"}})
	for _, unit := range []string{
		"@", "a@", "a@a.", "1", "1 ", "1-", "+1 ", "(", "-----BEGIN", "-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4\n",
		"eyJ", "eyJhbGciOiJIUzI1NiJ9.", "://", "a://b:c", ":", "::", ".", "0.", "0:", "password=", "token: ", "bearer ", "adobe ", "adobe twitter sendbird netlify = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa0 ",
		"ghp_", "\\", "\xff", "\xc3", "ä", "<", "&", "phone 09-7625400 ", "4012888888881881 ", "DE89 3704 0044 0532 0130 00 ", "sk-", "A1 ", "A ", "-", "https://a.b/", "00:", "1a-",
	} {
		text := []byte(strings.Repeat(unit, 1<<15/len(unit)))
		measure := func(b []byte) float64 {
			best := 1e9
			for range 2 {
				start := cpuTime()
				m := e.scanText(b)
				m.release()
				best = min(best, (cpuTime() - start).Seconds())
			}
			return best
		}
		half, whole := measure(text[:len(text)/2]), measure(text)
		if whole > 3*half+0.1 {
			t.Errorf("%q: %d KB take %.3f s, half of it %.3f s", unit, len(text)>>10, whole, half)
		}
	}
}

// TestBounded checks that a stream keeps little, whatever it is fed.
func TestBounded(t *testing.T) {
	e := testEngine(t, Options{})
	for _, unit := range []string{"A1b2", "1 ", "(", "eyJhbGciOiJIUzI1NiJ9.", "MIIEfakefakefakefake0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH\n", "a@", "+1"} {
		for _, head := range []string{"", "-----BEGIN PRIVATE KEY-----\n", "eyJhbGciOiJIUzI1NiJ9.eyJ", "token=ghp_"} {
			s := e.Stream(nil)
			s.Push([]byte(head))
			most := 0
			chunk := []byte(strings.Repeat(unit, 1+200/len(unit)))
			for range 400 {
				s.Push(chunk)
				most = max(most, cap(s.buf))
			}
			if most > 128<<10 {
				t.Errorf("%q after %q: the stream kept %d bytes", unit, head, most)
			}
		}
	}
}

// TestClean checks that clean text costs no allocation and comes back as it is.
func TestClean(t *testing.T) {
	e := testEngine(t, Options{})
	text := bytes.Repeat([]byte("The quick brown fox jumps over the lazy dog, and then it rests for 3 hours. "), 20)
	s := e.Stream(nil)
	s.Push(text)
	if n := testing.AllocsPerRun(200, func() {
		s.Push(text[:50])
	}); n > 0 {
		t.Errorf("a clean chunk takes %v allocations", n)
	}
	if got, spans := e.Text(text); &got[0] != &text[0] || spans != nil {
		t.Error("a clean text was copied")
	}
}

func FuzzSplits(f *testing.F) {
	f.Add([]byte("card 4012-8888-8888-1881, password = \"x9#kLmq2\""), uint64(1))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nMIIEfakefakefakefake0123456789\n-----END PRIVATE KEY-----"), uint64(2))
	f.Add([]byte("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.abcdefghijkl 1 2 3 +49 30 1234567"), uint64(3))
	e, err := New(Options{Entities: []string{"all"}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		want, spans := e.Text(text)
		for _, s := range spans {
			if s.Start < 0 || s.Start >= s.End || s.End > len(text) {
				t.Fatalf("span %v of %d bytes", s, len(text))
			}
		}
		r := rand.New(rand.NewPCG(seed, 0))
		s := e.Stream(nil)
		for n := range 3 {
			s.Reset()
			var got []byte
			for i := 0; i < len(text); {
				k := min(len(text)-i, 1+r.IntN(1+n*13))
				got = append(got, s.Push(text[i:i+k])...)
				i += k
			}
			if got = append(got, s.Flush()...); !bytes.Equal(got, want) {
				t.Fatalf("%q: in pieces %q, whole %q", text, got, want)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":["bob@example.org",4012888888881881,{"ssn":"219-09-9998\u0020"}],"password":"x y\"z"}`))
	f.Add([]byte(`"<EMAIL_ADDRESS_1> \\<PASSWORD\\_1>"`))
	e, err := New(Options{Action: Placeholder})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v := &MemoryVault{}
		r, err := e.JSON(raw, v)
		if err != nil {
			return
		}
		if !json.Valid(r.JSON) {
			t.Fatalf("%q became %q", raw, r.JSON)
		}
		back, err := RestoreJSON(r.JSON, v)
		if err != nil || !json.Valid(back) {
			t.Fatalf("%q came back as %q, %v", raw, back, err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	f.Add([]byte(`a \<email\_address_1\> &lt;EMAIL_ADDRESS_1&gt; <EMAIL_`), uint64(1), false)
	f.Add([]byte(`\u003cemail_address_1\u003e \\<EMAIL\\_ADDRESS_1\\> \"`), uint64(2), true)
	v := &MemoryVault{}
	v.Placeholder("EMAIL_ADDRESS", []byte("bob@example.org"))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, inJSON bool) {
		whole := NewRestorer(v, inJSON)
		want := append(bytes.Clone(whole.Push(text)), whole.Flush()...)
		r, s := rand.New(rand.NewPCG(seed, 0)), NewRestorer(v, inJSON)
		var got []byte
		for i := 0; i < len(text); {
			k := min(len(text)-i, 1+r.IntN(9))
			got = append(got, s.Push(text[i:i+k])...)
			i += k
			if s.Held() > maxPlaceholder+32 {
				t.Fatalf("%q: %d bytes held back", text, s.Held())
			}
		}
		if got = append(got, s.Flush()...); !bytes.Equal(got, want) {
			t.Fatalf("%q: in pieces %q, whole %q", text, got, want)
		}
	})
}
