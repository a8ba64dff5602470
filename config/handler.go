package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// handlerKeys are the keys that only some types of hooks have; the first one of
// each type is the one that it needs.
var handlerKeys = map[HookType][]string{
	Command: {"command", "args", "shell", "env", "persistent", "instances"},
	HTTP:    {"url", "headers", "allowedEnvVars"},
	Prompt:  {"prompt", "model"},
	Agent:   {"prompt", "model", "tools", "maxTurns"},

	BuiltinHook: {"builtin", "entities", "default", "secrets", "rules", "allow"},
}

// needed says what the needed key of a type is for.
var needed = map[HookType]string{
	Command: `add "command": "…", the shell command to run`,
	HTTP:    `add "url": "https://…", the service to ask`,
	Prompt:  `add "prompt": "…", what the model is asked; it must answer ok or not`,
	Agent:   `add "prompt": "…", what the model is asked; it must answer ok or not`,

	BuiltinHook: `add "builtin": "redact"`,
}

// handler checks a hook's type and the keys that belong to it.
func (d *decoder) handler(path string, h Hook) {
	kind := h.Type
	switch {
	case !d.has(path + ".type"):
		hint := `add "type": "command"`
		for _, t := range []HookType{HTTP, Prompt} {
			if !d.has(path+".command") && d.has(join(path, handlerKeys[t][0])) {
				hint = fmt.Sprintf(`add "type": %q`, t)
				kind = t
			}
		}
		d.fail(d.at[path], path, `"type" is missing`, hint)
		if kind == "" {
			kind = Command
		}
	case kind == "":
		return // it was reported; nobody knows which keys belong to it
	}
	d.neededKey(path, kind, map[HookType]string{Command: h.Command, HTTP: h.URL, Prompt: h.Prompt, Agent: h.Prompt, BuiltinHook: string(h.Builtin)}[kind])
	for _, t := range []HookType{Command, HTTP, Agent, BuiltinHook} {
		for _, key := range handlerKeys[t] {
			p := join(path, key)
			if d.has(p) && d.clean(p) && !slices.Contains(handlerKeys[kind], key) {
				d.fail(d.at[p], p, fmt.Sprintf("%q does nothing for a hook of type %q", key, kind), "its own keys are "+strings.Join(handlerKeys[kind], ", "))
			}
		}
	}
	switch kind {
	case HTTP:
		d.http(path, h)
	case Prompt, Agent:
		d.modelName(path+".model", h.Model)
		d.least(path+".maxTurns", h.MaxTurns, 1000, "50")
	}
}

func (d *decoder) neededKey(path string, kind HookType, value string) {
	key := handlerKeys[kind][0]
	p := join(path, key)
	if !d.has(p) {
		// A wrongly spelled key was reported at its place already.
		if !slices.ContainsFunc(d.problems, func(r Problem) bool { return strings.EqualFold(r.Path, p) }) {
			d.fail(d.at[path], path, fmt.Sprintf("%q is missing", key), needed[kind])
		}
	} else if strings.TrimSpace(value) == "" && d.clean(p) {
		d.fail(d.at[p], p, "the "+key+" is empty", "")
	}
}

var (
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	variable   = regexp.MustCompile(`\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))`)
)

// framing are headers that say how a message is framed and where it goes.
var framing = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect", "host", "keep-alive",
	"proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
}

// http checks what an http hook has. Neither URLs nor header values are
// repeated: they may hold secrets.
func (d *decoder) http(path string, h Hook) {
	if p := path + ".url"; d.has(p) && d.clean(p) {
		u, err := url.Parse(h.URL)
		switch {
		case err == nil && u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https":
			d.fail(d.at[p], p, "is no http or https URL", `write it like "https://hooks.example.com/path"`)
		case err != nil || u.Scheme == "" || u.Hostname() == "":
			d.fail(d.at[p], p, "is no URL", `write it like "https://hooks.example.com/path"`)
		}
	}
	for name, value := range h.Headers {
		p := join(path+".headers", name)
		switch {
		case !headerName.MatchString(name):
			d.fail(d.at[p], p, "is no name of a header", `write it like "X-My-Header"`)
		case slices.Contains(framing, strings.ToLower(name)):
			d.fail(d.at[p], p, "is a header that hookline sets itself", "remove it")
		}
		for _, m := range variable.FindAllStringSubmatch(value, -1) {
			if v := firstOf(m[1], m[2]); !slices.Contains(h.AllowedEnvVars, v) {
				d.report(Warning, d.at[p], p, "$"+v+" is replaced by nothing, since \"allowedEnvVars\" does not name it", fmt.Sprintf(`add "allowedEnvVars": [%q]`, v))
			}
		}
	}
	for i, v := range h.AllowedEnvVars {
		if p := fmt.Sprintf("%s.allowedEnvVars[%d]", path, i); d.clean(p) && !envName.MatchString(v) {
			d.fail(d.at[p], p, "is no name of an environment variable", "write the name alone, without $")
		}
	}
}

// handlers checks what concerns all hooks of a type.
func (d *decoder) handlers(c HooksConfig) {
	d.modelName("hooksConfig.model", c.Model)
	d.least("hooksConfig.maxConcurrent", c.MaxConcurrent, 10_000, "64")
	d.least("hooksConfig.tokensPerHour", c.TokensPerHour, 1<<31-1, "1000000")
	d.least("hooksConfig.callsPerMinute", c.CallsPerMinute, 1_000_000, "60")
	if p := "hooksConfig.apiKeyEnv"; d.has(p) && d.clean(p) && !envName.MatchString(c.APIKeyEnv) {
		// What stands there may be the key itself: it is not repeated.
		d.fail(d.at[p], p, "is no name of an environment variable", `put the key into a variable and write its name: "GEMINI_API_KEY"`)
	}
	for i, s := range c.AllowedHTTPHookURLs {
		p := fmt.Sprintf("hooksConfig.allowedHttpHookUrls[%d]", i)
		if d.clean(p) && s != "*" && !urlPattern.MatchString(s) {
			d.fail(d.at[p], p, "is no pattern of a URL", `write it like "https://hooks.example.com/*"; a * in the host stays in the host`)
		}
	}
}

var (
	urlPattern = regexp.MustCompile(`^[a-zA-Z*]+://[^/?#@\s]+([/?][^#\s]*)?$`)
	modelID    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)?$`)
)

func (d *decoder) modelName(path, name string) {
	if d.has(path) && d.clean(path) && !modelID.MatchString(name) {
		d.fail(d.at[path], path, fmt.Sprintf("%q is no name of a model", clip(name)), `write it like "gemini-2.5-flash"`)
	}
}

// least checks a number that has a default.
func (d *decoder) least(path string, n, most int, usual string) {
	if d.has(path) && d.clean(path) && (n < 1 || n > most) {
		d.fail(d.at[path], path, fmt.Sprintf("must be a number from 1 to %d", most), "leave it out for "+usual)
	}
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
