package config

import (
	"errors"
	"fmt"
	"strings"
)

// Severity tells mistakes from doubts.
type Severity string

const (
	Error   Severity = "error"   // the file cannot be used
	Warning Severity = "warning" // it can, but probably does not do what is meant
)

// Problem is one finding about a configuration file.
type Problem struct {
	Severity Severity `json:"severity"`
	File     string   `json:"file"`
	Line     int      `json:"line"`           // from 1
	Column   int      `json:"column"`         // from 1, in characters
	Path     string   `json:"path,omitempty"` // "hooks.BeforeTool[0].matcher"; "" for the file as a whole
	Message  string   `json:"message"`        // what is wrong
	Hint     string   `json:"hint,omitempty"` // what to do about it
}

// String is the problem in the form of a compiler's message, with the hint on a
// line of its own.
func (p Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: %s: ", p.File, p.Line, p.Column, p.Severity)
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		b.WriteString("\n    hint: " + p.Hint)
	}
	return b.String()
}

// Problems are the findings about one file, in the order of their places.
type Problems []Problem

// Errors counts the findings that forbid using the file.
func (ps Problems) Errors() int {
	n := 0
	for _, p := range ps {
		if p.Severity == Error {
			n++
		}
	}
	return n
}

// Err is nil when the file can be used, else an error that holds all messages.
func (ps Problems) Err() error {
	if ps.Errors() == 0 {
		return nil
	}
	var lines []string
	for _, p := range ps {
		if p.Severity == Error {
			lines = append(lines, p.String())
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}
