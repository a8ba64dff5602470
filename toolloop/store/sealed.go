package store

import (
	"context"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// MinSecret is the least length of a sealing secret, in bytes.
const MinSecret = 16

// A sealed value is sealVersion, a random nonce of 24 bytes, and the
// XChaCha20-Poly1305 of the value with sealVersion and the entry's key as
// additional data: a value moved to another key doesn't open.
const sealVersion = 1

// sealInfo keeps the derived key apart from others made of the same secret.
const sealInfo = "hookline ledger, XChaCha20-Poly1305, 1"

type sealed struct {
	inner Store
	seal  cipher.AEAD
	open  []cipher.AEAD // seal, then those of former secrets
}

// Sealed encrypts the values that inner keeps; keys stay as they are, being
// hashes. The secret is a random key or a passphrase that can't be guessed, of
// at least MinSecret bytes; all replicas need the same. Former secrets open
// values and seal none, so that a secret can be changed: once the time to live
// has passed, the former one is of no more use. Values that don't open, plain
// ones included, are missing. Close closes inner.
func Sealed(inner Store, secret []byte, former ...[]byte) (Store, error) {
	s := &sealed{inner: inner}
	for _, secret := range append([][]byte{secret}, former...) {
		if len(secret) < MinSecret {
			return nil, fmt.Errorf("encryption key has %d bytes, want at least %d; `openssl rand -base64 32` makes one",
				len(secret), MinSecret)
		}
		key, err := hkdf.Key(sha256.New, secret, nil, sealInfo, chacha20poly1305.KeySize)
		if err != nil {
			return nil, fmt.Errorf("derive encryption key: %w", err)
		}
		aead, err := chacha20poly1305.NewX(key)
		if err != nil {
			return nil, fmt.Errorf("encryption key: %w", err)
		}
		s.open = append(s.open, aead)
	}
	s.seal = s.open[0]
	return s, nil
}

func sealData(k *Key) []byte { return append([]byte{sealVersion}, k[:]...) }

// Get implements Store.
func (s *sealed) Get(ctx context.Context, keys []Key) ([][]byte, error) {
	boxes, err := s.inner.Get(ctx, keys)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, len(boxes)) // inner's own slices are not ours to change
	for i, box := range boxes {
		if box != nil {
			values[i] = s.unseal(&keys[i], box)
		}
	}
	return values, nil
}

// unseal gives nil for what doesn't open.
func (s *sealed) unseal(k *Key, box []byte) []byte {
	const head = 1 + chacha20poly1305.NonceSizeX
	if len(box) < head+chacha20poly1305.Overhead || box[0] != sealVersion {
		return nil
	}
	room := make([]byte, 0, len(box)-head-chacha20poly1305.Overhead)
	for _, aead := range s.open {
		if v, err := aead.Open(room, box[1:head], box[head:], sealData(k)); err == nil {
			return v
		}
	}
	return nil
}

// Put implements Store.
func (s *sealed) Put(ctx context.Context, entries []Entry) error {
	boxes := make([]Entry, len(entries))
	for i, e := range entries {
		const head = 1 + chacha20poly1305.NonceSizeX
		box := make([]byte, head, head+len(e.Value)+chacha20poly1305.Overhead)
		box[0] = sealVersion
		rand.Read(box[1:head]) // never fails: it ends the program instead
		boxes[i] = Entry{e.Key, s.seal.Seal(box, box[1:head], e.Value, sealData(&e.Key))}
	}
	return s.inner.Put(ctx, boxes)
}

// Claim implements Store.
func (s *sealed) Claim(ctx context.Context, key Key, owner string, ttl time.Duration) (bool, error) {
	return s.inner.Claim(ctx, key, owner, ttl)
}

// Release implements Store.
func (s *sealed) Release(ctx context.Context, key Key, owner string) error {
	return s.inner.Release(ctx, key, owner)
}

// Close implements Store.
func (s *sealed) Close() error { return s.inner.Close() }
