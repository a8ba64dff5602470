package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
)

// tunnel passes an upgrade (WebSocket, for the Live API) through: the handshake
// as a request, then bytes both ways until either side ends.
func (x *exchange) tunnel() {
	h := upHeader(&x.fc.Request.Header)
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", string(x.fc.Request.Header.Peek("Upgrade")))
	req := x.request(string(x.fc.Method()), h)
	x.watch.start()
	resp, err := x.s.upgrade.RoundTrip(req)
	if err != nil {
		x.fail(x.upstreamError(err))
		return
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		x.answer(resp)
		return
	}
	up, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		_ = resp.Body.Close()
		x.fail(x.upstreamError(io.ErrUnexpectedEOF))
		return
	}
	x.downHeader(resp.StatusCode, resp.Header, true)
	x.fc.Response.Header.Set("Connection", "Upgrade")
	x.fc.Response.Header.Set("Upgrade", resp.Header.Get("Upgrade"))
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
func join(ctx context.Context, down net.Conn, up io.ReadWriteCloser) {
	raw := unwrap(down) // down reads first what the front has buffered
	shut := func() {
		_ = raw.Close()
		_ = up.Close()
	}
	defer context.AfterFunc(ctx, shut)()
	ended := make(chan struct{}) // closed by the goroutine, which ends when either side does
	go func() {
		defer close(ended)
		_, _ = io.Copy(up, down)
		shut()
	}()
	_, _ = io.Copy(raw, up)
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
