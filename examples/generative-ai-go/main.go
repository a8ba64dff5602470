// Command generative-ai-go is an agent on the older Go SDK, which has reached its
// end of life: it knows no call ids and no thought signatures, so Gemini 3 refuses
// the second request of its tool loops. Behind hookline it works, and hooks act on
// it as on any other.
//
//	hookline serve --config ../hooks/hookline.jsonc
//	GEMINI_API_KEY=… go run . "What time is it in Tokyo?"
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/generative-ai-go/genai"
	"google.golang.org/api/option"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// clock is the agent's only tool.
var clock = &genai.Tool{FunctionDeclarations: []*genai.FunctionDeclaration{{
	Name:        "time_in",
	Description: "The time in a time zone.",
	Parameters: &genai.Schema{
		Type:       genai.TypeObject,
		Properties: map[string]*genai.Schema{"zone": {Type: genai.TypeString, Description: "IANA name, like Asia/Tokyo"}},
		Required:   []string{"zone"},
	},
}}}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New(`usage: generative-ai-go "PROMPT"`)
	}
	base := os.Getenv("GOOGLE_GEMINI_BASE_URL") // hookline run sets it
	if base == "" {
		base = "http://127.0.0.1:8787"
	}
	// The line that puts the agent behind hookline is WithEndpoint.
	client, err := genai.NewClient(ctx, option.WithAPIKey(os.Getenv("GEMINI_API_KEY")), option.WithEndpoint(base))
	if err != nil {
		return err
	}
	defer client.Close()
	model := client.GenerativeModel("gemini-2.5-flash")
	model.Tools = []*genai.Tool{clock}
	chat := model.StartChat()

	parts := []genai.Part{genai.Text(args[0])}
	for range 10 {
		res, err := chat.SendMessage(ctx, parts...)
		if err != nil {
			return err
		}
		if parts = answer(res); len(parts) == 0 {
			return nil
		}
	}
	return errors.New("the model calls tools without end")
}

// answer prints what the model says, and gives the results of what it calls.
func answer(res *genai.GenerateContentResponse) (results []genai.Part) {
	for _, c := range res.Candidates {
		if c.Content == nil {
			continue
		}
		for _, p := range c.Content.Parts {
			switch p := p.(type) {
			case genai.Text:
				fmt.Println(p)
			case genai.FunctionCall:
				results = append(results, genai.FunctionResponse{Name: p.Name, Response: timeIn(p.Args)})
			}
		}
	}
	return results
}

func timeIn(args map[string]any) map[string]any {
	zone, _ := args["zone"].(string)
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"output": time.Now().In(loc).Format(time.RFC1123)}
}
