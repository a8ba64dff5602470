// Command adk holds conversations with google.golang.org/adk, in the form that
// ../lib.mjs describes. Its argument is the manner: none or sse. It is a module
// of its own so that the agent kit's many dependencies stay out of hookline's.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"
)

type conversation struct {
	BaseURL string   `json:"baseUrl"`
	Key     string   `json:"key"`
	Model   string   `json:"model"`
	Prompts []string `json:"prompts"`
	Tools   []struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Parameters  *jsonschema.Schema `json:"parameters"`
		Result      string             `json:"result"`
	} `json:"tools"`
}

type outcome struct {
	Turns []turn `json:"turns"`
	Ran   []run  `json:"ran"`
}

type turn struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

type run struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

func main() {
	mode := agent.StreamingMode(os.Args[1])
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c conversation
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			fmt.Fprintln(os.Stderr, "read a conversation:", err)
			os.Exit(2)
		}
		o, err := hold(context.Background(), c, mode)
		if err != nil {
			o.Turns = append(o.Turns, turn{Error: "open: " + err.Error()})
		}
		if err := out.Encode(o); err != nil {
			os.Exit(2)
		}
	}
}

func hold(ctx context.Context, c conversation, mode agent.StreamingMode) (o outcome, err error) {
	var mu sync.Mutex // the kit runs the calls of one turn side by side
	var tools []tool.Tool
	for _, t := range c.Tools {
		ft, err := functiontool.New(functiontool.Config{Name: t.Name, Description: t.Description, InputSchema: t.Parameters},
			func(_ tool.Context, args map[string]any) (map[string]any, error) {
				mu.Lock()
				defer mu.Unlock()
				o.Ran = append(o.Ran, run{Name: t.Name, Args: args})
				return map[string]any{"output": t.Result}, nil
			})
		if err != nil {
			return o, err
		}
		tools = append(tools, ft)
	}
	model, err := gemini.NewModel(ctx, c.Model, &genai.ClientConfig{
		APIKey: c.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: c.BaseURL},
	})
	if err != nil {
		return o, err
	}
	a, err := llmagent.New(llmagent.Config{Name: "assistant", Model: model, Tools: tools, GenerateContentConfig: &genai.GenerateContentConfig{
		ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true},
	}})
	if err != nil {
		return o, err
	}
	r, err := runner.New(runner.Config{AppName: "test", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		return o, err
	}
	for _, prompt := range c.Prompts {
		var t turn
		var seen strings.Builder
		for ev, err := range r.Run(ctx, "user", "session", genai.NewContentFromText(prompt, genai.RoleUser), agent.RunConfig{StreamingMode: mode}) {
			if err != nil {
				t.Error = err.Error()
				break
			}
			if ev.ErrorMessage != "" {
				t.Error = ev.ErrorMessage
			}
			// with streaming the pieces come first, then the whole once more
			if ev.Content == nil || (mode == agent.StreamingModeSSE) != ev.Partial {
				continue
			}
			for _, p := range ev.Content.Parts {
				if !p.Thought {
					seen.WriteString(p.Text)
				}
			}
		}
		t.Text = seen.String()
		o.Turns = append(o.Turns, t)
	}
	return o, nil
}
