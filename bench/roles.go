package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
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
func startRole(ctx context.Context, role, upstream string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-role", role, "-upstream", upstream)
	cmd.Stderr = os.Stderr
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
func serveRole(role, upstream string) error {
	if role == "hook" {
		return persistentHook()
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	served := make(chan error, 1) // one server
	switch role {
	case "upstream":
		go func() { served <- serveUpstream(ln) }()
	case "httputil":
		go func() { served <- serveHTTPUtil(ln, upstream) }()
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
