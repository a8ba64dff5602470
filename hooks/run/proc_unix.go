//go:build unix

package run

import (
	"errors"
	"os"
	"syscall"
)

func groupAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// A started process leads its group: the group's number is its own.

func terminate(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) }

func kill(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }

func groupAlive(p *os.Process) bool { return syscall.Kill(-p.Pid, 0) == nil }

// ours reports whether a folder is this user's and no other may write to it. One
// that is not there is: starting there tells so.
func ours(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return true
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Uid == uint32(os.Geteuid()) && info.Mode().Perm()&0o002 == 0 //nolint:gosec // a uid fits
}

// pending looks at a pipe without waiting: nil when it is open and empty.
func pending(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return errNotSent
	}
	var n int
	var rerr error
	var b [1]byte
	err = conn.Read(func(fd uintptr) bool {
		n, rerr = syscall.Read(int(fd), b[:])
		return true
	})
	switch {
	case err != nil, n == 0 && rerr == nil:
		return errNotSent // closed
	case n > 0:
		return errStray
	case errors.Is(rerr, syscall.EAGAIN), errors.Is(rerr, syscall.EINTR):
		return nil
	}
	return errNotSent
}

// openNonblock keeps the opening of a pipe from waiting for a writer.
const openNonblock = syscall.O_NONBLOCK
