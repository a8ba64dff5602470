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

// pair matches what a hook returned with what it was shown.
//
// First come the messages that are the same in role and text: those of a
// longest common subsequence stay in place, the others of them were moved. Then
// the messages left over between the same neighbours, if of one role, are
// edits of each other; where there is a choice the more similar ones are.
func pair(base, now []message) pairing {
	match := make(pairing, len(now))
	for i := range match {
		match[i] = -1
	}
	used := make([]bool, len(base))
	link := func(n, b int) { match[n], used[b] = b, true }

	head := 0
	for head < len(base) && head < len(now) && same(base[head], now[head]) {
		link(head, head)
		head++
	}
	endB, endN := len(base), len(now)
	for endB > head && endN > head && same(base[endB-1], now[endN-1]) {
		endB--
		endN--
		link(endN, endB)
	}
	common(base[head:endB], now[head:endN], func(b, n int) { link(head+n, head+b) })

	// Moved: the same message elsewhere.
	where := map[message][]int{}
	for b := head; b < endB; b++ {
		if !used[b] {
			key := message{role: base[b].role, text: base[b].text}
			where[key] = append(where[key], b)
		}
	}
	for n := head; n < endN; n++ {
		key := message{role: now[n].role, text: now[n].text}
		if at := where[key]; match[n] < 0 && len(at) > 0 {
			link(n, at[0])
			where[key] = at[1:]
		}
	}

	for n := head; n < endN; n++ {
		if match[n] >= 0 {
			continue
		}
		from := n
		for n < endN && match[n] < 0 {
			n++
		}
		left := -1
		if from > 0 {
			left = match[from-1]
		}
		var gap []int
		for b := left + 1; b < len(base) && !used[b]; b++ {
			gap = append(gap, b)
		}
		edits(base, now, gap, from, n, link)
	}
	return match
}

func same(a, b message) bool { return a.role == b.role && a.text == b.text }

// maxTable bounds the work of one comparison: cells of its table.
const maxTable = 4 << 20

// common links a longest common subsequence, in order. Where the table would
// grow beyond measure it links greedily, which is a common subsequence, too.
func common(base, now []message, link func(b, n int)) {
	if len(base) == 0 || len(now) == 0 {
		return
	}
	ids := map[message]int32{}
	number := func(list []message) []int32 {
		out := make([]int32, len(list))
		for i, m := range list {
			key := message{role: m.role, text: m.text}
			id, ok := ids[key]
			if !ok {
				id = int32(len(ids))
				ids[key] = id
			}
			out[i] = id
		}
		return out
	}
	b, n := number(base), number(now)
	if len(b) > maxTable/len(n) {
		at := map[int32][]int{}
		for i, id := range b {
			at[id] = append(at[id], i)
		}
		next := 0
		for j, id := range n {
			list := at[id]
			for len(list) > 0 && list[0] < next {
				list = list[1:]
			}
			if at[id] = list; len(list) > 0 {
				link(list[0], j)
				next = list[0] + 1
			}
		}
		return
	}
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
			link(i, j)
			i++
			j++
		case table[(i+1)*cols+j] >= table[i*cols+j+1]:
			i++
		default:
			j++
		}
	}
}

// maxEditTable bounds the gaps in which similarity is looked at: cells again.
const maxEditTable = 1 << 20

// edits links messages of a gap that are edits of each other: as many as
// possible of the same role in order, the most similar ones where there is a choice.
func edits(base, now []message, gap []int, from, to int, link func(n, b int)) {
	if len(gap) == 0 {
		return
	}
	rows, cols := len(gap), to-from
	if rows*cols > maxEditTable {
		for i, n := 0, from; i < rows && n < to; i, n = i+1, n+1 {
			if base[gap[i]].role == now[n].role {
				link(n, gap[i])
			}
		}
		return
	}
	score := make([]float64, (rows+1)*(cols+1))
	worth := make([]float64, rows*cols)
	at := func(i, j int) *float64 { return &score[i*(cols+1)+j] }
	for i := rows - 1; i >= 0; i-- {
		for j := cols - 1; j >= 0; j-- {
			best := max(*at(i+1, j), *at(i, j+1))
			b, n := base[gap[i]], now[from+j]
			if b.role == n.role {
				worth[i*cols+j] = 4 + similarity(b.text, n.text)
				best = max(best, worth[i*cols+j]+*at(i+1, j+1))
			}
			*at(i, j) = best
		}
	}
	for i, j := 0, 0; i < rows && j < cols; {
		w := worth[i*cols+j]
		switch {
		case w > 0 && *at(i, j) == w+*at(i+1, j+1):
			link(from+j, gap[i])
			i++
			j++
		case *at(i, j) == *at(i, j+1):
			j++
		default:
			i++
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
