package gemini

import (
	"encoding/json"

	"github.com/hookline-proxy/hookline/translate"
)

// LLMRequest is what hooks are shown: {model, messages, config, toolConfig?},
// compact. A message is the text of a turn: its text parts joined without a
// separator, thoughts left out; a turn without text gives none. Roles other
// than model and system are shown as user. config holds every member of
// generationConfig by its camelCase name.
func (w Wire) LLMRequest(r *translate.Request, system bool) json.RawMessage {
	d, err := docOf(r)
	if err != nil {
		d = &Doc{}
	}
	size := 128 + len(r.Model)
	for _, t := range r.Turns {
		for _, p := range t.Parts {
			if p.Kind == translate.KindText {
				size += len(p.Text) + 40
			}
		}
	}
	out := make([]byte, 0, size)
	out = append(out, `{"model":`...)
	out = appendQuoted(out, r.Model)
	out = append(out, `,"messages":[`...)
	first := len(out)
	if system {
		if t, ok := d.systemTurn(r); ok {
			out = appendMessage(out, "system", t.Parts, first)
		}
	}
	for _, t := range r.Turns {
		out = appendMessage(out, shownRole(t.Role), t.Parts, first)
	}
	out = append(out, `],"config":{`...)
	out = appendConfig(out, d.value(r.Raw, fieldGeneration))
	out = append(out, '}')
	if tc, ok := d.toolConfig(r); ok {
		out = append(out, `,"toolConfig":`...)
		out = appendToolConfig(out, tc)
	}
	return append(out, '}')
}

func shownRole(role string) string {
	switch role {
	case "model", "system":
		return role
	}
	return "user"
}

// appendMessage appends a message unless its text is empty. Literals are joined
// as they stand: what is an escape in the body is one for the hook.
func appendMessage(out []byte, role string, parts []translate.Part, first int) []byte {
	undo, text := len(out), 0
	if undo > first {
		out = append(out, ',')
	}
	out = append(out, `{"role":"`...)
	out = append(out, role...)
	out = append(out, `","content":"`...)
	for _, p := range parts {
		if p.Kind == translate.KindText {
			text += len(p.Text) - 2
			out = append(out, p.Text[1:len(p.Text)-1]...)
		}
	}
	if text == 0 {
		return out[:undo]
	}
	return append(out, '"', '}')
}

// shownName is a member's name as hooks see and return it.
func shownName(key []byte) string {
	return unquote(quoted(camelCase(string(key))))
}

// appendConfig appends the members of a generation config, of duplicates the
// last one.
func appendConfig(out, config []byte) []byte {
	type entry struct {
		name string
		val  []byte
	}
	var all []entry
	place := map[string]int{}
	eachMember(config, func(key []byte, at field) {
		name := shownName(key)
		i, ok := place[name]
		if !ok {
			i = len(all)
			place[name] = i
			all = append(all, entry{name: name})
		}
		all[i].val = at.val.of(config)
	})
	first := len(out)
	for _, e := range all {
		if isNull(e.val) {
			continue
		}
		if len(out) > first {
			out = append(out, ',')
		}
		out = appendQuoted(out, e.name)
		out = append(out, ':')
		out = appendCompact(out, e.val)
	}
	return out
}

// systemTurn is the system instruction as a turn. A bare string, which some
// SDKs allow and the API refuses, counts as one text part.
func (d *Doc) systemTurn(r *translate.Request) (translate.Turn, bool) {
	v := d.value(r.Raw, fieldSystem)
	switch {
	case isObject(v):
		t, err := parseTurn(v)
		return t, err == nil
	case isString(v):
		p := literalPart(v)
		return translate.Turn{Parts: []translate.Part{p}}, true
	}
	return translate.Turn{}, false
}

// Traits is what the request tells of its purpose.
func (w Wire) Traits(r *translate.Request) translate.Traits {
	d, err := docOf(r)
	if err != nil {
		return translate.Traits{}
	}
	config := d.value(r.Raw, fieldGeneration)
	t := translate.Traits{
		Tools: d.declares(r),
		JSON: textOf(get(config, "responseMimeType")) == "application/json" ||
			get(config, "responseSchema") != nil || get(config, "responseJsonSchema") != nil,
	}
	if sys, ok := d.systemTurn(r); ok {
		t.System = partsText(sys.Parts)
	}
	if w.Envelope {
		t.Session = textOf(d.value(r.Raw, fieldSession))
	}
	return t
}
