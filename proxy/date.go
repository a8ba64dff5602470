package proxy

import (
	"bufio"
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// headReaders parse the few bytes of begin.
var headReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 256) }}

// begin starts a response header: it clears it, sets status and date, and names
// the request. fasthttp lets nobody set a Date - it drops the upstream's and
// writes its own - but it keeps one that it has parsed. date "" means now.
func begin(h *fasthttp.ResponseHeader, id string, status int, date string) {
	if date == "" || len(date) > 64 {
		date = time.Now().UTC().Format(http.TimeFormat)
	}
	var head [160]byte
	b := append(head[:0], "HTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(status), 10)
	b = append(b, " \r\nContent-Length: 0\r\nDate: "...)
	b = append(b, date...)
	b = append(b, "\r\n\r\n"...)
	r := headReaders.Get().(*bufio.Reader)
	r.Reset(bytes.NewReader(b))
	if err := h.Read(r); err != nil {
		// A status or date that cannot be parsed: do without.
		h.SetStatusCode(status)
	}
	r.Reset(nil)
	headReaders.Put(r)
	h.SetStatusCode(status)
	h.Set(headerRequestID, id)
}
