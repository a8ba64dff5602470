package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// BoltOptions configure a Bolt. Path is required, the rest works as zero.
type BoltOptions struct {
	// Path of the file. It is made with mode 0600, and missing folders with
	// mode 0700.
	Path        string
	TTL         time.Duration // life of an entry since it was last put; 0: DefaultTTL
	MaxBytes    int64         // of entries in the file; beyond it those that expire first go; 0: 4 GiB
	CacheBytes  int64         // of entries kept in memory, too; 0: 32 MiB
	SweepEvery  time.Duration // how often what has expired is deleted; 0: 1 minute
	LockTimeout time.Duration // how long to wait for another process to let go of the file; 0: 1 second
	Log         *slog.Logger  // nil: discards
	Now         func() time.Time
}

// Bolt keeps entries in a file of this process's own. Put returns when they are
// on the disk; calls that come together share one transaction and its sync.
//
// A file that is found damaged, at the start or later, is moved aside to
// PATH.damaged and a new one is begun: what is lost makes hooks fire again,
// whereas a proxy that does not start loses every call.
type Bolt struct {
	o      BoltOptions
	now    func() time.Time
	log    *slog.Logger
	cache  readCache
	leases leases

	queue chan *write   // unbuffered: a write that was received is answered
	stop  chan struct{} // closed by Close
	done  chan struct{} // closed by the writer when it has ended
	once  sync.Once

	mu   sync.RWMutex // held for reading while file is used, else to replace it
	file *boltFile    // nil when there is none: closed, or damaged beyond replacement
	why  error        // why file is nil
}

// OpenBolt opens or makes the file.
func OpenBolt(o BoltOptions) (*Bolt, error) {
	o.TTL = orDefault(o.TTL, DefaultTTL)
	o.MaxBytes = orDefault(o.MaxBytes, 4<<30)
	o.CacheBytes = orDefault(o.CacheBytes, 32<<20)
	o.SweepEvery = orDefault(o.SweepEvery, time.Minute)
	o.LockTimeout = orDefault(o.LockTimeout, time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f, err := openBoltFile(o.Path, o.LockTimeout, o.Log)
	if err != nil {
		return nil, err
	}
	b := &Bolt{
		o:     o,
		now:   clock(o.Now),
		log:   o.Log,
		cache: readCache{lru: newLRU(1<<20, o.CacheBytes)},
		queue: make(chan *write),
		stop:  make(chan struct{}),
		done:  make(chan struct{}),
		file:  f,
	}
	go b.run() // until Close
	return b, nil
}

// Get implements Store.
func (b *Bolt) Get(ctx context.Context, keys []Key) ([][]byte, error) {
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	values, now := make([][]byte, len(keys)), b.now()
	left := b.cache.get(keys, values, now)
	if len(left) == 0 {
		return values, nil
	}
	items := make([]item, len(left))
	err := b.use(func(f *boltFile) error { return f.read(keys, left, items) })
	if err != nil && !errors.Is(err, errDamaged) {
		return nil, err
	}
	if err != nil {
		clear(items) // whatever came before the damage is not to be trusted
	}
	for i, l := range left {
		if now.Before(items[i].until) {
			values[l.at] = items[i].value
		}
	}
	b.cache.fill(keys, left, items, now)
	return values, nil
}

// use runs f with the file. When that shows the file to be damaged it is
// replaced, and the error, errDamaged, says only that f was not done.
func (b *Bolt) use(f func(*boltFile) error) error {
	b.mu.RLock()
	file, why := b.file, b.why
	if file == nil {
		b.mu.RUnlock()
		return why
	}
	err := f(file)
	b.mu.RUnlock()
	switch {
	case errors.Is(err, errDamaged):
		return b.replace(file, err)
	case err != nil:
		return fmt.Errorf("%w: %s: %v", ErrDown, b.o.Path, err)
	}
	return nil
}

// replace moves a damaged file aside and begins a new one.
func (b *Bolt) replace(damaged *boltFile, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != damaged {
		return cause // another call came first
	}
	err := damaged.moveAside(cause, b.log)
	if err == nil {
		b.file, err = openBoltFile(b.o.Path, b.o.LockTimeout, b.log)
	}
	if err != nil {
		b.file, b.why = nil, fmt.Errorf("%w: %v", ErrDown, err)
		b.log.Error("state file can't be replaced", "path", b.o.Path, "error", err)
		return b.why
	}
	return cause
}

// Claim implements Store. The lease is this process's, like the file.
func (b *Bolt) Claim(ctx context.Context, key Key, owner string, ttl time.Duration) (bool, error) {
	if err := b.usable(ctx); err != nil {
		return false, err
	}
	return b.leases.claim(key, owner, ttl, b.now()), nil
}

// Release implements Store.
func (b *Bolt) Release(ctx context.Context, key Key, owner string) error {
	if err := b.usable(ctx); err != nil {
		return err
	}
	b.leases.release(key, owner)
	return nil
}

func (b *Bolt) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.file == nil {
		return b.why
	}
	return nil
}

// Close waits for writes under way and gives the file free.
func (b *Bolt) Close() error {
	var err error
	b.once.Do(func() {
		close(b.stop)
		<-b.done
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.file != nil {
			err = b.file.close()
		}
		b.file, b.why = nil, errClosed
	})
	return err
}
