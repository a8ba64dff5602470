package config

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxFile bounds a configuration file, in bytes. It also bounds how deep a
// hostile file can nest, and so the parser's stack.
const maxFile = 1 << 20

// Load reads a configuration file. The error says why there is no file to speak
// of (it cannot be opened, it is too large); what is wrong inside it is in the
// problems.
func Load(path string) (*Config, Problems, error) { return Known{}.Load(path) }

// Load is [Load] with names that are known.
func (k Known) Load(path string) (*Config, Problems, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if st.IsDir() {
		return nil, nil, fmt.Errorf("%s is a folder, not a file", path)
	}
	if st.Size() > maxFile {
		return nil, nil, fmt.Errorf("%s has %d bytes, a configuration file has at most %d", path, st.Size(), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	c, ps := k.Parse(path, data)
	return c, ps, nil
}

// Parse reads the text of a configuration file called name. The configuration is
// to be used only if the problems hold no error.
func Parse(name string, data []byte) (*Config, Problems) { return Known{}.Parse(name, data) }

// Parse is [Parse] with names that are known.
func (k Known) Parse(name string, data []byte) (*Config, Problems) {
	c := Default()
	d := &decoder{file: name, data: data, at: map[string]int{}, known: k}
	if len(data) > maxFile {
		d.fail(0, "", fmt.Sprintf("the file has %d bytes, a configuration file has at most %d", len(data), maxFile), "")
		return c, d.problems
	}
	// A byte order mark is what some editors leave in front; blanks keep the
	// offsets as they are.
	text := slices.Clone(data)
	if bytes.HasPrefix(text, []byte("\xef\xbb\xbf")) {
		copy(text, "   ")
	}
	root, err := hujson.Parse(text)
	if err != nil {
		off, msg := syntaxError(text, err)
		d.fail(off, "", msg, syntaxHint(text, off))
		return c, d.problems
	}
	d.decode(&root, c)
	c.fillHooks()
	d.fillRedact(&c.Redact)
	d.validate(c)
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return c, d.problems
}

// syntaxError takes the place out of the parser's message, which is the only
// form in which it gives one.
func syntaxError(text []byte, err error) (off int, msg string) {
	var line, col int
	s := err.Error()
	if _, e := fmt.Sscanf(s, "hujson: line %d, column %d:", &line, &col); e != nil {
		return 0, s
	}
	for range line - 1 {
		off += bytes.IndexByte(text[off:], '\n') + 1
	}
	off = min(off+col-1, len(text))
	_, s, _ = strings.Cut(s, ": ") // "hujson"
	_, s, _ = strings.Cut(s, ": ") // "line 1, column 2"
	s = strings.TrimPrefix(s, "parsing value: ")
	if off >= len(text) {
		s = "the file ends in the middle"
	}
	return off, "not valid JSON: " + s
}

// syntaxHint guesses from the byte at fault what was meant.
func syntaxHint(text []byte, off int) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return `an empty configuration is {}`
	}
	if off >= len(text) {
		return "is a closing } or ] or a quote missing?"
	}
	switch c := text[off]; {
	case c == '\'':
		return "strings stand in double quotes"
	case c == '"' || c == '{' || c == '[':
		return "is a comma missing before this?"
	case c == '=':
		return "a key and its value are joined by a colon"
	case c == '#':
		return "comments begin with //"
	case c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return "keys and strings stand in double quotes; true, false and null are lower case"
	}
	return ""
}

// lineColumn turns an offset in bytes into a line and a column in characters,
// both from 1.
func lineColumn(data []byte, off int) (line, column int) {
	off = min(off, len(data))
	start := bytes.LastIndexByte(data[:off], '\n') + 1
	return 1 + bytes.Count(data[:off], []byte("\n")), 1 + utf8.RuneCount(data[start:off])
}
