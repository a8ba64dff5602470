package redact

// nesting follows a JSON document as it streams by, into the documents that its
// strings hold, so that a value can be escaped as often as its place needs it. A
// string that begins with { or [ is taken for a document of its own; the quotes of
// a document at depth d are written with 2^(d-1)-1 backslashes before them.
type nesting struct {
	depth   int  // of the innermost document; 0 counts as 1, the document itself
	inside  bool // within one of its strings
	fresh   bool // that string has had nothing but white space so far
	slashes int  // backslashes right before the byte to come
}

// maxTracked bounds the depth that is followed; deeper text is one string.
const maxTracked = 6

// quoteSlashes is how many backslashes stand before a quote of depth d.
func quoteSlashes(d int) int { return 1<<(d-1) - 1 }

// read takes the next bytes of the text.
func (n *nesting) read(b []byte) {
	n.depth = max(n.depth, 1)
	for _, c := range b {
		if c == '\\' {
			n.slashes++
			continue
		}
		k := n.slashes
		n.slashes = 0
		switch {
		case c == '"':
			n.quote(k)
		case !n.fresh || c == ' ' || k > 0 && (c == 'n' || c == 'r' || c == 't'):
		case k == 0 && (c == '{' || c == '[') && n.depth < maxTracked:
			n.depth, n.inside, n.fresh = n.depth+1, false, false
		default:
			n.fresh = false
		}
	}
}

// quote takes a quote behind k backslashes: it opens or closes a string of the
// innermost document, closes one of a document around it, or is text.
func (n *nesting) quote(k int) {
	n.fresh = false
	for d := n.depth; d >= 1; d-- {
		if k != quoteSlashes(d) {
			continue
		}
		n.inside = d == n.depth && !n.inside
		n.depth, n.fresh = d, n.inside
		return
	}
}

// escapes is how often a value at this place is to be escaped.
func (n *nesting) escapes() int {
	if n.inside || n.depth < 2 {
		return max(n.depth, 1)
	}
	return n.depth - 1
}
