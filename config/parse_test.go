package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// line is a problem without its hint.
func line(p Problem) string {
	s, _, _ := strings.Cut(p.String(), "\n")
	return s
}

func TestParseProblems(t *testing.T) {
	hook := func(ev, h string) string {
		return fmt.Sprintf(`{"hooks": {"%s": [{"hooks": [%s]}]}}`, ev, h)
	}
	tests := []struct {
		name string
		in   string
		want []string // lines, each a problem
		hint string   // part of the first problem's hint
	}{
		{"empty object", `{}`, nil, ""},
		{"comments and trailing commas", "// c\n{\"listen\": \"127.0.0.1:1\", /* d */\n}", nil, ""},
		{"byte order mark", "\xef\xbb\xbf{}", nil, ""},
		{"empty file", ``, []string{"f:1:1: error: not valid JSON: the file ends in the middle"}, "{}"},
		{"cut off", `{"listen": `, []string{"f:1:12: error: not valid JSON: the file ends in the middle"}, "closing }"},
		{"single quotes", "{\n  'listen': 1}", []string{`f:2:3: error: not valid JSON: invalid character '\'' at start of value`}, "double quotes"},
		{"missing comma", "{\"repair\": true\n \"log\": {}}", []string{`f:2:2: error: not valid JSON: invalid character '"' after object value (expecting ',' or '}')`}, "comma"},
		{"not an object", `[]`, []string{"f:1:1: error: is a list, must be an object"}, ""},

		{"unknown key", `{"listne": "x"}`, []string{`f:1:2: error: listne: unknown key "listne"`}, `did you mean "listen"?`},
		{"unknown key far from all", `{"zebra": 1}`, []string{`f:1:2: error: zebra: unknown key "zebra"`}, "known keys are $schema, listen"},
		{"key in another case", hook("BeforeTool", `{"type": "command", "Command": "x"}`),
			[]string{`f:1:58: error: hooks.BeforeTool[0].hooks[0].Command: unknown key "Command"`}, `write "command": upper and lower case matter`},
		{"key twice", "{\"log\": {},\n \"log\": {}}", []string{`f:2:2: error: log: key "log" stands twice`}, "line 1"},
		{"columns count characters", `{"log": {"é": 1, "x": 2}}`,
			[]string{`f:1:10: error: log["é"]: unknown key "é"`, `f:1:18: error: log.x: unknown key "x"`}, ""},
		{"null", `{"listen": null}`, []string{"f:1:12: error: listen: null is no value here"}, "leave the key out"},
		{"string for bool", `{"repair": "true"}`, []string{"f:1:12: error: repair: is a string, must be true or false"}, "without quotes"},
		{"enum", `{"denyAs": "errors"}`, []string{`f:1:12: error: denyAs: "errors" is not known, must be one of "answer", "error"`}, `did you mean "error"?`},
		{"listen", `{"listen": "8787"}`, []string{`f:1:12: error: listen: "8787" is no address`}, "127.0.0.1:8787"},
		{"base URL without scheme", `{"upstream": {"gemini": {"baseUrl": "localhost:1"}}}`,
			[]string{`f:1:37: error: upstream.gemini.baseUrl: "localhost:1" is no URL`}, "https://"},
		{"base URL with a key", `{"upstream": {"gemini": {"baseUrl": "https://h/?key=s3cret"}}}`,
			[]string{`f:1:37: error: upstream.gemini.baseUrl: a base URL has no query and no credentials`}, "own key"},
		{"size", `{"limits": {"maxBody": "1 parsec"}}`, []string{`f:1:24: error: limits.maxBody: "1 parsec" is no size`}, "100MiB"},
		{"size zero", `{"limits": {"maxBody": 0}}`, []string{`f:1:24: error: limits.maxBody: 0 bytes would refuse every call`}, ""},

		{"unknown event", `{"hooks": {"BeforeTools": []}}`, []string{`f:1:12: error: hooks.BeforeTools: "BeforeTools" is no hook event`}, `did you mean "BeforeTool"?`},
		{"event of another agent", `{"hooks": {"PreToolUse": []}}`, nil, ""},
		{"dialect without the event", `{"hooks": {"BeforeTool": [{"dialect": "claude", "hooks": []}]}}`,
			[]string{`f:1:39: error: hooks.BeforeTool[0].dialect: the dialect "claude" has no event "BeforeTool"`}, `"PreToolUse"`},
		{"event without the dialect", `{"hooks": {"Stop": [{"dialect": "gemini", "hooks": []}]}}`,
			[]string{`f:1:33: error: hooks.Stop[0].dialect: the dialect "gemini" has no event "Stop"`}, `"AfterAgent"`},
		{"seconds", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 30}]}]}}`, nil, ""},
		{"import", `{"import": ["gemni"]}`, []string{`f:1:13: error: import[0]: "gemni" is no tool and no file`}, `did you mean "gemini"?`},
		{"import twice", `{"import": ["gemini", "gemini"]}`, []string{`f:1:23: warning: import[1]: "gemini" stands there twice`}, ""},
		{"token in place of its name", `{"reportToken": "s3cr-t"}`, []string{`f:1:17: error: reportToken: is no name of an environment variable`}, "HOOKLINE_REPORT_TOKEN"},
		{"switches inside hooks", `{"hooks": {"disabled": []}}`, []string{`f:1:12: error: hooks.disabled: "disabled" is no hook event`}, "hooksConfig"},
		{"definition that is a hook", `{"hooks": {"BeforeTool": [{"type": "command", "command": "x"}]}}`,
			[]string{
				`f:1:27: error: hooks.BeforeTool[0]: "hooks" is missing`,
				`f:1:28: error: hooks.BeforeTool[0].type: unknown key "type"`,
				`f:1:47: error: hooks.BeforeTool[0].command: unknown key "command"`,
			}, `{"matcher"`},
		{"definition without brackets", `{"hooks": {"BeforeTool": {"hooks": []}}}`, []string{`f:1:26: error: hooks.BeforeTool: is an object, must be a list`}, "brackets"},
		{"bad matcher", `{"hooks": {"BeforeTool": [{"matcher": "[read_file", "hooks": []}]}}`,
			[]string{"f:1:39: error: hooks.BeforeTool[0].matcher: matcher \"[read_file\" does not compile: missing closing ]: `[read_file`"}, "RE2"},
		{"look-ahead", `{"hooks": {"AfterTool": [{"matcher": "a(?=b)", "hooks": []}]}}`,
			[]string{"f:1:38: error: hooks.AfterTool[0].matcher: matcher \"a(?=b)\" does not compile: invalid or unsupported Perl syntax: `(?=`"}, "no look-ahead"},
		{"star matcher", `{"hooks": {"BeforeTool": [{"matcher": "*", "hooks": []}]}}`, nil, ""},
		{"missing type", hook("BeforeTool", `{"command": "x"}`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: "type" is missing`}, `add "type": "command"`},
		{"type in another case", hook("BeforeTool", `{"type": "Command", "command": "x"}`),
			[]string{`f:1:47: error: hooks.BeforeTool[0].hooks[0].type: "Command" is not known, must be one of "command", "http", "prompt", "agent", "builtin"`}, `did you mean "command"?`},
		{"missing command", hook("BeforeTool", `{"type": "command"}`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: "command" is missing`}, ""},
		{"empty command", hook("BeforeTool", `{"type": "command", "command": " "}`), []string{`f:1:69: error: hooks.BeforeTool[0].hooks[0].command: the command is empty`}, ""},
		{"hook that is a string", hook("BeforeTool", `"x"`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: is a string, must be an object`}, ""},
		{"timeout in seconds", hook("BeforeTool", `{"type": "command", "command": "x", "timeout": 30}`),
			[]string{"f:1:85: warning: hooks.BeforeTool[0].hooks[0].timeout: 30 is in milliseconds, hardly enough to start a process"}, "write 30000 for 30 seconds"},
		{"timeout zero", hook("BeforeTool", `{"type": "command", "command": "x", "timeout": 0}`),
			[]string{"f:1:85: error: hooks.BeforeTool[0].hooks[0].timeout: a hook needs some time"}, "60000"},
		{"timeout in words", hook("BeforeTool", `{"type": "command", "command": "x", "timeout": "500"}`),
			[]string{"f:1:85: error: hooks.BeforeTool[0].hooks[0].timeout: is a string, must be a whole number"}, "write 500 without quotes"},
		{"timeout with a fraction", hook("BeforeTool", `{"type": "command", "command": "x", "timeout": 0.5}`),
			[]string{"f:1:85: error: hooks.BeforeTool[0].hooks[0].timeout: 0.5 is no whole number of a sensible size"}, ""},
		{"instances alone", hook("BeforeTool", `{"type": "command", "command": "x", "instances": 2}`),
			[]string{`f:1:87: error: hooks.BeforeTool[0].hooks[0].instances: "instances" is for persistent hooks`}, `"persistent": true`},
		{"shell with args", hook("BeforeTool", `{"type": "command", "command": "x", "args": [], "shell": "sh"}`),
			[]string{`f:1:95: error: hooks.BeforeTool[0].hooks[0].shell: "shell" and "args" exclude each other: with args the command is started directly`}, ""},
		{"window elsewhere", hook("BeforeTool", `{"type": "command", "command": "x", "window": "word"}`),
			[]string{`f:1:84: error: hooks.BeforeTool[0].hooks[0].window: "window" is for AfterModel hooks`}, ""},
		{"env name", hook("BeforeTool", `{"type": "command", "command": "x", "env": {"A=B": "c"}}`),
			[]string{`f:1:89: error: hooks.BeforeTool[0].hooks[0].env["A=B"]: is no environment variable`}, ""},
		{"http without URL", hook("BeforeTool", `{"type": "http"}`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: "url" is missing`}, "https://"},
		{"URL without type", hook("BeforeTool", `{"url": "http://h"}`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: "type" is missing`}, `"type": "http"`},
		{"URL of a file", hook("BeforeTool", `{"type": "http", "url": "file:///s3cret"}`), []string{`f:1:62: error: hooks.BeforeTool[0].hooks[0].url: is no http or https URL`}, ""},
		{"no URL", hook("BeforeTool", `{"type": "http", "url": "s3cret"}`), []string{`f:1:62: error: hooks.BeforeTool[0].hooks[0].url: is no URL`}, ""},
		{"key of another type", hook("BeforeTool", `{"type": "http", "url": "http://h", "env": {"A": "b"}}`),
			[]string{`f:1:81: error: hooks.BeforeTool[0].hooks[0].env: "env" does nothing for a hook of type "http"`}, "url, headers, allowedEnvVars"},
		{"framing header", hook("BeforeTool", `{"type": "http", "url": "http://h", "headers": {"Content-length": "0"}}`),
			[]string{`f:1:104: error: hooks.BeforeTool[0].hooks[0].headers.Content-length: is a header that hookline sets itself`}, "remove"},
		{"header name", hook("BeforeTool", `{"type": "http", "url": "http://h", "headers": {"a b": "0"}}`),
			[]string{`f:1:93: error: hooks.BeforeTool[0].hooks[0].headers["a b"]: is no name of a header`}, ""},
		{"variable that is not allowed", hook("BeforeTool", `{"type": "http", "url": "http://h", "headers": {"A": "x $B"}, "allowedEnvVars": ["C"]}`),
			[]string{`f:1:91: warning: hooks.BeforeTool[0].hooks[0].headers.A: $B is replaced by nothing, since "allowedEnvVars" does not name it`}, `["B"]`},
		{"variable with a dollar", hook("BeforeTool", `{"type": "http", "url": "http://h", "allowedEnvVars": ["$C"]}`),
			[]string{`f:1:93: error: hooks.BeforeTool[0].hooks[0].allowedEnvVars[0]: is no name of an environment variable`}, "without $"},
		{"prompt without prompt", hook("BeforeTool", `{"type": "prompt"}`), []string{`f:1:38: error: hooks.BeforeTool[0].hooks[0]: "prompt" is missing`}, "ok or not"},
		{"tools of a prompt", hook("BeforeTool", `{"type": "prompt", "prompt": "p", "tools": ["glob"]}`),
			[]string{`f:1:81: error: hooks.BeforeTool[0].hooks[0].tools: "tools" does nothing for a hook of type "prompt"`}, "prompt, model"},
		{"unknown tool", hook("BeforeTool", `{"type": "agent", "prompt": "p", "tools": ["write_file"]}`),
			[]string{`f:1:81: error: hooks.BeforeTool[0].hooks[0].tools[0]: "write_file" is not known, must be one of "read_file", "glob", "grep"`}, ""},
		{"no turns", hook("BeforeTool", `{"type": "agent", "prompt": "p", "maxTurns": 0}`),
			[]string{`f:1:83: error: hooks.BeforeTool[0].hooks[0].maxTurns: must be a number from 1 to 1000`}, "50"},
		{"model that is a path", hook("BeforeTool", `{"type": "prompt", "prompt": "p", "model": "../../x?"}`),
			[]string{`f:1:81: error: hooks.BeforeTool[0].hooks[0].model: "../../x?" is no name of a model`}, "gemini"},
		{"URL pattern", `{"hooksConfig": {"allowedHttpHookUrls": ["*", "https://h/*", "h.test/*"]}}`,
			[]string{`f:1:62: error: hooksConfig.allowedHttpHookUrls[2]: is no pattern of a URL`}, "https://"},
		{"key for its name", `{"hooksConfig": {"apiKeyEnv": "AIza-s3cret"}}`, []string{`f:1:31: error: hooksConfig.apiKeyEnv: is no name of an environment variable`}, "GEMINI_API_KEY"},
		{"no hooks at once", `{"hooksConfig": {"maxConcurrent": 0}}`, []string{`f:1:35: error: hooksConfig.maxConcurrent: must be a number from 1 to 10000`}, "64"},
		{"hash secret for its name", `{"redact": {"hashKey": "s3cret/value=="}}`, []string{`f:1:24: error: redact.hashKey: is no name of an environment variable`}, "HOOKLINE_HASH_KEY"},
		{"secret for its name", `{"state": {"encryptionKey": "s3cret/value=="}}`, []string{`f:1:29: error: state.encryptionKey: is no name of an environment variable`}, "HOOKLINE_STATE_KEY"},
		{"redis without server", `{"state": {"store": "redis"}}`, []string{`f:1:21: error: state.store: the store is "redis", but "redis" names no server`}, "redis://"},
		{"no redis url", `{"state": {"store": "redis", "redis": {"url": "http://x"}}}`, []string{`f:1:47: error: state.redis.url: is no redis:// or rediss:// URL`}, "REDIS_PASSWORD"},
		{"redis unused", `{"state": {"redis": {"url": "redis://x"}}}`, []string{`f:1:29: warning: state.redis.url: is not used: the store is "embedded"`}, "redis"},
		{"time span", `{"state": {"ttl": "1 fortnight"}}`, []string{`f:1:19: error: state.ttl: "1 fortnight" is no time span`}, `"7d"`},
		{"disabled name", `{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "name": "guard"}]}]}, "hooksConfig": {"disabled": ["gaurd"]}}`,
			[]string{`f:1:125: warning: hooksConfig.disabled[0]: no hook is called "gaurd"`}, `did you mean "guard"?`},
		{"all at once", "{\n \"a\": 1,\n \"denyAs\": 2,\n \"listen\": \"x\"\n}", []string{
			`f:2:2: error: a: unknown key "a"`,
			`f:3:12: error: denyAs: is a number, must be one of "answer", "error"`,
			`f:4:12: error: listen: "x" is no address`,
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, ps := Parse("f", []byte(tt.in))
			if c == nil {
				t.Fatal("Parse gave no configuration")
			}
			var got []string
			for _, p := range ps {
				got = append(got, line(p))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
			if len(ps) > 0 && !strings.Contains(ps[0].Hint, tt.hint) {
				t.Errorf("hint %q, want it to contain %q", ps[0].Hint, tt.hint)
			}
		})
	}
}

func TestParseSecretsStayOut(t *testing.T) {
	_, ps := Parse("f", []byte(`{"upstream": {"gemini": {"baseUrl": "https://user:s3cret@host"}, "vertex": {"baseUrl": "https://h?key=s3cret"}}}`))
	if ps.Errors() != 2 {
		t.Errorf("%d errors, want 2", ps.Errors())
	}
	for _, p := range ps {
		if strings.Contains(p.String(), "s3cret") {
			t.Errorf("a credential is in the message: %s", p)
		}
	}
}

func TestParseValues(t *testing.T) {
	c, ps := Parse("f", []byte(`{
		"$schema": "s",
		"listen": "127.0.0.1:0",
		"upstream": {"gemini": {"baseUrl": "http://127.0.0.1:9/x"}},
		"hooks": {"AfterModel": [{"matcher": "a", "sequential": true, "hooks": [
			{"type": "command", "command": "c", "args": ["-v"], "name": "n", "description": "d", "timeout": 500, "env": {"A": "b"},
			 "failMode": "closed", "persistent": true, "instances": 3, "window": "word", "system": true},
			{"type": "command", "command": "plain", "shell": "sh"},
			{"type": "http", "url": "https://h.test/x", "headers": {"Authorization": "Bearer ${T}"}, "allowedEnvVars": ["T"]},
			{"type": "prompt", "prompt": "p $ARGUMENTS", "model": "models/m-1"},
			{"type": "agent", "prompt": "a", "tools": ["grep"], "maxTurns": 5},
		]}]},
		"hooksConfig": {"enabled": false, "disabled": ["n"], "maxConcurrent": 3, "allowedHttpHookUrls": [], "allowPrivateNetworkHooks": true,
			"model": "gemini-3-flash", "apiKeyEnv": "K", "tokensPerHour": 9, "callsPerMinute": 8},
		"limits": {"maxBody": "2 KiB"},
		"repair": true,
		"denyAs": "error",
		"state": {"dir": "s", "store": "redis", "ttl": "36h", "failMode": "closed", "encryptionKey": "KEY", "redis": {"url": "rediss://h"}, "idle": "1m"},
		"log": {"level": "debug", "format": "json"},
	}`))
	if len(ps) > 0 {
		t.Fatalf("problems: %v", ps)
	}
	want := &Config{
		Schema: "s", Listen: "127.0.0.1:0",
		Upstream: Upstream{
			Gemini: Endpoint{"http://127.0.0.1:9/x"}, Vertex: Default().Upstream.Vertex, CodeAssist: Default().Upstream.CodeAssist,
		},
		Hooks: Hooks{"AfterModel": {{Matcher: "a", Sequential: true, Hooks: []Hook{
			{
				Type: "command", Command: "c", Args: []string{"-v"}, Name: "n", Description: "d", Timeout: 500, Env: map[string]string{"A": "b"},
				FailMode: "closed", Persistent: true, Instances: 3, Window: "word", System: true,
			},
			{Type: "command", Command: "plain", Shell: "sh", Timeout: 60000, Instances: 1, FailMode: "open", Window: "chunk"},
			{Type: "http", URL: "https://h.test/x", Headers: map[string]string{"Authorization": "Bearer ${T}"}, AllowedEnvVars: []string{"T"}, Timeout: 60000, Instances: 1, FailMode: "open", Window: "chunk"},
			{Type: "prompt", Prompt: "p $ARGUMENTS", Model: "models/m-1", Timeout: 60000, Instances: 1, FailMode: "open", Window: "chunk"},
			{Type: "agent", Prompt: "a", Tools: []AgentTool{"grep"}, MaxTurns: 5, Timeout: 60000, Instances: 1, FailMode: "open", Window: "chunk"},
		}}}},
		HooksConfig: HooksConfig{
			Disabled: []string{"n"}, MaxConcurrent: 3, AllowedHTTPHookURLs: []string{}, AllowPrivateNetworkHooks: true,
			Model: "gemini-3-flash", APIKeyEnv: "K", TokensPerHour: 9, CallsPerMinute: 8,
		},
		Limits: Limits{MaxBody: 2048},
		Redact: Default().Redact,
		Repair: true, DenyAs: "error", State: State{Dir: "s", Store: "redis", TTL: Duration(36 * time.Hour), FailMode: "closed", EncryptionKey: "KEY", Redis: Redis{URL: "rediss://h"}, Idle: Duration(time.Minute)}, Log: Log{Level: "debug", Format: "json"},
	}
	places := cmp.Options{cmpopts.IgnoreFields(Hook{}, "Line"), cmpopts.IgnoreFields(Definition{}, "Order")}
	if d := cmp.Diff(want, c, places); d != "" {
		t.Errorf("config (-want +got):\n%s", d)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file",
		dir:                        "is a folder",
		big:                        "has at most 1048576",
	} {
		if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load(%s): %v, want it to say %q", path, err, want)
		}
	}
	ok := filepath.Join(dir, "ok")
	if err := os.WriteFile(ok, []byte(`{"repair": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	_, ps, err := Load(ok)
	if err != nil || ps.Err() == nil || !strings.HasPrefix(ps.Err().Error(), ok+":1:12: error: repair: ") {
		t.Errorf("Load: %v, %v", ps, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"listen": "127.0.0.1:0", "limits": {"maxBody": "1MiB"}, "repair": true,}`))
	f.Add([]byte(`{"hooks": {"BeforeTool": [{"matcher": "(", "hooks": [{"type": "command", "command": "x", "timeout": -0, "env": {"": "\u0000"}}]}]}}`))
	f.Add([]byte("// c\n{\"é\": [[[[1e999]]]], \"é\": 'x'}"))
	f.Add([]byte("\xef\xbb\xbf{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, ps := Parse("f", data)
		if c == nil {
			t.Fatal("no configuration")
		}
		lines := strings.Count(string(data), "\n") + 1
		for _, p := range ps {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Errorf("problem without a place or a message: %#v", p)
			}
		}
	})
}
