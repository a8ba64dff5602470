package run

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxResult      = 64 << 10 // bytes of one tool result
	maxAllResults  = 1 << 20  // bytes of all results of a run
	maxLine        = 2000     // bytes of one line
	maxLines       = 2000     // lines of one read_file
	maxScan        = 16 << 20 // bytes that one call reads
	maxSearched    = 1 << 20  // bytes of a file that grep looks into; longer ones are left out
	maxEntries     = 50_000   // files and folders that one call meets
	maxFound       = 500      // paths that glob, and lines that grep, gives
	maxPatternText = 1000     // bytes of a pattern
)

// files are the reading tools of an agent hook. All paths stay below its root:
// neither ".." nor a symbolic link leads out.
type files struct {
	root *os.Root
	dir  string // absolute
	left int    // bytes that results may still have
}

func openFiles(dir string) (*files, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &files{root: root, dir: dir, left: maxAllResults}, nil
}

func (f *files) Close() error { return f.root.Close() }

// call runs one of fileTools. Its answer is for a model.
func (f *files) call(ctx context.Context, name string, args map[string]any) map[string]any {
	if f.left <= 0 {
		return toolError("you have read enough: give your verdict")
	}
	var out map[string]any
	var err error
	switch name {
	case "read_file":
		out, err = f.read(args)
	case "glob":
		out, err = f.glob(ctx, args)
	case "grep":
		out, err = f.grep(ctx, args)
	default:
		err = errors.New("there is no such tool")
	}
	if err != nil {
		return toolError(clipText(reason(err), 500))
	}
	f.left -= responseSize(out)
	return out
}

// reason is an error's cause without paths of this machine.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// name makes a path of the model's one below the root.
func (f *files) name(args map[string]any) string {
	p, _ := args["path"].(string)
	p = filepath.FromSlash(p)
	if filepath.IsAbs(p) {
		if rel, err := filepath.Rel(f.dir, p); err == nil {
			p = rel
		}
	}
	if p == "" {
		return "."
	}
	return filepath.Clean(p)
}

// open opens a regular file. Others, like pipes, could make it wait for ever.
func (f *files) open(name string) (*os.File, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	switch {
	case err != nil:
	case st.IsDir():
		err = errors.New("is a folder")
	case !st.Mode().IsRegular():
		err = errors.New("is no regular file")
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

var errBinary = errors.New("is a binary file")

// lines gives a text file's lines, without their ends and cut to maxLine, until
// each says false.
func lines(r io.Reader, each func(n int, line string) bool) error {
	br := bufio.NewReaderSize(io.LimitReader(r, maxScan), 32<<10)
	head, _ := br.Peek(8 << 10)
	if bytes.IndexByte(head, 0) >= 0 {
		return errBinary
	}
	for n := 1; ; n++ {
		var line []byte
		for {
			part, err := br.ReadSlice('\n')
			if room := maxLine + 1 - len(line); room > 0 {
				line = append(line, part[:min(room, len(part))]...)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				if len(line) > 0 {
					each(n, clipText(string(line), maxLine))
				}
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
		}
		if !each(n, clipText(strings.TrimRight(string(line), "\r\n"), maxLine)) {
			return nil
		}
	}
}

func clipText(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func (f *files) read(args map[string]any) (map[string]any, error) {
	file, err := f.open(f.name(args))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	first, limit := intOf(args["offset"], 1), intOf(args["limit"], maxLines)
	limit = min(limit, maxLines)
	var b strings.Builder
	next := 0
	err = lines(file, func(n int, line string) bool {
		if n < first {
			return true
		}
		if n >= first+limit || b.Len()+len(line) > min(maxResult, f.left) {
			next = n
			return false
		}
		b.WriteString(line)
		b.WriteByte('\n')
		return true
	})
	if err != nil {
		return nil, err
	}
	out := map[string]any{"output": b.String()}
	if next > 0 {
		out["next_offset"] = next
	}
	return out, nil
}

func intOf(v any, usual int) int {
	if n, ok := v.(float64); ok && n >= 1 && n <= 1<<30 {
		return int(n)
	}
	return usual
}

// found collects lines of a result up to its limits.
type found struct {
	b     strings.Builder
	n     int
	limit int // bytes
	full  bool
}

func (r *found) add(line string) bool {
	if r.n >= maxFound || r.b.Len()+len(line) > r.limit {
		r.full = true
		return false
	}
	r.b.WriteString(line)
	r.b.WriteByte('\n')
	r.n++
	return true
}

func (r *found) result() map[string]any {
	out := map[string]any{"output": r.b.String()}
	if r.n == 0 {
		out["output"] = "nothing found"
	}
	if r.full {
		out["note"] = "there is more: narrow the search"
	}
	return out
}

// skipped are folders that hold no work of the project's own.
var skipped = map[string]bool{".git": true, "node_modules": true, ".venv": true, "__pycache__": true}

var errEnough = errors.New("enough")

// walk gives the regular files below a folder, in order; symbolic links are left
// out. It ends when each says false, or after maxEntries.
func (f *files) walk(ctx context.Context, dir string, each func(name string, d fs.DirEntry) bool) error {
	entries := 0
	err := fs.WalkDir(f.root.FS(), filepath.ToSlash(dir), func(name string, d fs.DirEntry, err error) error {
		if entries++; entries > maxEntries || ctx.Err() != nil {
			return errEnough
		}
		switch {
		case err != nil && name == filepath.ToSlash(dir):
			return err
		case err != nil:
			return nil // a folder that cannot be read hides nothing from the rest
		case d.IsDir() && skipped[d.Name()] && name != filepath.ToSlash(dir):
			return fs.SkipDir
		case d.Type().IsRegular() && !each(name, d):
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

func (f *files) glob(ctx context.Context, args map[string]any) (map[string]any, error) {
	pattern, _ := args["pattern"].(string)
	match, err := compileGlob(pattern)
	if err != nil {
		return nil, err
	}
	dir := filepath.ToSlash(f.name(args))
	out := found{limit: min(maxResult, f.left)}
	err = f.walk(ctx, dir, func(name string, _ fs.DirEntry) bool {
		rel := strings.TrimPrefix(name, dir+"/")
		return !match.MatchString(rel) || out.add(name)
	})
	if err != nil {
		return nil, err
	}
	return out.result(), nil
}

func (f *files) grep(ctx context.Context, args map[string]any) (map[string]any, error) {
	pattern, _ := args["pattern"].(string)
	if pattern == "" || len(pattern) > maxPatternText {
		return nil, fmt.Errorf("pattern must have 1 to %d bytes", maxPatternText)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	include := regexp.MustCompile("")
	if s, _ := args["include"].(string); s != "" {
		if include, err = compileGlob(s); err != nil {
			return nil, err
		}
	}
	out := found{limit: min(maxResult, f.left)}
	budget := maxScan
	search := func(name string) bool {
		file, err := f.open(filepath.FromSlash(name))
		if err != nil {
			return true
		}
		defer file.Close()
		st, err := file.Stat()
		if err != nil || st.Size() > maxSearched {
			return true
		}
		if budget -= int(st.Size()); budget < 0 {
			out.full = true
			return false
		}
		_ = lines(file, func(n int, line string) bool { // a binary file has no lines
			return !re.MatchString(line) || out.add(fmt.Sprintf("%s:%d: %s", name, n, clipText(line, 300)))
		})
		return !out.full
	}
	start := f.name(args)
	if st, err := f.root.Stat(start); err != nil {
		return nil, err
	} else if st.Mode().IsRegular() {
		search(filepath.ToSlash(start))
		return out.result(), nil
	}
	err = f.walk(ctx, start, func(name string, _ fs.DirEntry) bool {
		if !include.MatchString(name) && !include.MatchString(path.Base(name)) {
			return true
		}
		return search(name)
	})
	if err != nil {
		return nil, err
	}
	return out.result(), nil
}

// compileGlob makes a pattern with *, **, ?, [a-z] and {a,b} a regular expression.
func compileGlob(pattern string) (*regexp.Regexp, error) {
	if pattern == "" || len(pattern) > maxPatternText {
		return nil, fmt.Errorf("pattern must have 1 to %d bytes", maxPatternText)
	}
	pattern = strings.TrimPrefix(filepath.ToSlash(pattern), "./")
	var b strings.Builder
	b.WriteString(`^(?s:`)
	braces := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(`.*`)
			i++
		case c == '*':
			b.WriteString(`[^/]*`)
		case c == '?':
			b.WriteString(`[^/]`)
		case c == '{':
			b.WriteString(`(?:`)
			braces++
		case c == '}' && braces > 0:
			b.WriteString(`)`)
			braces--
		case c == ',' && braces > 0:
			b.WriteString(`|`)
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 0 {
				return nil, errors.New("[ without ]")
			}
			set := strings.Replace(pattern[i:i+end+1], "[!", "[^", 1)
			b.WriteString(set)
			i += end
		default:
			r, n := utf8.DecodeRuneInString(pattern[i:])
			b.WriteString(regexp.QuoteMeta(string(r)))
			i += n - 1
		}
	}
	if braces > 0 {
		return nil, errors.New("{ without }")
	}
	b.WriteString(`)$`)
	return regexp.Compile(b.String())
}
