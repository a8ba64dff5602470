package hooks

import (
	"context"
	"fmt"
	"time"
)

// DefaultTimeout is the time a hook has when its Timeout is zero.
const DefaultTimeout = 60 * time.Second

// Definition is one group of hooks under one matcher, as in the config.
type Definition struct {
	// Matcher is read by the rules of the dialect. In Gemini CLI's it is a
	// regular expression (RE2, unanchored) on the tool name for BeforeTool and
	// AfterTool; a name or a list "a|b" for SessionStart, SessionEnd and
	// PreCompress; without effect for other events. "" and "*" match everything
	// in all dialects.
	Matcher string
	// Sequential runs the hooks of this group one after the other, each seeing
	// the input as the one before changed it; a deny or stop ends the group.
	// It does not concern other groups.
	Sequential bool
	// Async is the Async of all hooks of the group.
	Async bool
	Hooks []Hook
	// Dialect is that of the group's hooks, a key of [Options.Dialects]; "" for
	// Gemini's, or for Claude's under a name that only the latter knows.
	Dialect string
	// Order is the group's place among all groups of the config: an event may
	// stand in it under several names. Groups of equal order stand in the order
	// of their names, Gemini CLI's first, then in that of their list.
	Order int
}

// Hook is one configured hook.
type Hook struct {
	Name    string // for people and for Disabled; "" for none
	Type    string // which handler runs it: a key of Options.Handlers
	Command string // a shell command, or the program itself when Args is not nil
	Args    []string
	Shell   string        // the shell that runs Command; "" for the platform's own (bash, PowerShell on Windows)
	Timeout time.Duration // zero for the dialect's default, which is DefaultTimeout in Gemini CLI's
	Env     map[string]string
	// FailMode says what a failure of the hook means; "" for FailOpen.
	FailMode FailMode
	// Persistent keeps a process that gets one line per event and answers one.
	Persistent bool
	Instances  int // how many such processes; zero for one
	// System asks for the system instruction as a leading message.
	System bool
	// URL, Headers and AllowedEnvVars are an http hook's: where it is sent, and
	// with which headers. In their values $NAME and ${NAME} of AllowedEnvVars
	// are replaced by environment variables, all others by nothing.
	URL            string
	Headers        map[string]string
	AllowedEnvVars []string
	// Prompt is what a prompt or agent hook asks its model; $ARGUMENTS in it is
	// the event's document. Model is which; "" for the handler's own.
	Prompt string
	Model  string
	// Tools of an agent hook; nil for all that the handler has.
	Tools    []string
	MaxTurns int // model calls of an agent hook; zero for the handler's own limit
	// Window is how AfterModel's text is cut for this hook; "" for WindowChunk.
	Window      Window
	Description string
	Source      string // where it was configured, for people
	Dialect     string // "" for its group's
	// If is a permission rule, as in "Bash(git *)": the hook runs only for calls
	// that it names. Under an event that is not about a tool it never runs. ""
	// for no rule.
	If string
	// Once runs the hook once in a session.
	Once bool
	// Async runs the hook in the background. It decides nothing; its context and
	// messages are delivered at the session's next prompt.
	Async bool

	// Set by New:
	label    string
	listener *Listener
	matcher  func(subject string) bool // nil matches everything
	rule     *rule                     // nil for none
}

// subject is what a hook runs: two of one name and subject are one hook.
func (h *Hook) subject() string { return firstOf(h.Command, h.URL, h.Prompt) }

// Label is what people are told: the name, else the place in the config. The
// command stays out of it, since people put keys into commands.
func (h *Hook) Label() string {
	switch {
	case h.label != "":
		return h.label
	case h.Name != "":
		return h.Name
	}
	return h.Type
}

// FailMode says what happens when a hook fails.
type FailMode string

const (
	FailOpen   FailMode = "open"   // warn, go on as if it had said nothing
	FailClosed FailMode = "closed" // deny, where the event can be denied
)

// Handler runs hooks of one type. It must be safe for concurrent use.
type Handler interface {
	// Handle runs h once. in is the event's JSON document; it is shared, may
	// be kept and must not be changed. ctx ends at the hook's time-out; Handle
	// then returns without delay, freeing what it holds in the background.
	Handle(ctx context.Context, h *Hook, in []byte, env Env) Result
}

// HandlerFunc is a Handler that is a function.
type HandlerFunc func(ctx context.Context, h *Hook, in []byte, env Env) Result

// Handle calls f.
func (f HandlerFunc) Handle(ctx context.Context, h *Hook, in []byte, env Env) Result {
	return f(ctx, h, in, env)
}

// Result is what a run gave. Handlers that are no processes answer with exit 0
// and the document as Stdout.
type Result struct {
	Stdout []byte
	Stderr []byte
	Exit   int // when Err is nil
	// Err says that there is no answer. A *Failure is told to people as it is;
	// other errors are taken for a FailureInternal. Their texts go to logs and
	// into reasons, so they must hold no secret and nothing that the hook said.
	Err error
}

// Env is what a hook's environment tells of the firing.
type Env struct {
	Event          Event
	SessionID      string
	TranscriptPath string
	Cwd            string // "" for the current one
	PlansDir       string
}

// FailureKind says how a run failed.
type FailureKind string

const (
	FailureStart    FailureKind = "start"    // it could not be started or reached
	FailureTimeout  FailureKind = "timeout"  // it took too long
	FailureCanceled FailureKind = "canceled" // nobody waits for it any more
	FailureExit     FailureKind = "exit"     // exit code other than 0 and 2
	FailureSignal   FailureKind = "signal"   // a signal ended it
	FailureSize     FailureKind = "size"     // it printed too much
	FailureStatus   FailureKind = "status"   // it answered with an HTTP status other than 2xx
	FailureBlocked  FailureKind = "blocked"  // a rule forbids to reach it
	FailureBudget   FailureKind = "budget"   // its model calls cost more than they may
	FailureJSON     FailureKind = "json"     // what it printed is no JSON object
	FailureField    FailureKind = "field"    // a member of its answer is of the wrong type
	FailureDown     FailureKind = "down"     // a persistent process died, or waits for its restart
	FailureInternal FailureKind = "internal" // the handler broke
)

// Failure is why a run counts as failed. Its texts never hold what the hook
// printed.
type Failure struct {
	Kind FailureKind
	Text string // what happened
	Hint string // what to do about it; "" for nothing
}

func (f *Failure) Error() string {
	if f.Hint == "" {
		return f.Text
	}
	return f.Text + ": " + f.Hint
}

// Failuref makes a failure without a hint.
func Failuref(kind FailureKind, format string, args ...any) *Failure {
	return &Failure{Kind: kind, Text: fmt.Sprintf(format, args...)}
}
