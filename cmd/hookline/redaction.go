package main

import (
	"fmt"
	"log/slog"
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
		_, err := redact.New(redact.Options{Entities: []string{name}, NoSecrets: true}) // it knows aliases, too
		return err == nil
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
	hooks, err := redactHooks(cfg)
	if err != nil {
		return nil, err
	}
	o.Rules = hooks
	if r := cfg.Redact; r.Enabled {
		// One engine for both ways: it is the same for both, and no small thing.
		one, err := newRedactor(r.Entities, r.Default, r.Secrets, r.Rules, r.Allow)
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

// redactHooks are the builtin hooks: each is a rule for what its event shows.
func redactHooks(cfg *config.Config) ([]shield.Rule, error) {
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
				r, err := newRedactor(h.Entities, h.Default, h.Secrets, h.Rules, h.Allow)
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
func newRedactor(entities config.EntityActions, deflt, secrets config.RedactAction, rules []config.RedactRule, allow config.Allow) (*shield.Redactor, error) {
	o := redact.Options{
		Action:  redact.Action(deflt),
		Actions: map[string]redact.Action{},
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
		if a == config.ActionOff {
			switch i := slices.Index(o.Entities, strings.ToUpper(name)); {
			case i >= 0:
				o.Entities = slices.Delete(o.Entities, i, i+1)
			case name == "SECRET":
				o.NoSecrets = true
			default: // a kind of secret, which is found with the others, or an alias
				o.Actions[name] = redact.Report
			}
			continue
		}
		o.Actions[name] = redact.Action(a)
		if !own[name] && isEntity(name) {
			o.Entities = append(o.Entities, name)
		}
	}
	if o.NoSecrets {
		for name := range o.Actions {
			if !own[name] && !isEntity(name) && name != "SECRET" {
				// Kinds of secrets are found together or not at all: the others are
				// only counted.
				o.NoSecrets = false
				o.Actions["SECRET"] = redact.Report
				break
			}
		}
	}
	return shield.NewRedactor(o)
}

// isEntity tells entities from kinds of secrets.
func isEntity(name string) bool {
	_, err := redact.New(redact.Options{Entities: []string{name}, NoSecrets: true})
	return err == nil
}

// endpoints are the configured policies in the words of package proxy.
func endpoints(cfg *config.Config) map[string]proxy.Policy {
	all := map[string]proxy.Policy{}
	for name, p := range cfg.Endpoints.Named() {
		all[name] = proxy.Policy(p)
	}
	return all
}
