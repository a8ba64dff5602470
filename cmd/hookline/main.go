// Command hookline is a reverse proxy between an agent and the Gemini API that
// shows every model call, streamed chunk, tool call and tool result to hooks.
// This package reads flags and the configuration, wires the rooms together,
// starts and stops them; what they do is theirs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"

	"github.com/spf13/cobra"
)

func main() {
	os.Exit(hookline())
}

// hookline runs the command line and gives the exit code.
func hookline() int {
	// Libraries that print to the standard log quote what servers sent.
	log.SetOutput(io.Discard)
	return execute(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Exit codes. A child's own code takes their place in "run".
const (
	exitFailed = 1
	exitUsage  = 2
)

// failure is an error for people: what happened (and where), and what to do next.
type failure struct {
	what string
	next string // "" when there is nothing to advise
	code int    // exit code; 0 for exitFailed
}

func (f *failure) Error() string { return f.what }

// exitCode ends the program quietly with a code.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

func execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var f *failure
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &f):
		fmt.Fprintf(errOut, "hookline: %s\n", f.what)
		if f.next != "" {
			fmt.Fprintf(errOut, "next: %s\n", f.next)
		}
		if f.code != 0 {
			return f.code
		}
		return exitFailed
	}
	fmt.Fprintf(errOut, "hookline: %v\n", err)
	return exitFailed
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "hookline",
		Short: "Hooks for every agent on the Gemini API",
		Long: `hookline stands between an agent and the Gemini API and shows every model call,
streamed chunk, tool call and tool result to hooks, which may change, answer,
block or observe them. Hooks are those of Gemini CLI: JSON in, JSON out.`,
		Example: `  hookline demo                 see what hooks do, with no key and no network
  hookline init                 write a configuration with two sample hooks
  hookline run -- gemini        start an agent behind hookline`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			f := &failure{what: "unknown command " + strconv.Quote(args[0]), next: "hookline --help lists the commands", code: exitUsage}
			if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
				f.next = "did you mean hookline " + s[0] + "?"
			}
			return f
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(cmd, err.Error())
	})
	root.AddCommand(demoCommand(), demoHookCommand(), runCommand(), serveCommand(), initCommand(), checkCommand(), hooksCommand(), trustCommand(), reportCommand(), redactCommand(), versionCommand())
	return root
}

// usage is the failure of a command line that makes no sense.
func usage(cmd *cobra.Command, what string) error {
	return &failure{what: what, next: cmd.CommandPath() + " --help shows what it takes", code: exitUsage}
}

// exactly wraps an argument check of cobra's, so that a wrong number of
// arguments is told like every other mistake.
func exactly(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(cmd, err.Error())
		}
		return nil
	}
}
