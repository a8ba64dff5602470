package gemini_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
	"github.com/hookline-proxy/hookline/translate/gemini/rules"
)

type line struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// randomHistory is a body that the API accepts: prompts, answers, thoughts,
// signed calls alone, in parallel and after text, results with and without text.
func randomHistory(r *rand.Rand) []byte {
	text := func() map[string]any { return map[string]any{"text": fmt.Sprintf("t%d ", r.IntN(6))} }
	var contents []any
	add := func(role string, parts ...any) {
		contents = append(contents, map[string]any{"role": role, "parts": parts})
	}
	id := 0
	for range 1 + r.IntN(3) {
		prompt := []any{text()}
		if r.IntN(3) == 0 {
			prompt = append(prompt, map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": "AA=="}}, text())
		}
		if r.IntN(6) == 0 {
			prompt = prompt[:0]
			prompt = append(prompt, map[string]any{"inlineData": map[string]any{"mimeType": "image/png", "data": "AA=="}})
		}
		add("user", prompt...)
		for range r.IntN(3) {
			var calls, results []any
			if r.IntN(2) == 0 {
				calls = append(calls, map[string]any{"text": "hm", "thought": true})
			}
			if r.IntN(2) == 0 {
				calls = append(calls, text())
			}
			for k := range 1 + r.IntN(2) {
				id++
				call := map[string]any{"functionCall": map[string]any{"name": "f", "args": map[string]any{"n": id}, "id": fmt.Sprint("c", id)}}
				if k == 0 {
					call["thoughtSignature"] = fmt.Sprintf("c2ln%04d", id)
				}
				calls = append(calls, call)
				results = append(results, map[string]any{"functionResponse": map[string]any{"name": "f", "response": map[string]any{"output": id}, "id": fmt.Sprint("c", id)}})
			}
			if r.IntN(4) == 0 {
				results = append(results, text())
			}
			add("model", calls...)
			add("user", results...)
		}
		if r.IntN(4) > 0 {
			add("model", text())
		}
	}
	add("user", text())
	b, _ := json.Marshal(map[string]any{"contents": contents, "tools": []any{map[string]any{"functionDeclarations": []any{map[string]any{"name": "f"}}}}})
	return b
}

// randomEdit changes a list of messages as hooks do.
func randomEdit(r *rand.Rand, list []line) []line {
	out := append([]line{}, list...)
	for range 1 + r.IntN(3) {
		at := r.IntN(len(out) + 1)
		switch r.IntN(5) {
		case 0:
			role := []string{"user", "model"}[r.IntN(2)]
			out = append(out[:at:at], append([]line{{role, fmt.Sprint("new", r.IntN(100))}}, out[at:]...)...)
		case 1, 2:
			if at < len(out) {
				out[at].Content = fmt.Sprint("edited ", out[at].Content)
			}
		case 3:
			if at < len(out) {
				out = append(out[:at:at], out[at+1:]...)
			}
		case 4:
			r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
		}
	}
	return out
}

// Whatever a hook does to the messages, the API's rules for calls and results hold.
func TestApplyMessagesKeepsHistoryValid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	w := gemini.Wire{}
	edited := 0
	for range 700 {
		body := randomHistory(r)
		if v := rules.Check(body, rules.Options{Gemini3: true}); v != nil {
			t.Fatalf("the history to start from breaks rule %s: %s", v.Rule, body)
		}
		req, err := w.ParseRequest(body, "m")
		if err != nil {
			t.Fatal(err)
		}
		var shown struct {
			Messages []line `json:"messages"`
		}
		if err := json.Unmarshal(w.LLMRequest(req, false), &shown); err != nil {
			t.Fatal(err)
		}
		want := randomEdit(r, shown.Messages)
		patch, _ := json.Marshal(map[string]any{"messages": want})
		got, err := w.ApplyLLMRequest(req, patch, false)
		if err != nil {
			continue // nothing would be left
		}
		edited++
		v := rules.Check(got.Raw, rules.Options{Gemini3: true})
		if v != nil && v.Rule != rules.LastTurn {
			t.Fatalf("rule %s: %s\nbefore   %s\nmessages %s\nafter    %s", v.Rule, v.Message, body, patch, got.Raw)
		}
		again, err := w.ApplyLLMRequest(req, patch, false)
		if err != nil || string(again.Raw) != string(got.Raw) {
			t.Fatalf("not deterministic: %s and %s (%v)", got.Raw, again.Raw, err)
		}
	}
	if edited < 550 {
		t.Errorf("only %d of 700 edits were tried", edited)
	}
}

// Where a hook edits text only, the hook after it is shown exactly that text, and
// no part but the text changes.
func TestApplyMessagesEditsTextOnly(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	w := gemini.Wire{}
	messages := func(req *translate.Request) []line {
		var shown struct {
			Messages []line `json:"messages"`
		}
		if err := json.Unmarshal(w.LLMRequest(req, false), &shown); err != nil {
			t.Fatal(err)
		}
		return shown.Messages
	}
	others := func(req *translate.Request) (parts []string) {
		for _, turn := range req.Turns {
			for _, p := range turn.Parts {
				if p.Kind != translate.KindText {
					parts = append(parts, string(p.Raw))
				}
			}
		}
		return parts
	}
	for range 500 {
		req, err := w.ParseRequest(randomHistory(r), "m")
		if err != nil {
			t.Fatal(err)
		}
		want := messages(req)
		for i := range want {
			if r.IntN(2) == 0 {
				want[i].Content = fmt.Sprint(want[i].Content, i, "é")
			}
		}
		patch, _ := json.Marshal(map[string]any{"messages": want})
		got, err := w.ApplyLLMRequest(req, patch, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, messages(got)); diff != "" {
			t.Fatalf("messages after the edit: -want +got\n%s", diff)
		}
		if diff := cmp.Diff(others(req), others(got)); diff != "" {
			t.Fatalf("other parts after the edit: -want +got\n%s", diff)
		}
	}
}
