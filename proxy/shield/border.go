package shield

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// Upstream redacts what the model says before anybody else sees it. Bodies that
// hooks have changed since [Call.Request] are redacted again on their way up.
func (c *Call) Upstream(next toolloop.Upstream, w gemini.Wire, whole bool) toolloop.Upstream {
	return &upstream{c: c, next: next, w: w, whole: whole}
}

type upstream struct {
	c     *Call
	next  toolloop.Upstream
	w     gemini.Wire
	whole bool
}

// Generate implements [toolloop.Upstream].
func (u *upstream) Generate(ctx context.Context, model string, body []byte) (*toolloop.Reply, error) {
	c := u.c
	if !bytes.Equal(body, c.sent) {
		again, err := c.Body(body)
		if err != nil {
			return nil, err
		}
		body = again
	}
	reply, err := u.next.Generate(ctx, model, body)
	if err != nil || reply.Events == nil || !c.s.directed(ToAgent) {
		return reply, err
	}
	r := *reply
	r.Events = u.redacted(reply.Events)
	return &r, nil
}

// redacted is the answer's documents without what is to be redacted.
func (u *upstream) redacted(from iter.Seq2[stream.Event, error]) iter.Seq2[stream.Event, error] {
	return func(yield func(stream.Event, error) bool) {
		c := u.c
		p := &pipe{w: u.w, work: &redaction{c}, whole: u.whole}
		begun := false
		send := func(docs [][]byte) bool {
			for _, d := range docs {
				begun = true
				if !yield(stream.Event{Data: d, Raw: d}, nil) {
					return false
				}
			}
			return true
		}
		// over ends the answer for a reason of ours.
		over := func(err error) {
			blocked := (*BlockedError)(nil)
			if !errors.As(err, &blocked) {
				c.Refuse()
				if send(p.drop()) {
					yield(stream.Event{}, err)
				}
				return
			}
			c.Refuse()
			p.ending, p.lanes = nil, nil
			if !begun {
				yield(stream.Event{}, err)
				return
			}
			send([][]byte{u.w.Answer(p.like, 0, []translate.Part{u.w.TextPart(blocked.Error())}, "STOP").Raw})
		}
		for ev, err := range from {
			switch {
			case err != nil:
				if send(p.drop()) {
					yield(stream.Event{}, err)
				}
				return
			case ev.Tail:
				raw, terr := c.foreign(ToAgent, ev.Raw)
				if terr != nil {
					over(terr)
				} else if send(p.drop()) {
					yield(stream.Event{Raw: raw, Tail: true}, nil)
				}
				return
			}
			var docs [][]byte
			derr := c.guard(func() (err error) {
				docs, err = p.doc(ev.Data)
				return err
			})
			if derr != nil {
				if un := (*UnreadableError)(nil); errors.As(derr, &un) && c.s.o.FailOpen {
					c.Skipped(ToAgent, "failed", len(ev.Data))
					docs = append(docs, bytes.Clone(ev.Data))
				} else {
					over(derr)
					return
				}
			}
			if !send(docs) {
				return
			}
		}
		var docs [][]byte
		if err := c.guard(func() (err error) {
			docs, err = p.end()
			return err
		}); err != nil {
			over(err)
			return
		}
		send(docs)
	}
}

// redaction is the work at the border to the model.
type redaction struct{ c *Call }

func (w *redaction) lane(k laneKey, l *gemini.Leaf) filter {
	r := w.c.s.redactor(ToAgent, l)
	if r == nil {
		return nil
	}
	return r.lane(w.c.vault, w.c.known, lastStep(k.path))
}

// lastStep is the name at the end of a JSON path.
func lastStep(path string) []byte {
	path = strings.TrimRight(path, "]'\"0123456789[")
	i := strings.LastIndexAny(path, ".'\"")
	if i < 0 {
		return nil
	}
	return []byte(path[i+1:])
}

func (w *redaction) done(f filter) error {
	lane := f.(*redacting)
	err := w.c.done(ToAgent, lane)
	lane.found = nil
	return err
}

func (w *redaction) value(doc []byte, l *gemini.Leaf) ([]byte, error) {
	return w.c.literal(ToAgent, doc, l)
}

func (w *redaction) counts(b *gemini.Body) {
	w.c.Skipped(ToAgent, "protocol", b.Skipped.Protocol)
	w.c.Skipped(ToAgent, "keys", b.Skipped.Keys)
	w.c.Skipped(ToAgent, "numbers", b.Skipped.Numbers)
	for _, l := range b.Leaves {
		if l.Run > 0 || l.Kind == gemini.LeafPartial {
			if n := l.End - l.Start; w.c.s.redactor(ToAgent, &l) != nil {
				w.c.scanned(ToAgent, l.Kind, n)
			} else {
				w.c.Skipped(ToAgent, "no_rule", n)
			}
		}
	}
}

// restoration is the work at the border to the agent.
type restoration struct{ c *Call }

func (w restoration) lane(laneKey, *gemini.Leaf) filter {
	return &restoring{v: w.c.vault}
}
func (restoration) done(filter) error   { return nil }
func (restoration) counts(*gemini.Body) {}
func (w restoration) value(doc []byte, l *gemini.Leaf) ([]byte, error) {
	if l.Kind == gemini.LeafBlob {
		return nil, nil
	}
	return w.c.restored(doc, l, 0), nil
}

// Sink puts values back in what goes to the agent. Its Finish is to be called
// when the answer has come whole, before the sink under it is closed.
func (c *Call) Sink(next toolloop.Sink, w gemini.Wire, whole bool) *Sink {
	return &Sink{c: c, next: next, p: &pipe{w: w, work: restoration{c}, whole: whole}}
}

// Sink is a [toolloop.Sink] that restores.
type Sink struct {
	c    *Call
	next toolloop.Sink
	p    *pipe
}

// Start implements [toolloop.Sink].
func (k *Sink) Start(r *toolloop.Reply) error { return k.next.Start(r) }

// Forward implements [toolloop.Sink].
func (k *Sink) Forward(r *toolloop.Reply) error { return k.next.Forward(r) }

// Event implements [toolloop.Sink].
func (k *Sink) Event(payload []byte) error {
	if k.c.vault == nil {
		return k.next.Event(payload)
	}
	docs, err := k.p.doc(payload)
	if err != nil { // no document of the API: a text like any other
		if err := k.send(k.p.drop()); err != nil {
			return err
		}
		return k.next.Event(k.c.restoreBody(payload))
	}
	return k.send(docs)
}

func (k *Sink) send(docs [][]byte) error {
	for _, d := range docs {
		if err := k.next.Event(d); err != nil {
			return err
		}
	}
	return nil
}

// Tail implements [toolloop.Sink].
func (k *Sink) Tail(raw []byte) error {
	if err := k.send(k.p.drop()); err != nil {
		return err
	}
	return k.next.Tail(k.c.restoreBody(raw))
}

// Finish sends what is held back.
func (k *Sink) Finish() error {
	docs, err := k.p.end()
	if err != nil {
		return err
	}
	return k.send(docs)
}

// Answer takes a body that is no answer of a model call to the agent: redacted,
// then restored. What is no JSON counts as text.
func (c *Call) Answer(body []byte) ([]byte, error) {
	out, err := c.foreign(ToAgent, body)
	if err != nil {
		return nil, err
	}
	return c.restoreBody(out), nil
}

// foreign redacts a body of which only the direction is known.
func (c *Call) foreign(d Direction, body []byte) ([]byte, error) {
	if !c.s.directed(d) {
		c.Skipped(d, "no_rule", len(body))
		return body, nil
	}
	if json.Valid(body) {
		var out []byte
		err := c.guard(func() (err error) {
			out, err = c.redact(d, body)
			return err
		})
		return c.verdict(d, body, out, err)
	}
	if !utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0 {
		return c.verdict(d, body, nil, &UnreadableError{What: "a body is neither JSON nor text"})
	}
	return c.Text(d, body)
}

// restoreBody puts values back in a body of any kind.
func (c *Call) restoreBody(body []byte) []byte {
	if c.vault == nil {
		return body
	}
	b, err := gemini.Leaves(body)
	if err != nil {
		return redact.Restore(body, c.vault)
	}
	var edits []gemini.SpliceEdit
	for i := range b.Leaves {
		l := &b.Leaves[i]
		if l.Kind == gemini.LeafBlob {
			continue
		}
		if lit := c.restored(body, l, 0); lit != nil {
			edits = append(edits, gemini.SpliceEdit{Start: l.Start, End: l.End, New: lit})
		}
	}
	return gemini.Splice(body, edits)
}

// Restore puts values back in a text of hookline's own, as a hook's reason.
func (c *Call) Restore(text string) string {
	if c.vault == nil {
		return text
	}
	return string(redact.Restore([]byte(text), c.vault))
}
