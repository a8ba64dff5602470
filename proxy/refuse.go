package proxy

import (
	"bytes"
	"io"
	"time"
)

// refuse answers without having read the body, and then reads some of it
// all the same: closing a connection with unread bytes resets it, and the client
// would never see the answer.
func (x *exchange) refuse(e *Error) {
	fail(x.fc, x.id, e)
	x.fc.SetConnectionClose()
	answer := bytes.Clone(x.fc.Response.Body())
	src := x.fc.RequestBodyStream()
	if src == nil {
		src = bytes.NewReader(nil)
	}
	x.fc.Response.SetBodyStream(&refusal{x: x, answer: answer, unread: src, e: e}, len(answer))
	x.fc.Response.ImmediateHeaderFlush = true
}

const (
	lingerBytes = 256 << 20
	lingerTime  = 2 * time.Second
)

// refusal is the body of such an answer.
type refusal struct {
	x      *exchange
	answer []byte
	unread io.Reader
	e      *Error
}

func (r *refusal) SupportsBodyWriteTo() bool { return true }

// Read is not used: the front prefers WriteTo.
func (r *refusal) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func (r *refusal) WriteTo(io.Writer) (int64, error) {
	conn := r.x.fc.Conn()
	n, err := conn.Write(r.answer)
	if err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, r.unread, lingerBytes)
	}
	r.x.sent = int64(n)
	r.x.end(r.e)
	return int64(n), err
}

func (r *refusal) Close() error {
	r.x.end(r.e)
	return nil
}
