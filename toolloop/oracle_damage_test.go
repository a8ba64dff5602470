package toolloop_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/hookline-proxy/hookline/toolloop/store"
)

// shaky is a store that can be down.
type shaky struct {
	store.Store
	down atomic.Bool
}

func (s *shaky) Get(ctx context.Context, keys []store.Key) ([][]byte, error) {
	if s.down.Load() {
		return nil, store.ErrDown
	}
	return s.Store.Get(ctx, keys)
}

// damage does to a history what agents do to old turns.
func (d *driver) damage(c *conv, st step) {
	n := min(st.To, len(c.turns)-1)
	if n <= 0 {
		return
	}
	cut := c.turns[n].history
	c.loose = true
	switch st.Do {
	case "mask":
		for i, raw := range c.history[:cut] {
			raw = masked(raw)
			c.history[i] = raw
		}
		return
	case "drop":
		c.history = slices.Clone(c.history[cut:])
	case "compress":
		c.history = append([]string{content("user", []string{`{"text":"summary of the talk"}`}), content("model", []string{`{"text":"Got it."}`})}, c.history[cut:]...)
	}
	c.turns = nil
}

// masked replaces the outputs of results.
func masked(raw string) string {
	var c struct {
		Role  string
		Parts []map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(raw), &c); err != nil {
		return raw
	}
	var parts []string
	for _, p := range c.Parts {
		if r := p["functionResponse"]; r != nil {
			var m map[string]json.RawMessage
			if json.Unmarshal(r, &m) == nil {
				m["response"] = json.RawMessage(`{"output":"[masked]"}`)
				p["functionResponse"] = must(json.Marshal(m))
			}
		}
		parts = append(parts, string(must(json.Marshal(p))))
	}
	return content(c.Role, parts)
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}
