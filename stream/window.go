package stream

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Border says where a [Windower] cuts text.
type Border string

const (
	Word     Border = "word"     // behind white space, and behind punctuation of scripts without spaces
	Sentence Border = "sentence" // behind a sentence's end mark and the space that follows it, and behind a line break
	All      Border = "all"      // only at the end
)

// Windower holds the text of one lane (one candidate's text, or its thoughts)
// back until a border, so that whoever reads it never sees half a word or half a
// sentence. What it gives out, joined, is what was pushed, byte for byte,
// however the text was cut before. Text without a border is held until
// [Windower.Flush]. The zero value cuts at words.
type Windower struct {
	Border Border

	held    []byte
	scanned int // held[:scanned] has been looked at

	// Sentence: where in one the scan stands.
	ended  bool // behind an end mark and what may close with it
	wide   bool // that mark needs no space behind it
	spaced bool // in the space behind a sentence
}

// Push adds text and returns what is ready: all up to the last border, "" for
// nothing. What it returns ends at a border.
func (w *Windower) Push(text string) string {
	w.held = append(w.held, text...)
	cut := 0
	for w.Border != All && utf8.FullRune(w.held[w.scanned:]) {
		at := w.scanned
		r, n := utf8.DecodeRune(w.held[at:])
		w.scanned += n
		if w.Border == Sentence {
			cut = max(cut, w.sentence(r, at))
		} else if space(r) || strings.ContainsRune(wideStops, r) {
			cut = w.scanned
		}
	}
	if cut == 0 {
		return ""
	}
	ready := string(w.held[:cut])
	w.held = w.held[:copy(w.held, w.held[cut:])]
	w.scanned -= cut
	return ready
}

// Flush returns what is still held; the text has ended.
func (w *Windower) Flush() string {
	text := string(w.held)
	*w = Windower{Border: w.Border}
	return text
}

// Held is how many bytes are held back.
func (w *Windower) Held() int { return len(w.held) }

const (
	stops     = ".!?…"                   // end a sentence if white space follows
	wideEnds  = "。！？"                    // end a sentence by themselves
	wideStops = "。！？，、；："                // end a word by themselves
	closers   = `"'”’»)]}」』”）】》` + "*_`" // may stand between the mark and the space
)

// space leaves out the one that is there to prevent a break.
func space(r rune) bool { return unicode.IsSpace(r) && r != '\u00a0' }

// sentence looks at the rune at offset at and returns the border that it
// reveals, as an offset; 0 for none.
func (w *Windower) sentence(r rune, at int) int {
	ended, wide, spaced := w.ended, w.wide, w.spaced
	switch {
	case r == '\n' || r == '\u2028' || r == '\u2029':
		w.ended, w.spaced = false, true
		return w.scanned
	case space(r):
		w.ended, w.spaced = false, ended || spaced
		if w.spaced {
			return w.scanned
		}
	case strings.ContainsRune(wideEnds, r):
		w.ended, w.wide, w.spaced = true, true, false
	case strings.ContainsRune(stops, r):
		w.ended, w.wide, w.spaced = true, ended && wide, false
	case ended && strings.ContainsRune(closers, r):
	default:
		w.ended, w.spaced = false, false
		if ended && wide {
			return at
		}
	}
	return 0
}
