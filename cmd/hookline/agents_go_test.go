package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	legacy "github.com/google/generative-ai-go/genai"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/genai"
)

// rounds is how many answers one prompt may take.
const rounds = 12

// execute runs a tool of a conversation.
func (o *outcome) execute(c conversation, name string, args map[string]any) map[string]any {
	if args == nil {
		args = map[string]any{}
	}
	o.Ran = append(o.Ran, agentRun{Name: name, Args: args})
	for _, t := range c.Tools {
		if t.Name == name {
			return map[string]any{"output": t.Result}
		}
	}
	return map[string]any{"error": "no such tool: " + name}
}

// converse sends each prompt and records what comes of it.
func converse(c conversation, o *outcome, send func(prompt string) (string, error)) {
	for _, p := range c.Prompts {
		var t agentTurn
		var err error
		if t.Text, err = send(p); err != nil {
			t.Error = err.Error()
		}
		o.Turns = append(o.Turns, t)
	}
}

// goGenai drives google.golang.org/genai: a chat and the caller's own tool loop.
func goGenai(stream bool) func(context.Context, []conversation) ([]outcome, error) {
	return func(ctx context.Context, cs []conversation) ([]outcome, error) {
		out := make([]outcome, len(cs))
		for i, c := range cs {
			client, err := genai.NewClient(ctx, &genai.ClientConfig{
				APIKey: c.Key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: c.BaseURL},
			})
			if err != nil {
				return nil, err
			}
			var decls []*genai.FunctionDeclaration
			for _, t := range c.Tools {
				decls = append(decls, &genai.FunctionDeclaration{Name: t.Name, Description: t.Description, ParametersJsonSchema: t.Parameters})
			}
			config := &genai.GenerateContentConfig{
				Tools:          []*genai.Tool{{FunctionDeclarations: decls}},
				ThinkingConfig: &genai.ThinkingConfig{IncludeThoughts: true},
			}
			chat, err := client.Chats.Create(ctx, c.Model, config, nil)
			if err != nil {
				return nil, err
			}
			o := &out[i]
			converse(c, o, func(prompt string) (string, error) { return goGenaiTurn(ctx, chat, stream, c, o, prompt) })
		}
		return out, nil
	}
}

func goGenaiTurn(ctx context.Context, chat *genai.Chat, stream bool, c conversation, o *outcome, prompt string) (string, error) {
	var seen strings.Builder
	parts := []genai.Part{{Text: prompt}}
	for range rounds {
		var calls []*genai.FunctionCall
		take := func(r *genai.GenerateContentResponse) {
			for _, cand := range r.Candidates {
				if cand.Content == nil {
					continue
				}
				for _, p := range cand.Content.Parts {
					if p.FunctionCall != nil {
						calls = append(calls, p.FunctionCall)
					} else if !p.Thought {
						seen.WriteString(p.Text)
					}
				}
			}
		}
		if stream {
			for r, err := range chat.SendMessageStream(ctx, parts...) {
				if err != nil {
					return seen.String(), err
				}
				take(r)
			}
		} else {
			r, err := chat.SendMessage(ctx, parts...)
			if err != nil {
				return seen.String(), err
			}
			take(r)
		}
		if len(calls) == 0 {
			return seen.String(), nil
		}
		parts = nil
		for _, fc := range calls {
			parts = append(parts, genai.Part{FunctionResponse: &genai.FunctionResponse{ID: fc.ID, Name: fc.Name, Response: o.execute(c, fc.Name, fc.Args)}})
		}
	}
	return seen.String(), errors.New("the tool loop does not end")
}

// generativeAIGo drives github.com/google/generative-ai-go, which has reached
// its end of life: it knows neither ids nor thoughts nor signatures, reads the
// JSON array stream for unary calls too, and asks for enums as numbers.
func generativeAIGo(stream bool) func(context.Context, []conversation) ([]outcome, error) {
	return func(ctx context.Context, cs []conversation) ([]outcome, error) {
		out := make([]outcome, len(cs))
		for i, c := range cs {
			if err := legacyConversation(ctx, c, stream, &out[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func legacyConversation(ctx context.Context, c conversation, stream bool, o *outcome) error {
	client, err := legacy.NewClient(ctx, option.WithAPIKey(c.Key), option.WithEndpoint(c.BaseURL))
	if err != nil {
		return err
	}
	defer client.Close()
	model := client.GenerativeModel(c.Model)
	tool := &legacy.Tool{}
	for _, t := range c.Tools {
		schema, err := legacySchema(t.Parameters)
		if err != nil {
			return err
		}
		tool.FunctionDeclarations = append(tool.FunctionDeclarations, &legacy.FunctionDeclaration{Name: t.Name, Description: t.Description, Parameters: schema})
	}
	model.Tools = []*legacy.Tool{tool}
	chat := model.StartChat()
	converse(c, o, func(prompt string) (string, error) { return legacyTurn(ctx, chat, stream, c, o, prompt) })
	return nil
}

func legacyTurn(ctx context.Context, chat *legacy.ChatSession, stream bool, c conversation, o *outcome, prompt string) (string, error) {
	var seen strings.Builder
	parts := []legacy.Part{legacy.Text(prompt)}
	for range rounds {
		var calls []legacy.FunctionCall
		take := func(r *legacy.GenerateContentResponse) {
			for _, cand := range r.Candidates {
				if cand.Content == nil {
					continue
				}
				for _, p := range cand.Content.Parts {
					switch p := p.(type) {
					case legacy.Text:
						seen.WriteString(string(p))
					case legacy.FunctionCall:
						calls = append(calls, p)
					}
				}
			}
		}
		if stream {
			it := chat.SendMessageStream(ctx, parts...)
			for {
				r, err := it.Next()
				if errors.Is(err, iterator.Done) {
					break
				}
				if err != nil {
					return seen.String(), err
				}
				take(r)
			}
		} else {
			r, err := chat.SendMessage(ctx, parts...)
			if err != nil {
				return seen.String(), err
			}
			take(r)
		}
		if len(calls) == 0 {
			return seen.String(), nil
		}
		parts = nil
		for _, fc := range calls {
			parts = append(parts, legacy.FunctionResponse{Name: fc.Name, Response: o.execute(c, fc.Name, fc.Args)})
		}
	}
	return seen.String(), errors.New("the tool loop does not end")
}

// legacySchema reads the few forms of JSON schema that the tests use.
func legacySchema(raw json.RawMessage) (*legacy.Schema, error) {
	var s struct {
		Type       string
		Properties map[string]json.RawMessage
		Items      json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	kinds := map[string]legacy.Type{
		"object": legacy.TypeObject, "array": legacy.TypeArray, "string": legacy.TypeString,
		"number": legacy.TypeNumber, "integer": legacy.TypeInteger, "boolean": legacy.TypeBoolean,
	}
	kind, ok := kinds[s.Type]
	if !ok {
		return nil, fmt.Errorf("no such type in a tool's schema: %q", s.Type)
	}
	out := &legacy.Schema{Type: kind, Required: s.Required}
	if s.Items != nil {
		items, err := legacySchema(s.Items)
		if err != nil {
			return nil, err
		}
		out.Items = items
	}
	for k, raw := range s.Properties {
		p, err := legacySchema(raw)
		if err != nil {
			return nil, err
		}
		if out.Properties == nil {
			out.Properties = map[string]*legacy.Schema{}
		}
		out.Properties[k] = p
	}
	return out, nil
}
