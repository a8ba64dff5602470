package main

import (
	"context"
	"crypto/sha256"
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
	"github.com/hookline-proxy/hookline/hooks/reported"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/toolloop/store"
)

// gateway is hookline, wired together: hooks, ledger, loop and server.
type gateway struct {
	server *proxy.Server
	live   *live
	store  store.Store
	o      gatewayOptions
	work   workplace

	prints  map[string][sha256.Size]byte // of the files that were read
	watcher *watcher                     // nil while nothing is watched
	held    []string                     // files whose change a hook objected to
	forgets bool                         // the ledger is in memory since there was no hook at first
}

type gatewayOptions struct {
	cfg  *config.Config
	file string // the configuration's; "" for none
	log  *slog.Logger
	// adjust is what the command line makes of a configuration that is read
	// again; nil for nothing.
	adjust func(*config.Config) error
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
	w, err := newWorkplace(o.cfg, o.file)
	if err != nil {
		return nil, err
	}
	p, err := planHooks(o.cfg, w)
	if err != nil {
		return nil, err
	}
	p.tell(o.log)
	g := &gateway{o: o, work: w, live: &live{log: o.log, runs: newLastRuns(w, o.log), desk: reported.NewDesk()}}
	g.prints = printFiles(g.watched(p))
	gen, err := newGeneration(g.live, o.cfg, p, &o)
	if err != nil {
		return nil, err
	}
	state := o.cfg.State
	if !slices.ContainsFunc(hooks.Events(), gen.Has) && !o.cfg.Repair {
		g.forgets = state.Store != config.StoreMemory
		state.Store = config.StoreMemory // there will be nothing to remember
	}
	g.store, err = openLedger(state, w.state, o.log)
	if errors.Is(err, store.ErrInUse) && o.shareLedger {
		o.log.Warn("another hookline has the ledger: what hooks change in this one is forgotten when it ends", "folder", w.state)
		g.store, err = store.NewMemory(store.MemoryOptions{}), nil
	}
	if err != nil {
		return nil, errors.Join(err, gen.close())
	}
	gen.loop = toolloop.New(toolloop.Options{
		Hooks:       gen,
		Store:       g.store,
		FailMode:    toolloop.FailMode(o.cfg.State.FailMode),
		Log:         o.log,
		Repair:      o.cfg.Repair,
		DenyAs:      toolloop.DenyAs(o.cfg.DenyAs),
		Cwd:         w.Project,
		Transcripts: filepath.Join(w.state, "transcripts"),
		Idle:        time.Duration(o.cfg.State.Idle),
	})
	g.live.replace(gen)
	token, err := reportToken(o.cfg)
	if err != nil {
		return nil, errors.Join(err, g.store.Close(), gen.close())
	}
	guard, err := newShield(o.cfg, o.log)
	if err != nil {
		return nil, errors.Join(err, g.store.Close(), gen.close())
	}
	g.server, err = proxy.New(proxy.Options{
		Upstream: upstreams(o.cfg),
		Runner:   g.live,
		MaxBody:  int(o.cfg.Limits.MaxBody),
		Log:      o.log,
		Observe:  o.observe,

		Reports:     g.live.service(),
		ReportToken: token,

		Shield:    guard,
		Endpoints: endpoints(o.cfg),
		DenyAs:    toolloop.DenyAs(o.cfg.DenyAs),
	})
	if err != nil {
		return nil, errors.Join(err, g.store.Close(), gen.close())
	}
	return g, nil
}

// reportToken is what reports must bear; "" when the configuration names nothing.
func reportToken(cfg *config.Config) (string, error) {
	if cfg.ReportToken == "" {
		return "", nil
	}
	token := os.Getenv(cfg.ReportToken)
	if token == "" {
		return "", &failure{what: "reportToken names the environment variable " + cfg.ReportToken + ", which is not set",
			next: "set it to a secret, or leave the key out of the configuration: reports are then taken from this machine alone"}
	}
	return token, nil
}

func upstreams(cfg *config.Config) proxy.Upstreams {
	return proxy.Upstreams{
		Gemini:     cfg.Upstream.Gemini.BaseURL,
		Vertex:     cfg.Upstream.Vertex.BaseURL,
		CodeAssist: cfg.Upstream.CodeAssist.BaseURL,
	}
}

// shutdown waits for calls under way until ctx ends, cuts the others, and ends
// all hooks.
func (g *gateway) shutdown(ctx context.Context) error {
	var err error
	if g.watcher != nil {
		err = g.watcher.close()
	}
	err = errors.Join(err, g.server.Shutdown(ctx))
	gen := g.live.current()
	gen.loop.Close(context.WithoutCancel(ctx), "exit")
	err = errors.Join(err, gen.close(), g.store.Close())
	g.live.runs.close()
	return err
}

// hooks counts the hooks that run.
func (g *gateway) hooks() int { return g.live.current().plan.running() }

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
