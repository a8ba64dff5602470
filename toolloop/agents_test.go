package toolloop_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// TestSideCalls takes recorded requests of real agents through the hooks: side
// calls fire model hooks alone, the first call of a compression PreCompress, and
// turns of the conversation the agent events.
func TestSideCalls(t *testing.T) {
	files, err := filepath.Glob("testdata/toolloop/*-gemini-cli-*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var r struct {
				Agent, Method string
				Events        []string
				Body          json.RawMessage
			}
			if err := json.Unmarshal(b, &r); err != nil {
				t.Fatal(err)
			}
			pass := func(hooks.Input) hooks.Decision { return hooks.Decision{} }
			a := newTalk(t, decide{hooks.SessionStart: pass, hooks.BeforeAgent: pass, hooks.AfterAgent: pass, hooks.PreCompress: pass, hooks.BeforeModel: pass},
				[]string{stop(text("ok"))})
			err = a.loop.Run(context.Background(), toolloop.Call{ID: "r", Tenant: "t", Session: "s", SessionExplicit: true, Wire: gemini.Wire{},
				Body: r.Body, Model: "gemini-2.5-flash", Agent: r.Agent, Stream: r.Method == "streamGenerateContent", Upstream: a.model}, a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.Events, a.hooks.log); diff != "" {
				t.Errorf("fired (-want +got):\n%s", diff)
			}
		})
	}
}
