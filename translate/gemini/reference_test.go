package gemini

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/translate"
)

// Hooks are shown the messages that Gemini CLI showed them for the same bodies.
func TestReferenceMessages(t *testing.T) {
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: the recorded runs of Gemini CLI are not compared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "reference", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded runs (%v)", err)
	}
	type request struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
		Config map[string]any `json:"config"`
	}
	compared := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			Upstream []struct {
				URL  string          `json:"url"`
				Body json.RawMessage `json:"body"`
			} `json:"upstream"`
			HookInputs []struct {
				Event string `json:"event"`
				Stdin struct {
					LLMRequest *request `json:"llm_request"`
				} `json:"stdin"`
			} `json:"hook_inputs"`
		}
		if err := json.Unmarshal(b, &run); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var shown []*request
		for _, in := range run.HookInputs {
			if in.Event == "BeforeModel" {
				shown = append(shown, in.Stdin.LLMRequest)
			}
		}
		// A hook that edits the request changes what went up.
		if strings.HasPrefix(filepath.Base(file), "bm_") || len(shown) != len(run.Upstream) {
			continue
		}
		for i, up := range run.Upstream {
			path, query, _ := strings.Cut(up.URL, "?")
			target := Route("POST", path, query)
			if !target.Hooked {
				t.Errorf("%s: %s is not hooked", file, up.URL)
				continue
			}
			w := target.Wire()
			r, err := w.ParseRequest(up.Body, target.Model)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			var got request
			if err := json.Unmarshal(w.LLMRequest(r, false), &got); err != nil {
				t.Fatal(err)
			}
			compared++
			for key := range got.Config {
				if _, ok := shown[i].Config[key]; !ok {
					delete(got.Config, key) // Gemini CLI shows four parameters only
				}
			}
			if diff := cmp.Diff(*shown[i], got); diff != "" {
				t.Errorf("%s, call %d: -Gemini CLI +hookline\n%s", filepath.Base(file), i, diff)
			}
		}
	}
	if compared == 0 {
		t.Error("no call was compared")
	}
	t.Logf("%d calls compared", compared)
}

// Calls whose arguments were streamed come out whole.
func TestCorpusStreamedCalls(t *testing.T) {
	calls := 0
	for name, b := range corpus(t, "stream-response", "stream-events-jsonl", "json-array-stream") {
		w := Wire{}
		var parts []translate.Part
		streamed := false
		for _, doc := range responses(name, b) {
			c, err := w.ParseChunk(doc)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, cand := range c.Candidates {
				for _, p := range cand.Parts {
					streamed = streamed || p.Partial
					parts = append(parts, p)
				}
			}
		}
		if !streamed {
			continue
		}
		for _, p := range w.Assemble(parts) {
			if p.Kind != translate.KindCall {
				continue
			}
			calls++
			if p.Partial || p.Name == "" || !isObject(p.Body) || len(p.Body) < 5 {
				t.Errorf("%s: %s is no whole call", name, p.Raw)
			}
		}
	}
	if calls == 0 {
		t.Error("no streamed calls in the corpus")
	}
	t.Logf("%d calls", calls)
}
