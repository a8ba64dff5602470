package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"
)

// act is one scene of the demo as it is written.
type act struct {
	title, about, prompt string
	steps                []scripted.Answer
}

var acts = []act{
	{
		"Redact an e-mail address", "AfterModel replaces text of the answer before the agent sees it.",
		"Who maintains this project?",
		[]scripted.Answer{{Text: "Jane does. Write to jane.doe@example.com."}},
	},
	{
		"Deny rm -rf", "BeforeTool denies the call. The agent never sees it; the model reads the reason and goes on.",
		"Free some disk space.",
		[]scripted.Answer{
			{Calls: []scripted.Call{{Name: "run_shell_command", Args: `{"command":"rm -rf /var/data"}`}}},
			{Text: "I may not delete that. Please look through /var/data yourself."},
		},
	},
	{
		"Rewrite an argument", "BeforeTool changes what the tool is run with. The model keeps its own call, and is told.",
		"Which files are there?",
		[]scripted.Answer{
			{Calls: []scripted.Call{{Name: "list_directory", Args: `{"path":"/"}`}}},
			{Text: "There are main.go and README.md."},
		},
	},
	{
		"Hide a result", "AfterTool keeps a result from the model, which reads the reason in its place.",
		"Which database is configured?",
		[]scripted.Answer{
			{Calls: []scripted.Call{{Name: "read_file", Args: `{"path":".env"}`}}},
			{Text: "I cannot read that file: it holds a password."},
		},
	},
	{
		"Ask for one more call", "AfterTool follows a call up with another. The model sees its own call, answered by the second.",
		"Where is order 4711?",
		[]scripted.Answer{
			{Calls: []scripted.Call{{Name: "find_order", Args: `{"order":4711}`}}},
			{Text: "It arrives on Friday."},
		},
	},
	{
		"Answer in place of the model", "BeforeModel answers by itself. No call goes to the model.",
		"How is the weather?",
		nil,
	},
}

// scene is what came of an act.
type scene struct {
	Title string    `json:"title"`
	About string    `json:"about"`
	Agent []line    `json:"agent"` // what the agent saw
	Model []line    `json:"model"` // what the model saw and said
	Hooks []hookRun `json:"hooks"` // what the hooks said; those with nothing to say are left out
}

// hookRun is what one hook said to one event.
type hookRun struct {
	Hook   string `json:"hook"`
	Event  string `json:"event"`
	Exit   int    `json:"exit"`
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

func demoCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show what hooks do, with no key and no network",
		Long: `Show what hooks do, with no key and no network: a scripted model, hookline with six sample
hooks, and a small agent on the Gemini SDK. Each scene shows side by side what the agent saw
and what the model saw, and below it what the hook said.`,
		Example: "  hookline demo\n  hookline demo --json",
		Args:    exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			program, err := ownProgram()
			if err != nil {
				return err
			}
			scenes, err := demo(cmd.Context(), demoConfig(program))
			if err != nil {
				return err
			}
			if asJSON {
				enc := json.NewEncoder(out)
				enc.SetEscapeHTML(false)
				enc.SetIndent("", "  ")
				return enc.Encode(scenes)
			}
			p := newPainter(out)
			for i, s := range scenes {
				p.scene(i+1, s)
			}
			_, err = fmt.Fprint(out, "\nnext: hookline init writes a configuration, hookline run -- gemini starts an agent behind it\n")
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// demo plays all acts.
func demo(ctx context.Context, cfg *config.Config) (scenes []scene, err error) {
	cfg.State.Store = config.StoreMemory
	if cfg.State.Dir, err = os.MkdirTemp("", "hookline-demo-*"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(cfg.State.Dir)) }()
	var script []scripted.Line
	for _, a := range acts {
		script = append(script, scripted.Line{Prompt: a.prompt, Steps: a.steps})
	}
	model := scripted.New(scripted.Options{Script: scripted.Lines(script...)})
	modelListener, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	modelServer := &http.Server{Handler: model, ReadHeaderTimeout: time.Minute}
	modelServed := make(chan error, 1)
	go func() { modelServed <- modelServer.Serve(modelListener) }() // ends with Close
	defer func() { err = errors.Join(err, modelServer.Close(), unlessClosed(<-modelServed)) }()
	if err := setUpstream(cfg, "http://"+modelListener.Addr().String()); err != nil {
		return nil, err
	}

	said, heard := &recorder{}, &answers{}
	g, err := newGateway(gatewayOptions{
		cfg: cfg, log: slog.New(slog.DiscardHandler),
		handler: func(next hooks.Handler) hooks.Handler { said.next = next; return said },
		observe: heard.observe,
	})
	if err != nil {
		return nil, err
	}
	ln, err := listen(ctx, cfg.Listen)
	if err != nil {
		return nil, err
	}
	served := make(chan error, 1)
	go func() { served <- g.server.Serve(ln) }() // ends with shutdown
	defer func() { err = errors.Join(err, g.shutdown(ctx), <-served) }()

	for i, a := range acts {
		s := scene{Title: a.title, About: a.about}
		base := fmt.Sprintf("http://%s/s/demo-%d", ln.Addr(), i+1)
		if s.Agent, err = demoAgent(ctx, base, a.prompt); err != nil {
			return nil, fmt.Errorf("scene %q: %w", a.title, err)
		}
		s.Model = modelSide(model.Requests(), heard.take())
		s.Hooks = said.take()
		model.Forget()
		scenes = append(scenes, s)
	}
	if v := model.Violations(); len(v) > 0 {
		return nil, fmt.Errorf("the model refused a request: %v", v[0].Violation)
	}
	return scenes, nil
}

func unlessClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// modelSide is the conversation as the model has it: the history of the last
// request, and the answer to it.
func modelSide(requests []scripted.Request, answers []string) []line {
	if len(requests) == 0 {
		return []line{{"", "(nothing: it was not asked)"}}
	}
	var lines []line
	for _, c := range gjson.ParseBytes(requests[len(requests)-1].Contents).Array() {
		lines = append(lines, contentLines(c)...)
	}
	if len(answers) == 0 {
		return lines
	}
	var text strings.Builder
	for data := range strings.SplitSeq(answers[len(answers)-1], "\n") {
		if doc, ok := strings.CutPrefix(data, "data:"); ok {
			for _, p := range gjson.Get(doc, "candidates.0.content.parts").Array() {
				text.WriteString(p.Get("text").String())
			}
		}
	}
	return append(lines, line{"model", text.String()})
}

// contentLines shows one content of a history.
func contentLines(c gjson.Result) []line {
	var lines []line
	for _, p := range c.Get("parts").Array() {
		switch call, result := p.Get("functionCall"), p.Get("functionResponse"); {
		case call.Exists():
			args := call.Get("args").Raw
			if args == "" {
				args = "{}"
			}
			lines = append(lines, line{"call", call.Get("name").String() + " " + args})
		case result.Exists():
			text := result.Get("response.output").String()
			if text == "" {
				text = result.Get("response").Raw
			}
			lines = append(lines, line{"result", text})
		case p.Get("text").String() != "":
			who := "user"
			if c.Get("role").String() == "model" {
				who = "model"
			}
			lines = append(lines, line{who, p.Get("text").String()})
		}
	}
	return lines
}

// recorder keeps what hooks said.
type recorder struct {
	next hooks.Handler

	mu   sync.Mutex
	runs []hookRun // guarded by mu
}

func (r *recorder) Handle(ctx context.Context, h *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
	res := r.next.Handle(ctx, h, in, env)
	run := hookRun{
		Hook: h.Name, Event: string(env.Event), Exit: res.Exit,
		Stdout: string(bytes.TrimSpace(res.Stdout)), Stderr: string(bytes.TrimSpace(res.Stderr)),
	}
	if res.Err != nil {
		run.Exit, run.Stderr = -1, res.Err.Error()
	}
	if run.Exit != 0 || run.Stdout != "" {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.runs = append(r.runs, run)
	}
	return res
}

func (r *recorder) take() []hookRun {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := r.runs
	r.runs = nil
	return runs
}

// answers keeps what the model answered, as it came.
type answers struct {
	mu     sync.Mutex
	bodies []*bytes.Buffer // guarded by mu, their contents too
}

func (a *answers) observe(proxy.Observed) io.WriteCloser {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := new(bytes.Buffer)
	a.bodies = append(a.bodies, b)
	return heardBody{a, b}
}

// heardBody is one answer on its way.
type heardBody struct {
	to   *answers
	body *bytes.Buffer
}

func (h heardBody) Write(p []byte) (int, error) {
	h.to.mu.Lock()
	defer h.to.mu.Unlock()
	return h.body.Write(p)
}

func (h heardBody) Close() error { return nil }

// take gives the answers since the last take. The agent has read them to their
// end by then.
func (a *answers) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, b := range a.bodies {
		all = append(all, b.String())
	}
	a.bodies = nil
	return all
}
