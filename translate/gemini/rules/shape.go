package rules

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// known are the members of the messages that a proxy writes into, in camel
// case; the API takes them in snake case as well, and nothing else.
var known = map[string][]string{
	"": {
		"model", "contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig",
		"cachedContent", "labels", "serviceTier", "store", "modelArmorConfig", "reservedAgent",
	},
	"content":               {"role", "parts"},
	"part":                  append([]string{"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}, dataMembers...),
	"functionCall":          {"id", "name", "args", "partialArgs", "willContinue"},
	"functionResponse":      {"id", "name", "response", "parts", "scheduling", "willContinue"},
	"functionDeclaration":   {"name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"},
	"functionCallingConfig": {"mode", "allowedFunctionNames", "streamFunctionCallArguments"},
}

// dataMembers are the members of a part's oneof.
var dataMembers = []string{
	"text", "inlineData", "fileData", "functionCall", "functionResponse",
	"executableCode", "codeExecutionResult", "toolCall", "toolResponse",
}

var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:-]{0,63}$`)

const nameMessage = "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), " +
	"underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64."

func snake(camel string) string {
	var b strings.Builder
	for _, r := range camel {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

// member finds a member in either spelling; null counts as absent.
func member(m map[string]any, camel string) any {
	if v := m[camel]; v != nil {
		return v
	}
	return m[snake(camel)]
}

// unknown refuses the members that the message does not have.
func unknown(m map[string]any, message, path string) *Violation {
	var bad []string
	for k := range m {
		if !slices.ContainsFunc(known[message], func(n string) bool { return k == n || k == snake(n) }) {
			bad = append(bad, k)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad) // map order must not choose the message
	at := ""
	if path != "" {
		at = " at '" + path + "'"
	}
	return broken(UnknownField, "Invalid JSON payload received. Unknown name %q%s: Cannot find field.", bad[0], at)
}

// list reads a repeated field; the API takes one object for a list of one.
func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	default:
		return []any{v}
	}
}

func wrongType(path, want string) *Violation {
	return broken(Type, "Invalid value at '%s' (%s)", path, want)
}

func (c *checker) members() *Violation {
	if v := unknown(c.doc, "", ""); v != nil {
		return v
	}
	si := member(c.doc, "systemInstruction")
	if si == nil {
		return nil
	}
	m, ok := si.(map[string]any)
	if !ok {
		return wrongType("system_instruction", "type.googleapis.com/google.ai.generativelanguage.v1beta.Content")
	}
	if v := unknown(m, "content", "system_instruction"); v != nil {
		return v
	}
	_, v := c.parts(m, "system_instruction")
	return v
}

func (c *checker) tools() *Violation {
	for i, t := range list(member(c.doc, "tools")) {
		m, ok := t.(map[string]any)
		if !ok {
			return wrongType(index("tools", i), "type.googleapis.com/google.ai.generativelanguage.v1beta.Tool")
		}
		for k, d := range list(member(m, "functionDeclarations")) {
			path := index(index("tools", i)+".function_declarations", k)
			decl, ok := d.(map[string]any)
			if !ok {
				return wrongType(path, "type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionDeclaration")
			}
			if v := unknown(decl, "functionDeclaration", path); v != nil {
				return v
			}
			name, _ := member(decl, "name").(string)
			if !functionName.MatchString(name) {
				return broken(Name, "* GenerateContentRequest.%s.name: %s\n", path, nameMessage)
			}
			if c.declared[name] {
				return broken(Duplicate, "Duplicate function declaration found: %s", name)
			}
			c.declared[name] = true
		}
	}
	return nil
}

func (c *checker) toolConfig() *Violation {
	tc, _ := member(c.doc, "toolConfig").(map[string]any)
	fc, _ := member(tc, "functionCallingConfig").(map[string]any)
	if fc == nil {
		return nil
	}
	const path = "tool_config.function_calling_config"
	if v := unknown(fc, "functionCallingConfig", path); v != nil {
		return v
	}
	mode, ok := modeName(member(fc, "mode"))
	if !ok {
		return wrongType(path+".mode", "type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode")
	}
	names := list(member(fc, "allowedFunctionNames"))
	if len(names) > 0 && mode != "ANY" && mode != "VALIDATED" {
		return broken(AllowedNames, "Please set allowed_function_names only when function calling mode is ANY.")
	}
	if mode == "ANY" && len(c.declared) == 0 {
		return broken(ToolConfig, "Function calling config is set without function_declarations.")
	}
	for i, n := range names {
		name, ok := n.(string)
		if !ok {
			return wrongType(index(path+".allowed_function_names", i), "TYPE_STRING")
		}
		if !c.declared[name] {
			return broken(AllowedNames, "* GenerateContentRequest.%s.allowed_function_names: [%s] is not in function_declarations.\n", path, name)
		}
	}
	return nil
}

// modeName reads an enum by name or number.
func modeName(v any) (string, bool) {
	names := []string{"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}
	switch v := v.(type) {
	case nil:
		return names[1], true
	case string:
		return v, slices.Contains(names, v)
	case json.Number:
		n, err := v.Int64()
		if err != nil || n < 0 || n >= int64(len(names)) {
			return "", false
		}
		return names[n], true
	default:
		return "", false
	}
}

func (c *checker) contents() *Violation {
	contents := list(member(c.doc, "contents"))
	if len(contents) == 0 {
		return broken(EmptyContents, "* GenerateContentRequest.contents: contents is not specified\n")
	}
	for i, v := range contents {
		path := index("contents", i)
		m, ok := v.(map[string]any)
		if !ok {
			return wrongType(path, "type.googleapis.com/google.ai.generativelanguage.v1beta.Content")
		}
		if v := unknown(m, "content", path); v != nil {
			return v
		}
		role, isText := member(m, "role").(string)
		if !isText && member(m, "role") != nil {
			return wrongType(path+".role", "TYPE_STRING")
		}
		parts, v := c.parts(m, path)
		if v != nil {
			return v
		}
		t := turn{role: role, parts: parts}
		switch {
		case role == "user", role == "model", role == "" && len(contents) == 1:
		case (role == "function" || role == "tool") && len(t.of("functionResponse")) > 0:
		default:
			return broken(Role, "Please use a valid role: user, model.")
		}
		c.turns = append(c.turns, t)
	}
	return nil
}

func (c *checker) parts(content map[string]any, path string) ([]part, *Violation) {
	raw := list(member(content, "parts"))
	if len(raw) == 0 {
		return nil, broken(EmptyParts, "* GenerateContentRequest.%s.parts: contents.parts must not be empty.\n", path)
	}
	parts := make([]part, len(raw))
	for i, r := range raw {
		p, v := c.part(r, index(path+".parts", i))
		if v != nil {
			return nil, v
		}
		parts[i] = p
	}
	return parts, nil
}

func (c *checker) part(raw any, path string) (p part, v *Violation) {
	m, ok := raw.(map[string]any)
	if !ok && raw != nil {
		return p, wrongType(path, "type.googleapis.com/google.ai.generativelanguage.v1beta.Part")
	}
	if v := unknown(m, "part", path); v != nil {
		return p, v
	}
	for _, k := range dataMembers {
		d := member(m, k)
		if d == nil {
			continue
		}
		if p.kind != "" {
			return p, broken(Oneof, "Invalid value at '%s' (oneof), oneof field 'data' is already set. Cannot set '%s'", path, k)
		}
		p.kind, p.data = k, d
	}
	if sig := member(m, "thoughtSignature"); sig != nil {
		if p.sig, ok = sig.(string); !ok {
			return p, wrongType(path+".thought_signature", "TYPE_BYTES")
		}
	}
	switch {
	case p.kind == "" && p.sig == "":
		return p, broken(EmptyPart, "* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field\n", path)
	case p.kind == "":
		return p, nil // a signature alone is what some agents make of signed empty text
	case p.kind == "text":
		if _, ok := p.data.(string); !ok {
			return p, wrongType(path+".text", "TYPE_STRING")
		}
		return p, nil
	}
	d, ok := p.data.(map[string]any)
	if !ok {
		return p, wrongType(path+"."+snake(p.kind), "a message")
	}
	switch p.kind {
	case "functionCall":
		return p, call(d, path+".function_call")
	case "functionResponse":
		return p, c.response(d, path+".function_response")
	}
	return p, nil
}

// named checks what calls and responses have in common.
func named(m map[string]any, message, path string) *Violation {
	if v := unknown(m, message, path); v != nil {
		return v
	}
	name, isText := member(m, "name").(string)
	if !isText && member(m, "name") != nil {
		return wrongType(path+".name", "TYPE_STRING")
	}
	if name == "" {
		return broken(Name, "* GenerateContentRequest.%s.name: Name cannot be empty.\n", path)
	}
	if !functionName.MatchString(name) {
		return broken(Name, "* GenerateContentRequest.%s.name: %s\n", path, nameMessage)
	}
	if id := member(m, "id"); id != nil {
		if _, ok := id.(string); !ok {
			return wrongType(path+".id", "TYPE_STRING")
		}
	}
	return nil
}

func call(m map[string]any, path string) *Violation {
	if v := named(m, "functionCall", path); v != nil {
		return v
	}
	if args := member(m, "args"); args != nil {
		if _, ok := args.(map[string]any); !ok {
			return wrongType(path+".args", "type.googleapis.com/google.protobuf.Struct")
		}
	}
	return nil
}

func (c *checker) response(m map[string]any, path string) *Violation {
	if v := named(m, "functionResponse", path); v != nil {
		return v
	}
	if _, ok := member(m, "response").(map[string]any); !ok {
		return broken(ResponseObject, "Invalid value at '%s.response' (type.googleapis.com/google.protobuf.Struct)", path)
	}
	if len(list(member(m, "parts"))) > 0 && !c.Gemini3 {
		return broken(Multimodal, "Multimodal function responses are not supported by this model.")
	}
	return nil
}
