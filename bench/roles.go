package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/run"
	"github.com/hookline-proxy/hookline/proxy"
	"github.com/hookline-proxy/hookline/toolloop"
)

// child is a process of this run that serves on addr.
type child struct {
	addr string
	cmd  *exec.Cmd
	end  io.Closer // what makes it stop
}

func (c *child) stop() {
	_ = c.end.Close()
	_ = c.cmd.Wait()
}

// startRole starts this program again as one of its parts.
func startRole(ctx context.Context, s settings, role, upstream, hook string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", role, "-upstream", upstream, "-hook", hook)
	cmd.Stderr = os.Stderr
	if s.profile != "" {
		cmd.Env = append(os.Environ(), "BENCH_PROFILE="+filepath.Join(s.profile, role+hook+".pprof"))
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, end: in}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	c.addr = strings.TrimSpace(line)
	return c, nil
}

// serveRole is the other side: it serves until stdin ends.
func serveRole(role, upstream, hook string) error {
	if role == "hook" {
		return persistentHook()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if p := os.Getenv("BENCH_PROFILE"); p != "" {
		f, err := os.Create(p)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	served := make(chan error, 1) // one server
	switch role {
	case "upstream":
		go func() { served <- serveUpstream(ln) }()
	case "httputil":
		go func() { served <- serveHTTPUtil(ln, upstream) }()
	case "hookline":
		s, closer, err := newHookline(upstream, hook)
		if err != nil {
			return err
		}
		defer closer()
		go func() { served <- s.Serve(ln) }()
		defer func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = s.Shutdown(ctx)
		}()
	default:
		return fmt.Errorf("no role %q", role)
	}
	if _, err := fmt.Println(ln.Addr()); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { // ends with stdin
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	select {
	case err := <-served:
		return err
	case err := <-ended:
		return err
	}
}

func serveHTTPUtil(ln net.Listener, upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	p := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(u) },
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 256, DisableCompression: true},
	}
	s := &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second}
	return s.Serve(ln)
}

// spawnedHook is a hook as people write them; it costs what starting a shell
// and one small program costs.
const spawnedHook = `cat >/dev/null; echo '{}'`

// newHookline is hookline as serve wires it, with one AfterModel hook or none.
func newHookline(upstream, hook string) (*proxy.Server, func(), error) {
	o := proxy.Options{Upstream: proxy.Upstreams{Gemini: upstream}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	closer := func() {}
	if hook != "" {
		h := hooks.Hook{Name: hook, Type: "command", Command: spawnedHook}
		if hook == "persistent" {
			self, err := os.Executable()
			if err != nil {
				return nil, nil, err
			}
			h.Command, h.Args, h.Persistent = self, []string{"-role", "hook"}, true
		}
		r := run.New(run.Options{})
		closer = func() { _ = r.Close() }
		set, err := hooks.New(hooks.Options{
			Definitions: map[hooks.Event][]hooks.Definition{hooks.AfterModel: {{Hooks: []hooks.Hook{h}}}},
			Handlers:    map[string]hooks.Handler{"command": r},
		})
		if err != nil {
			return nil, nil, err
		}
		o.Runner = toolloop.New(toolloop.Options{Hooks: set, Cwd: os.TempDir()})
	}
	s, err := proxy.New(o)
	return s, closer, err
}

// persistentHook answers each line with one.
func persistentHook() error {
	r := bufio.NewReaderSize(os.Stdin, 64<<10)
	for {
		_, err := r.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if _, err := io.WriteString(os.Stdout, "{}\n"); err != nil {
			return err
		}
	}
}
