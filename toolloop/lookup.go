package toolloop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
)

// lookup finds the records of a history's runs and results in at most three
// round trips to the store, whatever their number.
type lookup struct {
	store store.Store
	keys  keys
	runs  []*run

	want []store.Key
	take []func([]byte)
}

func (l *lookup) ask(k store.Key, take func([]byte)) {
	l.want = append(l.want, k)
	l.take = append(l.take, take)
}

func (l *lookup) fetch(ctx context.Context) error {
	if len(l.want) == 0 {
		return nil
	}
	vals, err := l.store.Get(ctx, l.want)
	if err != nil {
		return fmt.Errorf("look up %d ledger entries: %w", len(l.want), err)
	}
	take := l.take
	l.want, l.take = nil, nil
	for i, v := range vals {
		if v != nil {
			take[i](v)
		}
	}
	return nil
}

// find fills in run.rec, run.matched and the records of results.
func (l *lookup) find(ctx context.Context, results map[*item]*resultRecord) error {
	newest := l.runs[len(l.runs)-1]
	for _, r := range l.runs {
		if r.model {
			l.ask(l.keys.turn(r.base, r.ordinal), func(v []byte) { r.accept(v) })
		}
		if r.prompt != nil {
			l.ask(l.keys.user(r.prompt.key, r.prompt.ordinal), r.prompt.accept)
		}
		for _, p := range r.earlier {
			l.ask(l.keys.user(p.key, p.ordinal), p.accept)
		}
		for i := range r.results {
			res := &r.results[i]
			l.ask(l.keys.result(res.call.shown, res.body, res.repeat), func(v []byte) { acceptResult(results, res, v, false) })
		}
	}
	if err := l.fetch(ctx); err != nil {
		return err
	}
	pointers := map[*run][]pointer{}
	for _, r := range l.runs {
		if r.model && r.rec == nil {
			l.askPointers(r, pointers)
		}
		for _, p := range r.earlier {
			l.askPrompt(p)
		}
		if r == newest {
			continue // the newest results are new in this session, whatever another one holds
		}
		if r.prompt != nil {
			l.askPrompt(r.prompt)
		}
		for i := range r.results {
			res := &r.results[i]
			if results[res] != nil {
				continue
			}
			l.ask(l.keys.oldResult(res.call.shown, res.body), func(v []byte) { acceptResult(results, res, v, false) })
			l.ask(l.keys.maskedResult(res.call.shown), func(v []byte) { acceptResult(results, res, v, true) })
		}
	}
	if err := l.fetch(ctx); err != nil {
		return err
	}
	if err := l.follow(ctx, pointers); err != nil {
		return err
	}
	for i, r := range l.runs {
		// What stood before a denied prompt may be gone from the agent's history;
		// the answer behind it tells, too.
		if r.model && i > 0 && r.rec != nil && r.rec.Unasked && l.runs[i-1].prompt != nil && l.runs[i-1].prompt.rec == nil {
			l.runs[i-1].prompt.rec = &userRecord{Drop: true}
		}
	}
	return nil
}

// askPrompt looks for an old prompt in any session, and by its text alone: an
// agent may have dropped what stood around a prompt that the model must not see.
func (l *lookup) askPrompt(p *prompt) {
	if p.rec == nil {
		l.ask(l.keys.anyUser(p.key), p.accept)
		l.ask(l.keys.deniedPrompt(p.said), func(v []byte) {
			if p.rec == nil {
				p.accept(v)
			}
		})
	}
}

// pointer leads to the record of a turn, found by one of its calls or as a whole.
type pointer struct {
	to    store.Key
	call  int // index in the run's calls; -1 for the turn as a whole
	shown int // index in the record's Shown
}

func (l *lookup) askPointers(r *run, into map[*run][]pointer) {
	add := func(k store.Key, call int) {
		l.ask(k, func(v []byte) {
			if to, shown, ok := decodePointer(v); ok {
				into[r] = append(into[r], pointer{to, call, shown})
			}
		})
	}
	for _, t := range r.turns {
		for _, p := range t.Parts {
			if p.Kind != translate.KindCall && p.Signature != "" {
				add(l.keys.signature(p.Signature), -1)
			}
		}
	}
	for i, c := range r.calls {
		if c.part.Signature != "" {
			// Turns that look the same differ in their signatures.
			add(l.keys.signature(c.part.Signature), i)
		}
	}
	add(l.keys.anyTurn(r.looseBase), -1)
	for i, c := range r.calls {
		add(l.keys.call(c.shown), i)
		if c.part.ID != "" {
			// The agent may have made the id up: then the call's place finds it.
			add(l.keys.call(callIdentity("", c.part.Name, c.body, r.near, c.ordinal)), i)
		}
	}
}

// follow reads what the pointers lead to and takes the first that fits.
func (l *lookup) follow(ctx context.Context, pointers map[*run][]pointer) error {
	got := map[store.Key]*turnRecord{}
	for _, ps := range pointers {
		for _, p := range ps {
			if _, asked := got[p.to]; asked {
				continue
			}
			got[p.to] = nil
			l.ask(p.to, func(v []byte) {
				if rec, err := decodeTurn(v); err == nil {
					got[p.to] = rec
				}
			})
		}
	}
	if err := l.fetch(ctx); err != nil {
		return err
	}
	for r, ps := range pointers {
		for _, p := range ps {
			rec := got[p.to]
			if rec == nil {
				continue
			}
			if p.call < 0 && r.align(rec) {
				break
			}
			if p.call >= 0 && (rec.sameCalls(r.calls) && r.align(rec) || r.alignAt(rec, p, ps)) {
				break
			}
		}
	}
	return nil
}

// accept takes a record that was found by the whole turn.
func (r *run) accept(v []byte) {
	if rec, err := decodeTurn(v); err == nil {
		r.known = r.align(rec)
	}
}

// align matches the run's calls one to one with those that the agent was shown.
func (r *run) align(rec *turnRecord) bool {
	if rec.Same {
		r.rec = rec
		return true
	}
	if len(rec.Shown) != len(r.calls) {
		return false
	}
	matched := make([]int, len(r.calls))
	for i, c := range r.calls {
		if !rec.Shown[i].fits(c) {
			return false
		}
		matched[i] = i
	}
	r.rec, r.matched = rec, matched
	return true
}

// sameCalls reports whether the agent has the calls that it was shown.
func (rec *turnRecord) sameCalls(calls []item) bool {
	return slices.EqualFunc(rec.Shown, calls, func(s shownCall, c item) bool { return s.Args == c.body && s.Name == c.part.Name })
}

// alignAt takes a record that was found by single calls, where the agent changed
// the text between them. Only calls that lead to the same record are matched.
func (r *run) alignAt(rec *turnRecord, first pointer, all []pointer) bool {
	matched := make([]int, len(r.calls))
	for i := range matched {
		matched[i] = -1
	}
	n := 0
	for _, p := range all {
		if p.to != first.to || p.call < 0 || matched[p.call] >= 0 || p.shown < 0 || p.shown >= len(rec.Shown) {
			continue
		}
		if rec.Shown[p.shown].fits(r.calls[p.call]) {
			matched[p.call] = p.shown
			n++
		}
	}
	if n == 0 {
		return false
	}
	r.rec, r.matched = rec, matched
	return true
}

// fits reports whether an agent's call can be an echo of s. Two ids that differ
// are two calls, unless the model gave none.
func (s shownCall) fits(c item) bool {
	if s.Name != c.part.Name {
		return false
	}
	if s.ModelID == "" && s.ID == "" || c.part.ID == "" || s.ID == c.part.ID {
		return true
	}
	// Gemini CLI strips a prefix "name__" from ids that begin with it.
	return strings.TrimPrefix(s.ID, s.Name+"__") == c.part.ID
}

// whole reports whether every call that the agent was shown is matched.
func (r *run) whole() bool {
	n := 0
	for _, m := range r.matched {
		if m >= 0 {
			n++
		}
	}
	return n == len(r.rec.Shown)
}

func acceptResult(into map[*item]*resultRecord, res *item, v []byte, masked bool) {
	rec, err := decodeResult(v)
	if err != nil || into[res] != nil {
		return
	}
	if masked {
		// The agent shortened an old result: what was hidden stays hidden, what
		// was added is gone with the rest.
		rec = &resultRecord{Response: rec.Response, Tail: rec.Tail}
	}
	into[res] = rec
}

func encodePointer(to store.Key, shown int) []byte {
	e := encoder{b: []byte{tagPointer, recVersion}}
	e.bytes(to[:])
	e.int(shown)
	return e.b
}

func decodePointer(v []byte) (to store.Key, shown int, ok bool) {
	if len(v) < 2 || v[0] != tagPointer || v[1] != recVersion {
		return to, 0, false
	}
	d := decoder{b: v[2:]}
	k := d.bytes()
	shown = d.int()
	if d.err != nil || len(k) != len(to) {
		return to, 0, false
	}
	copy(to[:], k)
	return to, shown, true
}
