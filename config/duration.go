package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Duration is a time span. In a file it is a string: "30m", "36h", "7d".
type Duration time.Duration

// parseDuration reads what [time.ParseDuration] does, and whole days.
func parseDuration(s string) (Duration, error) {
	if days, ok := strings.CutSuffix(strings.TrimSpace(s), "d"); ok {
		if n, err := strconv.ParseInt(days, 10, 32); err == nil && n > 0 && n <= 36500 {
			return Duration(time.Duration(n) * 24 * time.Hour), nil
		}
		return 0, fmt.Errorf("%q is no time span", s)
	}
	d, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time span", s)
	}
	return Duration(d), nil
}
