package config

import "strings"

// nearest is the known name that a reader probably meant by got, or "" if none
// is near enough: equal but for case, or at most a third of its letters off.
func nearest(got string, known []string) string {
	best, bestDist := "", len(got)
	for _, k := range known {
		if strings.EqualFold(got, k) {
			return k
		}
		limit := max(1, min(len(got), len(k))/3)
		if d := distance(strings.ToLower(got), strings.ToLower(k)); d <= limit && d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

// distance counts the edits from a to b: insertions, deletions, replacements
// and swaps of neighbours. Names longer than 64 bytes are near nothing.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	prev2, prev, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev, row = prev, row, prev2
	}
	return prev[len(b)]
}
