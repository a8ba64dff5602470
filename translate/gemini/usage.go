package gemini

import (
	"encoding/json"
	"math"
	"strconv"
)

// AddUsage sums two usageMetadata objects member by member: counts, as numbers
// or as strings of digits, are added; lists of details are added by modality;
// of all else b's counts. Either may be nil. Sums that an int64 cannot hold stay
// at its limit.
func (Wire) AddUsage(a, b json.RawMessage) json.RawMessage {
	if !isObject(a) {
		return b
	}
	if !isObject(b) {
		return a
	}
	out := []byte(a)
	eachMember(b, func(key []byte, at field) {
		name, v := camelCase(string(key)), at.val.of(b)
		if isNull(v) {
			return
		}
		out = set(out, name, addValues(get(out, name), v), string(key) != name)
	})
	return out
}

func addValues(a, b []byte) []byte {
	if isArray(a) && isArray(b) {
		return addDetails(a, b)
	}
	x, okA := count(a)
	y, okB := count(b)
	if !okA || !okB {
		return b
	}
	sum := x + y
	if y > 0 && sum < x {
		sum = math.MaxInt64
	}
	out := strconv.AppendInt(nil, sum, 10)
	if isString(b) {
		out = append(append([]byte{'"'}, out...), '"')
	}
	return out
}

// count reads a count, which is never negative.
func count(v []byte) (int64, bool) {
	if isString(v) {
		v = v[1 : len(v)-1]
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err == nil {
		return n, n >= 0
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !isNumber(v) || f < 0 || f > math.MaxInt64/2 || f != math.Trunc(f) {
		return 0, false
	}
	return int64(f), true
}

// addDetails adds lists of {modality, tokenCount}.
func addDetails(a, b []byte) []byte {
	out := elements(a)
	for _, d := range elements(b) {
		modality, found := string(get(d, "modality")), false
		for i, have := range out {
			if !isObject(have) || !isObject(d) || string(get(have, "modality")) != modality {
				continue
			}
			out[i] = set(have, "tokenCount", addValues(get(have, "tokenCount"), get(d, "tokenCount")), false)
			found = true
			break
		}
		if !found {
			out = append(out, d)
		}
	}
	return list(out)
}
