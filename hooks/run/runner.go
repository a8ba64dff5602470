package run

import (
	"context"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// DefaultMaxOutput is the most that a hook may print, in bytes, to each of
	// stdout and stderr.
	DefaultMaxOutput = 1 << 20
	// killDelay is the time between SIGTERM and SIGKILL.
	killDelay = 2 * time.Second
	// lingerDelay is how long the output of a hook that ended is waited for
	// when something that it started still holds the pipe.
	lingerDelay = 200 * time.Millisecond
)

// Options of a Runner. The zero value works.
type Options struct {
	// Environ is the environment that hooks inherit, secrets included: they
	// are taken out. Nil for this process's own.
	Environ []string
	// Dir is where persistent hooks run, and others whose event names no cwd;
	// "" for the current directory.
	Dir string
	// MaxOutput is the most bytes of stdout, and of stderr, per event; zero for
	// DefaultMaxOutput.
	MaxOutput int
	// Stderr gets the lines that persistent hooks print to stderr, cut to a few
	// KiB each; nil drops them. It is called from several goroutines.
	Stderr func(hook string, line []byte)
	Logger *slog.Logger // nil for none
}

// Runner is the handler of command hooks.
type Runner struct {
	environ   []string
	dir       string
	maxOutput int
	stderr    func(string, []byte)
	log       *slog.Logger

	// background counts what may outlive a Handle: processes on their way to the
	// end, and exchanges with persistent ones.
	background sync.WaitGroup
	stopped    context.Context //nolint:containedctx // the Runner's own life, not a request's
	stop       context.CancelFunc

	mu     sync.Mutex
	pools  map[*hooks.Hook]*pool // guarded by mu, as below; nil when closing
	sealed bool                  // background takes no more
}

var _ hooks.Handler = (*Runner)(nil)

// New makes a Runner.
func New(o Options) *Runner {
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Runner{
		environ:   CleanEnviron(o.Environ),
		dir:       o.Dir,
		maxOutput: o.MaxOutput,
		stderr:    o.Stderr,
		log:       o.Logger,
		pools:     map[*hooks.Hook]*pool{},
	}
	r.stopped, r.stop = context.WithCancel(context.Background())
	return r
}

// errClosed is the end of hooks that run while the Runner is closed.
var errClosed = hooks.Failuref(hooks.FailureCanceled, "canceled: hookline is closing")

// Handle implements [hooks.Handler].
func (r *Runner) Handle(ctx context.Context, h *hooks.Hook, in []byte, env hooks.Env) hooks.Result {
	if h.Persistent {
		p, err := r.pool(h)
		if err != nil {
			return hooks.Result{Err: err}
		}
		return p.handle(ctx, in)
	}
	// A report may come from another user of this machine: a command like
	// ./guard.sh must not start what that one has put into a folder.
	if env.Cwd != r.dir && !ours(env.Cwd) {
		env.Cwd = ""
	}
	return r.spawn(ctx, h, in, env)
}

// Close ends persistent hooks and whatever else still runs, and waits for it.
// It may be called more than once.
func (r *Runner) Close() error {
	r.stop()
	r.mu.Lock()
	pools := r.pools
	r.pools = nil
	r.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	r.mu.Lock()
	r.sealed = true
	r.mu.Unlock()
	r.background.Wait()
	return nil
}

// enter makes Close wait for the caller, until its background.Done; false when the
// Runner is closed.
func (r *Runner) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed || r.stopped.Err() != nil {
		return false
	}
	r.background.Add(1)
	return true
}

// inBackground runs f in a goroutine that Close waits for; when Close waits
// already, at once.
func (r *Runner) inBackground(f func()) {
	r.mu.Lock()
	sealed := r.sealed
	if !sealed {
		r.background.Go(f)
	}
	r.mu.Unlock()
	if sealed {
		f()
	}
}

func (r *Runner) pool(h *hooks.Hook) (*pool, *hooks.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pools == nil {
		return nil, errClosed
	}
	p := r.pools[h]
	if p == nil {
		p = newPool(r, h)
		r.pools[h] = p
	}
	return p, nil
}

// argv is what is started for a hook.
func argv(h *hooks.Hook, env []string) []string {
	if h.Args != nil {
		args := make([]string, 0, len(h.Args)+1)
		for _, a := range append([]string{h.Command}, h.Args...) {
			args = append(args, expand(a, env))
		}
		return args
	}
	shell := h.Shell
	if shell == "" {
		shell = "bash"
		if runtime.GOOS == "windows" {
			shell = "powershell"
		}
	}
	if isPowerShell(shell) {
		return []string{shell, "-NoProfile", "-NonInteractive", "-Command", h.Command + "; if ($LASTEXITCODE -ne $null) { exit $LASTEXITCODE }"}
	}
	return []string{shell, "-c", h.Command}
}
