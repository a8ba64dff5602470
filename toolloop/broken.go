package toolloop

import (
	"errors"
	"fmt"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/translate"
)

// What becomes of an upstream answer that is not whole, or that nobody here can
// read: as much of it goes to the agent as hooks have seen or need not see.

// upstreamBroke ends an answer whose stream broke off: what was held goes out as
// far as it came, and the connection is cut.
func (r *round) upstreamBroke(err error) error {
	r.failure = unreachable
	if ferr := r.flushSeen(); ferr != nil {
		return ferr
	}
	if r.started {
		return fmt.Errorf("%w: %w", ErrCut, err)
	}
	return err
}

// forward ends an answer with a document that is none of the model's, as it came.
func (r *round) forward(doc []byte) error {
	if err := r.flushSeen(); err != nil {
		return err
	}
	if err := r.mayPass(doc); err != nil {
		return r.unseen(err)
	}
	if err := r.close(); err != nil {
		return err
	}
	return r.out.Event(doc)
}

// mayPass says why a document may not go to the agent without hooks having seen
// what is in it: some agents read what this wire's parser refuses (a NaN, arguments
// nested without end), and would run the calls in it.
func (r *round) mayPass(doc []byte) error {
	if len(doc) == 0 || !r.loop.guards() {
		return nil
	}
	chunk, err := r.call.Wire.ParseChunk(doc)
	if err == nil && !chunk.Error {
		err = errors.New("a document outside of the stream")
	}
	return err
}

// guards reports whether there are hooks that must see what the model says before
// the agent does.
func (l *Loop) guards() bool { return l.has(hooks.BeforeTool) || l.has(hooks.AfterModel) }

// unseen ends an answer that hooks can't be shown.
func (a *answer) unseen(why error) error {
	if a.started {
		return fmt.Errorf("%w: upstream's answer can't be shown to hooks: %w", ErrCut, why)
	}
	return &Refusal{Status: 502, Cause: why,
		Message: fmt.Sprintf("hookline can't read the upstream's answer, and hooks are configured that must see it: %v. Is the upstream's base URL right?", why)}
}

// flushSeen sends what is held of an answer that will not be whole. Its calls stay
// back: no BeforeTool hook has decided on them, and some agents run a call as soon
// as it comes.
func (r *round) flushSeen() error {
	if !r.calls || !r.loop.has(hooks.BeforeTool) {
		return r.flush()
	}
	return r.emitHeld(func(_ int, p translate.Part) (translate.Part, bool) { return p, true }, false)
}
