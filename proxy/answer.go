package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// message is a request for the upstream leg.
type message struct {
	to     target
	method string
	// header is the request's header lines, each with its line end, without
	// those that frame the body.
	header []byte
	body   []byte // repeatable
	up     *upload
	upLen  int64      // of up; negative for chunked
	expect bool       // whether an answer may have a body at all: not for HEAD
	buffer *sync.Pool // of readers, for the answer; nil for relayReaders
}

// answer is an upstream answer whose header has been read. Exactly one of its
// Read and relay is used; Close ends it.
type answer struct {
	leg    *leg
	conn   *upConn
	buffer *sync.Pool  // where conn's reader came from
	stop   func() bool // of the watch over its context
	header *fasthttp.ResponseHeader
	status int
	// length is what is left of a body of known length; chunked and untilClose
	// are its other forms.
	length int64
	left   int64 // chunked: of the chunk at hand, its line end included
	eof    bool
	keep   bool           // the connection can be used again
	err    error          // sticky
	along  io.WriteCloser // reads along; nil for nobody
	upload chan error     // gives the outcome of a body that is sent beside; nil for none
	up     *upload
}

const (
	chunkedBody    = -1
	untilCloseBody = -2
)

// do sends m and reads the answer's header into h. ctx ends the call, also while
// the body is read.
func (l *leg) do(ctx context.Context, m *message, h *fasthttp.ResponseHeader) (*answer, error) {
	if m.buffer == nil {
		m.buffer = relayReaders
	}
	for fresh := false; ; fresh = true {
		conn, err := l.get(ctx, m.to.base, m.buffer, fresh)
		if err != nil {
			return nil, err
		}
		a := &answer{leg: l, conn: conn, buffer: m.buffer, header: h, stop: abortOn(ctx, conn)}
		err = a.exchange(m)
		if err == nil {
			if l.seen != nil && a.status != fasthttp.StatusSwitchingProtocols {
				a.along = l.seen(Observed{m.to.path(), a.status, string(h.ContentType()), string(h.ContentEncoding())})
			}
			return a, nil
		}
		_ = a.Close()
		// An idle connection may turn out to be dead. Nothing has come back on
		// it, and the body can be sent again: once more, on a new one.
		if conn.used && !fresh && m.up == nil && errors.Is(err, errNoAnswerByte) && ctx.Err() == nil {
			continue
		}
		return nil, err
	}
}

// errNoAnswerByte marks a call to which not one byte of an answer came.
var errNoAnswerByte = errors.New("the connection ended before an answer")

// exchange writes the request and reads the answer's header.
func (a *answer) exchange(m *message) error {
	werr := a.send(m)
	if werr != nil && !errors.Is(werr, os.ErrDeadlineExceeded) {
		// An upstream that refuses a body may have said why before it closed. (A
		// deadline that has passed means that the call was cancelled.)
		_ = a.conn.SetReadDeadline(time.Now().Add(time.Second))
	}
	if _, err := a.conn.br.Peek(1); err != nil {
		if werr != nil {
			err = werr
		}
		return fmt.Errorf("%w: %w", errNoAnswerByte, err)
	}
	for {
		err := a.header.Read(a.conn.br)
		small := (*fasthttp.ErrSmallBuffer)(nil)
		if errors.As(err, &small) && a.buffer != relayReaders {
			a.widen()
			err = a.header.Read(a.conn.br)
		}
		if err != nil {
			if errors.As(err, &small) {
				return fmt.Errorf("the answer's header is larger than %d bytes", maxAnswerHeader)
			}
			if ne := net.Error(nil); errors.As(err, &ne) || errors.Is(err, io.EOF) {
				return err
			}
			return errUnsolicited // the error quotes what it could not read
		}
		a.status = a.header.StatusCode()
		if a.status >= 200 || a.status == fasthttp.StatusSwitchingProtocols {
			break // others are interim
		}
	}
	a.keep = werr == nil && !a.header.ConnectionClose()
	a.length = int64(a.header.ContentLength())
	if !m.expect || a.status == fasthttp.StatusNoContent || a.status == fasthttp.StatusNotModified {
		a.eof = true
	}
	if a.length == 0 {
		a.eof = true
	}
	if a.length == untilCloseBody {
		a.keep = a.keep && a.eof
	}
	return nil
}

// widen goes on with a larger buffer.
func (a *answer) widen() {
	old := a.conn.br
	seen, _ := old.Peek(old.Buffered())
	seen = bytes.Clone(seen)
	old.Reset(nil)
	a.buffer.Put(old)
	a.buffer = relayReaders
	a.conn.br = borrow(a.buffer, io.MultiReader(bytes.NewReader(seen), a.conn.Conn))
}

// send writes the request: at once if its body is at hand, else header first and
// the body from a goroutine, as the answer may come before its end.
func (a *answer) send(m *message) error {
	size := 512 + len(m.header) + len(m.body)
	head := make([]byte, 0, min(size, smallBody))
	head = append(head, m.method...)
	head = append(head, ' ')
	if a.conn.via != nil {
		head = append(head, a.conn.key...)
	}
	head = append(head, m.to.base.Path...)
	head = append(head, m.to.uri...)
	head = append(head, " HTTP/1.1\r\nHost: "...)
	head = append(head, m.to.base.Host...)
	head = append(head, "\r\n"...)
	head = append(head, m.header...)
	if a.conn.via != nil {
		for _, v := range proxyAuth(a.conn.via)["Proxy-Authorization"] {
			head = append(append(append(head, "Proxy-Authorization: "...), v...), "\r\n"...)
		}
	}
	length := int64(len(m.body))
	if m.up != nil {
		length = m.upLen
	}
	switch {
	case length < 0:
		head = append(head, "Transfer-Encoding: chunked\r\n"...)
	case length > 0 || mayHaveBody(m.method):
		head = append(head, "Content-Length: "...)
		head = strconv.AppendInt(head, length, 10)
		head = append(head, "\r\n"...)
	}
	head = append(head, "\r\n"...)
	if m.up == nil && len(m.body) <= smallBody {
		_, err := a.conn.Write(append(head, m.body...))
		return err
	}
	if _, err := a.conn.Write(head); err != nil {
		return err
	}
	sent := make(chan error, 1)
	a.upload, a.up = sent, m.up
	conn := a.conn
	go func() { // ends when the body does, or the connection: Close waits for it
		sent <- conn.sendBody(m)
	}()
	return nil
}

func mayHaveBody(method string) bool {
	return method == "POST" || method == "PUT" || method == "PATCH"
}

func (c *upConn) sendBody(m *message) error {
	if m.up == nil {
		_, err := c.Write(m.body)
		return err
	}
	buf := largeBuffers.Get().(*[64 << 10]byte)
	defer largeBuffers.Put(buf)
	const room = 16 // for a chunk's size line
	sent := int64(0)
	for {
		n, err := m.up.Read(buf[room : len(buf)-2])
		if n > 0 {
			out := buf[room : room+n]
			if m.upLen < 0 {
				size := strconv.AppendInt(nil, int64(n), 16)
				at := room - len(size) - 2
				copy(buf[at:], size)
				copy(buf[room-2:], "\r\n")
				copy(buf[room+n:], "\r\n")
				out = buf[at : room+n+2]
			}
			if _, werr := c.Write(out); werr != nil {
				return werr
			}
			sent += int64(n)
		}
		if errors.Is(err, io.EOF) {
			if m.upLen >= 0 && sent < m.upLen {
				return io.ErrUnexpectedEOF
			}
			if m.upLen < 0 {
				_, err = io.WriteString(c, "0\r\n\r\n")
				return err
			}
			return nil
		}
		if err != nil {
			// What has been sent must not look whole: nothing can come after it.
			_ = c.SetDeadline(time.Unix(1, 0))
			return err
		}
	}
}

// Read gives the body with its framing undone.
func (a *answer) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	n, err := a.read(p)
	if a.along != nil && n > 0 {
		_, _ = a.along.Write(p[:n])
	}
	if err != nil {
		a.err = err
	}
	return n, err
}

func (a *answer) read(p []byte) (int, error) {
	if a.eof {
		return 0, io.EOF
	}
	if a.length == chunkedBody {
		for a.left <= 2 {
			if err := a.nextChunk(); err != nil {
				return 0, err
			}
		}
		if int64(len(p)) > a.left-2 {
			p = p[:a.left-2]
		}
		n, err := a.conn.br.Read(p)
		a.left -= int64(n)
		return n, cutIfEOF(err)
	}
	if a.length >= 0 && int64(len(p)) > a.length {
		p = p[:a.length]
	}
	n, err := a.conn.br.Read(p)
	if a.length >= 0 {
		a.length -= int64(n)
		if a.length == 0 {
			a.eof = true
			return n, io.EOF
		}
		return n, cutIfEOF(err)
	}
	if errors.Is(err, io.EOF) {
		a.eof = true
	}
	return n, err
}

func cutIfEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

var errChunk = errors.New("malformed chunk")

// nextChunk reads the line end of the chunk before and a size line; after the
// last chunk it reads the trailer and returns io.EOF.
func (a *answer) nextChunk() error {
	if a.left > 0 {
		b, err := a.conn.br.Peek(int(a.left))
		if err != nil {
			return cutIfEOF(err)
		}
		if !bytes.HasSuffix([]byte("\r\n"), b) {
			return errChunk
		}
		_, _ = a.conn.br.Discard(len(b))
		a.left = 0
	}
	line, err := a.conn.br.ReadSlice('\n')
	if err != nil {
		return cutIfEOF(err)
	}
	n, err := chunkSize(line)
	if err != nil {
		return err
	}
	if n > 0 {
		a.left = n + 2
		return nil
	}
	return a.trailer()
}

func (a *answer) trailer() error {
	for {
		line, err := a.conn.br.ReadSlice('\n')
		if err != nil {
			return cutIfEOF(err)
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			a.eof = true
			return io.EOF
		}
	}
}

// chunkSize reads a size line, extensions left out.
func chunkSize(line []byte) (int64, error) {
	var n int64
	digits := 0
	for _, c := range line {
		var d int64
		switch {
		case c >= '0' && c <= '9':
			d = int64(c - '0')
		case c >= 'a' && c <= 'f':
			d = int64(c-'a') + 10
		case c >= 'A' && c <= 'F':
			d = int64(c-'A') + 10
		default:
			if digits == 0 || c != '\r' && c != '\n' && c != ';' && c != ' ' && c != '\t' {
				return 0, errChunk
			}
			return n, nil
		}
		if digits++; digits > 15 {
			return 0, errChunk
		}
		n = n<<4 | d
	}
	return 0, errChunk
}

// relay writes a chunked body as it stands, framing included: one write of what
// one read gave, nothing copied. It returns how many bytes of body that was. gone
// is called when the client cannot be written to.
//
// The front writes the last chunk by itself. If relay has done so, together with
// what came before, w swallows the front's.
func (a *answer) relay(w *frontConn, gone func()) (n int64, err error) {
	br := a.conn.br
	for need := 1; ; {
		if br.Buffered() < need {
			if err := w.release(nil); err != nil {
				gone()
				return n, err
			}
		}
		if _, err := br.Peek(need); err != nil {
			return n, cutIfEOF(err)
		}
		buf, _ := br.Peek(br.Buffered())
		i, last, body, err := a.frames(buf)
		n += body
		if last && bytes.HasPrefix(buf[i:], lastChunk) {
			i += len(lastChunk)
			w.drop = len(lastChunk)
			a.eof = true
		}
		if i > 0 {
			if err := w.release(buf[:i]); err != nil {
				gone()
				return n, err
			}
			_, _ = br.Discard(i)
		}
		switch {
		case err != nil:
			return n, err
		case a.eof:
			return n, nil
		case last:
			// A trailer, which is not passed on, or an end that has not come whole.
			if err := a.nextChunk(); !errors.Is(err, io.EOF) {
				return n, err
			}
			return n, nil
		}
		if need = len(buf) - i + 1; need > maxSizeLine {
			return n, errChunk
		}
	}
}

// relaySized is relay for a body of known length.
func (a *answer) relaySized(w *frontConn, gone func()) (n int64, err error) {
	small := smallBuffers.Get().(*[4 << 10]byte)
	defer smallBuffers.Put(small)
	buf := small[:]
	for {
		if a.conn.br.Buffered() == 0 {
			if err := w.release(nil); err != nil {
				gone()
				return n, err
			}
		}
		m, rerr := a.Read(buf)
		if m > 0 {
			if err := w.release(buf[:m]); err != nil {
				gone()
				return n, err
			}
			n += int64(m)
			if m == len(small) && len(buf) == len(small) {
				large := largeBuffers.Get().(*[64 << 10]byte)
				defer largeBuffers.Put(large)
				buf = large[:]
			}
		}
		if errors.Is(rerr, io.EOF) {
			return n, nil
		}
		if rerr != nil {
			return n, rerr
		}
	}
}

const maxSizeLine = 1 << 10

var lastChunk = []byte("0\r\n\r\n")

// frames walks over whole frames, or pieces of data, in buf. It returns where
// they end, whether the last chunk starts there, and how much of it was body.
func (a *answer) frames(buf []byte) (i int, last bool, body int64, err error) {
	for i < len(buf) {
		if a.left > 0 {
			k := min(a.left, int64(len(buf)-i))
			data := min(k, max(a.left-2, 0))
			body += data
			for j := data; j < k; j++ { // the line end
				if buf[i+int(j)] != "\r\n"[2-(a.left-j)] {
					return i, false, body, errChunk
				}
			}
			i += int(k)
			a.left -= k
			continue
		}
		j := bytes.IndexByte(buf[i:], '\n')
		if j < 0 {
			break
		}
		n, err := chunkSize(buf[i : i+j+1])
		if err != nil {
			return i, false, body, err
		}
		if n == 0 {
			return i, true, body, nil
		}
		a.left = n + 2
		i += j + 1
	}
	return i, false, body, nil
}

// hijack takes the connection out of a 101 answer.
func (a *answer) hijack() *upConn {
	c := a.conn
	a.conn = nil
	a.stop()
	return c
}

// Close gives the connection back, or closes it when it is of no further use.
func (a *answer) Close() error {
	if a.conn == nil {
		return nil
	}
	c := a.conn
	a.conn = nil
	if a.along != nil {
		_ = a.along.Close()
	}
	alive := a.stop()
	if a.upload != nil {
		select {
		case err := <-a.upload:
			alive = alive && err == nil
		default:
			// The answer came before the end of the request.
			alive = false
			_ = c.SetDeadline(time.Unix(1, 0))
			if a.up != nil {
				a.up.stop()
			}
			<-a.upload
		}
	}
	// Bytes behind the answer's end are nobody's: such a connection is not kept.
	keep := alive && a.keep && a.eof && c.br.Buffered() == 0
	c.br.Reset(nil)
	a.buffer.Put(c.br)
	c.br = nil
	if keep {
		a.leg.put(c)
		return nil
	}
	return c.Close()
}
