package toolloop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/translate"
)

// transcripts are JSON Lines files, one for each session, for hooks to read: what
// the user said, what the tools gave and what the model answered, as the model's
// side has it. A line is {"timestamp","type","key","content"}; type is "user" or
// "gemini", content is a content of the API.
type transcripts struct {
	dir string // absolute; "" keeps none

	mu    sync.Mutex
	files *lru.Cache[string, map[string]bool] // the keys of lines that a file is known to hold
}

// maxTranscripts bounds what is remembered of files; one that is forgotten is
// read again.
const maxTranscripts = 1024

func newTranscripts(dir string) *transcripts {
	files, err := lru.New[string, map[string]bool](maxTranscripts)
	if err != nil {
		panic("toolloop: " + err.Error())
	}
	return &transcripts{dir: dir, files: files}
}

// path is where a session's transcript stands; "" when none is kept. Session ids
// come from requests: only harmless ones become file names as they are.
func (t *transcripts) path(tenant, session string) string {
	if t.dir == "" || session == "" {
		return ""
	}
	name := session
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
	}
	if len(name) > 80 || strings.ContainsFunc(name, func(r rune) bool { return !harmless(r) }) {
		var d digester
		sum := d.string(name).sum()
		name = hex.EncodeToString(sum[:16])
	}
	var d digester
	sum := d.string(tenant).sum()
	return filepath.Join(t.dir, name+"-"+hex.EncodeToString(sum[:4])+".jsonl")
}

// line is one content of a transcript. The key keeps a content that is sent
// again from being written again.
type line struct {
	kind    string
	key     digest
	content []byte
}

// append writes the lines that the file does not hold yet. earlier are lines for
// a file that is empty so far.
func (t *transcripts) append(path, now string, earlier, lines []line) error {
	if path == "" || len(lines) == 0 {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	known, ok := t.files.Get(path)
	if !ok {
		var err error
		if known, err = readKeys(path); err != nil {
			return err
		}
		t.files.Add(path, known)
	}
	if len(known) == 0 {
		lines = append(earlier, lines...)
	}
	var b bytes.Buffer
	for _, l := range lines {
		key := hex.EncodeToString(l.key[:12])
		if known[key] {
			continue
		}
		known[key] = true
		b.WriteString(`{"timestamp":"` + now + `","type":"` + l.kind + `","key":"` + key + `","content":`)
		b.Write(oneLine(l.content))
		b.WriteString("}\n")
	}
	if b.Len() == 0 {
		return nil
	}
	if err := os.MkdirAll(t.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b.Bytes())
	return errors.Join(err, f.Close())
}

// oneLine takes line ends from between the tokens of a JSON document; within
// strings there are none.
func oneLine(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}

func readKeys(path string) (map[string]bool, error) {
	known := map[string]bool{}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	for {
		l, err := r.ReadBytes('\n')
		if k := gjson.GetBytes(l, "key"); k.Exists() {
			known[k.Str] = true
		}
		if errors.Is(err, io.EOF) {
			return known, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *Loop) transcriptPath(c *Call) string { return l.transcripts.path(c.Tenant, c.Session) }

// transcribe writes the user's newest turns, and at a session's first sight all
// of its history.
func (h *history) transcribe(ctx context.Context) {
	if !h.conversation || h.loop.transcripts.dir == "" {
		return
	}
	var earlier, newest []line
	var before digest
	for i, r := range h.runs {
		kind, key := "user", r.full
		if r.model {
			kind, key = "gemini", r.content
		}
		for j, t := range r.turns {
			var d digester
			l := line{kind: kind, key: d.bytes(before[:]).bytes(key[:]).int(j).sum(), content: t.Raw}
			if i == len(h.runs)-1 {
				newest = append(newest, l)
			} else {
				earlier = append(earlier, l)
			}
		}
		before = key
	}
	h.loop.write(ctx, h.call, earlier, newest)
}

func (l *Loop) write(ctx context.Context, c *Call, earlier, lines []line) {
	path := l.transcriptPath(c)
	if err := l.transcripts.append(path, l.o.Now().UTC().Format("2006-01-02T15:04:05.000Z"), earlier, lines); err != nil {
		l.warn(ctx, c, "transcript not written", err)
	}
}

// transcribe writes a model turn before the hooks on its calls fire.
func (r *round) transcribe(ctx context.Context, parts []translate.Part) {
	if !r.history.conversation || r.loop.transcripts.dir == "" {
		return
	}
	content := []byte(`{"role":"model","parts":[`)
	for i, p := range parts {
		if i > 0 {
			content = append(content, ',')
		}
		content = append(content, p.Raw...)
	}
	var d digester
	key := d.string(r.call.ID).int(len(r.done)).sum()
	r.loop.write(ctx, r.call, nil, []line{{kind: "gemini", key: key, content: append(content, "]}"...)}})
}
