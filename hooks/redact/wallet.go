package redact

import (
	"bytes"
	"crypto/sha256"
)

const (
	base58Alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	bech32Alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
)

var base58Value, bech32Value = func() (b58, b32 [256]int8) {
	for i := range b58 {
		b58[i], b32[i] = -1, -1
	}
	for i, c := range []byte(base58Alphabet) {
		b58[c] = int8(i)
	}
	for i, c := range []byte(bech32Alphabet) {
		b32[c], b32[toUpper(c)] = int8(i), int8(i)
	}
	return b58, b32
}()

// wallets finds bitcoin addresses among the groups of a segment that ends at e.
func (m *scanner) wallets(e int) {
	if !m.e.on[crypto] {
		return
	}
	for _, g := range m.groups {
		n := g.e - g.s
		if g.other || n < 26 || n > 90 || !m.leftFree(g.s) && m.b[g.s-1] != '/' || !m.rightFree(g.e, e) {
			continue
		}
		v := m.b[g.s:g.e]
		ok := n <= 35 && (v[0] == '1' || v[0] == '3') && base58Check(v)
		if !ok && n >= 42 && (bytes.EqualFold(v[:3], []byte("bc1")) || bytes.EqualFold(v[:3], []byte("tb1"))) {
			ok = bech32(v)
		}
		if ok {
			m.add(found{s: g.s, e: g.e, kind: int32(crypto), score: 1})
		}
	}
}

// base58Check reports whether v is 25 bytes in Base58 that end in the checksum
// of the others.
func base58Check(v []byte) bool {
	var out [25]byte
	for _, c := range v {
		d := int(base58Value[c])
		if d < 0 {
			return false
		}
		for i := len(out) - 1; i >= 0; i-- {
			d += int(out[i]) * 58
			out[i] = byte(d)
			d >>= 8
		}
		if d != 0 {
			return false
		}
	}
	if out[0] != 0 && out[0] != 5 {
		return false
	}
	h := sha256.Sum256(out[:21])
	h = sha256.Sum256(h[:])
	return bytes.Equal(h[:4], out[21:])
}

// bech32 checks the checksum of a segwit address (BIP 173 and BIP 350).
func bech32(v []byte) bool {
	chk := uint32(1)
	step := func(d byte) {
		top := chk >> 25
		chk = chk&0x1ffffff<<5 ^ uint32(d)
		for i, g := range [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				chk ^= g
			}
		}
	}
	step(toLower(v[0]) >> 5)
	step(toLower(v[1]) >> 5)
	step(0)
	step(v[0] & 31)
	step(v[1] & 31)
	for _, c := range v[3:] {
		d := bech32Value[c]
		if d < 0 {
			return false
		}
		step(byte(d))
	}
	return chk == 1 || chk == 0x2bc830a3
}
