package gemini

// message is a line of the conversation as hooks see it.
type message struct {
	role string
	text string
	turn int // index of the turn it shows; systemMessage, or -1 for a hook's own
}

const systemMessage = -2

// pairing says, for each message a hook returned, which message it was shown it
// stands for: -1 means it is new.
type pairing []int

// Bounds of the work of one comparison: cells of its table. Beyond maxCompared
// the similarity of texts is not looked at, beyond maxTable nothing is but order.
const (
	maxCompared = 1 << 20
	maxTable    = 4 << 20
)

// differ matches what a hook returned with what it was shown.
type differ struct {
	base, now     []message
	baseID, nowID []int32 // the same number means the same role and text
	surplus       []int32 // by number: how many more of them base has than now
	match         pairing
	used          []bool // by place in base
}

// pair matches messages.
//
// First come the messages that are the same in role and text: those of a
// longest common subsequence stay in place, the others of them were moved. Of
// the rest those of one role between the same neighbours are edits of each
// other; where there is a choice, as many as possible and the most similar ones.
func pair(base, now []message) pairing {
	d := &differ{base: base, now: now, match: make(pairing, len(now)), used: make([]bool, len(base))}
	for i := range d.match {
		d.match[i] = -1
	}
	d.number()
	head := 0
	for head < len(base) && head < len(now) && d.baseID[head] == d.nowID[head] {
		d.link(head, head)
		head++
	}
	endB, endN := len(base), len(now)
	for endB > head && endN > head && d.baseID[endB-1] == d.nowID[endN-1] {
		endB--
		endN--
		d.link(endB, endN)
	}
	left, right := span{head, endB}, span{head, endN}
	switch rows, cols := endB-head, endN-head; {
	case rows == 0 || cols == 0:
	case rows <= maxCompared/cols:
		d.align(rangeOf(left), right)
	case rows <= maxTable/cols:
		d.common(left, right)
	default:
		d.greedy(left, right)
	}
	d.moved(left, right)
	d.gaps(right)
	return d.match
}

func (d *differ) link(b, n int) { d.match[n], d.used[b] = b, true }

func (d *differ) number() {
	type key struct{ role, text string }
	ids := map[key]int32{}
	list := func(messages []message, count int32) []int32 {
		out := make([]int32, len(messages))
		for i, m := range messages {
			id, ok := ids[key{m.role, m.text}]
			if !ok {
				id = int32(len(ids))
				ids[key{m.role, m.text}] = id
				d.surplus = append(d.surplus, 0)
			}
			d.surplus[id] += count
			out[i] = id
		}
		return out
	}
	d.baseID, d.nowID = list(d.base, 1), list(d.now, -1)
}

func rangeOf(s span) []int {
	out := make([]int, 0, s.end-s.start)
	for i := s.start; i < s.end; i++ {
		out = append(out, i)
	}
	return out
}

// worth is what linking two messages counts in an alignment: the same ones more
// than all edits together; 0 for those that cannot be edits of each other. A
// message that stands on the other side, too, was not edited.
func (d *differ) worth(b, n int) float64 {
	switch {
	case d.baseID[b] == d.nowID[n]:
		return 1e6
	case d.base[b].role != d.now[n].role || d.surplus[d.baseID[b]] <= 0 || d.surplus[d.nowID[n]] >= 0:
		return 0
	}
	return 4 + similarity(d.base[b].text, d.now[n].text)
}

// align links, in order, the places rows of base with the range of now so that
// the sum of what the links are worth is greatest.
func (d *differ) align(rows []int, now span) {
	cols := now.end - now.start
	score := make([]float64, (len(rows)+1)*(cols+1))
	worth := make([]float64, len(rows)*cols)
	at := func(i, j int) *float64 { return &score[i*(cols+1)+j] }
	for i := len(rows) - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			best := max(*at(i+1, j), *at(i, j+1))
			if w := d.worth(rows[i], now.start+j); w > 0 {
				worth[i*cols+j] = w
				best = max(best, w+*at(i+1, j+1))
			}
			*at(i, j) = best
		}
	}
	for i, j := 0, 0; i < len(rows) && j < cols; {
		w := worth[i*cols+j]
		switch {
		case w > 0 && *at(i, j) == w+*at(i+1, j+1):
			d.link(rows[i], now.start+j)
			i++
			j++
		case *at(i, j) == *at(i, j+1):
			j++
		default:
			i++
		}
	}
}

// common links a longest common subsequence.
func (d *differ) common(base, now span) {
	b, n := d.baseID[base.start:base.end], d.nowID[now.start:now.end]
	cols := len(n) + 1
	table := make([]int32, (len(b)+1)*cols)
	for i := len(b) - 1; i >= 0; i-- {
		for j := len(n) - 1; j >= 0; j-- {
			if b[i] == n[j] {
				table[i*cols+j] = table[(i+1)*cols+j+1] + 1
			} else {
				table[i*cols+j] = max(table[(i+1)*cols+j], table[i*cols+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(b) && j < len(n); {
		switch {
		case b[i] == n[j]:
			d.link(base.start+i, now.start+j)
			i++
			j++
		case table[(i+1)*cols+j] >= table[i*cols+j+1]:
			i++
		default:
			j++
		}
	}
}

// greedy links a common subsequence in one pass.
func (d *differ) greedy(base, now span) {
	at := map[int32][]int{}
	for b := base.start; b < base.end; b++ {
		at[d.baseID[b]] = append(at[d.baseID[b]], b)
	}
	next := 0
	for n := now.start; n < now.end; n++ {
		list := at[d.nowID[n]]
		for len(list) > 0 && list[0] < next {
			list = list[1:]
		}
		if at[d.nowID[n]] = list; len(list) > 0 {
			d.link(list[0], n)
			next = list[0] + 1
		}
	}
}

// moved links the same messages wherever they stand.
func (d *differ) moved(base, now span) {
	at := map[int32][]int{}
	for b := base.start; b < base.end; b++ {
		if !d.used[b] {
			at[d.baseID[b]] = append(at[d.baseID[b]], b)
		}
	}
	for n := now.start; n < now.end; n++ {
		if list := at[d.nowID[n]]; d.match[n] < 0 && len(list) > 0 {
			d.link(list[0], n)
			at[d.nowID[n]] = list[1:]
		}
	}
}

// gaps links what is left behind the same neighbour on both sides.
func (d *differ) gaps(now span) {
	for n := now.start; n < now.end; n++ {
		if d.match[n] >= 0 {
			continue
		}
		from := n
		for n < now.end && d.match[n] < 0 {
			n++
		}
		b := 0
		if from > 0 {
			b = d.match[from-1] + 1
		}
		var rows []int
		for ; b < len(d.base) && !d.used[b]; b++ {
			rows = append(rows, b)
		}
		if len(rows) == 0 {
			continue
		}
		if len(rows) <= maxCompared/(n-from) {
			d.align(rows, span{from, n})
			continue
		}
		for i := 0; i < len(rows) && from+i < n; i++ {
			if d.base[rows[i]].role == d.now[from+i].role {
				d.link(rows[i], from+i)
			}
		}
	}
}

// similarity is the share of two texts that they begin and end with in common,
// 0 to 1. Of long texts only the ends are looked at.
func similarity(a, b string) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b) == 0 {
		return 0
	}
	const most = 256
	head := 0
	for head < min(len(a), most) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a)-head, most) && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return float64(head+tail) / float64(min(len(b), 2*most))
}
