// Package config is the shape of hookline's configuration file: JSON with
// comments and trailing commas, read into plain values. It says of every mistake
// in which line and column it stands, and what to write instead; it opens no
// socket, starts nothing, and knows no other package of the program.
//
// Invariants: all mistakes of a file are reported at once, not only the first;
// a key that does nothing is a mistake, never ignored; the JSON Schema that
// ships with the package ([Schema]) knows the same keys as [Config].
package config

import "time"

// Config is a configuration with its defaults filled in.
type Config struct {
	// Schema is the "$schema" that editors look for. hookline does not read it.
	Schema string `json:"$schema"`
	// Listen is the address that agents connect to, as host:port. Port 0 takes
	// a free one. Default 127.0.0.1:8787.
	Listen   string   `json:"listen"`
	Upstream Upstream `json:"upstream"`
	// Hooks are the hook definitions by event, as in Gemini CLI's settings.json.
	Hooks       Hooks       `json:"hooks"`
	HooksConfig HooksConfig `json:"hooksConfig"`
	// Import adds the hooks of other tools' settings, by all their layers:
	// "gemini", "claude", "qwen", "qoder", or a settings file, whose tool may
	// stand in front: "claude:shared/settings.json". See [Import].
	Import []string `json:"import"`
	// ReportToken names the environment variable with the token that reports of
	// events must bear. "" takes reports from this machine alone, without one.
	ReportToken string `json:"reportToken"`
	Limits      Limits `json:"limits"`
	// Repair puts a model's own calls and signed parts back where an agent sends
	// them altered, also when no tool hook is configured. With one it always is so.
	Repair bool   `json:"repair"`
	DenyAs DenyAs `json:"denyAs"`
	// Redact keeps people's data and secrets from the model, from hooks and from
	// every file that hookline writes.
	Redact Redact `json:"redact"`
	// Endpoints are policies of requests that are no model calls.
	Endpoints Endpoints `json:"endpoints"`
	State     State     `json:"state"`
	Log       Log       `json:"log"`
}

// Upstream says where calls go, by wire family.
type Upstream struct {
	Gemini Endpoint `json:"gemini"`
	// Vertex has no base URL by default: the path names the location's host.
	Vertex     Endpoint `json:"vertex"`
	CodeAssist Endpoint `json:"codeAssist"`
}

// Endpoint is one API host.
type Endpoint struct {
	// BaseURL is an http or https URL that request paths are appended to. It
	// may have a path, but no query.
	BaseURL string `json:"baseUrl"`
}

// Hooks are hook definitions by event name, in the order of the file.
type Hooks map[string][]Definition

// Definition is one group of hooks that share a matcher.
type Definition struct {
	// Matcher chooses among occurrences of the event. For tool events it is a
	// regular expression (RE2, unanchored) on the tool's name, for SessionStart,
	// SessionEnd and PreCompress an exact string or a list a|b; others have
	// nothing to choose from. "" and "*" match all.
	Matcher string `json:"matcher"`
	// Sequential runs the group's hooks one after the other, each seeing the
	// input as the one before left it.
	Sequential bool `json:"sequential"`
	// Async runs the group's hooks in the background: they decide nothing.
	Async bool   `json:"async"`
	Hooks []Hook `json:"hooks"`
	// Dialect is how the group's hooks are spoken with, and the unit of their
	// time-outs. "" is Gemini CLI's, or Claude's under a name that only the
	// latter knows.
	Dialect Dialect `json:"dialect"`

	// Order is the group's place among all: events share one sequence.
	Order int `json:"-"`
	// Source is the file that the group stands in; zero for the configuration.
	Source Source `json:"-"`
}

// Dialect names a manner of speaking with hooks.
type Dialect string

// Hook is one hook.
type Hook struct {
	Type HookType `json:"type"`
	// Command is run by bash -c; with Args it is the program itself.
	Command string `json:"command"`
	// Args are arguments for a direct start without a shell. nil means shell,
	// an empty list a direct start without arguments.
	Args []string `json:"args"`
	// Shell is the shell that runs Command. "" is bash, on Windows PowerShell.
	Shell       string `json:"shell"`
	Name        string `json:"name"` // "" for none
	Description string `json:"description"`
	// Timeout is in milliseconds, in the dialects of Claude and Qoder in seconds.
	// Default 60000; 0 in other dialects than Gemini's stands for theirs.
	Timeout int `json:"timeout"`
	// Env is added to the hook's environment and wins over it.
	Env      map[string]string `json:"env"`
	FailMode FailMode          `json:"failMode"`
	// Persistent keeps the process: one JSON line in, one JSON line out.
	Persistent bool `json:"persistent"`
	// Instances is how many processes a persistent hook keeps. Default 1.
	Instances int `json:"instances"`
	// Window is the unit in which an AfterModel hook is shown text.
	Window Window `json:"window"`
	// System shows a model hook the system instruction, as a leading message.
	System bool `json:"system"`

	// URL is where an http hook is posted to.
	URL string `json:"url"`
	// Headers of its request. $NAME and ${NAME} in a value are environment
	// variables, if AllowedEnvVars names them; others are replaced by nothing.
	Headers        map[string]string `json:"headers"`
	AllowedEnvVars []string          `json:"allowedEnvVars"`

	// Prompt is what a prompt or agent hook asks its model. $ARGUMENTS in it is
	// the event's JSON; without it the JSON is added at the end.
	Prompt string `json:"prompt"`
	Model  string `json:"model"` // "" for HooksConfig.Model
	// Tools that an agent hook may use. nil for all.
	Tools []AgentTool `json:"tools"`
	// MaxTurns is how many model calls an agent hook may make. Default 50.
	MaxTurns int `json:"maxTurns"`
	// Builtin is the built-in of a builtin hook: redact. Entities and what
	// follows are its options, as in [Redact]; its FailMode is closed by default.
	Builtin  Builtin       `json:"builtin"`
	Entities EntityActions `json:"entities"`
	Default  RedactAction  `json:"default"`
	Secrets  RedactAction  `json:"secrets"`
	Rules    []RedactRule  `json:"rules"`
	Allow    Allow         `json:"allow"`

	// If is a permission rule, as in "Bash(git *)": the hook runs for calls that
	// it names. "" for all.
	If string `json:"if"`
	// Once runs the hook once in a session.
	Once bool `json:"once"`
	// Async runs the hook in the background: it decides nothing.
	Async bool `json:"async"`

	Line int `json:"-"` // where it stands in its file, from 1
	// Off says why its own settings keep an imported hook from running; "" if
	// they do not.
	Off string `json:"-"`
}

// HooksConfig switches hooks on and off, as in Gemini CLI's settings.
type HooksConfig struct {
	Enabled bool `json:"enabled"` // default true
	// Disabled are names of hooks (the command, for one without a name) that do not run.
	Disabled []string `json:"disabled"`
	// MaxConcurrent is how many hooks run at the same time; the others wait,
	// each within its own time-out. Default 64.
	MaxConcurrent int `json:"maxConcurrent"`

	// AllowedHTTPHookURLs are patterns with * of the URLs that http hooks may
	// be sent to. nil for all, an empty list for none.
	AllowedHTTPHookURLs []string `json:"allowedHttpHookUrls"`
	// AllowPrivateNetworkHooks lets http hooks reach private networks. This
	// machine is always allowed; link-local and metadata addresses never are.
	AllowPrivateNetworkHooks bool `json:"allowPrivateNetworkHooks"`

	// Model answers prompt and agent hooks that name none. Default gemini-2.5-flash.
	Model string `json:"model"`
	// APIKeyEnv names the environment variable with the key for their calls.
	// "" uses the key of the agent whose event it is.
	APIKeyEnv string `json:"apiKeyEnv"`
	// TokensPerHour and CallsPerMinute bound the model calls of all prompt and
	// agent hooks together; a call beyond them is a failure of its hook.
	// Defaults 1000000 and 60.
	TokensPerHour  int `json:"tokensPerHour"`
	CallsPerMinute int `json:"callsPerMinute"`
}

// Limits bound what one call may cost.
type Limits struct {
	// MaxBody is the largest request body of a hooked call. Larger ones are
	// answered 413. Default 100 MiB.
	MaxBody Size `json:"maxBody"`
}

// State is what hookline remembers of conversations: the ledger, and the
// transcripts that hooks may read.
type State struct {
	// Dir is a folder; a relative one is relative to the configuration file.
	// "" means the user's own state folder.
	Dir   string `json:"dir"`
	Store Store  `json:"store"`
	// TTL is how long an entry is kept since it was last written. Default 7 days.
	TTL Duration `json:"ttl"`
	// FailMode says what becomes of calls while the store is down: open goes on
	// and fires hooks again, closed answers 503.
	FailMode FailMode `json:"failMode"`
	// EncryptionKey names the environment variable that holds the secret, 16
	// bytes or more, with which values are sealed. "" leaves them as they are.
	EncryptionKey string `json:"encryptionKey"`
	Redis         Redis  `json:"redis"`
	// Idle is how long a session may be silent before SessionEnd fires. Default
	// 30 minutes.
	Idle Duration `json:"idle"`
}

// Store is the kind of the ledger's store.
type Store string

// Redis is a server of the Redis protocol.
type Redis struct {
	// URL is redis:// or rediss://; ${NAME} in it is an environment variable's
	// value, for the password.
	URL string `json:"url"`
}

// Log says what is logged to stderr.
type Log struct {
	Level  LogLevel  `json:"level"`
	Format LogFormat `json:"format"`
}

// HookType is the kind of program behind a hook.
type HookType string

// AgentTool is a tool of agent hooks. All of them only read.
type AgentTool string

// Builtin names a hook that is part of hookline.
type Builtin string

// FailMode says what a hook's failure means.
type FailMode string

// Window is a unit of streamed text.
type Window string

// DenyAs is the form of a denial.
type DenyAs string

// LogLevel is the least severe level that is logged.
type LogLevel string

// LogFormat is the form of a log line.
type LogFormat string

const (
	Command HookType = "command"
	HTTP    HookType = "http"   // a POST to a service
	Prompt  HookType = "prompt" // a question to a model
	Agent   HookType = "agent"  // a question to a model that can read files first

	ReadFile    AgentTool = "read_file"
	Glob        AgentTool = "glob"
	Grep        AgentTool = "grep"
	BuiltinHook HookType  = "builtin"

	BuiltinRedact Builtin = "redact"

	FailOpen   FailMode = "open"   // the call goes on (default)
	FailClosed FailMode = "closed" // the failure is a deny

	WindowChunk    Window = "chunk" // as the model sent it (default)
	WindowWord     Window = "word"
	WindowSentence Window = "sentence"
	WindowAll      Window = "all"

	DialectGemini Dialect = "gemini"
	DialectClaude Dialect = "claude"
	DialectQwen   Dialect = "qwen"
	DialectQoder  Dialect = "qoder"

	DenyAsAnswer DenyAs = "answer" // the model's answer is the reason (default)
	DenyAsError  DenyAs = "error"  // HTTP 403 with Google's error body

	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info" // default
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"

	StoreEmbedded Store = "embedded" // a file in Dir (default)
	StoreMemory   Store = "memory"   // lost when the process ends
	StoreRedis    Store = "redis"    // shared between replicas

	LogText LogFormat = "text" // default
	LogJSON LogFormat = "json"
)

func (HookType) values() []string {
	return []string{string(Command), string(HTTP), string(Prompt), string(Agent), string(BuiltinHook)}
}
func (AgentTool) values() []string { return []string{string(ReadFile), string(Glob), string(Grep)} }
func (Builtin) values() []string   { return []string{string(BuiltinRedact)} }
func (FailMode) values() []string  { return []string{string(FailOpen), string(FailClosed)} }
func (Window) values() []string {
	return []string{string(WindowChunk), string(WindowWord), string(WindowSentence), string(WindowAll)}
}
func (Dialect) values() []string {
	return []string{string(DialectGemini), string(DialectClaude), string(DialectQwen), string(DialectQoder)}
}
func (DenyAs) values() []string { return []string{string(DenyAsAnswer), string(DenyAsError)} }
func (LogLevel) values() []string {
	return []string{string(LogDebug), string(LogInfo), string(LogWarn), string(LogError)}
}
func (Store) values() []string {
	return []string{string(StoreEmbedded), string(StoreMemory), string(StoreRedis)}
}
func (LogFormat) values() []string { return []string{string(LogText), string(LogJSON)} }

// Default is the configuration of an empty file.
func Default() *Config {
	return &Config{
		Listen: "127.0.0.1:8787",
		Upstream: Upstream{
			Gemini:     Endpoint{BaseURL: "https://generativelanguage.googleapis.com"},
			CodeAssist: Endpoint{BaseURL: "https://cloudcode-pa.googleapis.com"},
		},
		HooksConfig: HooksConfig{Enabled: true, MaxConcurrent: 64, Model: "gemini-2.5-flash", TokensPerHour: 1_000_000, CallsPerMinute: 60},
		Limits:      Limits{MaxBody: 100 << 20},
		DenyAs:      DenyAsAnswer,
		Redact:      Redact{Requests: true, Responses: true, Default: ActionPlaceholder, InlineData: InlinePass, FailMode: FailClosed, SystemNote: true},
		State:       State{Store: StoreEmbedded, TTL: Duration(7 * 24 * time.Hour), FailMode: FailOpen, Idle: Duration(30 * time.Minute)},
		Log:         Log{Level: LogInfo, Format: LogText},
	}
}

// fillHooks gives hooks the defaults of what they leave out.
func (c *Config) fillHooks() {
	for ev, defs := range c.Hooks {
		for _, d := range defs {
			for i := range d.Hooks {
				h := &d.Hooks[i]
				if h.Timeout == 0 && d.In(ev) == DialectGemini {
					h.Timeout = 60_000
				}
				if h.Instances == 0 {
					h.Instances = 1
				}
				if h.FailMode == "" {
					h.FailMode = FailOpen
					if h.Type == BuiltinHook {
						h.FailMode = FailClosed
					}
				}
				if h.Type == BuiltinHook && h.Default == "" {
					h.Default = ActionPlaceholder
				}
				if h.Window == "" {
					h.Window = WindowChunk
				}
			}
		}
	}
}
