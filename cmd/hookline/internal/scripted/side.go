package scripted

import (
	"encoding/json"
	"reflect"
	"strings"
)

// sideCall answers the calls that agents make beside the conversation (which
// model is best, who speaks next, does it loop): they ask for JSON of a schema,
// and any value that fits will do. ok is false for calls of the conversation.
func sideCall(body []byte) (answer string, ok bool) {
	c := readConfig(body)
	if c.MIME != "application/json" && c.MIMESnake != "application/json" {
		return "", false
	}
	for _, s := range []any{c.JSONSchema, c.Schema, c.JSONSchemaSnake, c.SchemaSnake} {
		if m, isObject := s.(map[string]any); isObject {
			return string(encode(fill(m))), true
		}
	}
	return "{}", true
}

// wantsThoughts reports whether a request asks for thought summaries.
func wantsThoughts(body []byte) bool {
	c := readConfig(body)
	return c.Thinking.Include || c.Thinking.IncludeSnake || c.ThinkingSnake.Include || c.ThinkingSnake.IncludeSnake
}

func readConfig(body []byte) config {
	var req struct {
		Config      config `json:"generationConfig"`
		ConfigSnake config `json:"generation_config"`
	}
	if json.Unmarshal(body, &req) != nil {
		return config{}
	}
	if !reflect.ValueOf(req.ConfigSnake).IsZero() {
		return req.ConfigSnake
	}
	return req.Config
}

type thinking struct {
	Include      bool `json:"includeThoughts"`
	IncludeSnake bool `json:"include_thoughts"`
}

type config struct {
	Thinking        thinking `json:"thinkingConfig"`
	ThinkingSnake   thinking `json:"thinking_config"`
	MIME            string   `json:"responseMimeType"`
	MIMESnake       string   `json:"response_mime_type"`
	Schema          any      `json:"responseSchema"`
	SchemaSnake     any      `json:"response_schema"`
	JSONSchema      any      `json:"responseJsonSchema"`
	JSONSchemaSnake any      `json:"response_json_schema"`
}

// fill makes the smallest value that a schema accepts.
func fill(schema map[string]any) any {
	if e, ok := schema["enum"].([]any); ok && len(e) > 0 {
		return e[0]
	}
	kind, _ := schema["type"].(string)
	switch strings.ToLower(kind) {
	case "object":
		out := map[string]any{}
		props, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, r := range required {
			k, _ := r.(string)
			p, _ := props[k].(map[string]any)
			out[k] = fill(p)
		}
		return out
	case "array":
		return []any{}
	case "number", "integer":
		if m, ok := schema["minimum"].(float64); ok {
			return m
		}
		return 1
	case "boolean":
		return false
	default:
		return "scripted"
	}
}
