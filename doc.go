// Package hookline is the root of the module; the program is cmd/hookline.
// ARCHITECTURE.md shows the rooms, arch_test.go keeps their arrows.
package hookline
