package main

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/hookline-proxy/hookline/proxy/shield"
)

// known tells the configuration which names of entities there are.
var known = config.Known{
	Entity: func(name string) bool {
		if slices.Contains(allEntities(), name) {
			return true
		}
		return isEntity(name) // it knows aliases, too
	},
	Entities: func() []string { return allEntities() },
}

// allEntities are the names of entities and kinds of secrets. The latter are
// read from their rules, which takes a moment.
var allEntities = sync.OnceValue(func() []string {
	names := redact.Entities()
	if e, err := redact.New(redact.Options{}); err == nil {
		names = append(names, e.Rules()...)
	}
	return names
})

// newShield makes what the configuration says of redaction; nil for nothing.
func newShield(cfg *config.Config, log *slog.Logger) (*shield.Shield, error) {
	o := shield.Options{
		Inline:   shield.Inline(cfg.Redact.InlineData),
		FailOpen: cfg.Redact.FailMode == config.FailOpen,
		Log:      log,
	}
	if !cfg.Redact.SystemNote {
		o.Note = "-"
	}
	key, err := hashKey(cfg, log)
	if err != nil {
		return nil, err
	}
	hooks, err := redactHooks(cfg, key)
	if err != nil {
		return nil, err
	}
	o.Rules = hooks
	if r := cfg.Redact; r.Enabled {
		// One engine for both ways: it is the same for both, and no small thing.
		one, err := newRedactor(r.Entities, r.Default, r.Secrets, r.Rules, r.Allow, key)
		if err != nil {
			return nil, fmt.Errorf("redact: %w", err)
		}
		if r.Requests {
			o.Rules = append(o.Rules, shield.Rule{Redactor: one, Direction: shield.ToModel})
		}
		if r.Responses {
			o.Rules = append(o.Rules, shield.Rule{Redactor: one, Direction: shield.ToAgent})
		}
	}
	if len(o.Rules) == 0 {
		return nil, nil
	}
	return shield.New(o), nil
}

// processKey is the key of hashes where the configuration names none: one for
// all engines, so that a value has one hash.
var processKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	rand.Read(key) // it never fails
	return key
})

// leastHashKey is the shortest secret for hashes, in bytes.
const leastHashKey = 16

// hashKey is the secret of the hash action.
func hashKey(cfg *config.Config, log *slog.Logger) ([]byte, error) {
	name := cfg.Redact.HashKey
	if name == "" {
		if hashes(cfg) {
			log.Warn("hashes of redacted values change with each start", "next", "name the environment variable with a secret in redact.hashKey")
		}
		return processKey(), nil
	}
	key := []byte(os.Getenv(name))
	switch {
	case len(key) == 0:
		return nil, &failure{what: "redact.hashKey names the environment variable " + name + ", which is not set",
			next: "set it to a secret of 16 bytes or more, or leave the key out of the configuration"}
	case len(key) < leastHashKey:
		return nil, &failure{what: fmt.Sprintf("redact.hashKey: the secret has %d bytes, %d are needed", len(key), leastHashKey), next: "choose a longer secret"}
	}
	return key, nil
}

// hashes reports whether any value may be replaced by its hash.
func hashes(cfg *config.Config) bool {
	used := func(entities config.EntityActions, rules []config.RedactRule, others ...config.RedactAction) bool {
		for _, a := range entities {
			others = append(others, a)
		}
		for _, r := range rules {
			others = append(others, r.Action)
		}
		return slices.Contains(others, config.ActionHash)
	}
	if r := cfg.Redact; r.Enabled && used(r.Entities, r.Rules, r.Default, r.Secrets) {
		return true
	}
	for _, defs := range cfg.Hooks {
		for _, def := range defs {
			for _, h := range def.Hooks {
				if h.Type == config.BuiltinHook && used(h.Entities, h.Rules, h.Default, h.Secrets) {
					return true
				}
			}
		}
	}
	return false
}

// redactHooks are the builtin hooks: each is a rule for what its event shows.
func redactHooks(cfg *config.Config, key []byte) ([]shield.Rule, error) {
	if !cfg.HooksConfig.Enabled {
		return nil, nil
	}
	yes, no := true, false
	var rules []shield.Rule
	for _, ev := range []struct {
		name  string
		to    shield.Direction
		tools *bool
	}{
		{"BeforeModel", shield.ToModel, &no},
		{"AfterTool", shield.ToModel, &yes},
		{"AfterModel", shield.ToAgent, &no},
		{"BeforeTool", shield.ToAgent, &yes},
	} {
		for i, def := range cfg.Hooks[ev.name] {
			for j, h := range def.Hooks {
				if h.Type != config.BuiltinHook || h.Name != "" && slices.Contains(cfg.HooksConfig.Disabled, h.Name) {
					continue
				}
				r, err := newRedactor(h.Entities, h.Default, h.Secrets, h.Rules, h.Allow, key)
				if err != nil {
					return nil, fmt.Errorf("hooks.%s[%d].hooks[%d]: %w", ev.name, i, j, err)
				}
				rule := shield.Rule{Redactor: r, Direction: ev.to, Tools: ev.tools}
				if m := strings.TrimSpace(def.Matcher); *ev.tools && m != "" && m != "*" {
					if rule.Tool, err = regexp.Compile(m); err != nil {
						return nil, fmt.Errorf("hooks.%s[%d].matcher: %w", ev.name, i, err)
					}
				}
				rules = append(rules, rule)
			}
		}
	}
	return rules, nil
}

// newRedactor turns options of the configuration into those of the engine.
func newRedactor(entities config.EntityActions, deflt, secrets config.RedactAction, rules []config.RedactRule, allow config.Allow, key []byte) (*shield.Redactor, error) {
	o := redact.Options{
		Action:  redact.Action(deflt),
		Actions: map[string]redact.Action{},
		Key:     key,
		Allow:   redact.Allow{Values: allow.Values, Regexes: allow.Regexes, Domains: allow.Domains, PrivateIPs: allow.PrivateIPs},
	}
	own := map[string]bool{}
	for _, r := range rules {
		own[r.Name] = true
		o.Rules = append(o.Rules, redact.Rule{Name: r.Name, Regex: r.Regex, Keywords: r.Keywords, Validate: string(r.Validate)})
		switch {
		case r.Action != "" && r.Action != config.ActionOff:
			o.Actions[r.Name] = redact.Action(r.Action)
		case deflt == config.ActionOff:
			o.Actions[r.Name] = redact.Mask // it was written to be used
		}
	}
	off := deflt == config.ActionOff
	if off {
		o.Action = redact.Report
	}
	if secrets == "" {
		secrets = deflt
	}
	switch secrets {
	case config.ActionOff:
		o.NoSecrets = true
	default:
		if secrets != deflt {
			o.Actions["SECRET"] = redact.Action(secrets)
		}
	}
	o.Entities = []string{}
	if !off {
		o.Entities = slices.DeleteFunc(redact.Entities(), func(n string) bool { return n == "URL" })
	}
	for name, a := range entities {
		entity, isEntity := redact.Canonical(name)
		switch {
		case name == "SECRET" && a == config.ActionOff:
			o.NoSecrets = true
			continue
		case !isEntity || own[name]: // a kind of secret, which is found with the others
		case a == config.ActionOff:
			o.Entities = slices.DeleteFunc(o.Entities, func(n string) bool { return n == entity })
			continue
		default:
			o.Entities = append(o.Entities, entity)
		}
		o.Actions[name] = redact.Action(a)
	}
	if o.NoSecrets {
		for name := range o.Actions {
			if !own[name] && !isEntity(name) && name != "SECRET" {
				// Kinds of secrets are looked for together or not at all.
				o.NoSecrets = false
				o.Actions["SECRET"] = redact.Off
				break
			}
		}
	}
	return shield.NewRedactor(o)
}

// isEntity tells entities from kinds of secrets.
func isEntity(name string) bool {
	_, ok := redact.Canonical(name)
	return ok
}

// endpoints are the configured policies in the words of package proxy.
func endpoints(cfg *config.Config) map[string]proxy.Policy {
	all := map[string]proxy.Policy{}
	for name, p := range cfg.Endpoints.Named() {
		all[name] = proxy.Policy(p)
	}
	return all
}
