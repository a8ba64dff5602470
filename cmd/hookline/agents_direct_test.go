package main_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/translate/gemini/rules"
)

// The tools that agents are given. What a hook does to which tool is the
// matrix test's business.
var pathSchema = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)

var directTools = []agentTool{
	{Name: "look", Description: "Reads a file.", Parameters: pathSchema, Result: "secret is 42"},
	{Name: "tally", Description: "Counts things.", Result: "three", Parameters: json.RawMessage(
		`{"type":"object","properties":{"limit":{"type":"number"},"exact":{"type":"boolean"},"words":{"type":"array","items":{"type":"string"}}},"required":["limit"]}`)},
	{Name: "now", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`), Result: "noon"},
}

var tallyArgs = `{"words":["a","b"],"limit":2.5,"exact":true}`

var directScript = scripted.Lines(
	scripted.Line{Prompt: "say hello", Steps: []scripted.Answer{{Thoughts: []string{"a greeting"}, Text: "Hello there, dear friend."}}},
	scripted.Line{Prompt: "one tool", Steps: []scripted.Answer{
		{Text: "I shall look. ", Calls: []scripted.Call{{Name: "look", Args: `{"path":"a.txt"}`}}},
		{Text: "One tool ran."},
	}},
	scripted.Line{Prompt: "side by side", Steps: []scripted.Answer{
		{Thoughts: []string{"three at once"}, Calls: []scripted.Call{{Name: "look", Args: `{"path":"b.txt"}`}, {Name: "tally", Args: tallyArgs}, {Name: "now"}}},
		{Text: "Three tools ran."},
	}},
	scripted.Line{Prompt: "step by step", Steps: []scripted.Answer{
		{Calls: []scripted.Call{{Name: "tally", Args: `{"limit":1}`}}},
		{Text: "And then ", Calls: []scripted.Call{{Name: "look", Args: `{"path":"c.txt"}`}}},
		{Text: "two steps were made."},
	}},
)

var directPrompts = []string{"please say hello", "use one tool", "use tools side by side", "go step by step", "please say hello again"}

var directTexts = []string{
	"Hello there, dear friend.", "I shall look. One tool ran.", "Three tools ran.", "And then two steps were made.", "Hello there, dear friend.",
}

var directFinals = []string{
	"Hello there, dear friend.", "One tool ran.", "Three tools ran.", "two steps were made.", "Hello there, dear friend.",
}

var directRan = []agentRun{
	{"look", map[string]any{"path": "a.txt"}},
	{"look", map[string]any{"path": "b.txt"}},
	{"tally", map[string]any{"words": []any{"a", "b"}, "limit": 2.5, "exact": true}},
	{"now", map[string]any{}},
	{"tally", map[string]any{"limit": 1.0}},
	{"look", map[string]any{"path": "c.txt"}},
}

// TestAgentsDirect holds a conversation with the scripted model, with nothing
// in between: an agent must work there before hookline can be judged by it.
// Those that cannot hold it by themselves are named, with the rule they break.
func TestAgentsDirect(t *testing.T) {
	const two, three = "gemini-2.5-flash", "gemini-3-flash-preview"
	breaks := map[string]rules.Rule{
		// A content for each event: the second of two parallel calls is then the
		// first of its content, and unsigned.
		"@google/genai chat-stream " + three:           rules.MissingSig,
		"@google/genai afc-stream " + three:            rules.MissingSig,
		"google.golang.org/genai chat-stream " + three: rules.MissingSig,
		// One part object for all parts of an event: of parallel calls the last
		// is recorded again and again.
		"@google/generative-ai chat-stream " + two: rules.Pairing,
		// An answer that holds an empty text is not recorded, nor is its prompt.
		"@google/generative-ai chat-stream " + three: rules.ResponseTurn,
		// No field for signatures.
		"generative-ai-go chat " + three:        rules.MissingSig,
		"generative-ai-go chat-stream " + three: rules.MissingSig,
		// A content for each result (langchain-ai/langchainjs#10341).
		"@langchain/google-genai invoke " + two:   rules.Counts,
		"@langchain/google-genai invoke " + three: rules.Counts,
		"@langchain/google-genai stream " + two:   rules.Counts,
		"@langchain/google-genai stream " + three: rules.Counts,
	}
	for _, a := range agents(t) {
		t.Run(strings.ReplaceAll(a.String(), "/", "_"), func(t *testing.T) {
			t.Parallel()
			model := scripted.New(scripted.Options{Script: directScript})
			ts := httptest.NewServer(model)
			defer ts.Close()
			names := []string{two, three}
			var cs []conversation
			for _, n := range names {
				cs = append(cs, conversation{BaseURL: ts.URL, Key: "k", Model: n, Prompts: directPrompts, Tools: directTools})
			}
			got, err := a.hold(t.Context(), cs)
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range names {
				want := breaks[a.String()+" "+n]
				rule := rules.Rule("")
				for _, r := range model.Violations() {
					if r.Model == n {
						rule = r.Violation.Rule
						if rule != want {
							t.Errorf("%s: %s (%s)\n%s", n, r.Violation, rule, r.Contents)
						}
						break
					}
				}
				if rule != want {
					t.Errorf("%s: breaks rule %q, wanted %q", n, rule, want)
				}
				if want != "" || rule != "" {
					continue
				}
				wantTexts := directTexts
				if a.finalOnly {
					wantTexts = directFinals
				}
				var texts []string
				for _, turn := range got[i].Turns {
					texts = append(texts, turn.Text+turn.Error)
				}
				if d := cmp.Diff(wantTexts, texts); d != "" {
					t.Errorf("%s: what the user saw: %s", n, d)
				}
				// calls of one turn may run side by side
				if d := cmp.Diff(directRan, got[i].Ran, cmpopts.SortSlices(runsBefore)); d != "" {
					t.Errorf("%s: tools that ran: %s", n, d)
				}
			}
		})
	}
}

func runsBefore(a, b agentRun) bool {
	return fmt.Sprint(a.Name, a.Args) < fmt.Sprint(b.Name, b.Args)
}
