package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const nginxConf = `
daemon off;
worker_processes auto;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	keepalive_requests 1000000;
	client_body_buffer_size 64k;
	upstream up { server %[2]s; keepalive 256; keepalive_requests 1000000; }
	server {
		listen %[3]s;
		location / {
			proxy_pass http://up;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_buffering off;
		}
	}
}
`

// startNginx runs an nginx of its own, as fast as its documentation says for
// streams. It is not an error if there is none: found tells.
func startNginx(ctx context.Context, dir, upstream string) (c *child, found bool, err error) {
	path, err := exec.LookPath("nginx")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return nil, false, nil
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, true, err
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return nil, true, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, upstream, addr), 0o600); err != nil {
		return nil, true, err
	}
	cmd := exec.CommandContext(ctx, path, "-p", dir, "-c", conf, "-e", filepath.Join(dir, "error.log"))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, true, err
	}
	c = &child{addr: addr, cmd: cmd, end: closerFunc(func() error { return cmd.Process.Signal(os.Interrupt) })}
	for range 100 { // it does not say when it listens
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			return c, true, conn.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.stop()
	return nil, true, fmt.Errorf("nginx does not listen on %s; see its error log", addr)
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

var _ io.Closer = closerFunc(nil)
