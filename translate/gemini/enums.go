package gemini

import "strconv"

// finishReasons are Candidate.FinishReason by number
// (google/ai/generativelanguage/v1beta/generative_service.proto, read 2026-08).
var finishReasons = [...]string{
	"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
	"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
	"IMAGE_PROHIBITED_CONTENT", "IMAGE_OTHER", "NO_IMAGE", "IMAGE_RECITATION",
}

// callingModes are FunctionCallingConfig.Mode by number.
var callingModes = [...]string{"MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"}

// enumName is the name of an enum value that may be a number on the wire. The
// unspecified value and null are ""; numbers without a name stay digits.
func enumName(v []byte, names []string) string {
	switch {
	case isString(v):
		if name := unquote(v); name != names[0] {
			return name
		}
		return ""
	case isNumber(v):
		if n, err := strconv.Atoi(string(v)); err == nil && n >= 0 && n < len(names) {
			if n == 0 {
				return ""
			}
			return names[n]
		}
		return string(v)
	}
	return ""
}

// enumValue is what enumName reads, as a number if asked for and known.
func enumValue(name string, names []string, number bool) []byte {
	if isNumber([]byte(name)) {
		return []byte(name)
	}
	if number {
		for n, known := range names {
			if known == name {
				return strconv.AppendInt(nil, int64(n), 10)
			}
		}
	}
	return quoted(name)
}
