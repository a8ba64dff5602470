package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/hookline-proxy/hookline/config"
	"github.com/spf13/cobra"
)

// demoHook is a sample hook: a program that reads an event on stdin and answers
// on stdout, or by its exit code. Scripts in any language do the same.
type demoHook struct {
	name    string
	event   string
	matcher string
	window  config.Window
	run     func(in demoInput, out, errOut io.Writer) (exit int)
}

// demoInput is what the sample hooks read of an event.
type demoInput struct {
	LLMRequest struct {
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	} `json:"llm_request"`
	LLMResponse struct {
		Text string `json:"text"`
	} `json:"llm_response"`
	ToolInput    map[string]any `json:"tool_input"`
	ToolResponse struct {
		LLMContent any `json:"llmContent"`
	} `json:"tool_response"`
}

type object = map[string]any

// specific answers with one event-specific output.
func specific(out io.Writer, fields object) int {
	return answer(out, object{"hookSpecificOutput": fields})
}

func answer(out io.Writer, doc object) int {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if enc.Encode(doc) != nil {
		return 1
	}
	return 0
}

var mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)

var demoHooks = []demoHook{
	{name: "mock", event: "BeforeModel", run: func(in demoInput, out, _ io.Writer) int {
		m := in.LLMRequest.Messages
		if len(m) == 0 || !strings.Contains(m[len(m)-1].Content, "weather") {
			return 0
		}
		return specific(out, object{"llm_response": object{"candidates": []object{{
			"content": object{"parts": []string{"It is always sunny in the demo."}},
		}}}})
	}},
	{name: "redact", event: "AfterModel", window: config.WindowAll, run: func(in demoInput, out, _ io.Writer) int {
		if !mail.MatchString(in.LLMResponse.Text) {
			return 0
		}
		text := mail.ReplaceAllString(in.LLMResponse.Text, "[e-mail]")
		return specific(out, object{"llm_response": object{"candidates": []object{{"content": object{"parts": []string{text}}}}}})
	}},
	{name: "guard", event: "BeforeTool", matcher: "shell", run: func(in demoInput, _, errOut io.Writer) int {
		if cmd, _ := in.ToolInput["command"].(string); !strings.Contains(cmd, "rm -rf") {
			return 0
		}
		fmt.Fprint(errOut, "rm -rf is not allowed here")
		return 2
	}},
	{name: "sandbox", event: "BeforeTool", matcher: "^list_directory$", run: func(_ demoInput, out, _ io.Writer) int {
		return specific(out, object{"tool_input": object{"path": "/home/jane/project"}})
	}},
	{name: "secrets", event: "AfterTool", matcher: "^read_file$", run: func(in demoInput, out, _ io.Writer) int {
		if text, _ := in.ToolResponse.LLMContent.(string); !strings.Contains(text, "PASSWORD") {
			return 0
		}
		return answer(out, object{"decision": "deny", "reason": "this file holds a password: work without it"})
	}},
	{name: "follow-up", event: "AfterTool", matcher: "^find_order$", run: func(_ demoInput, out, _ io.Writer) int {
		return specific(out, object{"tailToolCallRequest": object{"name": "track_parcel", "args": object{"parcel": "P-77"}}})
	}},
}

// demoConfig configures the sample hooks as processes of this program.
func demoConfig(program string) *config.Config {
	cfg := config.Default()
	cfg.Listen = "127.0.0.1:0"
	cfg.Hooks = config.Hooks{}
	for _, h := range demoHooks {
		cfg.Hooks[h.event] = append(cfg.Hooks[h.event], config.Definition{
			Matcher: h.matcher,
			Hooks: []config.Hook{{
				Type: config.Command, Name: h.name, Command: program, Args: []string{"demo-hook", h.name},
				Timeout: 60_000, Window: h.window,
			}},
		})
	}
	return cfg
}

// demoHookCommand is what the demo's hooks are started as.
func demoHookCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "demo-hook NAME",
		Hidden: true,
		Args:   exactly(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, h := range demoHooks {
				if h.name != args[0] {
					continue
				}
				var in demoInput
				if err := json.NewDecoder(cmd.InOrStdin()).Decode(&in); err != nil {
					return err
				}
				if code := h.run(in, cmd.OutOrStdout(), cmd.ErrOrStderr()); code != 0 {
					return exitCode(code)
				}
				return nil
			}
			return usage(cmd, "no sample hook is called "+args[0])
		},
	}
}

// ownProgram is the path of this program, to start it again.
func ownProgram() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the path of this program: %w", err)
	}
	return path, nil
}
