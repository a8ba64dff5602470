//go:build !linux && !darwin

package proxy

import "net"

// stillOpen cannot look here: a dead connection shows when it is used, and the
// call is repeated on a new one.
func stillOpen(net.Conn) bool { return true }
