package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// passedOn are the signals that a child gets, too.
var passedOn = []os.Signal{os.Interrupt}

// sentByTerminal reports whether a signal comes from a key press. Here all do:
// the console sends Ctrl-C to every process that is attached to it.
func sentByTerminal(os.Signal) bool { return true }

func childCode(st *os.ProcessState) int { return st.ExitCode() }

// addressInUse reports whether listening failed because somebody else does.
func addressInUse(err error) bool { return errors.Is(err, windows.WSAEADDRINUSE) }

// stopSignals end a server: the first drains, the second ends at once.
var stopSignals = []os.Signal{os.Interrupt}
