package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/hookline-proxy/hookline/translate"
)

// patch is a hook's llm_request, taken apart.
type patch struct {
	model      string // "" when not given
	config     []byte // the object; nil when not given
	toolConfig []byte
	messages   []message
	given      bool // messages were given
}

// maxConfigKeys bounds what a hook may merge into a generation config, which
// knows some thirty keys.
const maxConfigKeys = 1000

func members(obj []byte) (n int) {
	eachMember(obj, func([]byte, field) { n++ })
	return n
}

var errPatch = errors.New("llm_request")

// parsePatch reads what a hook returned. null members count as not given.
func parsePatch(doc []byte) (p patch, err error) {
	s := &scanner{b: doc}
	s.open()
	if s.peek() != '{' {
		return p, fmt.Errorf("%w is not an object", errPatch)
	}
	var model, messages []byte
	err = s.object(func(key []byte) error {
		v, err := s.value()
		if isNull(v) {
			v = nil
		}
		switch string(key) {
		case "model":
			model = v
		case "messages":
			messages = v
		case "config":
			p.config = v
		case "toolConfig", "tool_config":
			p.toolConfig = v
		}
		return err
	})
	if err == nil {
		err = s.done()
	}
	switch {
	case err != nil:
		return p, fmt.Errorf("%w: %w", errPatch, err)
	case model != nil && !isString(model):
		return p, fmt.Errorf("%w.model is not a string", errPatch)
	case !isModelName(textOf(model)):
		return p, fmt.Errorf("%w.model is no model's name", errPatch)
	case p.config != nil && !isObject(p.config):
		return p, fmt.Errorf("%w.config is not an object", errPatch)
	case members(p.config) > maxConfigKeys:
		return p, fmt.Errorf("%w.config has %d keys, the limit is %d", errPatch, members(p.config), maxConfigKeys)
	case p.toolConfig != nil && !isObject(p.toolConfig):
		return p, fmt.Errorf("%w.toolConfig is not an object", errPatch)
	case messages != nil && !isArray(messages):
		return p, fmt.Errorf("%w.messages is not an array", errPatch)
	}
	p.model, p.given = textOf(model), messages != nil
	for i, m := range elements(messages) {
		line, err := parseMessage(m)
		if err != nil {
			return p, fmt.Errorf("%w.messages[%d]: %w", errPatch, i, err)
		}
		p.messages = append(p.messages, line)
	}
	return p, nil
}

// parseMessage reads one message. An array as content is joined from its
// strings and {"text":…} objects; its other elements count for nothing. No
// content is the empty text.
func parseMessage(m []byte) (message, error) {
	if !isObject(m) {
		return message{}, errors.New("not an object")
	}
	line := message{turn: -1}
	role := get(m, "role")
	if role != nil && !isString(role) {
		return line, errors.New("role is not a string")
	}
	if line.role = shownRole(textOf(role)); textOf(role) == "assistant" {
		line.role = "model"
	}
	switch content := get(m, "content"); {
	case content == nil:
	case isString(content):
		line.text = unquote(content)
	case isArray(content):
		var b strings.Builder
		for _, e := range elements(content) {
			if isObject(e) {
				e = get(e, "text")
			}
			b.WriteString(textOf(e))
		}
		line.text = b.String()
	default:
		return line, errors.New("content is neither a string nor an array")
	}
	return line, nil
}

// shown are the messages that hooks see of r, as in LLMRequest.
func (d *Doc) shown(r *translate.Request, system bool) []message {
	list := make([]message, 0, len(r.Turns)+1)
	add := func(role string, parts []translate.Part, turn int) {
		text := partsText(parts)
		if text != "" {
			list = append(list, message{role, text, turn})
		}
	}
	if system {
		if t, ok := d.systemTurn(r); ok {
			add("system", t.Parts, systemMessage)
		}
	}
	for i, t := range r.Turns {
		add(shownRole(t.Role), t.Parts, i)
	}
	return list
}

// partsText is the visible text of parts, joined without a separator.
func partsText(parts []translate.Part) string {
	first := ""
	var more []byte
	for _, p := range parts {
		if p.Kind != translate.KindText || len(p.Text) <= 2 {
			continue
		}
		text := unquote(p.Text)
		switch {
		case first == "":
			first = text
		case more == nil:
			more = append(append(more, first...), text...)
		default:
			more = append(more, text...)
		}
	}
	if more != nil {
		return string(more)
	}
	return first
}

// ApplyLLMRequest applies a hook's llm_request as a diff to what hooks were
// shown. Members that are absent or null change nothing.
//
//   - messages that come back as they were shown change nothing, byte for byte.
//     Edited, moved, deleted and inserted ones change the text of their turns
//     and the order of turns; whatever else a turn carries stays (see rewrite).
//     An inserted system message is appended to the system instruction; one
//     that was shown may be edited and deleted. A list that leaves no turn at
//     all is an error: the API takes no empty history.
//   - config merges into generationConfig key by key; null removes a key.
//   - toolConfig is applied as by ApplyToolConfig if it differs.
//   - model becomes Request.Model, and the body's model member if it has one.
func (w Wire) ApplyLLMRequest(r *translate.Request, llmRequest json.RawMessage, system bool) (*translate.Request, error) {
	d, err := docOf(r)
	if err != nil {
		return nil, err
	}
	if len(llmRequest) == 0 || isNull(bytes.TrimSpace(llmRequest)) {
		return r, nil
	}
	p, err := parsePatch(llmRequest)
	if err != nil {
		return nil, err
	}
	if p.given {
		if r, err = w.applyMessages(r, d, p.messages, system); err != nil {
			return nil, err
		}
		d, _ = docOf(r)
	}
	if p.config != nil {
		r, d = d.mergeConfig(r, p.config)
	}
	if p.toolConfig != nil {
		if r, err = w.applyPatchToolConfig(r, d, p.toolConfig); err != nil {
			return nil, err
		}
		d, _ = docOf(r)
	}
	if p.model != "" && p.model != unquote(quoted(r.Model)) { // as it was shown
		if model := strings.TrimPrefix(p.model, "models/"); model != r.Model {
			r = w.setModel(r, d, model)
		}
	}
	return r, nil
}

// isModelName reports whether a hook's model can go into a path: its segments lead
// nowhere else. "" means that the hook names none.
func isModelName(model string) bool {
	for _, segment := range strings.Split(model, "/") {
		if segment == "." || segment == ".." || segment == "" && model != "" {
			return false
		}
	}
	return true
}

// setModel names another model, in the body too if the body names one (Code
// Assist's always does). A resource name stays one.
func (w Wire) setModel(r *translate.Request, d *Doc, model string) *translate.Request {
	old := d.value(r.Raw, fieldModel)
	if old != nil || w.Envelope {
		name := model
		if strings.Contains(textOf(old), "/") && !strings.Contains(name, "/") {
			name = "models/" + name
		}
		r, _ = d.setField(r, fieldModel, quoted(name))
	}
	next := *r
	next.Model = model
	return &next
}

func (w Wire) applyMessages(r *translate.Request, d *Doc, now []message, system bool) (*translate.Request, error) {
	base := d.shown(r, system)
	match := pair(base, now)
	pairSystem(base, now, match)
	out, changed := rewrite(r.Turns, base, now, match)
	sys, sysChanged := d.newSystem(r, base, now, match)
	if sysChanged {
		if at := d.fields[fieldCached]; at.ok() && !isNull(at.val.of(r.Raw)) && sys != nil {
			return nil, fmt.Errorf("%w.messages changes the system instruction, which the API refuses beside cachedContent", errPatch)
		}
		r, _ = d.setField(r, fieldSystem, sys)
	}
	if !changed {
		return r, nil
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w.messages leaves the request without any turn", errPatch)
	}
	turns := make([]translate.Turn, len(out))
	for i, p := range out {
		turns[i] = p.turn
	}
	return w.WithTurns(r, turns)
}

// pairSystem takes a new system message for an edit of the one that was shown,
// wherever it stands.
func pairSystem(base, now []message, match pairing) {
	if len(base) == 0 || base[0].turn != systemMessage {
		return
	}
	first := -1
	for n, b := range match {
		if b == 0 {
			return
		}
		if b < 0 && first < 0 && now[n].role == "system" {
			first = n
		}
	}
	if first >= 0 {
		match[first] = 0
	}
}

// newSystem is the system instruction after a hook: nil for none.
func (d *Doc) newSystem(r *translate.Request, base, now []message, match pairing) (_ []byte, changed bool) {
	raw := d.value(r.Raw, fieldSystem)
	t, ok := d.systemTurn(r)
	if isString(raw) {
		t.Raw = []byte(`{"parts":[]}`) // what the API takes, once we touch it
	}
	if len(base) > 0 && base[0].turn == systemMessage {
		text := ""
		for n, b := range match {
			if b == 0 {
				text = now[n].text
			}
		}
		t, ok, changed = withMessage(t, text)
	}
	for n, b := range match {
		if b >= 0 || now[n].role != "system" || now[n].text == "" {
			continue
		}
		changed = true
		if !ok || t.Raw == nil {
			t = translate.Turn{Raw: []byte(`{"parts":[]}`)}
		}
		ok = true
		t = withParts(t, append(t.Parts[:len(t.Parts):len(t.Parts)], Wire{}.TextPart(now[n].text)))
	}
	if !changed {
		return nil, false
	}
	if !ok {
		return nil, true
	}
	return t.Raw, true
}

// mergeConfig merges a hook's config into generationConfig. Keys go in the
// body's spelling; values that mean the same stay as they are written.
func (d *Doc) mergeConfig(r *translate.Request, config []byte) (*translate.Request, *Doc) {
	old := d.value(r.Raw, fieldGeneration)
	out := old
	if !isObject(out) {
		out = []byte("{}")
	}
	eachMember(config, func(key []byte, at field) {
		name, v := shownName(key), at.val.of(config)
		var now field
		eachMember(out, func(key []byte, at field) {
			if shownName(key) == name {
				now = at
			}
		})
		switch {
		case isNull(v):
			out = dropWhere(out, func(key []byte) bool { return shownName(key) == name })
		case !now.ok():
			out = insert(out, name, v, d.snake)
		case !sameJSON(now.val.of(out), v):
			out = replace(out, now.val, v)
		}
	})
	if old == nil && isEmptyObject(out) {
		return r, d
	}
	return d.setField(r, fieldGeneration, out)
}

// sameJSON reports whether two values mean the same, however they are written.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(appendCompact(nil, a), appendCompact(nil, b)) {
		return true
	}
	if isNumber(a) && isNumber(b) {
		x, err1 := strconv.ParseFloat(string(a), 64)
		y, err2 := strconv.ParseFloat(string(b), 64)
		return err1 == nil && err2 == nil && x == y
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func (w Wire) applyPatchToolConfig(r *translate.Request, d *Doc, raw []byte) (*translate.Request, error) {
	var tc translate.ToolConfig
	if mode := get(raw, "mode"); mode != nil {
		if tc.Mode = enumName(mode, callingModes[:]); !isString(mode) && !isNumber(mode) {
			return nil, fmt.Errorf("%w.toolConfig.mode is not a string", errPatch)
		}
	}
	names := get(raw, "allowedFunctionNames")
	if names != nil && !isArray(names) {
		return nil, fmt.Errorf("%w.toolConfig.allowedFunctionNames is not an array", errPatch)
	}
	for _, v := range elements(names) {
		if !isString(v) {
			return nil, fmt.Errorf("%w.toolConfig.allowedFunctionNames holds something else than strings", errPatch)
		}
		tc.AllowedFunctionNames = append(tc.AllowedFunctionNames, unquote(v))
	}
	if now, ok := d.toolConfig(r); ok && now.Mode == tc.Mode && sameNames(now.AllowedFunctionNames, tc.AllowedFunctionNames) {
		return r, nil
	}
	out, err := w.ApplyToolConfig(r, tc)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errPatch, err)
	}
	return out, nil
}
