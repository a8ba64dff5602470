package toolloop

import (
	"hash/maphash"
	"sync"

	"github.com/hookline-proxy/hookline/translate"
)

// Agents resend their whole history with every request, so nearly all of its
// bytes were seen before. A memo remembers what was made of them. It is an
// optimisation only: what it forgets is made again.
type memo[V any] struct {
	limit int // cost of a generation
	cost  func(V) int

	mu    sync.Mutex
	young map[memoKey]V
	old   map[memoKey]V // the generation before; what is asked for grows young again
	spent int           // cost of young
}

// memoKey is a hash of bytes under a secret seed of this process, and their
// number: nobody who does not know the seed can make two inputs meet.
type memoKey struct {
	hash uint64
	n    int
}

var memoSeed = maphash.MakeSeed()

func keyOf(b []byte) memoKey { return memoKey{maphash.Bytes(memoSeed, b), len(b)} }

func (m *memo[V]) get(k memoKey) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok = m.young[k]; ok {
		return v, true
	}
	if v, ok = m.old[k]; ok {
		m.keep(k, v)
	}
	return v, ok
}

func (m *memo[V]) put(k memoKey, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(k, v)
}

func (m *memo[V]) keep(k memoKey, v V) {
	if m.spent += m.cost(v); m.young == nil || m.spent > m.limit {
		m.old, m.young, m.spent = m.young, map[memoKey]V{}, m.cost(v)
	}
	m.young[k] = v
}

const (
	memoFrom    = 512      // bytes from which a digest is worth remembering
	memoDigests = 1 << 15  // digests of a generation
	memoBytes   = 16 << 20 // bytes of edited results of a generation
)

// memos are a loop's.
type memos struct {
	digests memo[digest]
	results memo[translate.Part]
}

func newMemos() *memos {
	return &memos{
		digests: memo[digest]{limit: memoDigests, cost: func(digest) int { return 1 }},
		results: memo[translate.Part]{limit: memoBytes, cost: func(p translate.Part) int { return len(p.Raw) + 256 }},
	}
}

// digest is [argsDigest].
func (m *memos) digest(raw []byte) digest {
	if m == nil || len(raw) < memoFrom {
		return argsDigest(raw)
	}
	k := keyOf(raw)
	d, ok := m.digests.get(k)
	if !ok {
		d = argsDigest(raw)
		m.digests.put(k, d)
	}
	return d
}

// resultEdit is what the model's side changes of a result.
type resultEdit struct {
	response []byte // replaces the response; nil for none
	output   []byte // stands in the place of what the model reads of it; nil for none
	context  string // appended; "" for none
	notice   bool   // the result says that its call was rewritten
	setID    bool
	id       string // "" removes it
}

func (e resultEdit) none() bool {
	return e.response == nil && e.output == nil && e.context == "" && !e.notice && !e.setID
}

// apply edits a result. The outcome does not refer to p's bytes unless it is p.
func (e resultEdit) apply(w Wire, p translate.Part) translate.Part {
	body := p.Body
	if e.response != nil {
		body = e.response
	} else {
		if e.output != nil {
			body = replaceOutput(body, e.output)
		}
		if e.context != "" {
			body = appendNote(body, "\n\n"+e.context, "hook_context")
		}
	}
	if e.notice {
		body = appendNote(body, rewrittenNotice, "hook_notice")
	}
	switch {
	case e.response != nil:
		// Made anew: a result may bring pictures and files beside its response.
		p = w.ResultPart(p.ID, p.Name, body)
	case e.output != nil || e.context != "" || e.notice:
		p = w.WithResponse(p, body)
	}
	if e.setID && p.ID != e.id {
		p = w.WithCall(p, e.id, p.Name)
	}
	return p
}

// edit applies an edit, or finds what it came to before.
func (m *memos) edit(w Wire, p translate.Part, e resultEdit) translate.Part {
	if len(p.Raw) < memoFrom {
		return e.apply(w, p)
	}
	raw := keyOf(p.Raw)
	var d digester
	d.int(int(raw.hash)).int(raw.n).bytes(e.response).bytes(e.output).string(e.context).string(e.id)
	for _, flag := range []bool{e.response != nil, e.notice, e.setID} {
		if flag {
			d.int(1)
		} else {
			d.int(0)
		}
	}
	k := keyOf(d.buf)
	edited, ok := m.results.get(k)
	if !ok {
		edited = e.apply(w, p)
		// The request's body is not ours for longer than the request.
		m.results.put(k, w.Part(append([]byte(nil), edited.Raw...)))
	}
	return edited
}
