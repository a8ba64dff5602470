package gemini

import (
	"strings"

	"github.com/hookline-proxy/hookline/translate"
)

// placed is a turn of the new history. from is the turn it was made of, -1 for
// one that a hook inserted; group is the one of groupsOf that it belongs to.
type placed struct {
	turn  translate.Turn
	from  int
	group int
}

// rewrite makes the new history of the messages that a hook returned. base are
// the messages that it was shown, match says which is which.
//
// Turns move in groups: a call and its results, and the contents of one model
// turn that was split, never part; a group without any message follows the one
// before it. Of a deleted message the text goes and all else stays where it was.
func rewrite(turns []translate.Turn, base, now []message, match pairing) (out []placed, changed bool) {
	groups := groupsOf(turns)
	groupOf := make([]int, len(turns))
	for g, s := range groups {
		for t := s.start; t < s.end; t++ {
			groupOf[t] = g
		}
	}
	const untouched, deleted = -1, -2
	shown := make([]int, len(turns)) // by turn: the message of now, or the above
	for t := range shown {
		shown[t] = untouched
	}
	for _, m := range base {
		if m.turn >= 0 {
			shown[m.turn] = deleted
		}
	}
	anchored := make([]bool, len(groups))
	for n, b := range match {
		if b >= 0 && base[b].turn >= 0 {
			shown[base[b].turn] = n
			anchored[groupOf[base[b].turn]] = true
		}
	}

	emit := func(g int) {
		for t := groups[g].start; t < groups[g].end; t++ {
			turn, keep := turns[t], true
			switch n := shown[t]; {
			case n == deleted:
				turn, keep = withoutText(turn)
				changed = true
			case n >= 0:
				var edited bool
				turn, keep, edited = withMessage(turn, now[n].text)
				changed = changed || edited
			}
			if keep {
				out = append(out, placed{turn, t, g})
			}
		}
	}
	emitted := make([]bool, len(groups))
	follow := func(g int) {
		for ; g < len(groups) && !anchored[g]; g++ {
			emit(g)
		}
	}
	follow(0)
	last := -1
	for n, b := range match {
		if b < 0 || base[b].turn < 0 {
			// The system instruction is no turn; see applySystem.
			if b < 0 && now[n].role != "system" && now[n].text != "" {
				out = append(out, placed{inserted(now[n]), -1, -1})
				changed = true
			}
			continue
		}
		g := groupOf[base[b].turn]
		if emitted[g] {
			continue
		}
		emitted[g] = true
		changed = changed || g < last
		last = g
		emit(g)
		follow(g + 1)
	}
	if changed {
		out = repair(turns, out)
	}
	return out, changed
}

func inserted(m message) translate.Turn {
	return translate.Turn{Role: m.role, Parts: []translate.Part{Wire{}.TextPart(m.text)}}
}

// groupsOf cuts a history into the turns that must stay together.
func groupsOf(turns []translate.Turn) []span {
	var groups []span
	for t, turn := range turns {
		joined := false
		if t > 0 {
			before := turns[t-1]
			joined = has(turn, translate.KindResult) ||
				turn.FromModel() && before.FromModel() && (has(turn, translate.KindCall) || has(before, translate.KindCall))
		}
		if joined {
			groups[len(groups)-1].end = t + 1
		} else {
			groups = append(groups, span{t, t + 1})
		}
	}
	return groups
}

func has(t translate.Turn, kind translate.PartKind) bool {
	for _, p := range t.Parts {
		if p.Kind == kind {
			return true
		}
	}
	return false
}

// repair mends what a change of order may break: the API wants a call after a
// user turn or after results. A call that now follows a model's text becomes
// part of that turn; one that no user turn precedes any more is taken out with its
// results.
func repair(turns []translate.Turn, in []placed) []placed {
	out := in[:0:0]
	dropped := -1
	for _, p := range in {
		keep := true
		if dropped >= 0 && p.group == dropped {
			p.turn, keep = without(p.turn, translate.KindCall, translate.KindResult)
		}
		if !keep {
			continue
		}
		if !has(p.turn, translate.KindCall) {
			out = append(out, p)
			continue
		}
		last := len(out) - 1
		torn := last < 0 && p.from > 0 ||
			last >= 0 && out[last].turn.FromModel() && (out[last].from < 0 || out[last].from != p.from-1)
		switch {
		case torn && last <= 0:
			dropped = p.group
			if p.turn, keep = without(p.turn, translate.KindCall, translate.KindResult); keep {
				out = append(out, p)
			}
		case torn:
			joint := translate.Turn{Role: p.turn.Role}
			joint.Parts = append(append(joint.Parts, out[last].turn.Parts...), p.turn.Parts...)
			out[last] = placed{joint, p.from, p.group}
		default:
			out = append(out, p)
		}
	}
	return out
}

// withoutText takes the text parts out of a turn. keep is false when nothing
// is left that means anything without them.
func withoutText(t translate.Turn) (translate.Turn, bool) {
	return without(t, translate.KindText)
}

func without(t translate.Turn, kinds ...translate.PartKind) (_ translate.Turn, keep bool) {
	var parts []translate.Part
	for _, p := range t.Parts {
		gone := false
		for _, k := range kinds {
			gone = gone || p.Kind == k
		}
		if gone {
			continue
		}
		parts = append(parts, p)
		keep = keep || p.Kind != translate.KindThought && !isBare(p)
	}
	return withParts(t, parts), keep
}

// isBare reports whether a part carries nothing but a signature.
func isBare(p translate.Part) bool {
	if p.Kind != translate.KindOther || !isObject(p.Raw) {
		return false
	}
	return isEmptyObject(drop(drop(p.Raw, "thoughtSignature"), "thought"))
}

// withParts exchanges the parts of a turn; its other members stay.
func withParts(t translate.Turn, parts []translate.Part) translate.Turn {
	t.Parts = parts
	if isObject(t.Raw) {
		t.Raw = set(t.Raw, "parts", rawParts(parts), false)
	}
	return t
}

func rawParts(parts []translate.Part) []byte {
	raws := make([][]byte, len(parts))
	for i, p := range parts {
		raws[i] = p.Raw
	}
	return list(raws)
}

// withMessage gives a turn another text. Text parts at its beginning and end
// that the new text still holds stay as they are, signatures included; the
// first one of the rest takes what is new, without its signature, since that
// belongs to other text; further ones go.
func withMessage(t translate.Turn, text string) (_ translate.Turn, keep, edited bool) {
	var old []string
	for _, p := range t.Parts {
		if p.Kind == translate.KindText {
			old = append(old, unquote(p.Text))
		}
	}
	if strings.Join(old, "") == text {
		return t, true, false
	}
	if text == "" {
		t, keep = withoutText(t)
		return t, keep, true
	}
	head, tail, rest := 0, len(old), text
	for head < tail && strings.HasPrefix(rest, old[head]) {
		rest = rest[len(old[head]):]
		head++
	}
	for tail > head && strings.HasSuffix(rest, old[tail-1]) {
		tail--
		rest = rest[:len(rest)-len(old[tail])]
	}
	if head == tail {
		// Text was added between parts: the one before takes it, but not an
		// empty one, whose signature would be lost for nothing.
		for head--; head > 0 && old[head] == ""; head-- {
		}
		if head >= 0 {
			rest = old[head] + rest
		} else {
			head, rest = 0, rest+old[0]
		}
		tail = head + 1
	}
	parts := make([]translate.Part, 0, len(t.Parts))
	n := -1 // which text part it is
	for _, p := range t.Parts {
		if p.Kind != translate.KindText {
			parts = append(parts, p)
			continue
		}
		switch n++; {
		case n < head || n >= tail:
			parts = append(parts, p)
		case n == head && rest != "":
			parts = append(parts, withText(p, quoted(rest), false))
		}
	}
	return withParts(t, parts), true, true
}
