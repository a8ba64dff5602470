//go:build race

package toolloop_test

// raceSlow is how much longer the race detector makes the random conversations.
const raceSlow = 8
