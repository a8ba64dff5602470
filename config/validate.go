package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// validate checks what types cannot say. It speaks only of what the file has, so
// a value that was already reported is not reported again.
func (d *decoder) validate(c *Config) {
	d.listen(c.Listen)
	d.baseURL("upstream.gemini.baseUrl", c.Upstream.Gemini.BaseURL)
	d.baseURL("upstream.vertex.baseUrl", c.Upstream.Vertex.BaseURL)
	d.baseURL("upstream.codeAssist.baseUrl", c.Upstream.CodeAssist.BaseURL)
	if d.has("limits.maxBody") && c.Limits.MaxBody == 0 && d.clean("limits.maxBody") {
		d.fail(d.at["limits.maxBody"], "limits.maxBody", "0 bytes would refuse every call", "leave it out for 100 MiB")
	}
	for _, ev := range events {
		for i := range c.Hooks[ev] {
			d.definition(ev, fmt.Sprintf("hooks.%s[%d]", ev, i), &c.Hooks[ev][i])
		}
	}
	d.redact("redact", c.Redact.Entities, c.Redact.Rules, c.Redact.Allow)
	d.hashKey(c.Redact.HashKey)
	d.imports(c.Import)
	d.reportToken(c.ReportToken)
	d.state(c.State)
	d.handlers(c.HooksConfig)
	d.disabled(c)
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (d *decoder) state(s State) {
	const key, url = "state.encryptionKey", "state.redis.url"
	if d.has(key) && d.clean(key) && !envName.MatchString(s.EncryptionKey) {
		// What stands there may be the secret itself: it is not repeated.
		d.fail(d.at[key], key, "is no name of an environment variable", `put the secret into a variable and write its name: "HOOKLINE_STATE_KEY"`)
	}
	switch {
	case s.Store == StoreRedis && !d.has(url):
		at := "state.store"
		d.fail(d.at[at], at, `the store is "redis", but "redis" names no server`, `add "redis": {"url": "redis://127.0.0.1:6379/0"}`)
	case d.has(url) && d.clean(url) && !strings.HasPrefix(s.Redis.URL, "redis://") && !strings.HasPrefix(s.Redis.URL, "rediss://"):
		d.fail(d.at[url], url, "is no redis:// or rediss:// URL", `write it like "redis://:${REDIS_PASSWORD}@127.0.0.1:6379/0"`)
	case d.has(url) && s.Store != StoreRedis && d.clean("state.store"):
		d.report(Warning, d.at[url], url, `is not used: the store is "`+string(s.Store)+`"`, `add "store": "redis"`)
	}
}

// clean reports whether nothing was reported at path so far.
func (d *decoder) clean(path string) bool {
	return !slices.ContainsFunc(d.problems, func(p Problem) bool { return p.Path == path })
}

func (d *decoder) listen(addr string) {
	const path = "listen"
	if !d.has(path) || !d.clean(path) {
		return
	}
	_, port, err := net.SplitHostPort(addr)
	n, perr := strconv.Atoi(port)
	if err != nil || perr != nil || n < 0 || n > 65535 {
		d.fail(d.at[path], path, fmt.Sprintf("%q is no address", clip(addr)), `write host:port, like "127.0.0.1:8787" (port 0 takes a free one)`)
	}
}

func (d *decoder) baseURL(path, raw string) {
	if !d.has(path) || !d.clean(path) {
		return
	}
	if err := CheckBaseURL(raw); err != nil {
		d.fail(d.at[path], path, err.Error(), `write it like "https://generativelanguage.googleapis.com"; the agent sends its own key`)
	}
}

// CheckBaseURL says what is wrong with the URL of an upstream; nil if it is one.
// Credentials that it may hold do not appear in the error.
func CheckBaseURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case strings.ContainsAny(raw, "@?"):
		return errors.New("a base URL has no query and no credentials")
	case err != nil || u.Scheme == "" || u.Host == "":
		return fmt.Errorf("%q is no URL", clip(raw))
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%q is no http or https URL", clip(raw))
	case u.Fragment != "":
		return errors.New("a base URL has no fragment")
	}
	return nil
}

func (d *decoder) definition(ev, path string, def *Definition) {
	def.Order = d.at[path]
	if !d.has(path + ".hooks") {
		hint := `write {"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}`
		d.fail(d.at[path], path, `"hooks" is missing`, hint)
	}
	d.dialect(ev, path, def)
	d.matcher(ev, path, def)
	for i := range def.Hooks {
		p := fmt.Sprintf("%s.hooks[%d]", path, i)
		def.Hooks[i].Line, _ = lineColumn(d.data, d.at[p])
		d.hook(ev, p, def.In(ev), def.Hooks[i])
	}
}

// dialect checks that a group's dialect has its event.
func (d *decoder) dialect(ev, path string, def *Definition) {
	p := path + ".dialect"
	if !d.has(p) || !d.clean(p) || def.In(ev).has(ev) {
		return
	}
	d.fail(d.at[p], p, fmt.Sprintf("the dialect %q has no event %q", def.Dialect, ev), "its name there is "+orNone(counterpart(ev, def.Dialect)))
}

func (d *decoder) matcher(ev, path string, def *Definition) {
	m := strings.TrimSpace(def.Matcher)
	if m == "*" || !aboutTool(ev) || def.In(ev) != DialectGemini && plainNames.MatchString(m) {
		return
	}
	if _, err := regexp.Compile(m); err != nil {
		p := path + ".matcher"
		hint := `matchers are RE2 regular expressions on the tool's name, like "write_file|replace"`
		if strings.Contains(m, "(?=") || strings.Contains(m, "(?!") || strings.Contains(m, "(?<") {
			hint += "; RE2 has no look-ahead and no look-behind"
		}
		d.fail(d.at[p], p, fmt.Sprintf("matcher %q does not compile: %s", clip(m), clip(reason(err))), hint)
	}
}

// plainNames are matchers that Claude Code reads as names.
var plainNames = regexp.MustCompile(`\A[A-Za-z0-9_\- ,|]*\z`)

func (d *decoder) reportToken(name string) {
	if p := "reportToken"; d.has(p) && d.clean(p) && !envName.MatchString(name) {
		// What stands there may be the token itself: it is not repeated.
		d.fail(d.at[p], p, "is no name of an environment variable", `put the token into a variable and write its name: "HOOKLINE_REPORT_TOKEN"`)
	}
}

// reason is what is wrong with a pattern, without the pattern itself.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "error parsing regexp: ")
}

func (d *decoder) hook(ev, path string, in Dialect, h Hook) {
	if !d.clean(path) {
		return // no object at all
	}
	d.handler(path, h)
	if h.Type == BuiltinHook {
		d.builtin(ev, path, h)
		return
	}
	if p := path + ".shell"; d.has(p) && h.Args != nil {
		d.fail(d.at[p], p, `"shell" and "args" exclude each other: with args the command is started directly`, "remove one of them")
	}
	if p := path + ".timeout"; d.has(p) && d.clean(p) {
		switch off := d.at[p]; {
		case d.explicitZero(p), h.Timeout < 0:
			hint := "leave it out for 60000 (one minute)"
			if in != DialectGemini {
				hint = "leave it out for the default"
			}
			d.fail(off, p, "a hook needs some time", hint)
		case in.inSeconds() && h.Timeout > 24*60*60:
			d.report(Warning, off, p, fmt.Sprintf("%d is in seconds, more than a day", h.Timeout), "")
		case !in.inSeconds() && h.Timeout < 100:
			d.report(Warning, off, p, fmt.Sprintf("%d is in milliseconds, hardly enough to start a process", h.Timeout),
				fmt.Sprintf("write %d for %d seconds", h.Timeout*1000, h.Timeout))
		}
	}
	if p := path + ".instances"; d.has(p) && d.clean(p) {
		switch off := d.at[p]; {
		case !h.Persistent:
			d.fail(off, p, `"instances" is for persistent hooks`, `add "persistent": true`)
		case d.explicitZero(p), h.Instances < 1, h.Instances > 256:
			d.fail(off, p, "must be a number from 1 to 256", "")
		}
	}
	if p := path + ".window"; d.has(p) && ev != "AfterModel" {
		d.fail(d.at[p], p, `"window" is for AfterModel hooks`, "remove it: "+ev+" is shown no streamed text")
	}
	if p := path + ".system"; d.has(p) && ev != "BeforeModel" && ev != "BeforeToolSelection" && ev != "AfterModel" {
		d.fail(d.at[p], p, `"system" is for BeforeModel, BeforeToolSelection and AfterModel hooks`, "remove it: "+ev+" is shown no llm_request")
	}
	for k := range h.Env {
		if p := join(path+".env", k); k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(h.Env[k], "\x00") {
			d.fail(d.at[p], p, "is no environment variable", "a name has no '=', name and value have no NUL byte")
		}
	}
}

// builtin checks a hook that is part of hookline.
func (d *decoder) builtin(ev, path string, h Hook) {
	switch ev {
	case "BeforeModel", "AfterModel", "BeforeTool", "AfterTool":
	default:
		d.fail(d.at[path], path, "redact is for BeforeModel, AfterModel, BeforeTool and AfterTool hooks", "")
	}
	for _, key := range []string{"window", "system", "timeout"} {
		if p := path + "." + key; d.has(p) {
			d.fail(d.at[p], p, fmt.Sprintf("%q does nothing for a hook of type %q", key, h.Type), "remove it")
		}
	}
	d.redact(path, h.Entities, h.Rules, h.Allow)
}

// explicitZero tells a written 0 from a default that was filled in.
func (d *decoder) explicitZero(path string) bool {
	off := d.at[path]
	return off < len(d.data) && d.data[off] == '0'
}

// disabled doubts names in hooksConfig.disabled that no hook bears.
func (d *decoder) disabled(c *Config) {
	var names, known []string // URLs are known, but no hint shows one: it may hold a secret
	for _, ev := range events {
		for _, def := range c.Hooks[ev] {
			for _, h := range def.Hooks {
				names = append(names, firstOf(h.Name, h.Command))
				known = append(known, firstOf(h.Name, h.Command, h.URL, h.Prompt))
			}
		}
	}
	for i, n := range c.HooksConfig.Disabled {
		p := fmt.Sprintf("hooksConfig.disabled[%d]", i)
		if len(c.Import) > 0 || slices.Contains(known, n) || !d.clean(p) {
			continue // an imported hook may be meant
		}
		hint := ""
		if k := nearest(n, names); k != "" {
			hint = fmt.Sprintf("did you mean %q?", k)
		}
		d.report(Warning, d.at[p], p, fmt.Sprintf("no hook is called %q", clip(n)), hint)
	}
}
