package proxy

import (
	"context"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// tunnel passes an upgrade (WebSocket, for the Live API) through: the handshake
// as a request, then bytes both ways until either side ends.
func (x *exchange) tunnel() {
	h := &x.fc.Request.Header
	m := message{to: x.to, method: string(x.fc.Method()), expect: true}
	m.header = append(appendUpHeader(nil, h, nil), "Connection: Upgrade\r\nUpgrade: "...)
	m.header = append(append(m.header, h.Peek("Upgrade")...), "\r\n"...)
	x.watch.start()
	a, err := x.s.leg.do(x.ctx, &m, &x.fc.Response.Header)
	if err != nil {
		x.fail(x.upstreamError(err))
		return
	}
	if a.status != fasthttp.StatusSwitchingProtocols {
		x.answer(a)
		return
	}
	protocol := string(x.fc.Response.Header.Peek("Upgrade"))
	x.cleanDown()
	x.fc.Response.Header.Set("Connection", "Upgrade")
	x.fc.Response.Header.Set("Upgrade", protocol)
	up := a.hijack()
	x.watch.stop()
	x.s.tunnels.Add(1)
	ctx := x.ctx // x's request is not valid inside the hijack
	cancel := x.cancel
	x.fc.Hijack(func(down net.Conn) {
		defer x.s.tunnels.Done()
		defer cancel(errDone)
		join(ctx, down, up)
	})
	x.closed = true
	x.log(nil)
}

// join copies between two connections until one side ends, or ctx does.
func join(ctx context.Context, down net.Conn, up *upConn) {
	raw := unwrap(down) // down reads first what the front has buffered
	shut := func() {
		_ = raw.Close()
		_ = up.Close()
	}
	defer context.AfterFunc(ctx, shut)()
	ended := make(chan struct{}) // closed by the goroutine, which ends when either side does
	go func() {
		defer close(ended)
		_, _ = io.Copy(up.Conn, down)
		shut()
	}()
	_, _ = io.Copy(raw, up.br) // it may hold the first bytes
	shut()
	<-ended
}

// unwrap gives the connection under fasthttp's hijacked one, whose Close does
// nothing before the hijack's handler has returned.
func unwrap(c net.Conn) net.Conn {
	if u, ok := c.(interface{ UnsafeConn() net.Conn }); ok {
		return u.UnsafeConn()
	}
	return c
}
