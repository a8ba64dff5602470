package shield

import (
	"bytes"
	"encoding/base64"
	"errors"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// Request redacts the body of a model call, and adds the note about
// placeholders. It returns a [*BlockedError] or an [*UnreadableError] for a body
// that must not go up.
func (c *Call) Request(w gemini.Wire, model string, body []byte) ([]byte, error) {
	var out []byte
	err := c.guard(func() error {
		if c.sess == "" {
			if r, err := w.ParseRequest(body, model); err == nil {
				c.sess = w.Traits(r).Session
			}
		}
		var err error
		if out, err = c.redact(ToModel, body); err != nil || !c.s.reversible || c.s.o.Note == "-" {
			return err
		}
		r, err := w.ParseRequest(out, model)
		if err != nil {
			return unreadable("the request body", err)
		}
		if r, err = w.WithSystemText(r, c.s.o.Note); err == nil {
			out = r.Raw
		}
		return err
	})
	if out, err = c.verdict(ToModel, body, out, err); err != nil {
		return nil, err
	}
	c.sent = out
	return out, nil
}

// Body redacts any other JSON body of the family on its way to the model.
func (c *Call) Body(body []byte) ([]byte, error) {
	var out []byte
	err := c.guard(func() (err error) {
		out, err = c.redact(ToModel, body)
		return err
	})
	return c.verdict(ToModel, body, out, err)
}

// Text redacts a body that is plain text.
func (c *Call) Text(d Direction, body []byte) ([]byte, error) {
	var out []byte
	err := c.guard(func() error {
		c.begin(nil, nil)
		l := &gemini.Leaf{Kind: gemini.LeafText}
		r := c.s.redactor(d, l)
		if r == nil {
			c.Skipped(d, "no_rule", len(body))
			out = body
			return nil
		}
		s, err := c.whole(d, r, string(body), nil, 0)
		c.scanned(d, gemini.LeafText, len(body))
		out = []byte(s)
		return err
	})
	return c.verdict(d, body, out, err)
}

// Refuse counts a body that does not go up.
func (c *Call) Refuse() { c.noted(func(s *Stats) { s.Refused++ }) }

// verdict applies the fail mode to what came of a body.
func (c *Call) verdict(d Direction, body, out []byte, err error) ([]byte, error) {
	if err == nil {
		return out, nil
	}
	var un *UnreadableError
	if errors.As(err, &un) && c.s.o.FailOpen {
		c.begin(nil, nil)
		c.Skipped(d, "failed", len(body))
		return body, nil
	}
	c.Refuse()
	return nil, err
}

func unreadable(what string, cause error) *UnreadableError {
	return &UnreadableError{What: what + " is no JSON that hookline can read", Cause: cause}
}

// begin finds the call's vault by what the first body says.
func (c *Call) begin(body []byte, leaves []gemini.Leaf) {
	if c.vault != nil {
		return
	}
	c.vault = newVault(c.s.vaults, sessionKey{})
	switch {
	case c.sess != "":
		c.vault.key = keyOf("session", c.tenant, c.sess)
	default:
		// Agents keep the first words of a conversation as long as they can.
		i := slices.IndexFunc(leaves, func(l gemini.Leaf) bool { return l.Kind == gemini.LeafText && l.Run > 0 && !l.Model })
		if i < 0 {
			c.vault.own = newSession(sessionKey{})
			return
		}
		var said strings.Builder
		for _, l := range leaves[i:] {
			if l.Run == leaves[i].Run {
				said.WriteString(gemini.Unquote(body[l.Start:l.End]))
			}
		}
		c.vault.key = keyOf("words", c.tenant, said.String())
	}
}

// redact redacts the leaves of a body.
func (c *Call) redact(d Direction, body []byte) ([]byte, error) {
	b, err := gemini.Leaves(body)
	if err != nil {
		what := "the request body"
		if d == ToAgent {
			what = "the answer"
		}
		return nil, unreadable(what, err)
	}
	c.begin(body, b.Leaves)
	c.Skipped(d, "protocol", b.Skipped.Protocol)
	c.Skipped(d, "keys", b.Skipped.Keys)
	c.Skipped(d, "numbers", b.Skipped.Numbers)
	var edits []gemini.SpliceEdit
	done := map[int]bool{} // runs
	for i := range b.Leaves {
		l := &b.Leaves[i]
		if l.Run > 0 {
			if !done[l.Run] {
				done[l.Run] = true
				if edits, err = c.run(d, body, b.Leaves[i:], edits); err != nil {
					return nil, err
				}
			}
		} else {
			lit, err := c.literal(d, body, l)
			if err != nil {
				return nil, err
			}
			if lit != nil {
				edits = append(edits, gemini.SpliceEdit{Start: l.Start, End: l.End, New: lit})
			}
		}
		c.known.learn(c.vault)
	}
	slices.SortFunc(edits, func(a, b gemini.SpliceEdit) int { return a.Start - b.Start })
	return gemini.Splice(body, edits), nil
}

// run redacts the texts of the run that leaves begins with.
func (c *Call) run(d Direction, body []byte, leaves []gemini.Leaf, edits []gemini.SpliceEdit) ([]gemini.SpliceEdit, error) {
	first := &leaves[0]
	r := c.s.redactor(d, first)
	var at []*gemini.Leaf
	var texts []string
	for i := range leaves {
		if l := &leaves[i]; l.Run == first.Run {
			text := gemini.Unquote(body[l.Start:l.End])
			if r == nil {
				c.Skipped(d, "no_rule", len(text))
				continue
			}
			if d == ToModel {
				c.vault.notice(text)
			}
			c.scanned(d, l.Kind, len(text))
			at, texts = append(at, l), append(texts, text)
		}
	}
	if r == nil {
		return edits, nil
	}
	redacted := slices.Clone(texts)
	if !first.Model {
		// Parts of a user's turn are texts of their own, and may continue each
		// other all the same. What the model wrote was cut at random.
		for i := range redacted {
			var err error
			if redacted[i], err = c.whole(d, r, redacted[i], nil, 0); err != nil {
				return nil, err
			}
		}
	}
	if first.Model || len(redacted) > 1 {
		var err error
		if redacted, err = c.joined(d, r, redacted); err != nil {
			return nil, err
		}
	}
	for i, l := range at {
		if redacted[i] != texts[i] {
			edits = append(edits, gemini.SpliceEdit{Start: l.Start, End: l.End, New: gemini.Quote(redacted[i])})
		}
	}
	return edits, nil
}

// done takes a lane's finds into account.
func (c *Call) done(d Direction, f *redacting) error {
	c.found(d, f.found)
	if f.s.Blocked() {
		return &BlockedError{Entities: f.r.blocked(f.found), Answer: d == ToAgent}
	}
	return nil
}

// slowBytes is for how long a border between parts is looked for byte by byte.
const slowBytes = 4096

// joined redacts texts as one. What is found across a border goes to the text
// that it begins in; all else stays where it is.
func (c *Call) joined(d Direction, r *Redactor, texts []string) ([]string, error) {
	f := r.lane(c.vault, c.known, nil)
	in := strings.Join(texts, "")
	ends := make([]int, len(texts))
	n := 0
	for i, t := range texts {
		n += len(t)
		ends[i] = n
	}
	outs := make([][]byte, len(texts))
	at, cur := 0, 0 // what of in has been let out, and the text it ends in
	// same appends what is in[at:to] as it is.
	same := func(to int) {
		for at < to {
			for cur < len(ends)-1 && ends[cur] <= at {
				cur++
			}
			k := min(to, max(ends[cur], at+1))
			outs[cur] = append(outs[cur], in[at:k]...)
			at = k
		}
	}
	put := func(out []byte, to int) {
		if to > at && string(out) == in[at:to] {
			same(to)
			return
		}
		to = max(to, at)
		tail := 0 // what follows the last find
		for tail < len(out) && tail < to-at && out[len(out)-1-tail] == in[to-1-tail] {
			tail++
		}
		for cur < len(ends)-1 && ends[cur] <= at {
			cur++
		}
		outs[cur] = append(outs[cur], out[:len(out)-tail]...)
		at = to - tail
		same(to)
	}
	for i, t := range texts {
		start := ends[i] - len(t)
		piece := []byte(t)
		for k := 0; at < start && len(piece) > 0 && k < slowBytes; k++ {
			out := f.push(piece[:1])
			put(out, min(f.released(), f.fed))
			piece = piece[1:]
		}
		out := f.push(piece)
		put(out, min(f.released(), f.fed))
	}
	put(f.flush(), len(in))
	if err := c.done(d, f); err != nil {
		return nil, err
	}
	if !f.touched() {
		return texts, nil
	}
	res := make([]string, len(texts))
	for i := range outs {
		res[i] = string(outs[i])
	}
	return res, nil
}

// maxNesting is how deep JSON documents in strings of JSON documents are read.
const maxNesting = 8

// whole redacts a text that is all there. A text that is a JSON document has its
// strings redacted, too: there they may be written with escapes.
func (c *Call) whole(d Direction, r *Redactor, text string, key []byte, depth int) (string, error) {
	if leaves := documentIn(text); leaves != nil && depth < maxNesting {
		doc := []byte(text)
		var edits []gemini.SpliceEdit
		for i := range leaves {
			l := &leaves[i]
			lit, err := c.value(d, r, doc, l, depth+1)
			if err != nil {
				return "", err
			}
			if lit != nil {
				edits = append(edits, gemini.SpliceEdit{Start: l.Start, End: l.End, New: lit})
			}
		}
		text = string(gemini.Splice(doc, edits))
	}
	f := r.lane(c.vault, c.known, key)
	out := slices.Clone(f.push([]byte(text)))
	out = append(out, f.flush()...)
	return string(out), c.done(d, f)
}

// documentIn lists the leaves of a text that is a JSON object or array, as far
// as it has any; nil for other texts.
func documentIn(text string) []gemini.Leaf {
	t := strings.TrimLeft(text, " \r\n\t")
	if t == "" || t[0] != '{' && t[0] != '[' {
		return nil
	}
	leaves, err := gemini.DataLeaves([]byte(text))
	if err != nil {
		return nil
	}
	return leaves
}

// value redacts a string or number; nil for no change.
func (c *Call) value(d Direction, r *Redactor, doc []byte, l *gemini.Leaf, depth int) ([]byte, error) {
	lit := doc[l.Start:l.End]
	if l.Number {
		digits := integer(string(lit))
		f := r.lane(numbers{c.vault}, newKnown(), l.Key)
		out := slices.Clone(f.push([]byte(digits)))
		out = append(out, f.flush()...)
		if err := c.done(d, f); err != nil || string(out) == digits {
			return nil, err
		}
		return gemini.Quote(string(out)), nil
	}
	text := gemini.Unquote(lit)
	if d == ToModel {
		c.vault.notice(text)
	}
	out, err := c.whole(d, r, text, l.Key, depth)
	if err != nil || out == text {
		return nil, err
	}
	return gemini.Quote(out), nil
}

// integer writes a whole number without point and exponent.
func integer(token string) string {
	if !strings.ContainsAny(token, ".eE") {
		return token
	}
	f, err := strconv.ParseFloat(token, 64)
	if err != nil || f != float64(int64(f)) {
		return token
	}
	return strconv.FormatInt(int64(f), 10)
}

// literal redacts a leaf that is no text of a run; nil for no change.
func (c *Call) literal(d Direction, body []byte, l *gemini.Leaf) ([]byte, error) {
	if l.Kind == gemini.LeafBlob {
		return c.blob(d, body, l)
	}
	r := c.s.redactor(d, l)
	if r == nil {
		c.Skipped(d, "no_rule", l.End-l.Start)
		return nil, nil
	}
	c.scanned(d, l.Kind, l.End-l.Start)
	return c.value(d, r, body, l, 0)
}

// blob redacts inline data that is text.
func (c *Call) blob(d Direction, body []byte, l *gemini.Leaf) ([]byte, error) {
	size := l.End - l.Start
	r := c.s.redactor(d, l)
	switch {
	case r == nil:
		c.Skipped(d, "no_rule", size)
		return nil, nil
	case !IsText(l.MIME) && d == ToModel && c.s.o.Inline == InlineDeny:
		return nil, &UnreadableError{What: "inline data of the kind " + strconv.Quote(short(l.MIME)) + ` cannot be scanned and redact.inlineData is "deny"`}
	case !IsText(l.MIME):
		c.Skipped(d, "inline_data", size)
		return nil, nil
	}
	data, err := decodeBase64(gemini.Unquote(body[l.Start:l.End]))
	if err != nil {
		return nil, &UnreadableError{What: "inline data of the kind " + strconv.Quote(short(l.MIME)) + " is no base64"}
	}
	c.scanned(d, l.Kind, len(data))
	out, err := c.whole(d, r, string(data), nil, 0)
	if err != nil || out == string(data) {
		return nil, err
	}
	return gemini.Quote(base64.StdEncoding.EncodeToString([]byte(out))), nil
}

func short(s string) string { return s[:min(len(s), 80)] }

// decodeBase64 takes both alphabets, with and without padding, as proto JSON does.
func decodeBase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

// IsText reports whether data of a MIME type can be scanned as text.
func IsText(kind string) bool {
	t, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return false
	}
	switch t {
	case "application/json", "application/x-ndjson", "application/xml", "application/yaml", "application/x-yaml", "application/toml",
		"application/javascript", "application/x-javascript", "application/x-python", "application/sql", "application/csv", "application/x-sh":
		return true
	}
	return strings.HasPrefix(t, "text/") || strings.HasSuffix(t, "+json") || strings.HasSuffix(t, "+xml")
}

// restore puts values back into a text that is all there. In one that is a JSON
// document they are escaped as its strings need it.
func (c *Call) restore(text string, depth int) string {
	if !strings.ContainsAny(text, `<\&%`) {
		return text
	}
	if leaves := documentIn(text); leaves != nil && depth < maxNesting {
		doc := []byte(text)
		var edits []gemini.SpliceEdit
		for i := range leaves {
			if lit := c.restored(doc, &leaves[i], depth+1); lit != nil {
				edits = append(edits, gemini.SpliceEdit{Start: leaves[i].Start, End: leaves[i].End, New: lit})
			}
		}
		doc = gemini.Splice(doc, edits)
		if !bytes.ContainsAny(doc, `<\&%`) {
			return string(doc)
		}
		// What is left stands in names of members.
		r := redact.NewRestorer(c.vault, true)
		out := bytes.Clone(r.Push(doc))
		return string(append(out, r.Flush()...))
	}
	return string(redact.Restore([]byte(text), c.vault))
}

// restored is a leaf with its values; nil for no change.
func (c *Call) restored(doc []byte, l *gemini.Leaf, depth int) []byte {
	lit := doc[l.Start:l.End]
	if l.Number || !bytes.ContainsAny(lit, `<\&%`) {
		return nil
	}
	text := gemini.Unquote(lit)
	if n, ok := c.vault.numeric(text); ok {
		c.noted(func(s *Stats) { s.Restored++ })
		return []byte(n)
	}
	out := c.restore(text, depth)
	if out == text {
		return nil
	}
	c.noted(func(s *Stats) { s.Restored++ })
	return gemini.Quote(out)
}
