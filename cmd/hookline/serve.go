package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/spf13/cobra"
)

type serveOptions struct {
	config    string
	listen    string
	upstream  string
	readyFile string
	drain     time.Duration
}

func serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve agents until a signal comes",
		Long: `Serve agents until a signal comes. SIGTERM or Ctrl-C stops accepting and waits for calls
under way (--drain); a second one ends at once. Without --config there are no hooks, and
everything passes through as it is. GET /-/healthz and /-/readyz tell how it is.`,
		Example: `  hookline serve --config hookline.jsonc
  hookline serve --listen 127.0.0.1:0 --ready-file /tmp/hookline.addr
  GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:8787 my-agent`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), o, cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "configuration file")
	f.StringVar(&o.listen, "listen", "", "address to listen on, host:port; port 0 takes a free one")
	f.StringVar(&o.upstream, "upstream", "", "base URL that all calls go to, in place of the configuration's")
	f.StringVar(&o.readyFile, "ready-file", "", "file that gets the address once connections are accepted")
	f.DurationVar(&o.drain, "drain", 10*time.Second, "how long to wait for calls under way")
	return cmd
}

func serve(ctx context.Context, o serveOptions, errOut io.Writer) error {
	// From here on a signal ends what was started, not the process alone.
	signals := make(chan os.Signal, 2) // the first and the second
	signal.Notify(signals, stopSignals...)
	defer signal.Stop(signals)

	cfg, err := loadConfig(o.config, errOut)
	if err != nil {
		return err
	}
	adjust := func(cfg *config.Config) error {
		if o.listen != "" {
			cfg.Listen = o.listen
		}
		return setUpstream(cfg, o.upstream)
	}
	if err := adjust(cfg); err != nil {
		return err
	}
	log := newLog(cfg.Log, errOut, slog.LevelDebug)
	ln, err := listen(ctx, cfg.Listen)
	if err != nil {
		return err
	}
	g, err := newGateway(gatewayOptions{cfg: cfg, file: o.config, adjust: adjust, log: log})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	served := make(chan error, 1)
	go func() { served <- g.server.Serve(ln) }() // ends with shutdown
	g.follow()
	log.Info("listening", "address", ln.Addr().String(), "hooks", g.hooks())
	if o.readyFile != "" {
		if err := writeReady(o.readyFile, ln.Addr()); err != nil {
			return errors.Join(&failure{what: "write " + o.readyFile + ": " + cause(err)}, g.shutdown(ctx))
		}
		defer os.Remove(o.readyFile)
	}
	select {
	case err := <-served:
		return errors.Join(err, g.shutdown(ctx))
	case s := <-signals:
		log.Info("shutting down", "signal", s.String(), "drain", o.drain)
	case <-ctx.Done():
	}
	return drain(g, o.drain, signals, log)
}

// hooksEnd is how long hooks have to end when nothing else is waited for: a little
// more than those get that have to be killed.
const hooksEnd = 3 * time.Second

// drain waits for calls under way until the time is up or a signal comes.
func drain(g *gateway, patience time.Duration, signals <-chan os.Signal, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- g.shutdown(ctx) }() // ends soon after ctx
	var err error
	select {
	case err = <-done:
	case s := <-signals:
		log.Warn("ending at once", "signal", s.String())
		cancel() // cuts the calls, and ends their hooks, which would outlive this process
		select {
		case <-done:
		case <-signals:
		case <-time.After(hooksEnd):
		}
		return exitCode(exitFailed)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{what: fmt.Sprintf("calls were still under way after %s and were cut", patience), next: "give them longer with --drain"}
	}
	return err
}

// writeReady writes the address to file in one step: whoever waits for the file
// never reads half of it.
func writeReady(file string, addr net.Addr) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".ready-*")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, addr)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// setUpstream sends all wire families to one base URL; "" leaves them.
func setUpstream(cfg *config.Config, base string) error {
	if base == "" {
		return nil
	}
	if err := config.CheckBaseURL(base); err != nil {
		return &failure{what: "--upstream: " + err.Error(), next: `write it like https://generativelanguage.googleapis.com`, code: exitUsage}
	}
	to := config.Endpoint{BaseURL: base}
	cfg.Upstream = config.Upstream{Gemini: to, Vertex: to, CodeAssist: to}
	return nil
}
