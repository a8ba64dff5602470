package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"strings"
)

const (
	chunks   = 50
	chunkLen = 100 // bytes of text in each
)

// event is one chunk of the answer as the API sends it.
func event(i int) string {
	text := strings.Repeat("word ", chunkLen/5)
	usage := ""
	if i == chunks-1 {
		usage = `,"finishReason": "STOP"`
	}
	return fmt.Sprintf(`data: {"candidates": [{"content": {"parts": [{"text": "%s"}],"role": "model"}%s,"index": 0}],"usageMetadata": {"promptTokenCount": 9,"candidatesTokenCount": %d,"totalTokenCount": %d},"modelVersion": "gemini-2.5-flash","responseId": "bench"}`+"\r\n\r\n", text, usage, i, i+9)
}

// wantBody is what every client must get, rendered once; answerBytes is how the
// upstream sends it.
var wantBody, answerBytes = func() ([]byte, []byte) {
	var body, wire bytes.Buffer
	wire.WriteString(streamHead)
	for i := range chunks {
		ev := event(i)
		body.WriteString(ev)
		fmt.Fprintf(&wire, "%x\r\n%s\r\n", len(ev), ev)
	}
	wire.WriteString("0\r\n\r\n")
	return body.Bytes(), wire.Bytes()
}()

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nDate: Mon, 30 Nov 2026 00:00:00 GMT\r\nServer: bench\r\nTransfer-Encoding: chunked\r\n\r\n"

// serveUpstream answers each request with the same bytes, at once. A request
// whose path holds "hold" gets the first event only, and then nothing.
func serveUpstream(ln net.Listener) error {
	for {
		c, err := ln.Accept()
		if err != nil {
			return err
		}
		go upstreamConn(c) // ends with the connection
	}
}

func upstreamConn(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		hold, err := readRequest(r)
		if err != nil {
			return
		}
		out := answerBytes
		if hold {
			ev := event(0)
			out = fmt.Appendf(nil, "%s%x\r\n%s\r\n", streamHead, len(ev), ev)
		}
		if _, err := c.Write(out); err != nil {
			return
		}
	}
}

// readRequest takes a request off the connection.
func readRequest(r *bufio.Reader) (hold bool, err error) {
	length := 0
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return false, err
		}
		if first {
			hold = bytes.Contains(line, []byte("hold"))
		}
		if len(line) == 2 {
			break
		}
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(k, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return false, err
			}
		}
	}
	_, err = r.Discard(length)
	return hold, err
}
