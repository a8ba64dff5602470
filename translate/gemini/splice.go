package gemini

import "bytes"

// field is a member of an object: where its name, quotes included, and its
// value stand.
type field struct{ key, val span }

func (f field) ok() bool { return f.val.ok() }

// isNamed reports whether a member name is name or its snake_case form.
func isNamed(key []byte, name string) bool {
	i := 0
	snake := bytes.IndexByte(key, '_') >= 0
	for j := 0; j < len(name); j++ {
		c := name[j]
		if snake && c >= 'A' && c <= 'Z' {
			if i >= len(key) || key[i] != '_' {
				return false
			}
			i++
			c += 'a' - 'A'
		}
		if i >= len(key) || key[i] != c {
			return false
		}
		i++
	}
	return i == len(key)
}

// snakeCase is the snake_case form of a camelCase name.
func snakeCase(name string) string {
	var b []byte
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= 'A' && c <= 'Z' {
			b = append(b, '_', c+'a'-'A')
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// camelCase is the camelCase form of a snake_case name.
func camelCase(name string) string {
	var b []byte
	up := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c == '_' && i > 0 {
			up = true
			continue
		}
		if up && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		up = false
		b = append(b, c)
	}
	return string(b)
}

func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }
func isString(v []byte) bool { return len(v) > 1 && v[0] == '"' }
func isNull(v []byte) bool   { return len(v) == 0 || v[0] == 'n' }
func isNumber(v []byte) bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// eachMember calls f for the members of an object; of anything else for none.
func eachMember(obj []byte, f func(key []byte, at field)) {
	s := scanner{b: obj}
	s.space()
	if s.peek() != '{' {
		return
	}
	// What is passed here was validated when it was parsed.
	_ = s.object(func(key []byte) error {
		at := field{key: s.key, val: span{start: s.i}}
		if err := s.skip(); err != nil {
			return err
		}
		at.val.end = s.i
		f(key, at)
		return nil
	})
}

// find is the member of obj by that name, in either spelling, the last one.
func find(obj []byte, name string) (at field) {
	eachMember(obj, func(key []byte, f field) {
		if isNamed(key, name) {
			at = f
		}
	})
	return at
}

// get is the value of a member; nil when it is absent or null.
func get(obj []byte, name string) []byte {
	at := find(obj, name)
	if !at.ok() || isNull(at.val.of(obj)) {
		return nil
	}
	return at.val.of(obj)
}

// elements are the elements of an array; those of anything else are none.
func elements(arr []byte) [][]byte {
	s := scanner{b: arr}
	s.space()
	if s.peek() != '[' {
		return nil
	}
	var list [][]byte
	_ = s.array(func() error {
		v, err := s.value()
		list = append(list, v)
		return err
	})
	return list
}

// replace gives b with one range exchanged.
func replace(b []byte, at span, by []byte) []byte {
	out := make([]byte, 0, len(b)-(at.end-at.start)+len(by))
	out = append(out, b[:at.start]...)
	out = append(out, by...)
	return append(out, b[at.end:]...)
}

// set gives obj with a member set: where it stands, else as the last member,
// in the spelling that is asked for.
func set(obj []byte, name string, val []byte, snake bool) []byte {
	if at := find(obj, name); at.ok() {
		return replace(obj, at.val, val)
	}
	return insert(obj, name, val, snake)
}

// insert gives obj with a member added at its end.
func insert(obj []byte, name string, val []byte, snake bool) []byte {
	end := bytes.LastIndexByte(obj, '}')
	if end < 0 {
		return obj
	}
	return replace(obj, span{end, end}, newMember(obj[:end], name, val, snake))
}

// newMember is what is to be inserted after the members in before.
func newMember(before []byte, name string, val []byte, snake bool) []byte {
	if snake {
		name = snakeCase(name)
	}
	m := make([]byte, 0, len(name)+len(val)+4)
	if b := bytes.TrimRight(before, " \n\r\t"); len(b) > 0 && b[len(b)-1] != '{' {
		m = append(m, ',')
	}
	m = appendQuoted(m, name)
	m = append(m, ':')
	return append(m, val...)
}

// cut widens a member to what must go with it: one of the commas beside it.
func cut(b []byte, at field) span {
	i := at.key.start - 1
	for i >= 0 && isSpace(b[i]) {
		i--
	}
	if i >= 0 && b[i] == ',' {
		return span{i, at.val.end}
	}
	j := at.val.end
	for j < len(b) && isSpace(b[j]) {
		j++
	}
	if j < len(b) && b[j] == ',' {
		return span{at.key.start, j + 1}
	}
	return span{at.key.start, at.val.end}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// drop gives obj without a member, in whatever spelling, however often.
func drop(obj []byte, name string) []byte {
	return dropWhere(obj, func(key []byte) bool { return isNamed(key, name) })
}

// dropWhere gives obj without the members whose name is to go.
func dropWhere(obj []byte, gone func(key []byte) bool) []byte {
	var all []field
	found := false
	eachMember(obj, func(key []byte, at field) {
		if gone(key) {
			found = true
			at.key.end = at.key.start // marks it
		}
		all = append(all, at)
	})
	if !found {
		return obj
	}
	out := make([]byte, 0, len(obj))
	from, kept := 0, false
	for i, at := range all {
		if at.key.ok() {
			kept = true
			continue
		}
		switch {
		case kept: // with the comma before it
			out = append(out, obj[from:all[i-1].val.end]...)
			from = at.val.end
		case i+1 < len(all): // with the comma behind it
			out = append(out, obj[from:at.key.start]...)
			from = all[i+1].key.start
		default:
			out = append(out, obj[from:at.key.start]...)
			from = at.val.end
		}
	}
	return append(out, obj[from:]...)
}

// list renders an array of values.
func list(values [][]byte) []byte {
	n := 2
	for _, v := range values {
		n += len(v) + 1
	}
	out := append(make([]byte, 0, n), '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']')
}
