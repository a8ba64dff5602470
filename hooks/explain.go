package hooks

import (
	"fmt"
	"slices"
	"strings"
)

// Planned says of one hook whether a firing runs it, for people.
type Planned struct {
	Hook   string // its label
	Source string
	Runs   bool
	Why    string // why it runs or does not
}

// Explain says of each hook that listens to an event whether in would run it. It
// fires nothing, and takes no account of hooks that run once.
func (s *Set) Explain(in Input) []Planned {
	var all []Planned
	var seen []*Hook
	for _, g := range s.groups[in.Event] {
		for _, h := range g.hooks {
			p := Planned{Hook: h.Label(), Source: h.Source}
			same := slices.IndexFunc(seen, h.same)
			switch {
			case h.listener.Takes != nil && !h.listener.Takes(&in):
				p.Why = h.listener.Name + " is not about this"
			case !h.takes(&in):
				p.Why = fmt.Sprintf("its matcher takes none of %s", strings.Join(h.listener.Subjects(&in), ", "))
			case !h.named(&in):
				p.Why = fmt.Sprintf("its if, %q, does not name this call", h.If)
			case same >= 0:
				p.Why = "it is the same hook as " + seen[same].Label()
			default:
				p.Runs, p.Why = true, h.why(&in)
				seen = append(seen, h)
			}
			all = append(all, p)
		}
	}
	return all
}

// why is what lets a hook run.
func (h *Hook) why(in *Input) string {
	parts := []string{"it takes everything"}
	if h.matcher != nil {
		names := h.listener.Subjects(in)
		if i := slices.IndexFunc(names, h.matcher); i >= 0 {
			parts[0] = "its matcher takes " + names[i]
		} else {
			parts[0] = "there is nothing to match"
		}
	}
	if h.Async {
		parts = append(parts, "in the background")
	}
	return strings.Join(parts, ", ")
}
