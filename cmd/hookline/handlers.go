package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/run"
)

// handlers run hooks, of each type. Close them after use.
type handlers struct {
	runner *run.Runner
	http   *run.HTTP
	judge  *run.Judge // nil when no hook asks a model
	gate   *run.Gate
}

// newHandlers makes what runs the hooks of a configuration. asks says that some
// of them ask a model.
func newHandlers(cfg *config.Config, asks bool, log *slog.Logger) (*handlers, error) {
	c := cfg.HooksConfig
	h := &handlers{
		runner: run.New(run.Options{
			Logger: log,
			Stderr: func(hook string, line []byte) {
				log.Debug("hook wrote to stderr", "hook", hook, "line", string(line))
			},
		}),
		http: run.NewHTTP(run.HTTPOptions{AllowedURLs: c.AllowedHTTPHookURLs, AllowPrivate: c.AllowPrivateNetworkHooks}),
		gate: run.NewGate(c.MaxConcurrent),
	}
	if !asks {
		return h, nil
	}
	var key hooks.Credential
	if c.APIKeyEnv != "" {
		if key = hooks.NewCredential("X-Goog-Api-Key", os.Getenv(c.APIKeyEnv)); !key.Present() {
			return nil, errors.Join(&failure{what: "hooksConfig.apiKeyEnv names the environment variable " + c.APIKeyEnv + ", which is not set",
				next: "set it to a key of the Gemini API, or leave it out of the configuration: hooks then use the agent's key"}, h.Close())
		}
	}
	var err error
	h.judge, err = run.NewJudge(context.Background(), run.JudgeOptions{
		BaseURL: cfg.Upstream.Gemini.BaseURL, Model: c.Model, Key: key, TokensPerHour: c.TokensPerHour, CallsPerMinute: c.CallsPerMinute,
	})
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// byType are the handlers behind their common gate.
func (h *handlers) byType(wrap func(hooks.Handler) hooks.Handler) map[string]hooks.Handler {
	var command hooks.Handler = h.runner
	if wrap != nil {
		command = wrap(command)
	}
	all := map[string]hooks.Handler{
		string(config.Command): h.gate.Handler(command),
		string(config.HTTP):    h.gate.Handler(h.http),
	}
	if h.judge != nil {
		all[string(config.Prompt)] = h.gate.Handler(hooks.HandlerFunc(h.judge.Prompt))
		all[string(config.Agent)] = h.gate.Handler(hooks.HandlerFunc(h.judge.Agent))
	}
	return all
}

func (h *handlers) Close() error {
	err := errors.Join(h.runner.Close(), h.http.Close())
	if h.judge != nil {
		err = errors.Join(err, h.judge.Close())
	}
	return err
}
