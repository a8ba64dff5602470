package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/hookline-proxy/hookline/hooks/reported"
)

// reportPath is where agents report events that do not pass the wire.
const reportPath = "/hooks/v1/events"

// Reporter answers reports; [reported.Service] is the real one.
type Reporter interface {
	// Report takes the document of an event and gives the answer. dialect and
	// event are "" where the document says it; session, if not "", is the one of
	// the request. Errors are those of package reported.
	Report(ctx context.Context, dialect, event, session string, doc []byte) ([]byte, error)
	// Events lists what can be reported, as JSON.
	Events() []byte
}

// reports reports whether a path is the reporting endpoint's.
func reports(path string) bool {
	rest, ok := strings.CutPrefix(path, reportPath)
	return ok && (rest == "" || rest[0] == '/')
}

// report answers one request to the reporting endpoint.
func (x *exchange) report() {
	if e := x.mayReport(); e != nil {
		x.refuse(e)
		return
	}
	event := strings.Trim(strings.TrimPrefix(x.to.path(), reportPath), "/")
	if name, err := url.PathUnescape(event); err == nil {
		event = name
	}
	switch {
	case x.fc.IsGet() && event == "":
		x.reply(x.s.opt.Reports.Events())
		return
	case !x.fc.IsPost():
		x.refuse(&Error{Code: 405, Status: statusNames[400], Reason: "METHOD", Message: "an event is reported by POST; GET " + reportPath + " lists all events"})
		return
	}
	doc, e := x.reportBody()
	if e != nil {
		x.refuse(e)
		return
	}
	x.watch.start()
	query, _ := url.ParseQuery(x.to.query()) // what cannot be read is not asked for
	answer, err := x.s.opt.Reports.Report(x.ctx, query.Get("dialect"), event, x.session, doc)
	switch {
	case errors.Is(err, reported.ErrJSON), errors.Is(err, reported.ErrDialect):
		x.fail(&Error{Code: 400, Status: statusNames[400], Reason: "BAD_REPORT", Message: err.Error() + "; send what a hook gets on stdin, and ?dialect= claude, qwen, qoder or gemini", Cause: err})
	case err != nil:
		x.fail(asError(err))
	default:
		x.reply(answer)
	}
}

func (x *exchange) reply(doc []byte) {
	begin(&x.fc.Response.Header, x.id, http.StatusOK, "")
	x.fc.SetContentType("application/json; charset=UTF-8")
	x.fc.SetBody(doc)
	x.sent = int64(len(doc))
	x.end(nil)
}

// reportBody reads a report whole.
func (x *exchange) reportBody() ([]byte, *Error) {
	src := x.fc.RequestBodyStream()
	if src == nil {
		return nil, nil
	}
	var buf bytes.Buffer
	if _, err := io.Copy(&buf, io.LimitReader(src, reported.MaxDocument+1)); err != nil {
		return nil, clientError(err)
	}
	if buf.Len() > reported.MaxDocument {
		return nil, &Error{Code: 413, Status: statusNames[413], Reason: "BODY_TOO_LARGE", Message: fmt.Sprintf("a report has at most %d bytes", reported.MaxDocument)}
	}
	return buf.Bytes(), nil
}

// mayReport checks who reports. A report starts hooks: with a token it must bear
// that, without one it must come from this machine, and not from a web page that
// is open on it.
func (x *exchange) mayReport() *Error {
	h := &x.fc.Request.Header
	if want := x.s.opt.ReportToken; want != "" {
		got, _ := strings.CutPrefix(string(h.Peek("Authorization")), "Bearer ")
		// Of equal length, so that the time tells nothing of the token.
		a, b := sha256.Sum256([]byte(want)), sha256.Sum256([]byte(got))
		if subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
			return &Error{Code: 401, Status: statusNames[401], Reason: "REPORT_TOKEN", Message: "reports must bear the token that reportToken in the config names: Authorization: Bearer …"}
		}
		return nil
	}
	host := string(h.Host())
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	local := host == "localhost" || ip != nil && ip.IsLoopback()
	forwarded := len(h.Peek("X-Forwarded-For"))+len(h.Peek("Forwarded"))+len(h.Peek("Origin")) > 0
	if !local || forwarded || !x.fc.RemoteIP().IsLoopback() {
		return &Error{Code: 403, Status: statusNames[403], Reason: "REPORT_FROM_ELSEWHERE",
			Message: "reports are taken from programs on this machine alone; reportToken in the config lets others report, with a token"}
	}
	return nil
}
