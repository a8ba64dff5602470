package redact

// literals is an Aho-Corasick automaton over all prefixes and keywords, as a
// table: one load per byte, and its state is a number, so that a scan resumes
// in the next chunk where it stopped. ASCII letters match in either case.
type literals struct {
	cls   [256]uint8
	table [256]uint32 // classes of bytes, with cls above them
	shift uint        // a state's row starts at state<<shift
	next  []uint16    // target state; acceptBit is set where words end
	out   [][]int32
}

const acceptBit = 0x8000

// newLiterals builds the automaton; word i is reported as i. It panics if the
// words need more than 32,767 states, which is a fault of the tables here.
func newLiterals(words []string) *literals {
	l := &literals{}
	ncls := 1 // class 0: bytes that occur in no word
	for _, w := range words {
		for i := range len(w) {
			c := toLower(w[i])
			if l.cls[c] == 0 {
				l.cls[c] = uint8(ncls)
				ncls++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		l.cls[c] = l.cls[c+32]
	}
	for c := range l.table {
		l.table[c] = class[c] | uint32(l.cls[c])<<clsShift
	}
	for 1<<l.shift < ncls {
		l.shift++
	}
	trie := []map[uint8]int{{}}
	ends := [][]int32{nil}
	for id, w := range words {
		s := 0
		for i := range len(w) {
			k := l.cls[w[i]]
			t, ok := trie[s][k]
			if !ok {
				t = len(trie)
				trie = append(trie, map[uint8]int{})
				ends = append(ends, nil)
				trie[s][k] = t
			}
			s = t
		}
		ends[s] = append(ends[s], int32(id))
	}
	if len(trie) > acceptBit {
		panic("redact: too many literals for a 15-bit state")
	}
	l.fill(trie, ends)
	return l
}

// fill numbers the states in breadth-first order, which keeps the rows that
// ordinary text visits next to each other, and follows the failure links.
func (l *literals) fill(trie []map[uint8]int, ends [][]int32) {
	order := []int{0}
	num := make([]int, len(trie))
	for i := 0; i < len(order); i++ {
		for k := range 1 << l.shift {
			if t, ok := trie[order[i]][uint8(k)]; ok {
				num[t] = len(order)
				order = append(order, t)
			}
		}
	}
	l.next = make([]uint16, len(order)<<l.shift)
	l.out = make([][]int32, len(order))
	fail := make([]int, len(order))
	for s, node := range order {
		l.out[s] = append(append([]int32(nil), ends[node]...), l.out[fail[s]]...)
		for k := range 1 << l.shift {
			back := 0
			if s > 0 {
				back = int(l.next[fail[s]<<l.shift|k] &^ acceptBit)
			}
			if t, ok := trie[node][uint8(k)]; ok {
				fail[num[t]] = back
				back = num[t]
			}
			l.next[s<<l.shift|k] = uint16(back)
		}
	}
	for i, t := range l.next {
		if len(l.out[t]) > 0 {
			l.next[i] = t | acceptBit
		}
	}
}
