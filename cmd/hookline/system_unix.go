//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that a child gets, too.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// sentByTerminal reports whether a signal comes from a key press. The terminal
// sends it to the child as well, which would otherwise get it twice (and Gemini
// CLI takes the second Ctrl-C for "quit").
func sentByTerminal(s os.Signal) bool {
	if s != syscall.SIGINT && s != syscall.SIGQUIT {
		return false
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false // no terminal: somebody used kill
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func childCode(st *os.ProcessState) int {
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return st.ExitCode()
}

// addressInUse reports whether listening failed because somebody else does.
func addressInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// stopSignals end a server: the first drains, the second ends at once.
var stopSignals = []os.Signal{syscall.SIGTERM, syscall.SIGINT}
