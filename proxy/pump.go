package proxy

import (
	"errors"
	"io"
)

// pump makes one write of what one read gave, so that no event waits for the
// next. A stream that idles holds a small buffer only.
func pump(w io.Writer, r io.Reader) error {
	small := smallBuffers.Get().(*[4 << 10]byte)
	defer smallBuffers.Put(small)
	buf := small[:]
	for {
		n, rerr := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if n == len(small) && len(buf) == len(small) {
				large := largeBuffers.Get().(*[64 << 10]byte)
				defer largeBuffers.Put(large)
				buf = large[:]
			}
		}
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if rerr != nil {
			return rerr
		}
	}
}

// countingWriter counts, and tells when the client cannot be written to any more.
type countingWriter struct {
	w      io.Writer
	n      int64
	failed func()
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err != nil {
		c.failed()
	}
	return n, err
}
