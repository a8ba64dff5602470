package stream

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWindower(t *testing.T) {
	for _, c := range []struct {
		name   string
		border Border
		push   []string
		want   []string // what each push returns, then the flush
	}{
		{"words", Word, []string{"Hel", "lo wor", "ld", "!"}, []string{"", "Hello ", "", "", "world!"}},
		{"several words at once", "", []string{"one two three"}, []string{"one two ", "three"}},
		{"space in two pieces", Word, []string{"one ", " \n", "two"}, []string{"one ", " \n", "", "two"}},
		{"no-break space", Word, []string{"10\u00a0km or"}, []string{"10\u00a0km ", "or"}},
		{"words without spaces", Word, []string{"今日は、", "いい天気"}, []string{"今日は、", "", "いい天気"}},
		{"cut rune", Word, []string{"a \xe4", "\xbb\x8a "}, []string{"a ", "今 ", ""}},
		{"cut rune at the end", Word, []string{"a\xe4"}, []string{"", "a\xe4"}},
		{"sentences", Sentence, []string{"One. Tw", "o! Three? ", "Four"}, []string{"One. ", "Two! Three? ", "", "Four"}},
		{"mark and space apart", Sentence, []string{"One.", " Two", "."}, []string{"", "One. ", "", "Two."}},
		{"no sentence end", Sentence, []string{"v1.2 costs 3.50, see a.b", ".c"}, []string{"", "", "v1.2 costs 3.50, see a.b.c"}},
		{"quote behind the mark", Sentence, []string{"He said “no.” And", " (left.) So"}, []string{"He said “no.” ", "And (left.) ", "So"}},
		{"ellipsis", Sentence, []string{"Well... ok… fine"}, []string{"Well... ok… ", "fine"}},
		{"line break", Sentence, []string{"- item\n- it", "em\r\n"}, []string{"- item\n", "- item\r\n", ""}},
		{"space behind", Sentence, []string{"One. ", "  ", "Two"}, []string{"One. ", "  ", "", "Two"}},
		{"wide marks", Sentence, []string{"你好。我很", "好！」他说"}, []string{"你好。", "我很好！」", "他说"}},
		{"wide mark at the end", Sentence, []string{"你好。"}, []string{"", "你好。"}},
		{"all", All, []string{"One. ", "Two\n"}, []string{"", "", "One. Two\n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := Windower{Border: c.border}
			var got []string
			for _, p := range c.push {
				got = append(got, w.Push(p))
			}
			held := w.Held()
			got = append(got, w.Flush())
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if held != len(c.want[len(c.want)-1]) || w.Held() != 0 {
				t.Errorf("held %d before and %d after the flush", held, w.Held())
			}
		})
	}
}

// borders lists the offsets at which text was handed out, byte by byte.
func borders(b Border, text string) (at []int) {
	w := Windower{Border: b}
	out := 0
	for i := range len(text) {
		if s := w.Push(text[i : i+1]); s != "" {
			out += len(s)
			at = append(at, out)
		}
	}
	return at
}

// However text is cut: nothing is lost or added, no rune is cut, and what is
// handed out ends where it would have ended for any other cut.
func FuzzWindower(f *testing.F) {
	f.Add("One. Two words! 你好。我。”\nv1.2 …\u2028 x\u00a0y", []byte{3, 1, 7, 2})
	f.Fuzz(func(t *testing.T, text string, cuts []byte) {
		for _, b := range []Border{Word, Sentence, All} {
			allowed := borders(b, text)
			w := Windower{Border: b}
			var out strings.Builder
			rest := text
			take := func(s string) {
				if s == "" {
					return
				}
				out.WriteString(s)
				if !slices.Contains(allowed, out.Len()) {
					t.Fatalf("%s: handed out up to %d, borders are %v", b, out.Len(), allowed)
				}
				if utf8.ValidString(text) && !utf8.ValidString(s) {
					t.Fatalf("%s: cut a rune: %q", b, s)
				}
			}
			for _, n := range cuts {
				n := min(int(n), len(rest))
				take(w.Push(rest[:n]))
				rest = rest[n:]
			}
			take(w.Push(rest))
			out.WriteString(w.Flush())
			if out.String() != text {
				t.Fatalf("%s: %q became %q", b, text, out.String())
			}
		}
	})
}
