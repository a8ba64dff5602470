package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// painter writes for a terminal or for a file.
type painter struct {
	w     io.Writer
	color bool
	width int // columns
}

// newPainter colours on a terminal only, unless NO_COLOR is set (no-color.org).
func newPainter(w io.Writer) *painter {
	p := &painter{w: w, width: 100}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil {
			p.width = min(max(cols, 60), 140)
		}
	}
	return p
}

// Colours, as SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

var roleColor = map[string]string{"user": green, "model": cyan, "call": yellow, "result": yellow}

func (p *painter) paint(sgr, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

func (p *painter) scene(n int, s scene) {
	title := fmt.Sprintf(" %d. %s ", n, s.Title)
	fmt.Fprintf(p.w, "\n%s\n", p.paint(bold, "──"+title+strings.Repeat("─", max(0, p.width-2-utf8.RuneCountInString(title)))))
	fmt.Fprintf(p.w, "%s\n\n", p.paint(dim, s.About))
	half := (p.width - 3) / 2
	left, right := p.column(s.Agent, half), p.column(s.Model, half)
	p.row(p.paint(bold, "the agent saw"), len("the agent saw"), p.paint(bold, "the model saw"), half)
	for i := range max(len(left), len(right)) {
		var l, r cell
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		p.row(p.paint(l.color, l.text), utf8.RuneCountInString(l.text), p.paint(r.color, r.text), half)
	}
	fmt.Fprintln(p.w)
	for _, h := range s.Hooks {
		said := h.Stdout
		if h.Exit != 0 {
			said = fmt.Sprintf("exit %d, stderr: %s", h.Exit, h.Stderr)
		}
		color := ""
		if h.Exit == 2 {
			color = red
		}
		for i, l := range wrap(said, p.width-4-len(h.Hook)-len(h.Event)-6) {
			lead := fmt.Sprintf("hook %s (%s): ", h.Hook, h.Event)
			if i > 0 {
				lead = strings.Repeat(" ", len(lead))
			}
			fmt.Fprintf(p.w, "%s%s\n", p.paint(dim, lead), p.paint(color, l))
		}
	}
}

// row prints two cells; leftLen is the left one's width without its colours.
func (p *painter) row(left string, leftLen int, right string, half int) {
	fmt.Fprintf(p.w, "%s%s %s %s\n", left, strings.Repeat(" ", max(0, half-leftLen)), p.paint(dim, "│"), right)
}

type cell struct{ text, color string }

// column breaks lines to a width, with their speaker in front.
func (p *painter) column(lines []line, width int) []cell {
	var out []cell
	for _, l := range lines {
		for i, text := range wrap(l.Text, width-8) {
			who := ""
			if i == 0 {
				who = l.Who
			}
			out = append(out, cell{fmt.Sprintf("%-7s %s", who, text), roleColor[l.Who]})
		}
	}
	return out
}

// wrap breaks text into lines of at most width characters, at blanks where
// there are any. Control characters become blanks.
func wrap(text string, width int) []string {
	width = max(width, 10)
	var lines []string
	for para := range strings.SplitSeq(text, "\n") {
		runes := []rune(printable(para))
		for len(runes) > width {
			cut := width
			for i := width; i > width/2; i-- {
				if runes[i] == ' ' {
					cut = i
					break
				}
			}
			lines = append(lines, string(runes[:cut]))
			runes = runes[cut:]
			if runes[0] == ' ' {
				runes = runes[1:]
			}
		}
		if len(runes) > 0 {
			lines = append(lines, string(runes))
		}
	}
	if lines == nil {
		lines = []string{""}
	}
	return lines
}
