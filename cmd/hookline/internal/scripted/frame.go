package scripted

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// format is how a request asks for its answer.
type format struct {
	sse     bool // alt=sse
	stream  bool // streamGenerateContent
	numbers bool // enums as numbers
	wrapped bool // Code Assist: {"response":…}
	gzip    bool
}

// queryFormat reads the query by hand: url.ParseQuery drops a pair that holds a
// semicolon, as "$alt=json;enum-encoding=int" does.
func queryFormat(raw string) (f format) {
	for pair := range strings.SplitSeq(raw, "&") {
		if un, err := url.QueryUnescape(pair); err == nil {
			pair = un
		}
		k, v, _ := strings.Cut(pair, "=")
		if k != "alt" && k != "$alt" {
			continue
		}
		alt, opt, _ := strings.Cut(v, ";")
		f.sse = alt == "sse"
		f.numbers = opt == "enum-encoding=int"
	}
	return f
}

// finishReasons are numbered from 0
// (google/ai/generativelanguage/v1beta/generative_service.proto, read 2026-11-30).
var finishReasons = []string{
	"FINISH_REASON_UNSPECIFIED", "STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "OTHER", "LANGUAGE", "BLOCKLIST",
	"PROHIBITED_CONTENT", "SPII", "MALFORMED_FUNCTION_CALL", "IMAGE_SAFETY", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
}

func (d document) numbered() document {
	d.Candidates = slices.Clone(d.Candidates)
	for i, c := range d.Candidates {
		if n := slices.IndexFunc(finishReasons, func(s string) bool { return s == c.FinishReason }); n >= 0 {
			d.Candidates[i].FinishReason = n
		}
	}
	d.UsageMetadata.PromptTokensDetails = slices.Clone(d.UsageMetadata.PromptTokensDetails)
	for i := range d.UsageMetadata.PromptTokensDetails {
		d.UsageMetadata.PromptTokensDetails[i].Modality = 1
	}
	return d
}

// encode writes a document as Google does: a space after each colon, < and >
// escaped, all else as it is.
func encode(v any) []byte {
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("scripted: encode an answer: " + err.Error()) // our own types
	}
	var out bytes.Buffer
	inString := false
	src := bytes.TrimSpace(plain.Bytes())
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case inString && c == '\\':
			out.Write(src[i : i+2])
			i++
		case c == '"':
			inString = !inString
			out.WriteByte(c)
		case inString && (c == '<' || c == '>'):
			fmt.Fprintf(&out, `\u%04x`, c)
		case !inString && c == ':':
			out.WriteString(": ")
		default:
			out.WriteByte(c)
		}
	}
	return out.Bytes()
}

func pretty(compact []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		panic("scripted: indent an answer: " + err.Error())
	}
	b.WriteByte('\n')
	return b.Bytes()
}

func (f format) encode(d document, trace string) []byte {
	if f.numbers {
		d = d.numbered()
	}
	if f.wrapped {
		return encode(struct {
			Response document `json:"response"`
			TraceID  string   `json:"traceId"`
		}{d, trace})
	}
	return encode(d)
}

// framer writes documents in one of the framings and flushes each.
type framer struct {
	format
	w  http.ResponseWriter
	zw *gzip.Writer
	n  int // documents written
}

func newFramer(w http.ResponseWriter, f format) *framer {
	fr := &framer{format: f, w: w}
	ct := "application/json; charset=UTF-8"
	if f.stream && f.sse {
		ct = "text/event-stream"
	}
	w.Header().Set("Content-Type", ct)
	w.Header().Set("Vary", "Origin, X-Origin, Referer")
	if f.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		fr.zw = gzip.NewWriter(w)
	}
	return fr
}

func (f *framer) write(b []byte) {
	var w io.Writer = f.w
	if f.zw != nil {
		w = f.zw
	}
	if _, err := w.Write(b); err != nil {
		return // the client is gone; its context ends the answer
	}
	if f.zw != nil {
		_ = f.zw.Flush()
	}
	if f.stream {
		_ = http.NewResponseController(f.w).Flush()
	}
}

// framed puts a document into the framing, the bytes before it included.
func (f *framer) framed(compact []byte) []byte {
	switch {
	case !f.stream:
		return pretty(compact)
	case f.sse:
		return slices.Concat([]byte("data: "), compact, []byte("\r\n\r\n"))
	case f.n == 0:
		return append([]byte("["), pretty(compact)...)
	default:
		return append([]byte(",\r\n"), pretty(compact)...)
	}
}

// document writes one event, or the unary document.
func (f *framer) document(compact []byte) {
	f.write(f.framed(compact))
	f.n++
}

// half writes the first half of an event, for a connection that breaks.
func (f *framer) half(compact []byte) {
	b := f.framed(compact)
	f.write(b[:len(b)/2])
}

// failure writes an error in the midst of a stream: raw, as Google does it.
func (f *framer) failure(body []byte) {
	if !f.sse && f.n > 0 {
		f.write([]byte(",\r\n"))
	}
	f.write(body)
}

func (f *framer) close() {
	if f.stream && !f.sse {
		f.write([]byte("]\n"))
	}
	if f.zw != nil {
		_ = f.zw.Close()
	}
}
