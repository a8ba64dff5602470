package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes. In a file it is a number, or a string with a unit:
// "512KiB", "100 MiB", "1GB".
type Size int64

var sizeUnits = []struct {
	name string
	n    int64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"B", 1},
}

// parseSize reads a size with or without a unit. The number is whole and not
// negative.
func parseSize(s string) (Size, error) {
	num, unit := strings.TrimSpace(s), int64(1)
	for _, u := range sizeUnits {
		if n, ok := strings.CutSuffix(num, u.name); ok {
			num, unit = strings.TrimSpace(n), u.n
			break
		}
	}
	n, err := strconv.ParseInt(num, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is no size", s)
	}
	if n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is more than a 64-bit number holds", s)
	}
	return Size(n * unit), nil
}
