package proxy

import (
	"io"
	"net"
	"strconv"
)

// frontListener makes the front's connections ours.
type frontListener struct{ net.Listener }

func (l frontListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &frontConn{Conn: c}, nil
}

// frontConn is a client's connection. While an answer is relayed it lets the
// answer's header wait for the first bytes of the body, so that they share a
// write, and swallows the last chunk that the front writes by itself when the
// relay has sent it already. Both happen on the connection's own goroutine.
type frontConn struct {
	net.Conn
	hold bool
	held []byte
	drop int // bytes of coming writes to swallow
}

// NetConn gives the connection under this one.
func (c *frontConn) NetConn() net.Conn { return c.Conn }

func (c *frontConn) Write(p []byte) (int, error) {
	if c.hold {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	if c.drop == 0 {
		return c.Conn.Write(p)
	}
	k := min(c.drop, len(p))
	c.drop -= k
	if k == len(p) {
		return k, nil
	}
	n, err := c.Conn.Write(p[k:])
	return k + n, err
}

// release ends a hold and writes what was held, followed by p, at once.
func (c *frontConn) release(p []byte) error {
	c.hold = false
	if len(c.held) > 0 {
		if len(c.held)+len(p) <= 32<<10 {
			p = append(c.held, p...)
			c.held = p[:0]
		} else {
			_, err := c.Conn.Write(c.held)
			c.held = c.held[:0]
			if err != nil {
				return err
			}
		}
	}
	if len(p) == 0 {
		return nil
	}
	_, err := c.Conn.Write(p)
	return err
}

// chunkWriter frames each write as one chunk and writes it at once: the front's
// own way takes several writes for what its small buffer does not hold. The front
// writes the last chunk.
type chunkWriter struct {
	w   io.Writer
	buf []byte // re-used
}

func (c *chunkWriter) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil // an empty chunk would end the body
	}
	c.buf = strconv.AppendInt(c.buf[:0], int64(len(p)), 16)
	c.buf = append(c.buf, "\r\n"...)
	c.buf = append(c.buf, p...)
	c.buf = append(c.buf, "\r\n"...)
	_, err := c.w.Write(c.buf)
	if cap(c.buf) > 64<<10 {
		c.buf = nil // one large event is no reason to keep its size
	}
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
