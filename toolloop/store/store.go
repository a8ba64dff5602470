// Package store keeps the ledger's entries: small sealed values under opaque
// keys, with a time to live. Memory serves tests and single processes, bbolt
// survives a restart, Redis is shared between replicas.
//
// Invariants: a value is written whole or not at all; what Put has returned from
// is seen by every later Get, of any replica that shares the store; a value that
// can't be read (damaged, sealed with another key) is as good as missing and
// never an error.
package store

import (
	"context"
	"errors"
	"time"
)

// Key names an entry. It is a hash that holds the tenant's, so one tenant can
// never name another's entries.
type Key [32]byte

// Entry is one value to be written.
type Entry struct {
	Key   Key
	Value []byte
}

// ErrDown is wrapped by errors that mean the store can't be reached or written
// at the moment; the caller then follows its fail mode.
var ErrDown = errors.New("state store is down")

// ErrInUse is wrapped by the error of opening a file that another process has.
var ErrInUse = errors.New("in use")

// Store is safe for concurrent use. Values are copied on the way in; those that
// Get returns must not be changed by the caller.
type Store interface {
	// Get returns one value per key, nil where there is none, in one round trip.
	Get(ctx context.Context, keys []Key) ([][]byte, error)
	// Put writes entries with the store's time to live, in one transaction.
	Put(ctx context.Context, entries []Entry) error
	// Claim takes the lease of key for owner, for ttl at most. False means that
	// another owner, in this process or another, holds it.
	Claim(ctx context.Context, key Key, owner string, ttl time.Duration) (bool, error)
	// Release gives up a lease that owner holds; others are left alone.
	Release(ctx context.Context, key Key, owner string) error
	Close() error
}
