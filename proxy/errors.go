package proxy

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/valyala/fasthttp"
	"google.golang.org/api/googleapi"

	"github.com/hookline-proxy/hookline/toolloop"
)

// Error is what a request fails with at the HTTP boundary. The client gets it as
// Google's error body. errors.As turns it into a *googleapi.Error, too.
type Error struct {
	Code     int    // HTTP status
	Status   string // canonical name of the code, as UNAVAILABLE
	Reason   string // stable word for programs, as UPSTREAM_UNREACHABLE
	Message  string // for people: what is wrong and what to do. No secrets
	Upstream bool   // the upstream is at fault, or the way to it; not hookline, not the client
	Cause    error  // nil for none; it is logged, not sent
}

func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.Cause.Error()
}

func (e *Error) Unwrap() error { return e.Cause }

// As makes a *googleapi.Error of it, for callers that know Google's type.
func (e *Error) As(target any) bool {
	to, ok := target.(**googleapi.Error)
	if !ok {
		return false
	}
	*to = &googleapi.Error{Code: e.Code, Message: e.Message, Body: string(e.body())}
	return true
}

// body is Google's error body.
// https://cloud.google.com/apis/design/errors#http_mapping (read 2026-11-30)
func (e *Error) body() []byte {
	type info struct {
		Type   string `json:"@type"`
		Reason string `json:"reason"`
		Domain string `json:"domain"`
	}
	var doc struct {
		Error struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
			Status  string `json:"status"`
			Details []info `json:"details,omitempty"`
		} `json:"error"`
	}
	doc.Error.Code, doc.Error.Message, doc.Error.Status = e.Code, e.Message, e.Status
	if e.Reason != "" {
		doc.Error.Details = []info{{"type.googleapis.com/google.rpc.ErrorInfo", e.Reason, "hookline"}}
	}
	b, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("proxy: error body: " + err.Error())
	}
	return append(b, '\n')
}

// statusNames are the canonical names that go with HTTP statuses.
var statusNames = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
	413: "INVALID_ARGUMENT", 415: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 431: "INVALID_ARGUMENT",
	499: "CANCELLED", 500: "INTERNAL", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

// asError makes any error one of the boundary. The text of those that are not
// meant for clients stays in the log.
func asError(err error) *Error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e
	}
	if e := shieldError(err); e != nil {
		return e
	}
	if r := (*toolloop.Refusal)(nil); errors.As(err, &r) {
		return &Error{Code: r.Status, Status: statusNames[r.Status], Reason: "HOOKLINE_REFUSED", Message: r.Message, Cause: r.Cause}
	}
	return &Error{Code: 500, Status: statusNames[500], Reason: "HOOKLINE_INTERNAL", Message: "hookline failed to handle this call; its log says why", Cause: err}
}

// fail answers a request with an error.
func fail(ctx *fasthttp.RequestCtx, id string, e *Error) {
	ctx.Response.ResetBody()
	begin(&ctx.Response.Header, id, e.Code, "")
	ctx.SetContentType("application/json; charset=UTF-8")
	ctx.SetBody(e.body())
}

// badRequest answers what cannot be parsed as a request.
func (s *Server) badRequest(ctx *fasthttp.RequestCtx, err error) {
	e := &Error{Code: 400, Status: statusNames[400], Reason: "BAD_REQUEST", Message: "this is no HTTP request that hookline can read", Cause: err}
	var small *fasthttp.ErrSmallBuffer
	if errors.As(err, &small) {
		e.Code, e.Status, e.Reason = 431, statusNames[431], "HEADER_TOO_LARGE"
		e.Message = fmt.Sprintf("the request's header is larger than hookline's limit of %d bytes", s.front.ReadBufferSize)
	}
	s.log.Debug("bad request", "error", err)
	fail(ctx, s.ids.next(), e)
}
