package proxy

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// watchAfter is how long a request runs before its connection is watched. Most
// answers are there sooner and need no watch.
const watchAfter = 20 * time.Millisecond

// watch notices a client that hangs up while no byte flows: fasthttp does not
// tell. It takes nothing from the connection. It must not run while something
// else reads from the connection, so it starts when the request's body is in.
type watch struct {
	raw  syscall.RawConn // nil: this connection cannot be watched
	conn net.Conn
	gone func()

	mu    sync.Mutex
	timer *time.Timer
	over  bool
	done  chan struct{} // closed by run
}

func newWatch(c net.Conn, gone func()) *watch {
	w := &watch{conn: c, gone: gone}
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn() // under TLS
	}
	if sc, ok := c.(syscall.Conn); ok && canWatch {
		if raw, err := sc.SyscallConn(); err == nil {
			w.raw = raw
		}
	}
	return w
}

func (w *watch) start() {
	if w.raw == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over || w.timer != nil {
		return
	}
	w.done = make(chan struct{})
	w.timer = time.AfterFunc(watchAfter, w.run) // ended by stop
}

// run waits until the peer is gone or stop sets a deadline that has passed.
func (w *watch) run() {
	defer close(w.done)
	gone := false
	err := w.raw.Read(func(fd uintptr) bool {
		gone = peerGone(fd)
		return gone
	})
	if gone && err == nil {
		w.gone()
	}
}

// stop ends the watch and waits for it: afterwards the front reads the
// connection's next request.
func (w *watch) stop() {
	w.mu.Lock()
	w.over = true
	started := w.timer != nil && !w.timer.Stop()
	w.mu.Unlock()
	if !started {
		return
	}
	_ = w.conn.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	_ = w.conn.SetReadDeadline(time.Time{})
}
