package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/hookline-proxy/hookline/proxy/shield"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// Policy is what becomes of a request that is no model call.
type Policy string

const (
	PolicyPass   Policy = "pass"   // it goes up as it came
	PolicyRedact Policy = "redact" // its body is redacted; what cannot be is refused
	PolicyDeny   Policy = "deny"   // it is refused
)

// The endpoints that have a policy of their own, as the configuration names them.
const (
	epCount        = "countTokens"
	epEmbed        = "embedContent"
	epBatchEmbed   = "batchEmbedContents"
	epBatch        = "batchGenerateContent"
	epCache        = "cachedContents"
	epInteractions = "interactions"
	epPredict      = "predict"
	epCodeAssist   = "codeAssist"
	epFiles        = "files"
	epUpload       = "upload"
	epLive         = "live"
	epOpenAI       = "openai"
	epOther        = "*"
)

// EndpointNames are the keys of [Options.Endpoints].
func EndpointNames() []string {
	return []string{epCount, epEmbed, epBatchEmbed, epBatch, epCache, epInteractions, epPredict, epCodeAssist, epFiles, epUpload, epLive, epOpenAI, epOther}
}

// DefaultPolicy is an endpoint's policy while a shield is active: deny where it
// cannot look into what passes.
func DefaultPolicy(endpoint string) Policy {
	switch endpoint {
	case epLive, epOpenAI, epOther:
		return PolicyDeny
	}
	return PolicyRedact
}

func (s *Server) policy(endpoint string) Policy {
	if p := s.opt.Endpoints[endpoint]; p != "" {
		return p
	}
	if !s.opt.Shield.Active() {
		return PolicyPass
	}
	return DefaultPolicy(endpoint)
}

// endpoint names the endpoint of a request; "" for a model call.
func endpoint(t gemini.Target, path string) string {
	switch t.Kind {
	case gemini.KindGenerate:
		return ""
	case gemini.KindCount:
		return epCount
	case gemini.KindEmbed:
		if strings.HasPrefix(t.Verb, "batch") {
			return epBatchEmbed
		}
		return epEmbed
	case gemini.KindBatch:
		return epBatch
	case gemini.KindPredict:
		return epPredict
	case gemini.KindCache:
		return epCache
	case gemini.KindInteractions:
		return epInteractions
	case gemini.KindLive:
		return epLive
	case gemini.KindFiles:
		if strings.HasPrefix(path, "/upload/") || strings.Contains(path, "/upload/v") {
			return epUpload
		}
		return epFiles
	}
	switch {
	case t.Family == gemini.FamilyCodeAssist:
		return epCodeAssist
	case strings.Contains(path, "/openai/"):
		return epOpenAI
	}
	return epOther
}

// guard applies the endpoint policy to a request that is no model call. It
// reports whether it has dealt with it.
func (x *exchange) guard(upgrade bool) bool {
	method, path := strings.ToUpper(string(x.fc.Method())), x.to.path()
	t := gemini.Route(method, path, x.to.query())
	name := endpoint(t, path)
	if upgrade {
		name = epLive
	}
	if name == "" && !t.Hooked {
		name = epOther // a model call's path, but no POST
	}
	if name == "" {
		return false
	}
	switch policy := x.s.policy(name); {
	case policy == PolicyDeny && (upgrade || x.hasBody() || x.s.opt.Endpoints[name] == PolicyDeny):
		what := "this kind of request"
		if x.s.opt.Shield.Active() && x.s.opt.Endpoints[name] == "" {
			what = "what is sent here, which hookline cannot redact"
		}
		x.refuse(&Error{
			Code: 403, Status: statusNames[403], Reason: "ENDPOINT_DENIED",
			Message: fmt.Sprintf("hookline's configuration does not allow %s: endpoints[%q] is \"deny\"; \"pass\" lets it through as it is", what, name),
		})
		return true
	case policy == PolicyRedact && x.s.opt.Shield.Active() && x.hasBody():
		x.redacted(name, t)
		return true
	}
	return false
}

// hasBody reports whether a request brings a body, whatever its method: what
// [exchange.attachBody] would send up.
func (x *exchange) hasBody() bool {
	return x.fc.Request.Header.ContentLength() != 0 && x.fc.RequestBodyStream() != nil
}

// notScannable refuses a body that the shield cannot look into.
func notScannable(endpoint, what string) *Error {
	return &Error{
		Code: 403, Status: statusNames[403], Reason: "NOT_SCANNABLE",
		Message: fmt.Sprintf("hookline cannot redact %s; endpoints[%q]: \"pass\" in its configuration lets such requests through as they are", what, endpoint),
	}
}

// redacted sends a request that is no model call up with its body redacted, and
// its answer down with values restored.
func (x *exchange) redacted(name string, t gemini.Target) {
	h := &x.fc.Request.Header
	if _, e := x.scannable(name, t); e != nil {
		x.refuse(e)
		return
	}
	body, e := x.readBody()
	if e != nil {
		x.refuse(e)
		return
	}
	x.watch.start()
	call := x.s.opt.Shield.Call(x.id, tenant(h, x.to.query()), x.session)
	defer call.End(x.ctx)
	asText, e := x.scannable(name, t)
	if e == nil && !asText && streams(body) {
		e = notScannable(name, "the streamed answers of this endpoint")
	}
	if e != nil {
		call.Refuse()
		x.fail(e)
		return
	}
	var err error
	switch {
	case len(body) == 0:
	case asText && (!utf8.Valid(body) || bytes.IndexByte(body, 0) >= 0):
		call.Refuse()
		x.fail(notScannable(name, "a file that is no text in UTF-8"))
		return
	case asText:
		body, err = call.Text(shield.ToModel, body)
	default:
		body, err = call.Body(body)
	}
	if err != nil {
		x.fail(asError(err))
		return
	}
	m := message{to: x.to, method: string(x.fc.Method()), body: body, expect: true, buffer: eventReaders}
	m.header = append(appendUpHeader(nil, h, notUpRedacted), "Accept-Encoding: identity\r\n"...)
	a, err := x.s.leg.do(x.ctx, &m, &x.fc.Response.Header)
	if err != nil {
		x.fail(x.upstreamError(err))
		return
	}
	got, err := x.readAnswer(a)
	err = errors.Join(err, a.Close())
	if err == nil && len(got) > 0 {
		got, err = call.Answer(got)
	}
	if err != nil {
		x.fc.Response.Reset()
		x.fail(asError(err))
		return
	}
	x.cleanDown()
	x.fc.Response.Header.Del("Content-Encoding")
	x.fc.SetBody(got)
	x.sent = int64(len(got))
	x.end(nil)
}

// notUpRedacted are the headers that do not go up with a redacted body: those of
// its encoding, and the length that an upload was to have.
var notUpRedacted = set([]string{"Accept-Encoding", "Content-Encoding", "X-Goog-Upload-Header-Content-Length", "Content-Md5", "Digest", "Content-Digest", "X-Goog-Hash"})

// scannable says whether a request's body is to be read as JSON or as text, and
// refuses one that is neither.
func (x *exchange) scannable(name string, t gemini.Target) (text bool, e *Error) {
	h := &x.fc.Request.Header
	kind, _, _ := mime.ParseMediaType(string(h.ContentType()))
	isJSON := kind == "" || kind == "application/json" || strings.HasSuffix(kind, "+json")
	if strings.HasPrefix(t.Verb, "stream") || strings.Contains(x.to.query(), "alt=sse") {
		return false, notScannable(name, "the streamed answers of this endpoint")
	}
	if name != epUpload {
		if !isJSON {
			return false, notScannable(name, fmt.Sprintf("a body of the kind %q", kind))
		}
		return false, nil
	}
	command := strings.ToLower(string(h.Peek("X-Goog-Upload-Command")))
	switch {
	case strings.Contains(command, "start"):
		of := string(h.Peek("X-Goog-Upload-Header-Content-Type"))
		if !shield.IsText(of) {
			return false, notScannable(name, fmt.Sprintf("a file of the kind %q", of))
		}
		return false, nil
	case strings.Contains(command, "finalize"):
		if o := string(h.Peek("X-Goog-Upload-Offset")); o != "" && o != "0" {
			return false, notScannable(name, "a file that is uploaded in pieces")
		}
		return true, nil
	case command == "" && shield.IsText(kind):
		return kind != "application/json", nil
	case command == "query" || command == "cancel":
		return true, nil
	}
	return false, notScannable(name, "this form of upload")
}

// streams reports whether a body asks for a streamed answer.
func streams(body []byte) bool {
	var asks struct {
		Stream any `json:"stream"`
	}
	if err := json.Unmarshal(body, &asks); err != nil {
		return false // it is refused as unreadable
	}
	s, ok := asks.Stream.(bool)
	return asks.Stream != nil && (!ok || s)
}

// readAnswer reads an upstream answer whole and undoes its encoding.
func (x *exchange) readAnswer(a *answer) ([]byte, error) {
	limit := int64(x.set.maxBody)
	r, err := decode(a, string(a.header.ContentEncoding()))
	if err == nil {
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(r, limit+1)); err == nil {
			if int64(len(b)) <= limit {
				return b, nil
			}
			err = fmt.Errorf("the answer is over the limit of %d bytes", limit)
		}
	}
	return nil, &Error{
		Code: 502, Status: statusNames[502], Reason: "UPSTREAM_BROKEN", Upstream: true, Cause: err,
		Message: "the upstream's answer broke off or cannot be read, and redaction is configured",
	}
}

// shielded is a run between the shield's borders.
func (x *exchange) shielded(w gemini.Wire, inner *sink) func(context.Context, toolloop.Call, toolloop.Sink) error {
	return func(ctx context.Context, c toolloop.Call, _ toolloop.Sink) error {
		call := x.s.opt.Shield.Call(c.ID, c.Tenant, c.Session)
		defer call.End(ctx)
		whole := !c.Stream
		inner.rewrite = call.Answer
		body, err := call.Request(w, c.Model, c.Body)
		if err == nil {
			c.Body = body
			c.Upstream = call.Upstream(c.Upstream, w, whole)
			out := call.Sink(inner, w, whole)
			if err = x.run(ctx, c, out); err == nil {
				return out.Finish()
			}
		}
		return x.stopped(w, inner, call, err)
	}
}

// stopped turns the shield's no into an answer, if that is its form.
func (x *exchange) stopped(w gemini.Wire, out *sink, call *shield.Call, err error) error {
	var refusal *toolloop.Refusal
	if errors.As(err, &refusal) {
		r := *refusal
		r.Message = call.Restore(r.Message) // a hook's words about what it saw
		return &r
	}
	var blocked *shield.BlockedError
	if !errors.As(err, &blocked) || x.s.opt.DenyAs == toolloop.DenyAsError {
		return err
	}
	select {
	case <-out.begun:
		return err
	default:
	}
	if err := out.Start(nil); err != nil {
		return err
	}
	return out.Event(w.Answer(nil, 0, []translate.Part{w.TextPart(blocked.Error())}, "STOP").Raw)
}

// shieldError is the error at the boundary for one of the shield's; nil for others.
func shieldError(err error) *Error {
	var blocked *shield.BlockedError
	if errors.As(err, &blocked) {
		return &Error{Code: 403, Status: statusNames[403], Reason: "REDACT_BLOCKED", Message: blocked.Error()}
	}
	var un *shield.UnreadableError
	if errors.As(err, &un) {
		return &Error{
			Code: 400, Status: statusNames[400], Reason: "NOT_SCANNABLE", Cause: un.Cause,
			Message: un.Error() + `; redact.failMode "open" in hookline's configuration lets such bodies pass unscanned`,
		}
	}
	return nil
}
