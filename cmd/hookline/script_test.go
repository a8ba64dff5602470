package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"hookline": func() { os.Exit(hookline()) },
		"model":    func() { os.Exit(exitOf(model(os.Args[1], os.Args[2]))) },
		"ask":      func() { os.Exit(exitOf(ask(strings.Join(os.Args[1:], " ")))) },
	})
}

// TestScripts runs the program itself, one behaviour a file.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			examples, err := filepath.Abs("../../examples")
			env.Setenv("EXAMPLES", examples)
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"waitfor": waitFor, "setfile": setFile, "sigterm": sigTerm},
	})
}

func exitOf(err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// model is a scripted model. It writes its address to one file and a line for
// each request to another, and ends when it is told to.
func model(addrFile, logFile string) error {
	log, err := os.Create(logFile)
	if err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, stopSignals...)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: scripted.New(scripted.Options{
		Log: log,
		Script: scripted.Lines(
			scripted.Line{Prompt: "read", Steps: []scripted.Answer{
				{Calls: []scripted.Call{{Name: "read_file", Args: `{"path":"a"}`}}}, {Text: "I have read it."},
			}},
			scripted.Line{Prompt: "clean", Steps: []scripted.Answer{
				{Calls: []scripted.Call{{Name: "run_shell_command", Args: `{"command":"rm -rf /"}`}}}, {Text: "The answer was: ", Echo: true},
			}},
			scripted.Line{Prompt: "mail", Steps: []scripted.Answer{{Text: "Write to jane.doe@example.com or to j@example.org. Do it now."}}},
			scripted.Line{Prompt: "wait", Steps: []scripted.Answer{{Text: "never", Delay: time.Hour}}},
			scripted.Line{Steps: []scripted.Answer{{Text: "Hello from the model."}}},
		),
	})}
	go func() {
		<-stop
		server.Close()
	}()
	if err := writeReady(addrFile, ln.Addr()); err != nil {
		return err
	}
	return unlessClosed(server.Serve(ln))
}

// ask is an agent that asks once, and prints what it saw.
func ask(prompt string) error {
	lines, err := demoAgent(context.Background(), os.Getenv(envGemini), prompt)
	for _, l := range lines {
		fmt.Printf("%s: %s\n", l.Who, l.Text)
	}
	return err
}

// waitFor waits until a file holds something. Another process writes it, which
// no channel tells of; so this is the one place that polls.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitfor FILE")
	}
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if data, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && len(data) > 0 {
			return
		}
	}
	ts.Fatalf("%s does not come", args[0])
}

// setFile sets a variable to the text of a file, with something in front.
func setFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: setfile VARIABLE PREFIX FILE")
	}
	ts.Setenv(args[0], args[1]+string(bytes.TrimSpace([]byte(ts.ReadFile(args[2])))))
}

// sigTerm sends SIGTERM to the background command that has the word in its
// command line: the built-in kill knows SIGINT and SIGKILL alone.
func sigTerm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sigterm WORD")
	}
	for _, cmd := range ts.BackgroundCmds() {
		if slices.Contains(cmd.Args, args[0]) {
			ts.Check(cmd.Process.Signal(syscall.SIGTERM))
			return
		}
	}
	ts.Fatalf("no command in the background has the word %q", args[0])
}
