package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/tally"
	"github.com/hookline-proxy/hookline/config"
	"github.com/spf13/cobra"
)

type runOptions struct {
	config   string
	upstream string
	quiet    bool
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] -- COMMAND [ARG...]",
		Short: "Start an agent behind hookline",
		Long: `Start an agent behind hookline, on a free port, and end with its exit code. The agent finds
hookline through GOOGLE_GEMINI_BASE_URL, GOOGLE_VERTEX_BASE_URL and CODE_ASSIST_ENDPOINT,
which are set for it alone; what they were before is where its calls go on to. Without
--config nothing is changed, and the end tells what was called, what was used and what it cost.`,
		Example: `  hookline run -- gemini
  hookline run --config hookline.jsonc -- gemini -p "tidy up this folder"
  hookline run -- python agent.py`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(cmd, "no command to run: write it behind --, as in: hookline run -- gemini")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runAgent(cmd.Context(), o, args, cmd.ErrOrStderr())
		},
	}
	// What stands behind the command's name is the command's own.
	cmd.Flags().SetInterspersed(false)
	f := cmd.Flags()
	f.StringVar(&o.config, "config", "", "configuration file")
	f.StringVar(&o.upstream, "upstream", "", "base URL that all calls go to, in place of the configuration's")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "no summary at the end")
	return cmd
}

func runAgent(ctx context.Context, o runOptions, args []string, errOut io.Writer) error {
	cfg, err := loadConfig(o.config, errOut)
	if err != nil {
		return err
	}
	env := os.Environ()
	adjust := func(cfg *config.Config) error {
		if err := setUpstream(cfg, o.upstream); err != nil {
			return err
		}
		return upstreamOf(cfg, env)
	}
	if err := adjust(cfg); err != nil {
		return err
	}
	// The terminal belongs to the agent: only what went wrong is logged there,
	// or all of it for whoever asks for debug.
	least := slog.LevelWarn
	if cfg.Log.Level == config.LogDebug {
		least = slog.LevelDebug
	}
	log := newLog(cfg.Log, errOut, least)

	child := exec.Command(args[0], args[1:]...)
	if child.Err != nil {
		return notStarted(args[0], child.Err)
	}
	ln, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	counts := tally.New()
	g, err := newGateway(gatewayOptions{
		cfg: cfg, file: o.config, adjust: adjust, log: log, notice: terminalNotice(errOut), shareLedger: true,
		observe: counts.Observe,
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	g.follow()
	served := make(chan error, 1)
	go func() { served <- g.server.Serve(ln) }() // ends with shutdown

	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	vars, childEnded := forGemini(env, log)
	child.Env = childEnv(env, "http://"+ln.Addr().String()+"/s/"+sessionID(), vars)
	code, err := runChild(child)
	childEnded()
	// With the agent gone nobody waits for an answer; hooks get a moment.
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 1500*time.Millisecond)
	defer cancel()
	stopErr := g.shutdown(end)
	if errors.Is(stopErr, context.DeadlineExceeded) {
		stopErr = nil
	}
	if err != nil {
		return notStarted(args[0], err)
	}
	if err := errors.Join(stopErr, <-served); err != nil {
		log.Error("hookline ended badly", "error", err)
	}
	if !o.quiet {
		fmt.Fprintf(errOut, "hookline: %s\n", counts.Counts())
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}

// upstreamOf lets calls go on to where the agent would have sent them without
// hookline, unless the configuration says otherwise.
func upstreamOf(cfg *config.Config, env []string) error {
	def := config.Default().Upstream
	for _, e := range []struct {
		name string
		to   *config.Endpoint
		def  config.Endpoint
	}{
		{envGemini, &cfg.Upstream.Gemini, def.Gemini},
		{envVertex, &cfg.Upstream.Vertex, def.Vertex},
		{envCodeAssist, &cfg.Upstream.CodeAssist, def.CodeAssist},
	} {
		base := lookup(env, e.name)
		if base == "" || *e.to != e.def {
			continue
		}
		if err := config.CheckBaseURL(base); err != nil {
			return &failure{what: e.name + ": " + err.Error(), next: "correct it, or unset it"}
		}
		e.to.BaseURL = base
	}
	return nil
}

// forGemini gives the variables that Gemini CLI needs, and a func for when the
// agent has ended. Other agents work without them, so a failure is told and no
// more.
func forGemini(env []string, log *slog.Logger) (map[string]string, func()) {
	vars, done, err := prepareGemini(env)
	if err != nil {
		log.Warn("Gemini CLI may refuse to start: its settings choose no way of authentication, and none could be chosen for it",
			"error", err, "hint", `choose "`+selectedType+`" in ~/.gemini/settings.json`)
		return nil, func() {}
	}
	return vars, func() {
		if err := done(); err != nil {
			log.Warn("what Gemini CLI wrote could not be moved to your .gemini folder", "error", err)
		}
	}
}

func prepareGemini(env []string) (map[string]string, func() error, error) {
	dir, err := userState()
	if err != nil {
		return nil, nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, nil, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	return geminiCLI{env: env, home: home, cwd: cwd, dir: dir, root: os.Geteuid() == 0}.prepare()
}

// sessionID names the session of one run. It has 64 random bits: two runs never
// share one.
func sessionID() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return "run-" + hex.EncodeToString(b[:])
}
