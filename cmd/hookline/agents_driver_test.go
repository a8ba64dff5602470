package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// conversation is what an agent is asked to do; testdata/clients/lib.mjs has
// the same form.
type conversation struct {
	BaseURL string      `json:"baseUrl"`
	Key     string      `json:"key"`
	Model   string      `json:"model"`
	Prompts []string    `json:"prompts"`
	Tools   []agentTool `json:"tools"`
	// Files are what Gemini CLI and Qwen Code find in their workspace; their tools
	// are their own. Workspace is an existing folder; "" for one of the run's own.
	Files     map[string]string `json:"files,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	// Settings are added to the settings.json of these two, Env to their environment.
	Settings map[string]any    `json:"settings,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
}

type agentTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // a JSON schema
	Result      string          `json:"result"`
}

// outcome is what the user of an agent saw, and which tools ran.
type outcome struct {
	Turns []agentTurn `json:"turns"`
	Ran   []agentRun  `json:"ran"`
	// Workspace is the folder that Gemini CLI worked in.
	Workspace string `json:"workspace"`
}

type agentTurn struct {
	Text  string `json:"text"`
	Error string `json:"error,omitempty"`
}

type agentRun struct {
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

// failed is the first error that the user saw.
func (o outcome) failed() string {
	for _, t := range o.Turns {
		if t.Error != "" {
			return t.Error
		}
	}
	return ""
}

// agent is an SDK in one of its manners.
type agent struct {
	sdk, manner string
	// finalOnly: the user is shown the text of the last answer of a tool loop,
	// not what the model said before its calls.
	finalOnly bool
	// cli: the agent brings its own tools (cliTools) and does not tell which ran.
	cli  bool
	hold func(ctx context.Context, cs []conversation) ([]outcome, error)
}

func (a agent) String() string { return a.sdk + " " + a.manner }

const clientsDir = "../../testdata/clients"

// agents are all SDKs in all manners.
func agents(t *testing.T) []agent {
	t.Helper()
	installed(t)
	node := func(sdk, script, manner string) agent {
		return agent{sdk: sdk, manner: manner, hold: nodeDriver(script, manner)}
	}
	adk := func(manner string) agent {
		return agent{sdk: "google.golang.org/adk", manner: manner, hold: func(ctx context.Context, cs []conversation) ([]outcome, error) {
			bin, err := adkDriver()
			if err != nil {
				return nil, err
			}
			return drive(exec.CommandContext(ctx, bin, manner), cs)
		}}
	}
	list := []agent{
		node("@google/genai", "genai.mjs", "chat"),
		node("@google/genai", "genai.mjs", "chat-stream"),
		node("@google/genai", "genai.mjs", "afc"),
		node("@google/genai", "genai.mjs", "afc-stream"),
		node("@google/generative-ai", "generative-ai.mjs", "chat"),
		node("@google/generative-ai", "generative-ai.mjs", "chat-stream"),
		node("@ai-sdk/google", "ai-sdk.mjs", "generate"),
		node("@ai-sdk/google", "ai-sdk.mjs", "stream"),
		node("@langchain/google-genai", "langchain.mjs", "invoke"),
		node("@langchain/google-genai", "langchain.mjs", "stream"),
		node("@genkit-ai/google-genai", "genkit.mjs", "generate"),
		node("@genkit-ai/google-genai", "genkit.mjs", "stream"),
		{sdk: "google.golang.org/genai", manner: "chat", hold: goGenai(false)},
		{sdk: "google.golang.org/genai", manner: "chat-stream", hold: goGenai(true)},
		{sdk: "generative-ai-go", manner: "chat", hold: generativeAIGo(false)},
		{sdk: "generative-ai-go", manner: "chat-stream", hold: generativeAIGo(true)},
		adk("none"),
		adk("sse"),
	}
	for i := range list {
		list[i].finalOnly = list[i].manner == "afc"
	}
	return list
}

// geminiCLI is Gemini CLI: acp holds a whole conversation, headless has a
// process for each prompt.
func geminiCLI(manner string) agent {
	return agent{sdk: "Gemini CLI", manner: manner, cli: true, hold: nodeDriver("gemini-cli.mjs", manner)}
}

func nodeDriver(script, manner string) func(context.Context, []conversation) ([]outcome, error) {
	return func(ctx context.Context, cs []conversation) ([]outcome, error) {
		return drive(exec.CommandContext(ctx, "node", filepath.Join(clientsDir, script), manner), cs)
	}
}

// installed makes sure that there are agents to drive.
func installed(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("agents take minutes: not in short mode")
	}
	if _, err := os.Stat(filepath.Join(clientsDir, "node_modules")); errors.Is(err, fs.ErrNotExist) {
		t.Fatal("the agents are not installed: run `make clients`")
	}
}

// adkDriver builds the driver for ADK, which is a module of its own.
var adkDriver = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs(filepath.Join(clientsDir, "adk"))
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "adk.test") // ignored by git, and kept for the next run
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.New("build the ADK driver: " + string(out))
	}
	return bin, nil
})

// drive hands conversations to a driver process, a line each.
func drive(cmd *exec.Cmd, cs []conversation) ([]outcome, error) {
	var in, stderr bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, c := range cs {
		if err := enc.Encode(c); err != nil {
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New(strings.Join(cmd.Args, " ") + ": " + err.Error() + "\n" + stderr.String())
	}
	var outcomes []outcome
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var o outcome
		if err := dec.Decode(&o); err != nil {
			return nil, errors.New(strings.Join(cmd.Args, " ") + " printed no outcome: " + string(out))
		}
		outcomes = append(outcomes, o)
	}
	if len(outcomes) != len(cs) {
		return nil, errors.New(strings.Join(cmd.Args, " ") + " gave up: " + stderr.String())
	}
	return outcomes, nil
}
