//go:build unix

package storetest

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisPassword is that of the servers which StartRedis starts.
const RedisPassword = "s3cret-of-the-test"

// RedisServer is a real server for a test, on a port of its own. It syncs every
// write to its append-only file, so that Kill loses nothing it had acknowledged.
type RedisServer struct {
	URL  string // with RedisPassword
	Addr string

	exe, dir, port string
	cmd            *exec.Cmd
	drained        sync.WaitGroup // the goroutine that reads the server's output
}

// StartRedis starts a server and stops it when the test ends. Without
// redis-server or valkey-server in PATH it skips the test, or fails it where CI
// or HOOKLINE_REQUIRE_REDIS is set.
func StartRedis(t testing.TB) *RedisServer {
	t.Helper()
	s := &RedisServer{dir: t.TempDir()}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if exe, err := exec.LookPath(name); err == nil {
			s.exe = exe
			break
		}
	}
	if s.exe == "" {
		const how = "no redis-server or valkey-server in PATH; on Debian: apt-get install redis-server"
		if os.Getenv("CI") != "" || os.Getenv("HOOKLINE_REQUIRE_REDIS") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	t.Cleanup(s.Kill)
	var err error
	for range 5 { // another program may take the free port first
		if s.port, err = freePort(); err != nil {
			t.Fatal(err)
		}
		if err = s.start(); err == nil {
			s.Addr = "127.0.0.1:" + s.port
			s.URL = "redis://:" + RedisPassword + "@" + s.Addr + "/0"
			return s
		}
	}
	t.Fatal(err)
	return nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// start returns when the server accepts connections.
func (s *RedisServer) start() error {
	cmd := exec.Command(s.exe, "--bind", "127.0.0.1", "--port", s.port, "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--requirepass", RedisPassword)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd = cmd
	ready, log := make(chan bool, 1), ""
	s.drained.Go(func() { // until the server ends
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Ready to accept connections") {
				ready <- true
				break
			}
			log += lines.Text() + "\n"
		}
		for lines.Scan() { // lest the server block
		}
		close(ready)
	})
	if <-ready {
		return nil
	}
	s.Kill()
	return fmt.Errorf("%s did not start:\n%s", s.exe, log)
}

// Kill ends the server at once, as kill -9 does.
func (s *RedisServer) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended
	s.drained.Wait()
	_ = s.cmd.Wait() // "signal: killed"
	s.cmd = nil
}

// Restart starts a killed server again, with what it had on disk.
func (s *RedisServer) Restart(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Pause makes the server hang until Resume: connections stay open, and nothing
// is answered.
func (s *RedisServer) Pause(t testing.TB) { s.signal(t, syscall.SIGSTOP) }

// Resume ends a Pause.
func (s *RedisServer) Resume(t testing.TB) { s.signal(t, syscall.SIGCONT) }

func (s *RedisServer) signal(t testing.TB, sig os.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// Do runs a command on the server, past any store.
func (s *RedisServer) Do(t testing.TB, args ...any) any {
	t.Helper()
	var v any
	s.with(t, func(ctx context.Context, c *redis.Client) error {
		var err error
		v, err = c.Do(ctx, args...).Result()
		return err
	})
	return v
}

// Advance brings every key of the server nearer to its end.
func (s *RedisServer) Advance(t testing.TB, d time.Duration) {
	t.Helper()
	s.with(t, func(ctx context.Context, c *redis.Client) error {
		keys, err := c.Keys(ctx, "*").Result()
		if err != nil {
			return err
		}
		for _, k := range keys {
			left, err := c.PTTL(ctx, k).Result()
			if err != nil {
				return err
			}
			if left < 0 {
				t.Errorf("key %s lives for ever", k)
			}
			if err := c.PExpire(ctx, k, left-d).Err(); err != nil { // not above zero: deleted
				return err
			}
		}
		return nil
	})
}

func (s *RedisServer) with(t testing.TB, f func(context.Context, *redis.Client) error) {
	t.Helper()
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	o.Protocol = 2
	c := redis.NewClient(o)
	defer c.Close()
	if err := f(context.Background(), c); err != nil {
		t.Fatal(err)
	}
}
