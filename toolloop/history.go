package toolloop

import (
	"bytes"
	"math"
	"slices"

	"github.com/hookline-proxy/hookline/translate"
)

// run is a stretch of consecutive turns of one side. Agents differ in how they
// cut a side into turns (one per chunk, one per answer), so everything that is
// looked up is looked up by run.
type run struct {
	model bool
	turns []translate.Turn

	// user runs
	results []item
	twice   bool   // some result stands there twice (Gemini CLI 0.61 does so when it resumes); it goes up once
	full    digest // texts and results
	loose   digest // the prompt, else texts and names of results: survives an agent that masks or drops old turns

	prompt  *prompt   // the turn in which the user speaks; nil for none
	earlier []*prompt // those before it, of answers that the agent did not keep

	// model runs
	calls []item
	text  []byte // what the agent shows, thoughts left out, trimmed
	// The base digests say what the turn is and what stood before it.
	base, looseBase digest
	near            digest // loose digest of the user run before
	content         digest // what the turn is, whatever stood before it
	ordinal         int    // how many runs before it have the same base

	rec     *turnRecord
	known   bool  // rec is this session's own
	matched []int // for each of calls, its index in rec.Shown; -1 for none
}

// item is a function call or result of a run.
type item struct {
	part    translate.Part
	body    digest // arguments or response
	ordinal int    // among those of the same name and body in its run
	call    *item  // results: the call answered, never nil
	shown   digest // calls: its identity, as the agent has it
	at      int    // results: which of the turn's calls it answers; math.MaxInt for none
	repeat  int    // results: how many earlier ones of the history look the same
}

// split cuts a history into runs and takes their digests. m may be nil.
func split(turns []translate.Turn, m *memos) []*run {
	var runs []*run
	for i := 0; i < len(turns); {
		j := i + 1
		for j < len(turns) && turns[j].FromModel() == turns[i].FromModel() {
			j++
		}
		runs = append(runs, &run{model: turns[i].FromModel(), turns: turns[i:j]})
		i = j
	}
	var near *run
	seen, prompts, repeats := map[digest]int{}, map[digest]int{}, map[[2]digest]int{}
	for i, r := range runs {
		if !r.model {
			r.readUser(m)
			var before *run
			if i > 0 {
				before = runs[i-1]
			}
			r.pair(before)
			for k := range r.results {
				// An agent without call ids that asks for the same again and again.
				like := [2]digest{r.results[k].call.shown, r.results[k].body}
				r.results[k].repeat = repeats[like]
				repeats[like]++
			}
			r.readPrompts(before, prompts)
			near = r
			continue
		}
		r.readModel(near, m)
		r.ordinal = seen[r.base]
		seen[r.base]++
	}
	return runs
}

func (r *run) readUser(m *memos) {
	var full, loose digester
	count := map[digest]int{}
	for i, t := range r.turns {
		if i == len(r.turns)-1 && !hasResults(t) {
			loose = digester{} // a prompt stands for itself, whatever is left of the turns before it
		}
		for _, p := range t.Parts {
			switch p.Kind {
			case translate.KindText:
				full.buf = appendText(full.buf, p.Text)
				loose.buf = appendText(loose.buf, p.Text)
			case translate.KindResult:
				it := item{part: p, body: m.digest(p.Body)}
				if slices.ContainsFunc(r.results, it.again) {
					r.twice = true
					continue
				}
				r.results = append(r.results, numbered(it, count))
				full.string(p.Name).bytes(it.body[:])
				loose.string(p.Name)
			}
		}
	}
	r.full, r.loose = full.sum(), loose.sum()
}

// again reports whether a result says once more what another of its run does.
func (it item) again(other item) bool {
	return it.part.ID != "" && it.part.ID == other.part.ID && it.part.Name == other.part.Name && it.body == other.body
}

func hasResults(t translate.Turn) bool {
	return slices.ContainsFunc(t.Parts, func(p translate.Part) bool { return p.Kind == translate.KindResult })
}

func (r *run) readModel(near *run, m *memos) {
	count := map[digest]int{}
	for _, t := range r.turns {
		for _, p := range t.Parts {
			switch p.Kind {
			case translate.KindText:
				r.text = appendText(r.text, p.Text)
			case translate.KindCall:
				r.calls = append(r.calls, numbered(item{part: p, body: m.digest(p.Body)}, count))
			}
		}
	}
	r.text = bytes.TrimSpace(r.text)
	var full, loose digest
	if near != nil {
		full, loose = near.full, near.loose
	}
	r.near = loose
	r.content = contentDigest(r.text, r.calls)
	r.base, r.looseBase = turnDigests(full, loose, r.content)
	for i := range r.calls {
		c := &r.calls[i]
		c.shown = callIdentity(c.part.ID, c.part.Name, c.body, loose, c.ordinal)
	}
}

// numbered gives an item its ordinal among the like.
func numbered(it item, count map[digest]int) item {
	var d digester
	k := d.string(it.part.Name).bytes(it.body[:]).sum()
	it.ordinal = count[k]
	count[k]++
	return it
}

// contentDigest names a model turn by what the agent shows of it. Ids are left
// out: agents drop and invent them.
func contentDigest(text []byte, calls []item) digest {
	var d digester
	d.bytes(text)
	for _, c := range calls {
		d.string(c.part.Name).bytes(c.body[:])
	}
	return d.sum()
}

// turnDigests names a model turn by its content and its neighbour, strictly and
// loosely.
func turnDigests(full, loose, content digest) (base, looseBase digest) {
	var a, b digester
	return a.bytes(full[:]).bytes(content[:]).sum(), b.bytes(loose[:]).bytes(content[:]).sum()
}

// pair finds the call that each result answers: by id, else the next open one of
// that name. A result without a call gets one of its own, that stands nowhere.
func (r *run) pair(before *run) {
	var open []*item
	if before != nil {
		for i := range before.calls {
			open = append(open, &before.calls[i])
		}
	}
	take := func(res *item, ok func(*item) bool) bool {
		for i, c := range open {
			if c != nil && ok(c) {
				res.call, res.at, open[i] = c, i, nil
				return true
			}
		}
		return false
	}
	for i := range r.results {
		res := &r.results[i]
		if id := res.part.ID; id != "" {
			take(res, func(c *item) bool { return c.part.ID == id })
		}
	}
	for i := range r.results {
		res := &r.results[i]
		if res.call != nil {
			continue
		}
		if !take(res, func(c *item) bool { return c.part.Name == res.part.Name }) {
			c := translate.Part{ID: res.part.ID, Name: res.part.Name}
			res.at = math.MaxInt
			res.call = &item{part: c, shown: callIdentity(c.ID, c.Name, digest{}, r.loose, res.ordinal)}
		}
	}
}
