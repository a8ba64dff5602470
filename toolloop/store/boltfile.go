package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	bbolterrors "go.etcd.io/bbolt/errors"
)

// The file has three buckets: entries (key -> row), expiry (time and key, in
// order of time -> nothing) and meta. A row is the time of expiry (8 bytes, ms
// since 1970, big endian), a checksum (4 bytes, CRC-32C of key, time and value;
// bbolt keeps none for data pages), and the value.
var (
	bucketEntries = []byte("entries")
	bucketExpiry  = []byte("expiry")
	bucketMeta    = []byte("meta")
	metaFormat    = []byte("format") // formatNow
	metaBytes     = []byte("bytes")  // 8 bytes big endian: what the rows are reckoned to take
	formatNow     = []byte("1")
)

const rowHead = 12

// rowCost is what a row is reckoned to take in the file: key, head and value, the
// row in the other bucket, and bbolt's own 16 bytes for each of both.
func rowCost(row []byte) int64 { return int64(len(row) + 32 + 40 + 32) }

// errDamaged means that bbolt could make no sense of the file.
var errDamaged = errors.New("state file is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeRow(r row) []byte {
	b := make([]byte, rowHead, rowHead+len(r.value))
	binary.BigEndian.PutUint64(b, uint64(r.until.UnixMilli()))
	b = append(b, r.value...)
	binary.BigEndian.PutUint32(b[8:], rowSum(&r.key, b))
	return b
}

// decodeRow copies the value. It is nil for a damaged row.
func decodeRow(k *Key, b []byte) item {
	if len(b) < rowHead || binary.BigEndian.Uint32(b[8:]) != rowSum(k, b) {
		return item{}
	}
	return item{owned(b[rowHead:]), time.UnixMilli(int64(binary.BigEndian.Uint64(b)))}
}

func rowSum(k *Key, b []byte) uint32 {
	sum := crc32.Update(0, castagnoli, k[:])
	sum = crc32.Update(sum, castagnoli, b[:8])
	return crc32.Update(sum, castagnoli, b[rowHead:])
}

func expiryKey(k Key, row []byte) []byte { return append(bytes.Clone(row[:8]), k[:]...) }

// boltFile is an open file. Its methods turn panics of bbolt, and faults in the
// memory that it maps, into errDamaged; after one the file must be moved aside.
type boltFile struct {
	path string
	db   *bbolt.DB
	os   *os.File // db's own; it holds the lock
	// bytes is that of metaBytes. Only the writer uses it.
	bytes int64
}

// openBoltFile opens a file, or begins a new one where there is none or the one
// that is there is damaged. A file that isn't a ledger is left alone.
func openBoltFile(path string, wait time.Duration, log *slog.Logger) (*boltFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
	for second := false; ; second = true {
		f, err := tryBoltFile(path, wait)
		switch {
		case err == nil:
			return f, nil
		case errors.Is(err, errDamaged) && !second:
			if err := f.moveAside(err, log); err != nil {
				return nil, err
			}
			continue
		case errors.Is(err, bbolterrors.ErrTimeout):
			err = fmt.Errorf("%w: another hookline process has it open; give each process a file of its own, "+
				"or let them share their state through Redis", ErrInUse)
		}
		if f.db != nil && !errors.Is(err, errDamaged) {
			f.close()
		} else {
			f.abandon()
		}
		return nil, fmt.Errorf("state file %s: %w", path, err)
	}
}

// tryBoltFile returns what it has opened also with an error.
func tryBoltFile(path string, wait time.Duration) (*boltFile, error) {
	f := &boltFile{path: path}
	err := guarded(func() (err error) {
		f.db, err = bbolt.Open(path, 0o600, &bbolt.Options{
			Timeout:      wait,
			FreelistType: bbolt.FreelistMapType,
			NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				var err error
				f.os, err = os.OpenFile(name, flag, mode)
				return f.os, err
			},
		})
		return err
	})
	if errors.Is(err, bbolterrors.ErrInvalid) || errors.Is(err, bbolterrors.ErrChecksum) {
		// bbolt has closed the file and with it the lock.
		err = fmt.Errorf("%w: %v", errDamaged, err)
		if mine, look := isBolt(path); look != nil || !mine {
			err = errors.Join(errors.New("it is no ledger of hookline's; move it away or name another path"), look)
		}
	}
	if err != nil {
		return f, err
	}
	if err := f.prepare(); err != nil {
		return f, err
	}
	return f, os.Chmod(path, 0o600) // one that was copied with a wider mode
}

// isBolt says whether a file that bbolt can't open was once one of bbolt's: the
// magic number stands in one of the first two pages, or nothing stands in it at
// all (it was made, but the machine went down before anything was written).
func isBolt(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 2*64<<10) // two of the largest pages
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return false, err
	}
	head = head[:n]
	const magic, at = 0xED0CDAED, 16 // of a page: bbolt internal/common/meta.go, page.go
	for page := 0; page+at+4 <= n; page += 1024 {
		if binary.NativeEndian.Uint32(head[page+at:]) == magic {
			return true, nil
		}
	}
	return len(bytes.Trim(head, "\x00")) == 0, nil
}

// prepare makes the buckets, or checks that they are those of this format.
func (f *boltFile) prepare() error {
	err := f.update(func(tx *bbolt.Tx) error {
		if st, err := f.os.Stat(); err != nil {
			return err
		} else if st.Size() < tx.Size() {
			return fmt.Errorf("%w: it has %d bytes of %d", errDamaged, st.Size(), tx.Size())
		}
		meta := tx.Bucket(bucketMeta)
		if meta == nil {
			if k, _ := tx.Cursor().First(); k != nil {
				return errors.New("it is another program's; move it away or name another path")
			}
			for _, name := range [][]byte{bucketEntries, bucketExpiry, bucketMeta} {
				if _, err := tx.CreateBucket(name); err != nil {
					return err
				}
			}
			return tx.Bucket(bucketMeta).Put(metaFormat, formatNow)
		}
		if got := meta.Get(metaFormat); !bytes.Equal(got, formatNow) {
			return fmt.Errorf("it has format %q, and this hookline knows %q; name another path", got, formatNow)
		}
		if tx.Bucket(bucketEntries) == nil || tx.Bucket(bucketExpiry) == nil {
			return fmt.Errorf("%w: a bucket is missing", errDamaged)
		}
		if b := meta.Get(metaBytes); len(b) == 8 {
			f.bytes = int64(binary.BigEndian.Uint64(b))
		}
		return nil
	})
	return err
}

// guarded gives what goes wrong inside bbolt with a damaged file as an error:
// its assertions panic, and a page that lies beyond the file's end is a fault.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return f()
}

func (f *boltFile) update(do func(*bbolt.Tx) error) error {
	return guarded(func() error { return f.db.Update(do) })
}

// read fetches what is left of keys into items, copied; the value of an item is
// nil where there is none.
func (f *boltFile) read(keys []Key, left []fetch, items []item) error {
	return guarded(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			entries := tx.Bucket(bucketEntries)
			for i, l := range left {
				k := &keys[l.at]
				if row := entries.Get(k[:]); row != nil {
					items[i] = decodeRow(k, row)
				}
			}
			return nil
		})
	})
}

// write puts rows and says whether the file then holds more than limit bytes.
func (f *boltFile) write(rows []row, limit int64) (over bool, err error) {
	total := f.bytes
	err = f.update(func(tx *bbolt.Tx) error {
		entries, expiry := tx.Bucket(bucketEntries), tx.Bucket(bucketExpiry)
		for _, r := range rows {
			if old := entries.Get(r.key[:]); len(old) >= rowHead {
				total -= rowCost(old)
				if err := expiry.Delete(expiryKey(r.key, old)); err != nil {
					return err
				}
			}
			b := encodeRow(r)
			if err := entries.Put(r.key[:], b); err != nil {
				return err
			}
			if err := expiry.Put(expiryKey(r.key, b), nil); err != nil {
				return err
			}
			total += rowCost(b)
		}
		return putBytes(tx, total)
	})
	if err != nil {
		return false, err
	}
	f.bytes = total
	return total > limit, nil
}

func putBytes(tx *bbolt.Tx, n int64) error {
	return tx.Bucket(bucketMeta).Put(metaBytes, binary.BigEndian.AppendUint64(nil, uint64(max(n, 0))))
}

// sweep deletes rows that have expired, and those that expire next while the
// file holds more than limit bytes: at most n, and says whether n were too few.
func (f *boltFile) sweep(now time.Time, limit int64, n int) (more bool, err error) {
	total := f.bytes
	var due [][]byte
	err = f.update(func(tx *bbolt.Tx) error {
		entries, expiry := tx.Bucket(bucketEntries), tx.Bucket(bucketExpiry)
		c := expiry.Cursor()
		for at, _ := c.First(); at != nil && len(due) < n; at, _ = c.Next() {
			if len(at) != 8+len(Key{}) {
				return fmt.Errorf("%w: an expiry of %d bytes", errDamaged, len(at))
			}
			if int64(binary.BigEndian.Uint64(at)) > now.UnixMilli() && total <= limit {
				break
			}
			due = append(due, bytes.Clone(at))
			// A row that was put again since has an expiry of its own.
			if row := entries.Get(at[8:]); len(row) >= rowHead && bytes.Equal(row[:8], at[:8]) {
				total -= rowCost(row)
			}
		}
		if len(due) == 0 {
			return errNothingDue // rolls back: no sync for nothing
		}
		for _, at := range due {
			if row := entries.Get(at[8:]); len(row) < rowHead || bytes.Equal(row[:8], at[:8]) {
				if err := entries.Delete(at[8:]); err != nil {
					return err
				}
			}
			if err := expiry.Delete(at); err != nil {
				return err
			}
		}
		return putBytes(tx, total)
	})
	if errors.Is(err, errNothingDue) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	f.bytes = total
	return len(due) == n, nil
}

var errNothingDue = errors.New("nothing is due")

// moveAside renames a damaged file, over an earlier one: a bad disk must not
// fill up with them. The file is unusable afterwards.
func (f *boltFile) moveAside(cause error, log *slog.Logger) error {
	to := f.path + ".damaged"
	if err := os.Rename(f.path, to); err != nil {
		f.abandon()
		return fmt.Errorf("state file %s: %w; moving it aside: %w", f.path, cause, err)
	}
	f.abandon()
	log.Error("state file was damaged and moved aside; a new one is begun, and hooks fire again for items that it held",
		"path", f.path, "moved_to", to, "cause", cause)
	return nil
}

// abandon gives the lock free without bbolt's help: after a panic its own locks
// may be held for ever, and Close would wait for them. The map stays, once.
func (f *boltFile) abandon() {
	if f.os != nil {
		f.os.Close() // its error tells of nothing that matters now
	}
}

func (f *boltFile) close() error {
	var err error
	if damage := guarded(func() error { err = f.db.Close(); return nil }); damage != nil {
		f.abandon()
		return damage
	}
	return err
}
