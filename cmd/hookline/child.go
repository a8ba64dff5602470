package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
)

// Exit codes of a command that could not be started, as shells have them.
const (
	exitNotRunnable = 126
	exitNotFound    = 127
)

// runChild runs a command with the terminal of this process and passes signals
// on to it. The code is the child's; 128 plus the signal's number if one ended
// it. The error says why it was not started.
func runChild(cmd *exec.Cmd) (code int, err error) {
	signals := make(chan os.Signal, 16) // more than a person can press at once
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }() // ends with the child
	for {
		select {
		case s := <-signals:
			if !sentByTerminal(s) {
				// A child that is gone needs no signal; Wait reports it.
				_ = cmd.Process.Signal(s)
			}
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return childCode(cmd.ProcessState), nil
		}
	}
}

// notStarted is the failure of a command that could not be started.
func notStarted(name string, err error) error {
	f := &failure{what: "start " + strconv.Quote(name) + ": " + cause(err), code: exitNotRunnable}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		f.what = "start " + strconv.Quote(name) + ": no such command"
		f.next = "is it installed, and its folder in PATH?"
		f.code = exitNotFound
	}
	return f
}
