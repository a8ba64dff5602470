package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/reported"
)

func hooksTestCommand() *cobra.Command {
	var file, input, dialectName string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "test EVENT",
		Short: "Run the hooks of one event and explain what they do",
		Long: `Run the hooks of one event on one input and explain each step: which hooks the event runs
and why others not, what each one printed, and what it all comes to. The input is what a hook
of the event gets on stdin; without --input it is a small example. EVENT may be a name of any
dialect: PreToolUse is BeforeTool. The hooks really run.`,
		Example: `  hookline hooks test BeforeTool
  hookline hooks test PreToolUse --input event.json
  echo '{"tool_name":"Bash","tool_input":{"command":"ls"}}' | hookline hooks test PreToolUse --input -`,
		Args: exactly(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, w, p, err := plan(file)
			if err != nil {
				return err
			}
			doc, err := testInput(cmd.InOrStdin(), input, args[0])
			if err != nil {
				return err
			}
			r, err := reported.Parse(dialectName, args[0], doc)
			if err != nil {
				return &failure{what: fmt.Sprintf("%s: %v", printable(args[0]), err), next: "hookline hooks list shows the events of your hooks"}
			}
			if r.Input.Cwd == "" {
				r.Input.Cwd = w.Project
			}
			t, err := tryHooks(cmd.Context(), p, file, r)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), t)
			}
			return t.print(cmd.OutOrStdout())
		},
	}
	configFlag(cmd, &file)
	f := cmd.Flags()
	f.StringVar(&input, "input", "", "`FILE` with the input, - for stdin")
	f.StringVar(&dialectName, "dialect", "", "dialect of the input (default: what fits the event)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// testInput reads the input of a test, or makes a small one.
func testInput(stdin io.Reader, file, event string) ([]byte, error) {
	switch file {
	case "":
		return example(event), nil
	case "-":
		return io.ReadAll(io.LimitReader(stdin, reported.MaxDocument))
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, &failure{what: "input " + file + ": " + cause(err)}
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, reported.MaxDocument))
}

// examples are the fields that inputs have, by what the event's name holds.
var examples = []struct{ in, fields string }{
	{"ToolSelection", `"llm_request":{"model":"test","messages":[{"role":"user","content":"hello"}]}`},
	{"AfterTool", `"tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{"llmContent":"a.txt","returnDisplay":"a.txt"}`},
	{"PostToolUseFailure", `"tool_name":"Bash","tool_input":{"command":"ls"},"error":"no such file"`},
	{"PostTool", `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"a.txt"`},
	{"BeforeTool", `"tool_name":"run_shell_command","tool_input":{"command":"ls"}`},
	{"PreTool", `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"toolu_test"`},
	{"Permission", `"tool_name":"Bash","tool_input":{"command":"ls"}`},
	{"AfterModel", `"llm_request":{"model":"test","messages":[{"role":"user","content":"hello"}]},"llm_response":{"text":"hello","candidates":[{"content":{"role":"model","parts":["hello"]},"index":0}]}`},
	{"BeforeModel", `"llm_request":{"model":"test","messages":[{"role":"user","content":"hello"}]}`},
	{"AfterAgent", `"prompt":"hello","prompt_response":"hello","stop_hook_active":false`},
	{"Stop", `"stop_hook_active":false,"last_assistant_message":"hello"`},
	{"BeforeAgent", `"prompt":"hello"`},
	{"Prompt", `"prompt":"hello"`},
	{"SessionStart", `"source":"startup"`},
	{"SessionEnd", `"reason":"other"`},
	{"Comp", `"trigger":"auto"`},
	{"Notification", `"notification_type":"permission_prompt","message":"hello"`},
}

// example is a small input of an event.
func example(event string) []byte {
	doc := fmt.Appendf(nil, `{"session_id":"test","hook_event_name":%q`, event)
	if slices.Contains(hooks.Events(), hooks.Event(event)) && dialects[hooks.DialectClaude][event] == nil {
		doc = time.Now().UTC().AppendFormat(append(doc, `,"timestamp":"`...), `2006-01-02T15:04:05.000Z"`)
	}
	for _, e := range examples {
		if strings.Contains(event, e.in) {
			doc = append(append(doc, ','), e.fields...)
			break
		}
	}
	return append(doc, '}')
}

// tried is what "hooks test" tells.
type tried struct {
	Event    hooks.Event     `json:"event"`
	Input    json.RawMessage `json:"input"`
	Hooks    []triedHook     `json:"hooks"`
	Decision string          `json:"decision"` // "none", "allow", "ask", "defer", "deny" or "stop"
	Reason   string          `json:"reason,omitempty"`
	Answer   json.RawMessage `json:"answer"` // the merged decision as a hook would say it
}

type triedHook struct {
	Name    string `json:"name"`
	Source  string `json:"source"`
	Runs    bool   `json:"runs"`
	Why     string `json:"why"`
	Exit    int    `json:"exit"`
	Stdout  string `json:"stdout,omitempty"`
	Stderr  string `json:"stderr,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Failure string `json:"failure,omitempty"`
	Millis  int64  `json:"ms"`
}

// tryHooks fires one event at the hooks of a plan.
func tryHooks(ctx context.Context, p *hookPlan, file string, r *reported.Report) (*tried, error) {
	if file == "" {
		file = defaultConfig
	}
	cfg, err := loadConfig(file, io.Discard)
	if err != nil {
		return nil, err
	}
	quiet := slog.New(slog.DiscardHandler)
	h, err := newHandlers(cfg, p.asksModel(), quiet)
	if err != nil {
		return nil, err
	}
	results := &resultLog{bySource: map[string]hooks.Result{}}
	set, err := p.setWith(h, results.wrap, quiet)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	t := &tried{Event: r.Input.Event, Input: hooks.Object(r.Input.Fields)}
	t.explain(p, set, r.Input)
	d := set.Fire(ctx, r.Input)
	err = errors.Join(set.Close(), h.Close())
	for i := range t.Hooks {
		th := &t.Hooks[i]
		if res, ok := results.bySource[th.Source]; ok && th.Runs {
			th.Exit, th.Stdout, th.Stderr = res.Exit, string(res.Stdout), string(res.Stderr)
		}
		for _, run := range d.Runs {
			if run.Hook == th.Name && th.Runs {
				th.Exit, th.Outcome, th.Failure, th.Millis = run.Exit, outcomeText(run), run.Failure, run.Duration.Milliseconds()
			}
		}
	}
	t.Decision, t.Reason = decided(&d)
	t.Answer = r.Answer(d)
	return t, err
}

// explain lists the hooks of the event: those that could run, and those that are
// off or wait for trust.
func (t *tried) explain(p *hookPlan, set *hooks.Set, in hooks.Input) {
	for _, e := range set.Explain(in) {
		t.Hooks = append(t.Hooks, triedHook{Name: e.Hook, Source: e.Source, Runs: e.Runs, Why: e.Why, Exit: -1})
	}
	for i := range p.entries {
		e := &p.entries[i]
		if e.runs() {
			continue
		}
		l := dialects[string(e.def.In(e.event))][e.event]
		if l == nil || l.Event != in.Event {
			continue
		}
		why := "off by " + e.off
		if e.off == "" {
			why = e.trust + ": hookline trust lets it run"
		}
		t.Hooks = append(t.Hooks, triedHook{Name: e.name(), Source: e.hook.Source, Why: why, Exit: -1})
	}
}

func decided(d *hooks.Decision) (verdict, reason string) {
	switch {
	case d.Stop:
		return "stop", d.StopReason
	case d.Deny:
		return "deny", d.Reason
	case d.Defer:
		return "defer", d.Reason
	case d.Ask:
		return "ask", d.Reason
	case d.Allow:
		return "allow", d.Reason
	}
	return "none", ""
}

// resultLog keeps what hooks printed.
type resultLog struct {
	mu       sync.Mutex
	bySource map[string]hooks.Result
}

func (r *resultLog) wrap(next hooks.Handler) hooks.Handler {
	return hooks.HandlerFunc(func(ctx context.Context, h *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
		res := next.Handle(ctx, h, in, env)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bySource[h.Source] = res
		return res
	})
}

func (t *tried) print(out io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "event     %s\ninput     %s\n", t.Event, t.Input)
	if len(t.Hooks) == 0 {
		fmt.Fprintln(&b, "no hook listens to it")
	}
	for _, h := range t.Hooks {
		fmt.Fprintf(&b, "\nhook      %s (%s)\n", short(h.Name), h.Source)
		if !h.Runs {
			fmt.Fprintf(&b, "  not run %s\n", printable(h.Why))
			continue
		}
		fmt.Fprintf(&b, "  run     %s\n", printable(h.Why))
		if h.Exit >= 0 {
			fmt.Fprintf(&b, "  exit    %d after %d ms\n", h.Exit, h.Millis)
		}
		for _, s := range []struct{ name, text string }{{"stdout", h.Stdout}, {"stderr", h.Stderr}, {"failure", h.Failure}, {"outcome", h.Outcome}} {
			if text := strings.TrimSpace(s.text); text != "" {
				fmt.Fprintf(&b, "  %-7s %s\n", s.name, printable(text))
			}
		}
	}
	fmt.Fprintf(&b, "\ndecision  %s\n", t.Decision)
	if t.Reason != "" {
		fmt.Fprintf(&b, "reason    %s\n", printable(t.Reason))
	}
	fmt.Fprintf(&b, "answer    %s\n", t.Answer)
	_, err := out.Write(b.Bytes())
	return err
}
