package gemini

import (
	"encoding/json"

	"github.com/hookline-proxy/hookline/translate"
)

// Part reads one part as it stood on the wire. What is no part is other.
func (Wire) Part(raw []byte) translate.Part { return parsePart(raw) }

// TextPart makes a text part.
func (Wire) TextPart(text string) translate.Part {
	return literalPart(quoted(text))
}

// literalPart makes a text part of a JSON string literal.
func literalPart(lit []byte) translate.Part {
	raw := make([]byte, 0, len(lit)+len(`{"text":}`))
	raw = append(raw, `{"text":`...)
	raw = append(raw, lit...)
	raw = append(raw, '}')
	return translate.Part{Raw: raw, Kind: translate.KindText, Text: raw[8 : len(raw)-1 : len(raw)-1]}
}

// CallPart makes a function call. args that are no object mean {}: a call without args is
// passed over by google-genai for Python. The id is left out when it is "",
// since older backends refuse one.
func (Wire) CallPart(id, name string, args json.RawMessage, signature string) translate.Part {
	return function("functionCall", "args", id, name, args, signature)
}

// ResultPart makes a function response. A response that is no object means {}.
func (Wire) ResultPart(id, name string, response json.RawMessage) translate.Part {
	return function("functionResponse", "response", id, name, response, "")
}

func function(member, payload, id, name string, body []byte, signature string) translate.Part {
	body = payloadOf(body)
	raw := make([]byte, 0, 96+len(id)+len(name)+len(body)+len(signature))
	raw = append(raw, '{', '"')
	raw = append(raw, member...)
	raw = append(raw, `":{`...)
	if id != "" {
		raw = append(raw, `"id":`...)
		raw = appendQuoted(raw, id)
		raw = append(raw, ',')
	}
	raw = append(raw, `"name":`...)
	raw = appendQuoted(raw, name)
	raw = append(raw, ',', '"')
	raw = append(raw, payload...)
	raw = append(raw, '"', ':')
	raw = append(raw, body...)
	raw = append(raw, '}')
	if signature != "" {
		raw = append(raw, `,"thoughtSignature":`...)
		raw = appendQuoted(raw, signature)
	}
	raw = append(raw, '}')
	return parsePart(raw)
}

// payloadOf is a call's or result's payload: an object, as protobuf's Struct has
// it; of anything else {}.
func payloadOf(body []byte) []byte {
	s := scanner{b: body}
	s.open()
	if from := s.i; s.peek() == '{' && s.skip() == nil {
		if at := (span{from, s.i}); s.done() == nil {
			return at.of(body)
		}
	}
	return []byte("{}")
}

// WithArgs sets the arguments of a call; no object means {}.
func (Wire) WithArgs(p translate.Part, args json.RawMessage) translate.Part {
	return withPayload(p, "functionCall", "args", args)
}

// WithResponse sets the response of a result; no object means {}.
func (Wire) WithResponse(p translate.Part, response json.RawMessage) translate.Part {
	return withPayload(p, "functionResponse", "response", response)
}

func withPayload(p translate.Part, member, payload string, body []byte) translate.Part {
	at := find(p.Raw, member)
	if !at.ok() || !isObject(at.val.of(p.Raw)) {
		return p
	}
	body = payloadOf(body)
	return parsePart(replace(p.Raw, at.val, set(at.val.of(p.Raw), payload, body, false)))
}

// WithCall sets id and name of a call or result; an empty id removes it.
func (Wire) WithCall(p translate.Part, id, name string) translate.Part {
	member := "functionCall"
	if p.Kind == translate.KindResult {
		member = "functionResponse"
	}
	at := find(p.Raw, member)
	if p.ID == id && p.Name == name || !at.ok() || !isObject(at.val.of(p.Raw)) {
		return p
	}
	inner := set(at.val.of(p.Raw), "name", quoted(name), false)
	if id == "" {
		inner = drop(inner, "id")
	} else {
		inner = set(inner, "id", quoted(id), false)
	}
	return parsePart(replace(p.Raw, at.val, inner))
}

// WithSignature sets the thought signature, which is opaque; "" removes it.
func (Wire) WithSignature(p translate.Part, signature string) translate.Part {
	if p.Signature == signature {
		return p
	}
	if signature == "" {
		return parsePart(drop(p.Raw, "thoughtSignature"))
	}
	return parsePart(set(p.Raw, "thoughtSignature", quoted(signature), isSnake(p.Raw)))
}

// isSnake reports whether a part's own names are spelled in snake_case.
func isSnake(part []byte) bool {
	snake := false
	eachMember(part, func(key []byte, _ field) {
		for _, c := range key {
			snake = snake || c == '_'
		}
	})
	return snake
}

// withText sets the text of a text part. A signature that came with other text
// goes unless it is to be kept.
func withText(p translate.Part, lit []byte, keepSignature bool) translate.Part {
	raw := set(p.Raw, "text", lit, false)
	if !keepSignature {
		raw = drop(raw, "thoughtSignature")
	}
	return parsePart(raw)
}

// withArgsAlways gives a whole call the args that every client needs.
func withArgsAlways(p translate.Part) translate.Part {
	if p.Kind == translate.KindCall && !p.Partial && p.Body == nil {
		return withPayload(p, "functionCall", "args", nil)
	}
	return p
}
