package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"google.golang.org/genai"
)

// demoModel is the name by which the agent asks for the scripted model. Its
// family is the one with the strictest rules for a history.
const demoModel = "gemini-3-flash-preview"

// demoTools are the agent's tools, which do nothing but answer.
var demoTools = map[string]func(args map[string]any) string{
	"run_shell_command": func(args map[string]any) string { return fmt.Sprintf("ran %v", args["command"]) },
	"list_directory":    func(args map[string]any) string { return fmt.Sprintf("%v: main.go, README.md", args["path"]) },
	"read_file":         func(map[string]any) string { return "DB_HOST=db1\nDB_PASSWORD=hunter2" },
	"find_order":        func(map[string]any) string { return "order 4711, parcel P-77" },
	"track_parcel":      func(map[string]any) string { return "parcel P-77 arrives on Friday" },
}

// line is one line of what a side of the conversation saw.
type line struct {
	Who  string `json:"who"`  // "user", "model", "call" or "result"
	Text string `json:"text"` //
}

// demoAgent is a plain agent on the Gemini SDK: it asks, runs the tools that the
// model calls, and asks again with the whole history, until an answer has no
// call. Of hookline it knows the base URL, and nothing else.
func demoAgent(ctx context.Context, base, prompt string) ([]line, error) {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: "no-key-needed", Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: base},
	})
	if err != nil {
		return nil, err
	}
	var declared []*genai.FunctionDeclaration
	for name := range demoTools {
		declared = append(declared, &genai.FunctionDeclaration{Name: name, Description: "a tool of the demo"})
	}
	cfg := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: declared}}}
	saw := []line{{"user", prompt}}
	history := []*genai.Content{genai.NewContentFromText(prompt, genai.RoleUser)}
	for range 8 { // far more than any scene needs
		var said []*genai.Part
		for res, err := range client.Models.GenerateContentStream(ctx, demoModel, history, cfg) {
			if err != nil {
				return saw, err
			}
			if len(res.Candidates) == 0 || res.Candidates[0].Content == nil {
				continue
			}
			for _, p := range res.Candidates[0].Content.Parts {
				// The API refuses a part without data when it comes back.
				if p.Text != "" || p.FunctionCall != nil {
					said = append(said, p)
				}
			}
		}
		history = append(history, &genai.Content{Role: genai.RoleModel, Parts: said})
		var text strings.Builder
		var results []*genai.Part
		for _, p := range said {
			text.WriteString(p.Text)
		}
		if text.Len() > 0 {
			saw = append(saw, line{"model", text.String()})
		}
		for _, p := range said {
			if p.FunctionCall == nil {
				continue
			}
			c := p.FunctionCall
			args, err := json.Marshal(c.Args)
			if err != nil {
				return saw, err
			}
			saw = append(saw, line{"call", c.Name + " " + string(args)})
			tool, ok := demoTools[c.Name]
			if !ok {
				return saw, fmt.Errorf("the model called %q, which is no tool", c.Name)
			}
			out := tool(c.Args)
			saw = append(saw, line{"result", out})
			part := genai.NewPartFromFunctionResponse(c.Name, map[string]any{"output": out})
			part.FunctionResponse.ID = c.ID
			results = append(results, part)
		}
		if len(results) == 0 {
			return saw, nil
		}
		history = append(history, &genai.Content{Role: genai.RoleUser, Parts: results})
	}
	return saw, fmt.Errorf("the model never stopped calling tools")
}
