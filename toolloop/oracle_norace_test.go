//go:build !race

package toolloop_test

const raceSlow = 1
