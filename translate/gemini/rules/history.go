package rules

import "strconv"

const (
	countsMessage   = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn."
	responseMessage = "Please ensure that function response turn comes immediately after a function call turn."
	callMessage     = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
	lastMessage     = "Please ensure that multiturn requests end with a user role or a function response."
	singleMessage   = "Please ensure that single turn requests end with a user role or the role field is empty."
	missingMessage  = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, " +
		"and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s` , position %d. " +
		"Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
	corruptedMessage = "Corrupted thought signature."
)

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func text(m map[string]any, k string) string {
	s, _ := member(m, k).(string)
	return s
}

func message(p part) map[string]any {
	m, _ := p.data.(map[string]any)
	return m
}

// history checks that calls and results alternate. Calls are counted for each
// content, as the API does it: a model turn that is spread over several
// contents may hold calls in one of them only.
func (c *checker) history() *Violation {
	pending := -1 // the turn whose calls wait for their results
	for i, t := range c.turns {
		calls, responses := t.of("functionCall"), t.of("functionResponse")
		if len(calls) > 0 {
			if !t.fromModel() || i == 0 {
				return broken(CallTurn, callMessage)
			}
			if pending >= 0 {
				return broken(Counts, countsMessage)
			}
			pending = i
		}
		switch {
		case len(responses) > 0:
			if t.fromModel() || pending < 0 {
				return broken(ResponseTurn, responseMessage)
			}
			if v := c.paired(pending, i); v != nil {
				return v
			}
			pending = -1
		case !t.fromModel() && pending >= 0:
			return broken(Counts, countsMessage)
		}
	}
	if pending >= 0 {
		return broken(Counts, countsMessage)
	}
	if c.turns[len(c.turns)-1].fromModel() {
		if len(c.turns) == 1 {
			return broken(LastTurn, singleMessage)
		}
		return broken(LastTurn, lastMessage)
	}
	return nil
}

// paired checks the calls of one turn against the results of another: by id
// where both have one, else by position.
func (c *checker) paired(ci, ri int) *Violation {
	ct, rt := c.turns[ci], c.turns[ri]
	calls, responses := ct.of("functionCall"), rt.of("functionResponse")
	if len(calls) != len(responses) {
		return broken(Counts, countsMessage)
	}
	byID := map[string]int{}
	for k, at := range calls {
		if id := text(message(ct.parts[at]), "id"); id != "" {
			byID[id] = k
		}
	}
	taken := map[int]bool{}
	for k, at := range responses {
		r := message(rt.parts[at])
		id := text(r, "id")
		to, found := byID[id]
		if !found {
			to = k
			if text(message(ct.parts[calls[k]]), "id") != "" && id != "" {
				return broken(Pairing, "The id %q of contents[%d].parts[%d].function_response is no id of the calls before it.", id, ri, at)
			}
		}
		call := message(ct.parts[calls[to]])
		if taken[to] || text(call, "name") != text(r, "name") {
			return broken(Pairing, "contents[%d].parts[%d].function_response does not answer the function call `%s` in its place.", ri, at, text(call, "name"))
		}
		taken[to] = true
	}
	return nil
}

// currentTurn is the place of the last user content that is no result: with it
// the turn begins whose calls must be signed.
func (c *checker) currentTurn() int {
	for i := len(c.turns) - 1; i >= 0; i-- {
		if t := c.turns[i]; !t.fromModel() && len(t.of("functionResponse")) == 0 {
			return i
		}
	}
	return 0
}

// signed asks for a signature on the first call of each content of the current
// turn, as Gemini 3 does. It comes before the counts: calls that an agent spread
// over several contents are refused as unsigned, not as uneven.
func (c *checker) signed() *Violation {
	if !c.Gemini3 {
		return nil
	}
	for i := c.currentTurn() + 1; i < len(c.turns); i++ {
		calls := c.turns[i].of("functionCall")
		if len(calls) == 0 {
			continue
		}
		if p := c.turns[i].parts[calls[0]]; p.sig == "" {
			return broken(MissingSig, missingMessage, text(message(p), "name"), i+1)
		}
	}
	return nil
}

// issued holds calls and signatures against what the model said.
func (c *checker) issued() *Violation {
	if c.Issued == nil {
		return nil
	}
	for i, t := range c.turns {
		for _, p := range t.parts {
			if v := c.Issued.check(p, c.declared, i+1); v != nil {
				return v
			}
		}
	}
	return nil
}
