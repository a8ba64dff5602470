package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
)

// TestHandlerTypes: a hook of each type that is no process denies a call of an
// agent, whose key it may use; the strict model finds nothing to complain of in
// what a hook asks it.
func TestHandlerTypes(t *testing.T) {
	const agentKey, ownKey = "agent-k3y", "own-k3y"
	t.Setenv("HOOK_KEY", ownKey)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Event string `json:"hook_event_name"`
			Tool  string `json:"tool_name"`
		}
		_ = json.NewDecoder(r.Body).Decode(&in)
		_ = json.NewEncoder(w).Encode(map[string]string{"decision": "deny", "reason": fmt.Sprintf("no %s at %s for %s", in.Tool, in.Event, r.Header.Get("Authorization"))})
	}))
	t.Cleanup(service.Close)
	// The scripted model answers what asks for JSON by a schema on its own: with
	// false, and "scripted" for a text.
	tests := []struct {
		name   string
		hook   map[string]any
		config map[string]any
		reason string
		asked  int    // model calls of the hook
		key    string // of those
	}{
		{"http", map[string]any{"type": "http", "url": service.URL, "headers": map[string]any{"Authorization": "Bearer ${HOOK_KEY}"}, "allowedEnvVars": []string{"HOOK_KEY"}}, nil,
			"no run_shell_command at BeforeTool for Bearer own-k3y", 0, ""},
		{"prompt", map[string]any{"type": "prompt", "prompt": "Judge: $ARGUMENTS"}, nil, "scripted", 1, agentKey},
		{"prompt with a key of its own", map[string]any{"type": "prompt", "prompt": "Judge: $ARGUMENTS"}, map[string]any{"apiKeyEnv": "HOOK_KEY"}, "scripted", 1, ownKey},
		{"agent", map[string]any{"type": "agent", "prompt": "Look and judge: $ARGUMENTS", "model": "gemini-3-flash-preview"}, nil, "hookline.json forbids it", 2, agentKey},
		{"blocked address, closed", map[string]any{"type": "http", "url": "http://169.254.169.254/latest", "failMode": "closed"}, nil, "is blocked: it is a cloud metadata service", 0, ""},
		{"budget used up, closed", map[string]any{"type": "agent", "prompt": "Look and judge:", "failMode": "closed"}, map[string]any{"callsPerMinute": 1}, "1 model calls of this minute are used up", 1, agentKey},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			model := scripted.New(scripted.Options{Script: scripted.Lines(
				scripted.Line{Prompt: "Look and judge:", Steps: []scripted.Answer{
					{Calls: []scripted.Call{{Name: "glob", Args: `{"pattern":"*.json"}`}, {Name: "read_file", Args: `{"path":"/etc/passwd"}`}}},
					{Calls: []scripted.Call{{Name: "verdict", Args: `{"ok":false,"reason":"hookline.json forbids it"}`}}},
				}},
				scripted.Line{Prompt: "clean up", Steps: []scripted.Answer{
					{Calls: []scripted.Call{{Name: "run_shell_command", Args: `{"command":"rm -rf /"}`}}}, {Text: "The answer was: ", Echo: true},
				}},
			)})
			var mu sync.Mutex
			keys := map[string]int{} // by key and kind of question
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				kind := "agent"
				if strings.Contains(string(body), "udge:") {
					kind = "hook"
				}
				mu.Lock()
				keys[kind+" "+r.Header.Get("X-Goog-Api-Key")]++
				mu.Unlock()
				r.Body = io.NopCloser(strings.NewReader(string(body)))
				model.ServeHTTP(w, r)
			}))
			t.Cleanup(upstream.Close)
			tt.hook["name"] = "guard"
			config := map[string]any{"hooks": map[string]any{"BeforeTool": []any{map[string]any{"hooks": []any{tt.hook}}}}, "log": map[string]any{"level": "debug"}}
			if tt.config != nil {
				config["hooksConfig"] = tt.config
			}
			g := startHookline(t, upstream.URL, config)
			got, err := goGenai(true)(t.Context(), []conversation{{BaseURL: g.url, Key: agentKey, Model: "gemini-2.5-flash", Prompts: []string{"clean up"},
				Tools: []agentTool{{Name: "run_shell_command", Description: "d", Result: "done"}}}})
			if err != nil {
				t.Fatal(err)
			}
			if len(got[0].Ran) > 0 || !strings.Contains(got[0].Turns[0].Text, tt.reason) {
				t.Errorf("the agent ran %v and got %+v; want the reason %q", got[0].Ran, got[0].Turns, tt.reason)
			}
			for _, v := range model.Violations() {
				t.Errorf("the model refused %s: %v", v.Body, v.Violation)
			}
			mu.Lock()
			defer mu.Unlock()
			if tt.asked > 0 && keys["hook "+tt.key] != tt.asked || keys["agent "+agentKey] != 2 {
				t.Errorf("calls by key: %v; want 2 of the agent, and %d of the hook with %s", keys, tt.asked, tt.key)
			}
			if log := g.log.String(); strings.Contains(log, agentKey) || strings.Contains(log, ownKey) {
				t.Errorf("a key is in the log:\n%s", log)
			}
		})
	}
}

// A key that is promised and not there is told at the start.
func TestHookKeyNotSet(t *testing.T) {
	file := configure(t, "http://127.0.0.1:1", map[string]any{
		"hooks":       map[string]any{"BeforeTool": []any{map[string]any{"hooks": []any{map[string]any{"type": "prompt", "prompt": "p"}}}}},
		"hooksConfig": map[string]any{"apiKeyEnv": "NO_SUCH_HOOK_KEY"},
	})
	if _, err := launch(file); err == nil || !strings.Contains(err.Error(), "NO_SUCH_HOOK_KEY, which is not set") {
		t.Errorf("got %v", err)
	}
}
