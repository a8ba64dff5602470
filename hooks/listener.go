package hooks

import (
	"time"
)

// Dialect is a manner of speaking with hooks: a table, by the name that an event
// has in a config of that dialect. [Gemini] is built in, package hooks/dialect
// holds the others.
type Dialect map[string]*Listener

// The dialects by name, as [Definition.Dialect] and [Options.Dialects] have them.
const (
	DialectGemini = "gemini"
	DialectClaude = "claude"
	DialectQwen   = "qwen"
	DialectQoder  = "qoder"
)

// Listener is one event of one dialect: how its hooks are chosen and spoken
// with. Its functions are pure; none of them changes its arguments.
type Listener struct {
	// Name is the event's name in this dialect, and Event whose firings it
	// takes; "" for an event that the dialect knows and that never fires here.
	Name  string
	Event Event
	// Takes picks among the firings of Event; nil takes all.
	Takes func(in *Input) bool
	// Compile reads a matcher that is neither "" nor "*"; nil: matchers have no
	// effect.
	Compile func(text string) (func(subject string) bool, error)
	// Subjects are the names of which a matcher may match any; when there is
	// none every matcher matches, since a guard must not be passed by because a
	// name is missing. in may hold no more than Event and Match.
	Subjects func(in *Input) []string
	// Timeout is the time of a hook that names none; nil is [DefaultTimeout].
	Timeout func(hookType string) time.Duration
	// Encode writes the document that a hook gets.
	Encode func(in *Input) []byte
	// Read reads what a run gave; in is what the hook was shown. It follows the
	// hook's fail mode.
	Read func(in *Input, h *Hook, res Result) Answer
}

// Gemini is the dialect of Gemini CLI's hooks. Events that Gemini CLI does not
// have are spoken of in its manner.
func Gemini() Dialect {
	d := Dialect{}
	for _, ev := range Events() {
		l := &Listener{Name: string(ev), Event: ev, Encode: Encode, Subjects: subjectNames}
		l.Read = func(_ *Input, h *Hook, res Result) Answer { return parse(ev, h, res) }
		switch subjectOf(ev) {
		case subjectTool:
			l.Compile, l.Subjects = compileTool, geminiToolNames
		case subjectName:
			l.Compile = compileNames
		}
		d[l.Name] = l
	}
	return d
}

func subjectNames(in *Input) []string {
	if s := in.Subject(); s != "" {
		return []string{s}
	}
	return nil
}

// geminiToolNames are the names of a firing's tool that Gemini CLI knows it by.
func geminiToolNames(in *Input) []string {
	name := in.Subject()
	if name == "" {
		return nil
	}
	if own := geminiTools[name]; own != nil {
		return append([]string{name}, own...)
	}
	return []string{name}
}
