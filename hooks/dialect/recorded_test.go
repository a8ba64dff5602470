package dialect

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks"
)

// own are members of recorded inputs that only Qwen Code itself can know, or that
// no document names.
var own = map[string]bool{"tool_use_id": true, "submitted_prompt": true, "background_tasks": true, "crons": true,
	"context_usage": true, "context_limit": true, "input_tokens": true}

// TestRecordedInputs makes internal events of what Qwen Code 0.24.4 showed its own
// hooks, and wants the dialect to show the same members of the documents.
func TestRecordedInputs(t *testing.T) {
	shared := os.Getenv("HOOKLINE_SHARED")
	if shared == "" {
		t.Skip("HOOKLINE_SHARED is not set: recorded runs of Qwen Code are not compared")
	}
	files, err := filepath.Glob(filepath.Join(shared, "reference_qwen", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings in %s: %v", shared, err)
	}
	seen := map[string]int{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var run struct {
			Inputs []struct {
				Event string          `json:"event"`
				Stdin json.RawMessage `json:"stdin"`
			} `json:"hook_inputs"`
		}
		if err := json.Unmarshal(b, &run); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for i, in := range run.Inputs {
			seen[in.Event]++
			l := All()[hooks.DialectQwen][in.Event]
			if l == nil {
				t.Errorf("%s: no event %s", filepath.Base(file), in.Event)
				continue
			}
			internal := fromRecorded(t, l.Event, in.Stdin)
			if l.Takes != nil && !l.Takes(&internal) {
				t.Errorf("%s: %s does not take its event", filepath.Base(file), in.Event)
			}
			want, got := documented(t, in.Stdin), documented(t, l.Encode(&internal))
			if _, ok := want["model"]; !ok {
				delete(got, "model") // more than Qwen Code tells
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, input %d (-recorded +got):\n%s", filepath.Base(file), i, diff)
			}
		}
	}
	for _, name := range []string{"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop", "Notification", "InstructionsLoaded"} {
		if seen[name] == 0 {
			t.Errorf("no recording has %s", name)
		}
	}
}

// fromRecorded is the internal event that a recorded input stands for.
func fromRecorded(t *testing.T, ev hooks.Event, stdin json.RawMessage) hooks.Input {
	in := hooks.Input{Event: ev}
	text := func(v json.RawMessage) (s string) {
		if err := json.Unmarshal(v, &s); err != nil {
			t.Fatalf("%s: %v", v, err)
		}
		return s
	}
	for _, m := range hooks.Members(stdin) {
		switch m.Key {
		case "session_id":
			in.SessionID = text(m.Value)
		case "transcript_path":
			in.TranscriptPath = text(m.Value)
		case "cwd":
			in.Cwd = text(m.Value)
		case "timestamp":
			var err error
			if in.Time, err = time.Parse(time.RFC3339, text(m.Value)); err != nil {
				t.Fatal(err)
			}
		case "hook_event_name", "tool_use_id", "is_interrupt":
		case "last_assistant_message":
			in.Fields = append(in.Fields, hooks.Field{Key: "prompt_response", Value: m.Value})
		case "error":
			in.Fields = append(in.Fields, hooks.Field{Key: "tool_response", Value: hooks.Object([]hooks.Field{
				{Key: "llmContent", Value: m.Value}, {Key: "error", Value: hooks.Object([]hooks.Field{{Key: "message", Value: m.Value}})}})})
		case "model":
			in.Fields = append(in.Fields, hooks.Field{Key: "x_hookline", Value: hooks.Object([]hooks.Field{{Key: "agent", Value: hooks.Quote("qwen-code")}, {Key: "model", Value: m.Value}})})
		default:
			in.Fields = append(in.Fields, m)
		}
	}
	return in
}

func documented(t *testing.T, doc []byte) map[string]any {
	var m map[string]any
	if err := json.Unmarshal(doc, &m); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	delete(m, "x_hookline")
	for key := range m {
		if own[key] {
			delete(m, key)
		}
	}
	return m
}
