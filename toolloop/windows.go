package toolloop

import (
	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/translate"
)

// windows re-cuts the text of each candidate's chunks at the borders that
// AfterModel's hooks asked for. All else flows with the chunk that brought it.
type windows struct {
	border stream.Border // "" leaves chunks as they are
	lanes  map[int]*stream.Windower
}

func newWindows(w hooks.Window) *windows {
	ws := &windows{lanes: map[int]*stream.Windower{}}
	switch w {
	case hooks.WindowWord:
		ws.border = stream.Word
	case hooks.WindowSentence:
		ws.border = stream.Sentence
	case hooks.WindowAll:
		ws.border = stream.All
	}
	return ws
}

func (ws *windows) lane(index int) *stream.Windower {
	if ws.lanes[index] == nil {
		ws.lanes[index] = &stream.Windower{Border: ws.border}
	}
	return ws.lanes[index]
}

// push takes a chunk in and gives the chunks that are ready: none while all of
// its text is held.
func (ws *windows) push(w Wire, c *translate.Chunk) []*translate.Chunk {
	if ws.border == "" {
		return []*translate.Chunk{c}
	}
	e := translate.Edit{Parts: map[int][]translate.Part{}}
	carries := len(c.Candidates) == 0
	for _, cand := range c.Candidates {
		parts := ws.cut(w, cand)
		e.Parts[cand.Index] = parts
		carries = carries || len(parts) > 0 || cand.Finish != ""
	}
	if !carries {
		return nil
	}
	edited, err := w.Edit(c, e)
	if err != nil {
		return []*translate.Chunk{c}
	}
	return []*translate.Chunk{edited}
}

// cut gives a candidate's parts with as much text as is ready. Text never
// overtakes another part, nor that part the text.
func (ws *windows) cut(w Wire, cand translate.Candidate) []translate.Part {
	lane := ws.lane(cand.Index)
	parts := []translate.Part{}
	ready := ""
	out := func() {
		if ready != "" {
			parts = append(parts, w.TextPart(ready))
			ready = ""
		}
	}
	for _, p := range cand.Parts {
		if p.Kind == translate.KindText && p.Signature == "" {
			ready += lane.Push(textOf(p))
			continue
		}
		ready += lane.Flush()
		out()
		parts = append(parts, p)
	}
	if cand.Finish != "" {
		ready += lane.Flush()
	}
	out()
	return parts
}

// rest gives what is still held when a stream ends without a finish reason; nil
// for nothing.
func (ws *windows) rest(w Wire, like *translate.Chunk) []*translate.Chunk {
	var out []*translate.Chunk
	for index, lane := range ws.lanes {
		if text := lane.Flush(); text != "" {
			out = append(out, w.Answer(like, index, []translate.Part{w.TextPart(text)}, ""))
		}
	}
	return out
}
