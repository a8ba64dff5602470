package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/toolloop/store"
)

// gateway is hookline, wired together: hooks, ledger, loop and server.
type gateway struct {
	server   *proxy.Server
	loop     *toolloop.Loop
	handlers *handlers
	store    store.Store
}

type gatewayOptions struct {
	cfg *config.Config
	log *slog.Logger
	// notice gets what hooks say to people; nil leaves it to the log.
	notice func(hooks.Notice)
	// handler wraps the handler of command hooks; nil for none.
	handler func(hooks.Handler) hooks.Handler
	// shareLedger goes on with a ledger in memory when another process has the
	// embedded one; else that is an error.
	shareLedger bool
	// observe reads along with upstream answers; nil for nobody.
	observe func(proxy.Observed) io.WriteCloser
}

// newGateway turns the configuration into each room's options. Close the
// gateway after use.
func newGateway(o gatewayOptions) (*gateway, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current folder: %w", err)
	}
	handlers, err := newHandlers(o.cfg, o.log)
	if err != nil {
		return nil, err
	}
	set, err := hooks.New(hooks.Options{
		Definitions: definitions(o.cfg),
		Disabled:    o.cfg.HooksConfig.Disabled,
		Handlers:    handlers.byType(o.handler),
		Logger:      o.log,
	})
	if err != nil {
		return nil, errors.Join(err, handlers.Close())
	}
	var firer hooks.Firer = set
	if o.notice != nil {
		firer = noticing{set, o.notice}
	}
	dir, err := stateDir(o.cfg.State)
	if err != nil {
		return nil, errors.Join(err, handlers.Close())
	}
	if !slices.ContainsFunc(hooks.Events(), set.Has) && !o.cfg.Repair {
		o.cfg.State.Store = config.StoreMemory // there will be nothing to remember
	}
	ledger, err := openLedger(o.cfg.State, dir, o.log)
	if errors.Is(err, store.ErrInUse) && o.shareLedger {
		o.log.Warn("another hookline has the ledger: what hooks change in this one is forgotten when it ends", "folder", dir)
		ledger, err = store.NewMemory(store.MemoryOptions{}), nil
	}
	if err != nil {
		return nil, errors.Join(err, handlers.Close())
	}
	loop := toolloop.New(toolloop.Options{
		Hooks:       firer,
		Store:       ledger,
		FailMode:    toolloop.FailMode(o.cfg.State.FailMode),
		Log:         o.log,
		Repair:      o.cfg.Repair,
		DenyAs:      toolloop.DenyAs(o.cfg.DenyAs),
		Cwd:         cwd,
		Transcripts: filepath.Join(dir, "transcripts"),
		Idle:        time.Duration(o.cfg.State.Idle),
	})
	guard, err := newShield(o.cfg, o.log)
	if err != nil {
		return nil, errors.Join(err, ledger.Close(), handlers.Close())
	}
	server, err := proxy.New(proxy.Options{
		Upstream: proxy.Upstreams{
			Gemini:     o.cfg.Upstream.Gemini.BaseURL,
			Vertex:     o.cfg.Upstream.Vertex.BaseURL,
			CodeAssist: o.cfg.Upstream.CodeAssist.BaseURL,
		},
		Runner:  loop,
		MaxBody: int(o.cfg.Limits.MaxBody),
		Log:     o.log,
		Observe: o.observe,

		Shield:    guard,
		Endpoints: endpoints(o.cfg),
		DenyAs:    toolloop.DenyAs(o.cfg.DenyAs),
	})
	if err != nil {
		return nil, errors.Join(err, ledger.Close(), handlers.Close())
	}
	return &gateway{server: server, loop: loop, handlers: handlers, store: ledger}, nil
}

// shutdown waits for calls under way until ctx ends, cuts the others, and ends
// all hooks.
func (g *gateway) shutdown(ctx context.Context) error {
	err := g.server.Shutdown(ctx)
	g.loop.Close(context.WithoutCancel(ctx), "exit")
	return errors.Join(err, g.handlers.Close(), g.store.Close())
}

// definitions are the configured hooks in the words of package hooks.
func definitions(cfg *config.Config) map[hooks.Event][]hooks.Definition {
	if !cfg.HooksConfig.Enabled {
		return nil
	}
	all := map[hooks.Event][]hooks.Definition{}
	for ev, defs := range cfg.Hooks {
		for _, d := range defs {
			def := hooks.Definition{Matcher: d.Matcher, Sequential: d.Sequential}
			for _, h := range d.Hooks {
				if h.Type == config.BuiltinHook {
					continue // the shield's
				}
				def.Hooks = append(def.Hooks, hooks.Hook{
					Name:        h.Name,
					Type:        string(h.Type),
					Command:     h.Command,
					Args:        h.Args,
					Shell:       h.Shell,
					Timeout:     time.Duration(h.Timeout) * time.Millisecond,
					Env:         h.Env,
					FailMode:    hooks.FailMode(h.FailMode),
					Persistent:  h.Persistent,
					Instances:   h.Instances,
					System:      h.System,
					Window:      hooks.Window(h.Window),
					Description: h.Description,

					URL:            h.URL,
					Headers:        h.Headers,
					AllowedEnvVars: h.AllowedEnvVars,
					Prompt:         h.Prompt,
					Model:          h.Model,
					Tools:          agentTools(h.Tools),
					MaxTurns:       h.MaxTurns,
				})
			}
			if len(def.Hooks) > 0 || len(d.Hooks) == 0 {
				all[hooks.Event(ev)] = append(all[hooks.Event(ev)], def)
			}
		}
	}
	return all
}

// agentTools keeps nil, which stands for all.
func agentTools(in []config.AgentTool) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, t := range in {
		out[i] = string(t)
	}
	return out
}

// noticing shows people what hooks say to them.
type noticing struct {
	hooks.Firer
	show func(hooks.Notice)
}

func (n noticing) Fire(ctx context.Context, in hooks.Input) hooks.Decision {
	d := n.Firer.Fire(ctx, in)
	for _, notice := range d.Notices {
		if !notice.Suppress {
			n.show(notice)
		}
	}
	return d
}

// terminalNotice prints a hook's message as one line: what a hook says may hold
// anything, and a terminal obeys control characters.
func terminalNotice(w io.Writer) func(hooks.Notice) {
	return func(n hooks.Notice) {
		fmt.Fprintf(w, "[%s] %s\n", printable(n.Hook), printable(n.Text))
	}
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, strings.TrimSpace(s))
}

// newLog makes the log of a configuration.
func newLog(c config.Log, w io.Writer, least slog.Level) *slog.Logger {
	level := map[config.LogLevel]slog.Level{
		config.LogDebug: slog.LevelDebug, config.LogInfo: slog.LevelInfo, config.LogWarn: slog.LevelWarn, config.LogError: slog.LevelError,
	}[c.Level]
	opt := &slog.HandlerOptions{Level: max(level, least)}
	if c.Format == config.LogJSON {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// listen opens the address that agents connect to.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	_, port, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, &failure{what: fmt.Sprintf("listen on %q: that is no address", addr), next: "write host:port, like 127.0.0.1:8787"}
	}
	if addressInUse(err) {
		return nil, &failure{
			what: "listen on " + addr + ": port " + port + " is in use",
			next: `stop the program that listens there, or choose another port with --listen or "listen" in the configuration (port 0 takes a free one)`,
		}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	return nil, &failure{what: "listen on " + addr + ": " + err.Error(), next: "choose another address with --listen"}
}
