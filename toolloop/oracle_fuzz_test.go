package toolloop

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/toolloop/store"
	"github.com/hookline-proxy/hookline/translate"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

var sampleTurn = &turnRecord{Retries: 1, Clear: 1, Shown: []shownCall{{ID: "1", ModelID: "1", Name: "f", Pos: 1, Rewritten: true}},
	Rounds: []mRound{
		{Parts: [][]byte{[]byte(`{"text":"a"}`)}, Reply: [][]byte{[]byte(`{"text":"again"}`)}},
		{Parts: [][]byte{[]byte(`{"functionCall":{"name":"g","args":{}}}`), []byte(`{"functionCall":{"name":"f","args":{},"id":"1"}}`)}},
	},
	Joined: []joined{{Pos: 0, Result: []byte(`{"functionResponse":{"name":"g","response":{}}}`)}}}

// FuzzRecords reads hostile ledger entries: none may panic, and what is read comes
// back the same when it is written and read again.
func FuzzRecords(f *testing.F) {
	f.Add(sampleTurn.encode())
	f.Add((&turnRecord{Same: true}).encode())
	f.Add((&turnRecord{Tail: true, Shown: []shownCall{{Name: "t", Pos: -1}}}).encode())
	f.Add((&resultRecord{Response: []byte(`{}`), Context: "c", Stop: "s", Tail: &tailRecord{ID: "i", Name: "n", Args: []byte(`{}`)}}).encode())
	f.Add((&userRecord{Blocks: []string{"b"}, Drop: true, Answer: "no"}).encode())
	f.Add(encodePointer(store.Key{1}, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if rec, err := decodeTurn(b); err == nil {
			again, err := decodeTurn(rec.encode())
			if err != nil {
				t.Fatalf("turn record, written again: %v", err)
			}
			if diff := cmp.Diff(rec, again); diff != "" {
				t.Errorf("turn record (-read +again):\n%s", diff)
			}
		}
		if rec, err := decodeResult(b); err == nil {
			if again, err := decodeResult(rec.encode()); err != nil || !cmp.Equal(rec, again) {
				t.Errorf("result record: %+v, again %+v, %v", rec, again, err)
			}
		}
		if rec, err := decodeUser(b); err == nil {
			if again, err := decodeUser(rec.encode()); err != nil || !cmp.Equal(rec, again) {
				t.Errorf("user record: %+v, again %+v, %v", rec, again, err)
			}
		}
		if to, shown, ok := decodePointer(b); ok {
			if to2, shown2, ok := decodePointer(encodePointer(to, shown)); !ok || to2 != to || shown2 != shown {
				t.Errorf("pointer: %v %d", to, shown)
			}
		}
	})
}

// everywhere is a store that gives one value for every key.
type everywhere struct {
	store.Store
	value []byte
}

func (e everywhere) Get(_ context.Context, keys []store.Key) ([][]byte, error) {
	vals := make([][]byte, len(keys))
	for i := range vals {
		vals[i] = e.value
	}
	return vals, nil
}

func (e everywhere) Put(context.Context, []store.Entry) error { return nil }

// FuzzToModel turns hostile histories into the model's: with an empty ledger they
// go up byte for byte, with any entry under every key nothing panics, and what goes
// up is JSON.
func FuzzToModel(f *testing.F) {
	for _, contents := range []string{
		`[{"role":"user","parts":[{"text":"hi"}]}]`,
		`[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":1.0}}},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"c2ln"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"x"}}},{"functionResponse":{"id":"9","name":"f","response":{"output":2}}}]}]`,
		`[{"role":"model","parts":[{"text":""}]},{"parts":[{}]},{"role":"user","parts":[]},{"role":"model","parts":[{"functionCall":{}}]},{"role":"function","parts":[{"functionResponse":{}},{"text":"<hook_context>a</hook_context>b"}]}]`,
		`[{"role":"user","parts":[{"functionResponse":{"name":"f","response":[1]}}]},{"role":"user","parts":[{"text":"\ud800"}]},{"role":"model"}]`,
	} {
		for _, rec := range [][]byte{
			nil, sampleTurn.encode(), (&turnRecord{Unasked: true}).encode(),
			(&turnRecord{Tail: true, Shown: []shownCall{{Name: "f", Pos: -1}}}).encode(),
			(&resultRecord{Stop: "s", Response: []byte(`{"error":"s"}`)}).encode(),
			(&resultRecord{Tail: &tailRecord{Name: "f", Args: []byte(`{}`)}}).encode(),
			(&userRecord{Drop: true, Blocks: []string{"b"}}).encode(), encodePointer(store.Key{}, 0),
		} {
			f.Add([]byte(contents), rec)
		}
	}
	f.Fuzz(func(t *testing.T, contents, entry []byte) {
		body := append(append([]byte(`{"contents":`), contents...), '}')
		w := gemini.Wire{}
		req, err := w.ParseRequest(body, "m")
		if err != nil {
			return
		}
		before := bytes.Clone(body)
		turn := func(l *Loop) *translate.Request {
			c := Call{ID: "x", Tenant: "t", Session: "s", Wire: w, Model: "m", Body: body}
			h, err := l.toModel(t.Context(), &c, req, true)
			if err != nil {
				t.Fatalf("toModel: %v", err)
			}
			if !h.changed {
				return req
			}
			out, err := w.WithTurns(req, h.out)
			if err != nil {
				t.Skip() // nothing is left, or it does not fit: the call is refused
			}
			return out
		}
		if got := turn(New(Options{Store: store.NewMemory(store.MemoryOptions{})})); !bytes.Equal(got.Raw, body) {
			t.Errorf("no entries, but %s went up as %s", body, got.Raw)
		}
		got := turn(New(Options{Store: everywhere{value: entry}}))
		if !json.Valid(got.Raw) && json.Valid(before) {
			t.Errorf("%s with %q went up as %s", before, entry, got.Raw)
		}
		if !bytes.Equal(body, before) {
			t.Errorf("the request's body was changed")
		}
	})
}
