package gemini

import "github.com/hookline-proxy/hookline/translate"

// WithSystemText gives r with a text part at the end of its system instruction,
// which is made if there is none. A request that refers to cached content has
// its instruction there, and may have no other: it stays as it is.
func (w Wire) WithSystemText(r *translate.Request, text string) (*translate.Request, error) {
	d, err := docOf(r)
	if err != nil {
		return nil, err
	}
	if d.value(r.Raw, fieldCached) != nil {
		return r, nil
	}
	part := w.TextPart(text).Raw
	system := d.value(r.Raw, fieldSystem)
	switch {
	case !isObject(system):
		system = append(append([]byte(`{"parts":[`), part...), `]}`...)
	case isObject(get(system, "parts")):
		system = set(system, "parts", list([][]byte{get(system, "parts"), part}), false)
	default:
		system = set(system, "parts", list(append(elements(get(system, "parts")), part)), false)
	}
	r, _ = d.setField(r, fieldSystem, system)
	return r, nil
}
