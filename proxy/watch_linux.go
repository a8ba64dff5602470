package proxy

import (
	"errors"

	"golang.org/x/sys/unix"
)

const canWatch = true

// peerGone asks for a hang-up, which shows also behind bytes that nobody has
// read yet (a pipelined request).
func peerGone(fd uintptr) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
	for {
		n, err := unix.Poll(fds, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		return err == nil && n > 0
	}
}
