package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"

	"github.com/valyala/fasthttp"

	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
)

// sink is the way of a hooked answer to the client. The runner's goroutine calls
// its exported methods; the front's goroutine waits in respond until the answer
// is begun, and then in WriteTo until the runner is done. In between the runner
// writes to the connection itself: nothing is handed over event by event.
type sink struct {
	x      *exchange
	format stream.Format

	begun chan struct{}   // closed by Start and Forward; reply and whole may be read then
	open  chan io.Writer  // capacity 1, WriteTo never waits: it hands the client's body over
	done  chan struct{}   // closed by finish; err may be read then
	reply *toolloop.Reply // what opened the answer; nil for hookline's own
	whole bool            // reply goes down as it is
	// rewrite, if set, makes of a body that is to be forwarded what the agent
	// gets; remade says that doc holds it.
	rewrite func(body []byte) ([]byte, error)
	remade  bool

	doc bytes.Buffer   // the answer, if it goes down when it is whole
	w   *stream.Writer // once the body is open
	err error          // what the runner ended with
}

func newSink(x *exchange, f stream.Format) *sink {
	return &sink{x: x, format: f, begun: make(chan struct{}), open: make(chan io.Writer, 1), done: make(chan struct{})}
}

var errTwice = errors.New("the answer has been begun already")

// Start implements [toolloop.Sink].
func (k *sink) Start(reply *toolloop.Reply) error { return k.begin(reply, false) }

// Forward implements [toolloop.Sink]. It returns when the upstream's body is
// through.
func (k *sink) Forward(reply *toolloop.Reply) error {
	a, ok := reply.Opaque.(*answer)
	if !ok {
		return errors.New("the reply to be forwarded is none of this upstream's")
	}
	if k.rewrite != nil {
		body, err := k.x.readAnswer(a)
		if err == nil {
			body, err = k.rewrite(body)
		}
		if err != nil {
			return err
		}
		k.doc.Write(body)
		k.remade = true
		return k.begin(reply, true)
	}
	if err := k.begin(reply, true); err != nil {
		return err
	}
	w, err := k.client()
	if err != nil {
		return err
	}
	return pump(w, a)
}

func (k *sink) begin(reply *toolloop.Reply, whole bool) error {
	select {
	case <-k.begun:
		return errTwice
	default:
	}
	k.reply, k.whole = reply, whole
	close(k.begun)
	return nil
}

// client waits for the front to open the body.
func (k *sink) client() (io.Writer, error) {
	if k.gathers() {
		return &k.doc, nil
	}
	select {
	case w := <-k.open:
		return w, nil
	case <-k.x.ctx.Done():
		return nil, ErrClientGone
	}
}

// gathers says whether the answer is sent when it is complete: one document, as
// an error in the middle can then still be told as one, and what an old client
// could not read otherwise. The answer must have been begun.
func (k *sink) gathers() bool {
	if k.remade {
		return true
	}
	if k.whole {
		return k.x.old() && k.reply.Opaque.(*answer).length < 0
	}
	return k.format == stream.Unary || k.x.old()
}

func (k *sink) writer() (*stream.Writer, error) {
	if k.w == nil {
		w, err := k.client()
		if err != nil {
			return nil, err
		}
		k.w = stream.NewWriter(w, k.format)
	}
	return k.w, nil
}

// Event implements [toolloop.Sink].
func (k *sink) Event(payload []byte) error {
	w, err := k.writer()
	if err != nil {
		return err
	}
	return w.WriteEvent(payload)
}

// Tail implements [toolloop.Sink].
func (k *sink) Tail(raw []byte) error {
	w, err := k.writer()
	if err != nil {
		return err
	}
	return w.WriteTail(raw)
}

// finish is called once, by the runner's goroutine, after its last other call.
func (k *sink) finish(err error) {
	select {
	case <-k.begun:
		if err == nil && !k.whole {
			var w *stream.Writer
			if w, err = k.writer(); err == nil {
				err = w.Close()
			}
		}
	default:
		if err == nil {
			err = errNoAnswer
		}
	}
	k.err = err
	close(k.done)
}

// respond waits for the answer's beginning and gives it to the front.
func (k *sink) respond() {
	x := k.x
	select {
	case <-k.begun:
	case <-k.done:
		select {
		case <-k.begun: // both were ready
		default:
			k.refuse()
			return
		}
	}
	if k.gathers() {
		if <-k.done; k.err != nil {
			k.refuse()
			return
		}
	}
	k.header()
	if k.gathers() {
		x.sent = int64(k.doc.Len())
		x.fc.SetBody(k.doc.Bytes())
		x.end(nil)
		return
	}
	x.fc.Response.ImmediateHeaderFlush = true // it does not wait for the first event
	body := &sinkBody{k: k}
	length := -1
	if k.whole {
		if n := k.reply.Opaque.(*answer).length; n >= 0 {
			length, body.direct = int(n), true
		}
	}
	x.fc.Response.SetBodyStream(body, length)
}

// refuse answers with the error that the runner ended with.
func (k *sink) refuse() {
	if cause := context.Cause(k.x.ctx); errors.Is(cause, ErrClientGone) || errors.Is(cause, ErrShutdown) {
		k.x.fail(k.x.upstreamError(k.err))
		return
	}
	k.x.fail(asError(k.err))
}

// header makes the answer's header: the upstream's that opened it, or our own.
func (k *sink) header() {
	x := k.x
	h := &x.fc.Response.Header
	var a *answer
	if k.reply != nil {
		a, _ = k.reply.Opaque.(*answer)
	}
	if a == nil {
		begin(h, x.id, fasthttp.StatusOK, "")
		h.SetContentType(k.contentType(""))
		return
	}
	a.header.CopyTo(h)
	x.cleanDown()
	if k.remade {
		h.Del("Content-Encoding")
	}
	if !k.whole {
		h.Del("Content-Encoding")
		h.SetContentType(k.contentType(string(a.header.ContentType())))
	}
}

// contentType keeps the upstream's if it fits the framing.
func (k *sink) contentType(upstream string) string {
	want := "application/json"
	if k.format == stream.SSE {
		want = "text/event-stream"
	}
	if kind, _, err := mime.ParseMediaType(upstream); err == nil && kind == want {
		return upstream
	}
	if k.format == stream.SSE {
		return want
	}
	return want + "; charset=UTF-8"
}

// sinkBody is the body that the front streams: its WriteTo lends the connection
// to the runner.
type sinkBody struct {
	k      *sink
	direct bool
	over   bool
}

func (b *sinkBody) SupportsBodyWriteTo() bool { return true }

// Read is not used: the front prefers WriteTo.
func (b *sinkBody) Read([]byte) (int, error) { return 0, io.ErrNoProgress }

func (b *sinkBody) WriteTo(w io.Writer) (int64, error) {
	b.over = true
	x := b.k.x
	if conn, ok := x.fc.Conn().(*frontConn); b.direct {
		w = x.fc.Conn()
	} else if ok {
		w = &chunkWriter{w: conn}
	}
	cw := &countingWriter{w: w, failed: func() { x.cancel(ErrClientGone) }}
	b.k.open <- cw
	<-b.k.done
	x.sent = cw.n
	x.end(b.k.err)
	return cw.n, b.k.err
}

// Close is the end without WriteTo: the client was gone before the body.
func (b *sinkBody) Close() error {
	if !b.over {
		b.over = true
		b.k.x.cancel(ErrClientGone)
		<-b.k.done
		b.k.x.end(ErrClientGone)
	}
	return nil
}
