package proxy

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canWatch = true

// peerGone looks at the next byte without taking it: none at all means that the
// peer has closed, some are a pipelined request.
func peerGone(fd uintptr) bool {
	var b [1]byte
	for {
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return false
		}
		return err != nil || n == 0
	}
}
