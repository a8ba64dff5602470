package gemini

import (
	"bytes"
	"fmt"

	"github.com/hookline-proxy/hookline/translate"
)

const (
	modeAuto      = "AUTO"
	modeAny       = "ANY"
	modeNone      = "NONE"
	modeValidated = "VALIDATED"
)

// toolConfig is the tool selection of the body, in the words of hooks.
func (d *Doc) toolConfig(r *translate.Request) (tc translate.ToolConfig, ok bool) {
	calling := get(d.value(r.Raw, fieldToolConfig), "functionCallingConfig")
	if !isObject(calling) {
		return tc, false
	}
	tc.Mode = enumName(get(calling, "mode"), callingModes[:])
	for _, v := range elements(get(calling, "allowedFunctionNames")) {
		if isString(v) {
			tc.AllowedFunctionNames = append(tc.AllowedFunctionNames, unquote(v))
		}
	}
	return tc, true
}

func appendToolConfig(out []byte, tc translate.ToolConfig) []byte {
	out = append(out, '{')
	if tc.Mode != "" {
		out = append(out, `"mode":`...)
		out = appendQuoted(out, tc.Mode)
	}
	if len(tc.AllowedFunctionNames) > 0 {
		if tc.Mode != "" {
			out = append(out, ',')
		}
		out = append(out, `"allowedFunctionNames":`...)
		out = append(out, nameList(tc.AllowedFunctionNames)...)
	}
	return append(out, '}')
}

func nameList(names []string) []byte {
	out := []byte{'['}
	for i, n := range names {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendQuoted(out, n)
	}
	return append(out, ']')
}

// ApplyToolConfig applies a tool selection as the API accepts it.
//
//   - NONE sets the mode; declarations stay.
//   - ANY (and VALIDATED) with names allows those of them that are declared; if
//     none is, no function may be called, which is mode NONE. Without names
//     the request's own list stays if its mode allowed one.
//   - AUTO with names removes the other declarations, since the API refuses
//     names with AUTO; tools of other kinds stay. No mode counts as AUTO.
//
// A request that declares no functions stays as it is: the API refuses a
// selection without declarations. An unknown mode is an error.
func (w Wire) ApplyToolConfig(r *translate.Request, tc translate.ToolConfig) (*translate.Request, error) {
	d, err := docOf(r)
	if err != nil {
		return nil, err
	}
	declared := d.declared(r)
	if len(declared) == 0 {
		return r, nil
	}
	now, _ := d.toolConfig(r)
	var names []string
	for _, n := range tc.AllowedFunctionNames {
		if declared[n] {
			names = append(names, n)
		}
	}
	given := len(tc.AllowedFunctionNames) > 0
	switch tc.Mode {
	case modeNone:
		return w.setCalling(r, d, modeNone, nil), nil
	case modeAny, modeValidated:
		if given && len(names) == 0 {
			return w.setCalling(r, d, modeNone, nil), nil
		}
		if !given && (now.Mode == modeAny || now.Mode == modeValidated) {
			names = now.AllowedFunctionNames
		}
		return w.setCalling(r, d, tc.Mode, names), nil
	case modeAuto, "":
		if tc.Mode == "" && !given {
			return r, nil
		}
		if given {
			r, d = d.filterDeclarations(r, names)
			if len(names) == 0 {
				return d.dropCalling(r), nil
			}
		}
		return w.setCalling(r, d, modeAuto, nil), nil
	}
	return nil, fmt.Errorf("toolConfig.mode is %q: want AUTO, ANY or NONE", tc.Mode)
}

// declared are the names of all declared functions.
func (d *Doc) declared(r *translate.Request) map[string]bool {
	names := map[string]bool{}
	for _, tool := range listOf(d.value(r.Raw, fieldTools)) {
		for _, decl := range listOf(get(tool, "functionDeclarations")) {
			if name := get(decl, "name"); isString(name) {
				names[unquote(name)] = true
			}
		}
	}
	return names
}

// declares reports whether any function is declared.
func (d *Doc) declares(r *translate.Request) bool {
	for _, tool := range listOf(d.value(r.Raw, fieldTools)) {
		if len(listOf(get(tool, "functionDeclarations"))) > 0 {
			return true
		}
	}
	return false
}

// listOf gives the elements of an array, and one object as an array of one.
func listOf(v []byte) [][]byte {
	if isObject(v) {
		return [][]byte{v}
	}
	return elements(v)
}

// setCalling sets mode and names of the function calling config, keeping all
// other members and the form of the mode.
func (w Wire) setCalling(r *translate.Request, d *Doc, mode string, names []string) *translate.Request {
	now, _ := d.toolConfig(r)
	if now.Mode == mode && sameNames(now.AllowedFunctionNames, names) {
		return r
	}
	config := d.value(r.Raw, fieldToolConfig)
	if !isObject(config) {
		config = []byte("{}")
	}
	calling := get(config, "functionCallingConfig")
	if !isObject(calling) {
		calling = []byte("{}")
	}
	number := w.IntEnums || isNumber(get(calling, "mode"))
	calling = set(calling, "mode", enumValue(mode, callingModes[:], number), d.snake)
	if len(names) == 0 {
		calling = drop(calling, "allowedFunctionNames")
	} else {
		calling = set(calling, "allowedFunctionNames", nameList(names), d.snake)
	}
	r, _ = d.setField(r, fieldToolConfig, set(config, "functionCallingConfig", calling, d.snake))
	return r
}

func sameNames(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// dropCalling removes the function calling config, which the API refuses where
// no function is declared.
func (d *Doc) dropCalling(r *translate.Request) *translate.Request {
	config := d.value(r.Raw, fieldToolConfig)
	if config == nil {
		return r
	}
	config = drop(config, "functionCallingConfig")
	if isEmptyObject(config) {
		config = nil
	}
	r, _ = d.setField(r, fieldToolConfig, config)
	return r
}

func isEmptyObject(v []byte) bool {
	return isObject(v) && len(bytes.TrimSpace(v[1:len(v)-1])) == 0
}

// filterDeclarations keeps the declarations of the named functions. Tools that
// are emptied by that go, and so do the tools when none is left.
func (d *Doc) filterDeclarations(r *translate.Request, names []string) (*translate.Request, *Doc) {
	keep := map[string]bool{}
	for _, n := range names {
		keep[n] = true
	}
	var tools [][]byte
	changed := false
	for _, tool := range listOf(d.value(r.Raw, fieldTools)) {
		all := listOf(get(tool, "functionDeclarations"))
		var left [][]byte
		for _, decl := range all {
			if keep[textOf(get(decl, "name"))] {
				left = append(left, decl)
			}
		}
		if len(left) == len(all) {
			tools = append(tools, tool)
			continue
		}
		changed = true
		if len(left) > 0 {
			tool = set(tool, "functionDeclarations", list(left), d.snake)
		} else {
			tool = drop(tool, "functionDeclarations")
		}
		if !isEmptyObject(tool) {
			tools = append(tools, tool)
		}
	}
	if !changed {
		return r, d
	}
	if len(tools) == 0 {
		return d.setField(r, fieldTools, nil)
	}
	return d.setField(r, fieldTools, list(tools))
}
