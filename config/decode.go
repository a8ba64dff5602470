package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// decoder fills Go values from a syntax tree and remembers where each one came
// from, so that later checks can point at it.
type decoder struct {
	file     string
	data     []byte
	at       map[string]int // path of a value that the file has -> offset in bytes
	foreign  bool           // another tool's file: keys that are not ours are its own matter
	problems Problems
	known    Known
}

// closed is a string type with a fixed set of values.
type closed interface{ values() []string }

func (d *decoder) report(sev Severity, off int, path, msg, hint string) {
	line, col := lineColumn(d.data, off)
	d.problems = append(d.problems, Problem{Severity: sev, File: d.file, Line: line, Column: col, Path: path, Message: msg, Hint: hint})
}

func (d *decoder) fail(off int, path, msg, hint string) { d.report(Error, off, path, msg, hint) }

// has reports whether the file says something at path.
func (d *decoder) has(path string) bool { _, ok := d.at[path]; return ok }

// decode reads the whole file into c.
func (d *decoder) decode(root *hujson.Value, c *Config) {
	d.value(root, "", reflect.ValueOf(c).Elem())
}

// value reads v into dst, whose type says what is wanted. What does not fit is
// reported and leaves dst as it was.
func (d *decoder) value(v *hujson.Value, path string, dst reflect.Value) {
	d.at[path] = v.StartOffset
	if kindOf(v) == "null" {
		if d.foreign {
			return
		}
		d.fail(v.StartOffset, path, "null is no value here", "leave the key out for its default")
		return
	}
	if dst.Type() == reflect.TypeFor[Size]() {
		d.size(v, path, dst)
		return
	}
	if dst.Type() == reflect.TypeFor[Duration]() {
		d.duration(v, path, dst)
		return
	}
	switch dst.Kind() {
	case reflect.Struct:
		d.object(v, path, dst)
	case reflect.Map:
		d.mapping(v, path, dst)
	case reflect.Slice:
		d.list(v, path, dst)
	case reflect.String:
		d.text(v, path, dst)
	case reflect.Bool:
		if d.want(v, path, "true or false", "bool") {
			dst.SetBool(v.Value.(hujson.Literal).Bool())
		}
	case reflect.Int:
		d.integer(v, path, dst)
	default:
		panic("config: no way to read a " + dst.Type().String())
	}
}

// want checks the kind of a value and reports another one. want is for people.
func (d *decoder) want(v *hujson.Value, path, want string, kind string) bool {
	got := kindOf(v)
	if got == kind {
		return true
	}
	hint := ""
	if lit, ok := v.Value.(hujson.Literal); ok && got == "string" && (kind == "bool" || kind == "number") {
		s := lit.String()
		_, notNumber := strconv.Atoi(s)
		if kind == "bool" && (s == "true" || s == "false") || kind == "number" && notNumber == nil {
			hint = "write " + s + " without quotes"
		}
	}
	if kind == "list" {
		hint = "put it in brackets: [ … ]"
	}
	d.fail(v.StartOffset, path, fmt.Sprintf("is %s, must be %s", article(got), want), hint)
	return false
}

func (d *decoder) text(v *hujson.Value, path string, dst reflect.Value) {
	enum, isEnum := dst.Interface().(closed)
	what := "a string"
	if isEnum {
		what = "one of " + quoted(enum.values())
	}
	if !d.want(v, path, what, "string") {
		return
	}
	s := v.Value.(hujson.Literal).String()
	if !isEnum {
		dst.SetString(s)
		return
	}
	for _, known := range enum.values() {
		if s == known {
			dst.SetString(s)
			return
		}
	}
	hint := ""
	if n := nearest(s, enum.values()); n != "" {
		hint = fmt.Sprintf("did you mean %q?", n)
	}
	d.fail(v.StartOffset, path, fmt.Sprintf("%q is not known, must be %s", clip(s), what), hint)
}

func (d *decoder) integer(v *hujson.Value, path string, dst reflect.Value) {
	if !d.want(v, path, "a whole number", "number") {
		return
	}
	raw := string(v.Value.(hujson.Literal))
	n, err := strconv.ParseInt(raw, 10, 32)
	if err != nil {
		d.fail(v.StartOffset, path, clip(raw)+" is no whole number of a sensible size", "")
		return
	}
	dst.SetInt(n)
}

func (d *decoder) size(v *hujson.Value, path string, dst reflect.Value) {
	lit, _ := v.Value.(hujson.Literal)
	raw := string(lit)
	if k := kindOf(v); k == "string" {
		raw = lit.String()
	} else if k != "number" {
		d.want(v, path, `a size like "100MiB"`, "string")
		return
	}
	n, err := parseSize(raw)
	if err != nil {
		d.fail(v.StartOffset, path, clip(err.Error()), `write a number of bytes, or a string with a unit: "100MiB"`)
		return
	}
	dst.SetInt(int64(n))
}

func (d *decoder) duration(v *hujson.Value, path string, dst reflect.Value) {
	if !d.want(v, path, `a time span like "36h"`, "string") {
		return
	}
	span, err := parseDuration(v.Value.(hujson.Literal).String())
	if err != nil {
		d.fail(v.StartOffset, path, clip(err.Error()), `write a number with a unit: "90s", "30m", "36h", "7d"`)
		return
	}
	dst.SetInt(int64(span))
}

func (d *decoder) list(v *hujson.Value, path string, dst reflect.Value) {
	if !d.want(v, path, "a list", "list") {
		return
	}
	elems := v.Value.(*hujson.Array).Elements
	out := reflect.MakeSlice(dst.Type(), len(elems), len(elems))
	for i := range elems {
		d.value(&elems[i], fmt.Sprintf("%s[%d]", path, i), out.Index(i))
	}
	dst.Set(out)
}

func (d *decoder) mapping(v *hujson.Value, path string, dst reflect.Value) {
	if !d.want(v, path, "an object", "object") {
		return
	}
	known, isClosed := dst.Interface().(interface{ keys() []string })
	out := reflect.MakeMap(dst.Type())
	for m, name := range d.members(v, path) {
		sub := join(path, name)
		if isClosed && !contains(known.keys(), name) {
			d.fail(m.Name.StartOffset, sub, fmt.Sprintf("%q is no hook event", clip(name)), eventHint(name))
			continue
		}
		e := reflect.New(dst.Type().Elem()).Elem()
		d.value(&m.Value, sub, e)
		out.SetMapIndex(reflect.ValueOf(name), e)
	}
	dst.Set(out)
}

func (d *decoder) object(v *hujson.Value, path string, dst reflect.Value) {
	if !d.want(v, path, "an object", "object") {
		return
	}
	fields := map[string]int{}
	var names []string
	for i := range dst.NumField() {
		name := dst.Type().Field(i).Tag.Get("json")
		if name == "-" {
			continue
		}
		fields[name] = i
		names = append(names, name)
	}
	for m, name := range d.members(v, path) {
		sub := join(path, name)
		i, ok := fields[name]
		if !ok && d.foreign {
			continue
		}
		if !ok {
			d.fail(m.Name.StartOffset, sub, fmt.Sprintf("unknown key %q", clip(name)), keyHint(name, names))
			continue
		}
		d.value(&m.Value, sub, dst.Field(i))
	}
}

// members walks an object's members by name. A name that came before is
// reported and left out: which of the two is meant is for the user to say.
func (d *decoder) members(v *hujson.Value, path string) func(yield func(*hujson.ObjectMember, string) bool) {
	return func(yield func(*hujson.ObjectMember, string) bool) {
		seen := map[string]int{}
		ms := v.Value.(*hujson.Object).Members
		for i := range ms {
			name := ms[i].Name.Value.(hujson.Literal).String()
			if first, dup := seen[name]; dup {
				line, _ := lineColumn(d.data, first)
				d.fail(ms[i].Name.StartOffset, join(path, name), fmt.Sprintf("key %q stands twice", clip(name)),
					fmt.Sprintf("the first one is in line %d: remove one of them, or join their values", line))
				continue
			}
			seen[name] = ms[i].Name.StartOffset
			if !yield(&ms[i], name) {
				return
			}
		}
	}
}

func keyHint(name string, known []string) string {
	n := nearest(name, known)
	switch {
	case n == "":
		return "known keys are " + strings.Join(known, ", ")
	case strings.EqualFold(n, name):
		return fmt.Sprintf("write %q: upper and lower case matter", n)
	}
	return fmt.Sprintf("did you mean %q?", n)
}

func kindOf(v *hujson.Value) string {
	switch v.Value.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "bool"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	default:
		return "list"
	}
}

func article(kind string) string {
	switch kind {
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*$`)

// join appends a key to a path, in the way JavaScript would write it.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(clip(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// clip keeps a message readable whatever the file holds.
func clip(s string) string {
	const limit = 200
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func quoted(ss []string) string {
	q := make([]string, len(ss))
	for i, s := range ss {
		q[i] = strconv.Quote(s)
	}
	return strings.Join(q, ", ")
}

func contains(ss []string, s string) bool {
	for _, x := range ss {
		if x == s {
			return true
		}
	}
	return false
}
