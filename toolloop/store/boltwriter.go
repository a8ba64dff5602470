package store

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A transaction takes waiting writes up to these sizes, so that the first of
// them is not held up without bound.
const (
	groupRows  = 4096
	groupBytes = 16 << 20
)

// sweepRows is how many rows one transaction deletes at most: writes that come
// during a long sweep wait for one such step.
const sweepRows = 1000

// row is an entry as it goes to the file.
type row struct {
	key Key
	item
}

// write is one Put under way. done has room for the one answer, so that the
// writer never waits for a caller that has gone.
type write struct {
	rows []row
	done chan error
}

// Put implements Store. When ctx ends first, the entries may be written or not,
// all of them or none.
func (b *Bolt) Put(ctx context.Context, entries []Entry) error {
	if err := b.usable(ctx); err != nil || len(entries) == 0 {
		return err
	}
	until := b.now().Add(b.o.TTL)
	w := &write{rows: make([]row, len(entries)), done: make(chan error, 1)}
	for i, e := range entries {
		w.rows[i] = row{e.Key, item{owned(e.Value), until}}
	}
	select {
	case b.queue <- w:
	case <-ctx.Done():
		return ctx.Err()
	case <-b.stop:
		return errClosed
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run is the one writer: bbolt has one write transaction at a time anyway, and
// what arrives during one transaction's sync goes together into the next.
func (b *Bolt) run() {
	defer close(b.done)
	tick := time.NewTicker(b.o.SweepEvery)
	defer tick.Stop()
	always := make(chan struct{})
	close(always)
	sweeping := true // what expired while no process had the file open
	for {
		var idle <-chan struct{}
		if sweeping {
			idle = always
		}
		select {
		case w := <-b.queue:
			if b.commit(b.gather(w)) {
				sweeping = true
			}
		case <-tick.C:
			sweeping = true
		case <-idle:
		case <-b.stop:
			return
		}
		if sweeping {
			sweeping = b.sweep()
		}
	}
}

// gather adds the writes that wait to the first.
func (b *Bolt) gather(first *write) []*write {
	group, rows, bytes := []*write{first}, 0, 0
	for w := first; ; {
		rows += len(w.rows)
		for _, r := range w.rows {
			bytes += len(r.value)
		}
		if rows >= groupRows || bytes >= groupBytes {
			return group
		}
		select {
		case w = <-b.queue:
			group = append(group, w)
		default:
			return group
		}
	}
}

// commit writes a group, answers its callers, and says whether the file holds
// more than it should.
func (b *Bolt) commit(group []*write) (over bool) {
	rows := group[0].rows
	for _, w := range group[1:] {
		rows = append(rows, w.rows...)
	}
	b.cache.begin(rows)
	put := func(f *boltFile) (err error) {
		over, err = f.write(rows, b.o.MaxBytes)
		return err
	}
	err := b.use(put)
	if errors.Is(err, errDamaged) {
		err = b.use(put) // into the new file
	}
	if errors.Is(err, errDamaged) {
		err = fmt.Errorf("%w: %s: %v", ErrDown, b.o.Path, err)
	}
	b.cache.end(rows, err == nil, b.now())
	for _, w := range group {
		w.done <- err
	}
	return over
}

// sweep deletes some of what has expired, or is over the bound, and says
// whether there may be more.
func (b *Bolt) sweep() (more bool) {
	err := b.use(func(f *boltFile) (err error) {
		more, err = f.sweep(b.now(), b.o.MaxBytes, sweepRows)
		return err
	})
	if err != nil {
		// The next tick tries again; trying at once would spin on a full disk.
		b.log.Warn("state file can't be swept", "path", b.o.Path, "error", err)
		return false
	}
	return more
}
