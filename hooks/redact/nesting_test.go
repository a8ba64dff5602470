package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// A value is escaped as often as its place in documents within documents needs it,
// wherever the text is cut.
func TestRestoreNested(t *testing.T) {
	v := &MemoryVault{}
	value := "line one\n\"line\" two\\"
	v.Placeholder("PRIVATE_KEY", []byte(value))
	wrap := func(s string) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(map[string]string{"k": s, "z": "said \"so\""}); err != nil {
			t.Fatal(err)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	for _, tt := range []struct{ name, text, want string }{
		{"one document", wrap("key <PRIVATE_KEY_1> end"), wrap("key " + value + " end")},
		{"two documents", wrap(wrap("key <PRIVATE_KEY_1> end")), wrap(wrap("key " + value + " end"))},
		{"three documents", wrap(wrap(wrap("<PRIVATE_KEY_1>"))), wrap(wrap(wrap(value)))},
		{"quoted prose is no document", wrap(`he said "<PRIVATE_KEY_1>"`), wrap(`he said "` + value + `"`)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for cut := range len(tt.text) {
				r := NewRestorer(v, true)
				got := string(r.Push([]byte(tt.text[:cut])))
				got += string(r.Push([]byte(tt.text[cut:])))
				got += string(r.Flush())
				if got != tt.want {
					t.Fatalf("cut at %d:\n got %s\nwant %s", cut, got, tt.want)
				}
			}
		})
	}
}
