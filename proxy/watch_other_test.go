//go:build !linux

package proxy

const seesBehindBytes = false
