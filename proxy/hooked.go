package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// hooked hands a model call to the runner.
func (x *exchange) hooked(t gemini.Target) {
	body, e := x.readBody()
	if e != nil {
		x.refuse(e)
		return
	}
	x.watch.start()
	h := &x.fc.Request.Header
	up := &modelUpstream{x: x, target: t, header: appendUpHeader(nil, h, notUpHooked), params: string(h.Peek(headerParams))}
	wire := t.Wire()
	// @google/generative-ai mixes up the parts of one event, and drops a turn
	// that ends with an empty text.
	oldJS := strings.Contains(string(h.Peek("X-Goog-Api-Client")), "genai-js/")
	wire.OnePart = oldJS
	tc := toolloop.Call{
		ID: x.id, Tenant: tenant(h, x.to.query()),
		Session: x.session, SessionExplicit: x.session != "",
		Agent: agent(h),
		Wire:  wire, Body: body,
		Model: t.Model, Stream: t.Format != stream.Unary, FoldEnd: oldJS, Upstream: up,
	}
	ctx := hooks.WithCredential(x.ctx, credential(h, x.to.query(), t.Family))
	out := newSink(x, t.Format)
	run := x.run
	if x.s.opt.Shield.Active() {
		run = x.shielded(wire, out)
	}
	// Ends with the call: it ends when its context does, and x.end and the
	// sink's body wait for it.
	go func() {
		defer func() {
			if p := recover(); p != nil {
				x.s.log.Error("panic", "request", x.id, "panic", p, "stack", string(debug.Stack()))
				out.finish(fmt.Errorf("panic: %v", p))
			}
		}()
		out.finish(run(ctx, tc, out))
	}()
	out.respond()
}

// run takes a call through the hooks, or past them if there are none.
func (x *exchange) run(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
	if r := x.s.opt.Runner; r != nil && r.Active() {
		return r.Run(ctx, c, out)
	}
	return direct(ctx, c, out)
}

// direct is a call without hooks: one model call, whose documents are passed on.
func direct(ctx context.Context, c toolloop.Call, out toolloop.Sink) error {
	reply, err := c.Upstream.Generate(ctx, c.Model, c.Body)
	if err != nil {
		return err
	}
	defer reply.Close()
	if reply.Events == nil {
		return out.Forward(reply)
	}
	begun := false // lazily: an answer that is stopped at once can still be told as one
	begin := func() error {
		if begun {
			return nil
		}
		begun = true
		return out.Start(reply)
	}
	for ev, err := range reply.Events {
		if err != nil {
			return err
		}
		if err := begin(); err != nil {
			return err
		}
		if ev.Tail {
			err = out.Tail(ev.Raw)
		} else {
			err = out.Event(ev.Data)
		}
		if err != nil {
			return err
		}
	}
	return begin()
}

// readBody reads a hooked call's body whole and undoes its encoding.
func (x *exchange) readBody() ([]byte, *Error) {
	h := &x.fc.Request.Header
	limit := x.set.maxBody
	n := h.ContentLength()
	if n > limit {
		return nil, x.tooLarge(fmt.Sprintf("of %d bytes", n))
	}
	src := x.fc.RequestBodyStream()
	if src == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	if n > 0 {
		buf.Grow(min(n, 1<<20) + bytes.MinRead) // no more on a client's word alone
	}
	if _, err := io.Copy(&buf, io.LimitReader(src, int64(limit)+1)); err != nil {
		return nil, clientError(err)
	}
	if buf.Len() > limit {
		return nil, x.tooLarge("")
	}
	encoding := string(h.Peek("Content-Encoding"))
	r, err := decode(&buf, encoding)
	if err != nil {
		return nil, &Error{
			Code: 415, Status: statusNames[415], Reason: "UNKNOWN_ENCODING", Cause: err,
			Message: fmt.Sprintf("hookline cannot decode a body with content-encoding %q; send gzip, deflate or none", encoding),
		}
	}
	if r == io.Reader(&buf) {
		return buf.Bytes(), nil
	}
	var plain bytes.Buffer
	if _, err := io.Copy(&plain, io.LimitReader(r, int64(limit)+1)); err != nil {
		return nil, &Error{
			Code: 400, Status: statusNames[400], Reason: "BAD_ENCODING", Cause: err,
			Message: fmt.Sprintf("the body is not what its content-encoding %q says", encoding),
		}
	}
	if plain.Len() > limit {
		return nil, x.tooLarge("when decompressed")
	}
	return plain.Bytes(), nil
}

func (x *exchange) tooLarge(what string) *Error {
	msg := "the body"
	if what != "" {
		msg += " " + what
	}
	return &Error{
		Code: 413, Status: statusNames[413], Reason: "BODY_TOO_LARGE",
		Message: fmt.Sprintf("%s is over hookline's limit of %d bytes for calls with hooks; limits.maxBody in the config raises it", msg, x.set.maxBody),
	}
}

var errNoAnswer = errors.New("the call ended without an answer")
