package proxy

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// serveEnv makes the test binary a proxy for the upstream that it names, so that
// a test can look at a process that does nothing else.
const serveEnv = "HOOKLINE_TEST_SERVE"

func TestMain(m *testing.M) {
	if up := os.Getenv(serveEnv); up != "" {
		if err := serveChild(up); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m,
		// fasthttp keeps a clock for the life of the process.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		// The cleaner of its worker pool sleeps up to ten seconds after the end.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// serveChild prints its address and serves until stdin ends.
func serveChild(up string) error {
	s, err := New(Options{Upstream: Upstreams{Gemini: up}})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = ln.Close()
	}()
	fmt.Println(ln.Addr())
	return s.Serve(ln)
}
