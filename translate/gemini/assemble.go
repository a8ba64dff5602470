package gemini

import (
	"strconv"
	"strings"

	"github.com/hookline-proxy/hookline/translate"
)

// maxPathSteps bounds how deep streamed arguments may go. Deeper pieces are passed over.
const maxPathSteps = 64

// Assemble turns streamed calls into whole ones. Such a call comes as a piece
// with its name, then pieces with partialArgs and without one, then an empty
// piece that may be missing (seen with streamFunctionCallArguments on Vertex).
// The whole call stands where its first piece stood; other parts, and pieces
// that belong to no call, stay as they are.
func (w Wire) Assemble(parts []translate.Part) []translate.Part {
	streamed := false
	for _, p := range parts {
		streamed = streamed || p.Partial
	}
	if !streamed {
		return parts
	}
	out := make([]translate.Part, 0, len(parts))
	var open *streamedCall
	finish := func() {
		if open != nil {
			out[open.at] = w.CallPart(open.id, open.name, open.args.bytes(), open.signature)
			open = nil
		}
	}
	for _, p := range parts {
		if p.Kind != translate.KindCall {
			out = append(out, p)
			continue
		}
		if p.Name != "" {
			finish()
		}
		if !p.Partial || p.Name == "" && open == nil {
			out = append(out, p)
			continue
		}
		if open == nil {
			open = &streamedCall{at: len(out), args: node{object: true}}
			out = append(out, p)
		}
		if !open.add(p) {
			finish()
		}
	}
	finish()
	return out
}

// streamedCall is a call that is being put together.
type streamedCall struct {
	at                  int
	id, name, signature string
	args                node
}

// add takes a piece; more reports whether others are to follow.
func (c *streamedCall) add(p translate.Part) (more bool) {
	if c.name == "" {
		c.name = p.Name
	}
	if c.id == "" {
		c.id = p.ID
	}
	if c.signature == "" {
		c.signature = p.Signature
	}
	eachMember(p.Body, func(key []byte, at field) {
		c.args.member(string(key)).leaf = at.val.of(p.Body)
	})
	call := get(p.Raw, "functionCall")
	for _, piece := range elements(get(call, "partialArgs")) {
		steps, ok := pathSteps(textOf(get(piece, "jsonPath")))
		if !ok || len(steps) == 0 {
			continue
		}
		at := &c.args
		for _, s := range steps {
			if at = at.step(s); at == nil {
				break
			}
		}
		if at != nil {
			at.put(piece)
		}
	}
	return string(get(call, "willContinue")) == "true"
}

// node is a value that grows: an object, an array or a leaf.
type node struct {
	leaf   []byte
	open   bool // leaf is a string whose next piece is to come
	object bool
	array  bool
	keys   []string // of an object, in the order they came
	at     map[string]int
	kids   []*node
}

// pathStep is a member name or an array index.
type pathStep struct {
	name  string
	index int // -1 for a name
}

func (n *node) member(name string) *node {
	n.object, n.array, n.leaf = true, false, nil
	if i, ok := n.at[name]; ok {
		return n.kids[i]
	}
	if n.at == nil {
		n.at = map[string]int{}
	}
	n.at[name] = len(n.kids)
	kid := &node{}
	n.keys, n.kids = append(n.keys, name), append(n.kids, kid)
	return kid
}

// step goes one step down, making what is not there. nil means that the path
// contradicts what stands there already.
func (n *node) step(s pathStep) *node {
	if s.index < 0 {
		if n.array || n.leaf != nil {
			return nil
		}
		return n.member(s.name)
	}
	if n.object || n.leaf != nil || s.index > len(n.kids) {
		return nil // elements come in order; a far index would only eat memory
	}
	n.array = true
	if len(n.kids) == s.index {
		n.kids = append(n.kids, &node{})
	}
	return n.kids[s.index]
}

// put gives a leaf its value. A string whose last piece said that it continues
// grows; anything else is replaced.
func (n *node) put(piece []byte) {
	if n.object || n.array {
		return
	}
	if v := get(piece, "stringValue"); isString(v) {
		if n.open && isString(n.leaf) {
			v = append(append([]byte{}, n.leaf[:len(n.leaf)-1]...), v[1:]...)
		}
		n.leaf = v
		n.open = string(get(piece, "willContinue")) == "true"
		return
	}
	n.open = false
	for _, name := range [...]string{"numberValue", "boolValue"} {
		if v := get(piece, name); v != nil {
			n.leaf = v
			return
		}
	}
	if find(piece, "nullValue").ok() {
		n.leaf = []byte("null")
	}
}

func (n *node) bytes() []byte { return n.append(nil) }

func (n *node) append(out []byte) []byte {
	switch {
	case n.object:
		out = append(out, '{')
		for i, kid := range n.kids {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendQuoted(out, n.keys[i])
			out = append(out, ':')
			out = kid.append(out)
		}
		return append(out, '}')
	case n.array:
		out = append(out, '[')
		for i, kid := range n.kids {
			if i > 0 {
				out = append(out, ',')
			}
			out = kid.append(out)
		}
		return append(out, ']')
	case n.leaf != nil:
		return append(out, n.leaf...)
	}
	return append(out, "null"...)
}

// pathSteps reads a JSONPath of names and indexes: $.a.b[0]['c d'].
func pathSteps(path string) (steps []pathStep, ok bool) {
	path, ok = strings.CutPrefix(path, "$")
	if !ok {
		return nil, false
	}
	for path != "" {
		if len(steps) == maxPathSteps {
			return nil, false
		}
		var name string
		switch {
		case path[0] == '.':
			end := strings.IndexAny(path[1:], ".[")
			if end < 0 {
				end = len(path) - 1
			}
			name, path = path[1:1+end], path[1+end:]
			if name == "" {
				return nil, false
			}
			steps = append(steps, pathStep{name, -1})
		case len(path) > 1 && path[0] == '[' && (path[1] == '\'' || path[1] == '"'):
			end := strings.Index(path[2:], path[1:2]+"]")
			if end < 0 {
				return nil, false
			}
			steps = append(steps, pathStep{path[2 : 2+end], -1})
			path = path[2+end+2:]
		case path[0] == '[':
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return nil, false
			}
			index, err := strconv.Atoi(path[1:end])
			if err != nil || index < 0 {
				return nil, false
			}
			steps = append(steps, pathStep{"", index})
			path = path[end+1:]
		default:
			return nil, false
		}
	}
	return steps, true
}
