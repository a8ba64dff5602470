package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

// proc is a started process and its pipes.
type proc struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	exited chan struct{} // closed by wait when the process is gone
	err    error         // what Wait gave; read after exited
}

// start starts a process of its own group with pipes for its streams. The pipes
// are files, so that Wait waits for the process alone and not for whoever else
// holds them.
func start(args []string, env []string, dir string) (*proc, *hooks.Failure) {
	cmd := exec.Command(args[0], args[1:]...) //nolint:noctx // its end is decided by kill, for the whole group
	cmd.Env = env
	cmd.Dir = dir
	cmd.SysProcAttr = groupAttr()
	var pipes [6]*os.File
	closeAll := func() {
		for _, f := range pipes {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < len(pipes); i += 2 {
		var err error
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			closeAll()
			return nil, hooks.Failuref(hooks.FailureStart, "cannot make a pipe: %v", err)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = pipes[0], pipes[3], pipes[5]
	err := cmd.Start()
	if err != nil {
		closeAll()
		return nil, startFailure(args[0], dir, err)
	}
	for _, f := range []*os.File{pipes[0], pipes[3], pipes[5]} {
		f.Close() // the child's ends: pipes must end when it ends
	}
	return &proc{cmd: cmd, stdin: pipes[1], stdout: pipes[2], stderr: pipes[4], exited: make(chan struct{})}, nil
}

func startFailure(name, dir string, err error) *hooks.Failure {
	f := hooks.Failuref(hooks.FailureStart, "could not be started")
	if st, serr := os.Stat(dir); dir != "" && (serr != nil || !st.IsDir()) {
		f.Text = "could not be started: its working directory does not exist"
		f.Hint = fmt.Sprintf("make %s, or start the agent in a directory that exists here", dir)
		return f
	}
	var perr *os.PathError
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		f.Hint = fmt.Sprintf("there is no program %q: is it installed and in PATH?", name)
	case errors.Is(err, os.ErrPermission):
		f.Hint = fmt.Sprintf("%q is not executable: chmod +x, or start it by its interpreter", name)
	case errors.As(err, &perr):
		f.Hint = perr.Err.Error()
	default:
		f.Hint = err.Error()
	}
	return f
}

// wait waits for the process and closes exited.
func (p *proc) wait() {
	p.err = p.cmd.Wait()
	close(p.exited)
}

func (p *proc) closePipes() {
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
}

// end ends the group: politely, then after killDelay by force. The group may
// outlive its first process, when that had started others; nothing tells of
// their end, so they are looked for.
func (p *proc) end() {
	terminate(p.cmd.Process)
	late := time.NewTimer(killDelay)
	defer late.Stop()
	select {
	case <-p.exited:
	case <-late.C:
		kill(p.cmd.Process)
		<-p.exited
		return
	}
	look := time.NewTicker(killDelay / 40)
	defer look.Stop()
	for groupAlive(p.cmd.Process) {
		select {
		case <-look.C:
		case <-late.C:
			kill(p.cmd.Process)
			return
		}
	}
}

// exitCode reads how the process ended.
func (p *proc) exitCode() (int, *hooks.Failure) {
	var exit *exec.ExitError
	switch {
	case p.err == nil:
		return 0, nil
	case errors.As(p.err, &exit):
		if exit.ExitCode() >= 0 {
			return exit.ExitCode(), nil
		}
		return -1, &hooks.Failure{Kind: hooks.FailureSignal, Text: "ended by a signal (" + exit.String() + ")",
			Hint: "did it run out of memory, or did something kill it?"}
	}
	return -1, hooks.Failuref(hooks.FailureInternal, "its end is not known: %v", p.err)
}

// capped collects output up to a limit. A reader may be left behind, so the
// buffer is guarded.
type capped struct {
	mu    sync.Mutex
	buf   []byte
	limit int
	over  chan struct{} // closed when the limit is passed
	once  sync.Once
}

func newCapped(limit int) *capped { return &capped{limit: limit, over: make(chan struct{})} }

// readFrom reads until the end of f, or its being closed, or the limit.
func (c *capped) readFrom(f io.Reader) {
	size := 512 // most hooks print a line or nothing
	for {
		c.mu.Lock()
		if cap(c.buf)-len(c.buf) < size {
			grown := make([]byte, len(c.buf), 2*cap(c.buf)+size)
			copy(grown, c.buf)
			c.buf = grown
		}
		free := c.buf[len(c.buf):cap(c.buf)]
		c.mu.Unlock()
		n, err := f.Read(free)
		c.mu.Lock()
		c.buf = c.buf[:len(c.buf)+n]
		full := len(c.buf) > c.limit
		c.mu.Unlock()
		if full {
			c.once.Do(func() { close(c.over) })
			return
		}
		if err != nil {
			return
		}
	}
}

func (c *capped) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf
}
