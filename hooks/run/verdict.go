package run

import (
	"encoding/json"
	"strings"

	"google.golang.org/genai"

	"github.com/hookline-proxy/hookline/hooks"
)

// maxReason is the most bytes of a model's reason that are kept.
const maxReason = 8 << 10

// verdict is what a model is asked for.
type verdict struct {
	ok     bool
	reason string
}

// verdictSchema is the form of a verdict, as a response or as a call's
// arguments. The reason comes first, so that the model has it before it decides.
var verdictSchema = &genai.Schema{
	Type: genai.TypeObject,
	Properties: map[string]*genai.Schema{
		"reason": {Type: genai.TypeString, Description: "why, in one or two sentences; the one whose action is stopped will read it"},
		"ok":     {Type: genai.TypeBoolean, Description: "true if the event may go on"},
	},
	Required:         []string{"reason", "ok"},
	PropertyOrdering: []string{"reason", "ok"},
}

var errNoVerdict = &hooks.Failure{Kind: hooks.FailureJSON, Text: `its model's answer is not {"ok": true or false, "reason": "…"}`,
	Hint: "is the model able to answer by a schema, and does the prompt ask for a yes or no?"}

// readVerdict reads a verdict in a model's text.
func readVerdict(text string) (verdict, *hooks.Failure) {
	text = strings.TrimSpace(text)
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		inner = strings.TrimPrefix(inner, "json")
		text = strings.TrimSuffix(inner, "```")
	}
	var args map[string]any
	if json.Unmarshal([]byte(text), &args) != nil {
		return verdict{}, errNoVerdict
	}
	return verdictOf(args)
}

// verdictOf reads a verdict's members. One without ok decides nothing.
func verdictOf(args map[string]any) (verdict, *hooks.Failure) {
	ok, isBool := args["ok"].(bool)
	reason, isText := args["reason"].(string)
	if !isBool || args["reason"] != nil && !isText {
		return verdict{}, errNoVerdict
	}
	reason = strings.TrimSpace(reason)
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason], "") + "…"
	}
	return verdict{ok, reason}, nil
}

// result is a verdict in the words of a hook's output.
func (v verdict) result() hooks.Result {
	if v.ok {
		return hooks.Result{}
	}
	out := map[string]string{"decision": "block"}
	if v.reason != "" {
		out["reason"] = v.reason
	}
	b, err := json.Marshal(out)
	if err != nil {
		return hooks.Result{Err: err}
	}
	return hooks.Result{Stdout: b}
}
