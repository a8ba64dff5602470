package run

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/hookline-proxy/hookline/hooks"
)

// netFailure says why a service could not be talked to. The texts of errors are
// not used: they may hold the URL with its secrets, or what the service sent.
func netFailure(ctx context.Context, err error) *hooks.Failure {
	if ctx.Err() != nil {
		return hooks.Failuref(hooks.FailureCanceled, "ended before it answered")
	}
	var (
		barred  *blocked
		dns     *net.DNSError
		op      *net.OpError
		record  tls.RecordHeaderError
		alert   tls.AlertError
		verify  *tls.CertificateVerificationError
		timeout net.Error
	)
	switch {
	case errors.As(err, &barred):
		return blockedFailure(barred)
	case errors.As(err, &dns):
		return &hooks.Failure{Kind: hooks.FailureStart, Text: "its host was not found", Hint: "is its name right, and does it resolve here?"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &hooks.Failure{Kind: hooks.FailureStart, Text: "the connection was refused", Hint: "is the service running, and is the port right?"}
	case errors.As(err, &verify):
		return certificateFailure(verify.Err)
	case errors.As(err, &record):
		return &hooks.Failure{Kind: hooks.FailureStart, Text: "the TLS handshake failed: it does not speak TLS", Hint: "is it an http URL?"}
	case errors.As(err, &alert):
		return hooks.Failuref(hooks.FailureStart, "the TLS handshake failed: it sent an alert")
	case errors.As(err, &timeout) && timeout.Timeout():
		return hooks.Failuref(hooks.FailureTimeout, "took too long")
	case errors.As(err, &op) && op.Op == "dial":
		return &hooks.Failure{Kind: hooks.FailureStart, Text: "could not be reached", Hint: "is it up, and is there a way to it from here?"}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return hooks.Failuref(hooks.FailureStart, "the connection broke before its answer was complete")
	}
	return &hooks.Failure{Kind: hooks.FailureStart, Text: "its answer cannot be read", Hint: "is it an HTTP service, and does its URL have the right scheme?"}
}

func certificateFailure(err error) *hooks.Failure {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	text := "is not valid"
	switch {
	case errors.As(err, &authority):
		text = "is signed by nobody that is known here"
	case errors.As(err, &host):
		text = "is for another name"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		text = "is not valid at this time"
	}
	return hooks.Failuref(hooks.FailureStart, "the TLS handshake failed: its certificate %s", text)
}
