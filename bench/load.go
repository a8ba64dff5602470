package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// request is what a client sends: some history, as an agent has it.
func request(host, model string) []byte {
	turn := `{"role":"user","parts":[{"text":"` + strings.Repeat("history ", 60) + `"}]},{"role":"model","parts":[{"text":"` + strings.Repeat("answer ", 60) + `"}]}`
	body := `{"contents":[` + turn + `,` + turn + `,{"role":"user","parts":[{"text":"go on"}]}],"generationConfig":{"temperature":0.5}}`
	return fmt.Appendf(nil, "POST /v1beta/models/%s:streamGenerateContent?alt=sse HTTP/1.1\r\nHost: %s\r\nUser-Agent: google-genai-sdk/2.32.0 gl-node/v20\r\nX-Goog-Api-Client: google-genai-sdk/2.32.0 gl-node/v20\r\nX-Goog-Api-Key: bench\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%s",
		model, host, len(body), body)
}

// client asks and compares on one connection.
type client struct {
	c    net.Conn
	r    *bufio.Reader
	req  []byte
	body []byte // re-used
}

func newClient(addr, model string) (*client, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{c: c, r: bufio.NewReaderSize(c, 32<<10), req: request(addr, model)}, nil
}

var errChanged = errors.New("the answer is not what the upstream sent")

func (c *client) once() error {
	if _, err := c.c.Write(c.req); err != nil {
		return err
	}
	if err := c.head(); err != nil {
		return err
	}
	c.body = c.body[:0]
	for {
		n, err := c.chunk()
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if !bytes.Equal(c.body, wantBody) {
		return errChanged
	}
	return nil
}

func (c *client) head() error {
	isChunked := false
	for first := true; ; first = false {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("header: %w", err)
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")) {
			return fmt.Errorf("answered %q", line)
		}
		if len(line) == 2 {
			break
		}
		if k, v, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(k, []byte("transfer-encoding")) && bytes.Contains(v, []byte("chunked")) {
			isChunked = true
		}
	}
	if !isChunked {
		return errors.New("the answer is not chunked")
	}
	return nil
}

// chunk reads one chunk into the body and returns its length.
func (c *client) chunk() (int, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, fmt.Errorf("chunk: %w", err)
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
	if err != nil {
		return 0, err
	}
	at := len(c.body)
	c.body = append(c.body, make([]byte, n)...)
	if _, err := io.ReadFull(c.r, c.body[at:]); err != nil {
		return 0, fmt.Errorf("chunk: %w", err)
	}
	var end [2]byte
	_, err = io.ReadFull(c.r, end[:])
	return int(n), err
}

// outcome is what a round gave.
type outcome struct {
	rate float64 // whole answers per second
	bad  int     // answers cut or changed
}

// warmClient makes a client that has had one good answer. A way that gives none in
// three tries does not work at all.
func warmClient(addr string, bad *int) (c *client, err error) {
	for range 3 {
		if c, err = newClient(addr, "gemini-2.5-flash"); err != nil {
			return nil, err
		}
		if err = c.once(); err == nil {
			return c, nil
		}
		*bad++
		_ = c.c.Close()
	}
	return nil, err
}

// load lets n clients ask for as long as d. A client whose answer was bad goes on
// with a new connection.
func load(ctx context.Context, addr string, n int, d time.Duration) (o outcome, err error) {
	clients := make([]*client, n)
	defer func() {
		for _, c := range clients {
			if c != nil {
				_ = c.c.Close()
			}
		}
	}()
	for i := range clients {
		if clients[i], err = warmClient(addr, &o.bad); err != nil {
			return o, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var wg sync.WaitGroup
	good, bad, errs := make([]int, n), make([]int, n), make([]error, n)
	begun := time.Now()
	for i := range clients {
		wg.Go(func() {
			for ctx.Err() == nil {
				if clients[i].once() == nil {
					good[i]++
					continue
				}
				bad[i]++
				_ = clients[i].c.Close()
				c, err := newClient(addr, "gemini-2.5-flash")
				if err != nil {
					errs[i] = err
					return
				}
				clients[i] = c
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	total := 0
	for i := range n {
		total += good[i]
		o.bad += bad[i]
	}
	o.rate = float64(total) / took.Seconds()
	return o, errors.Join(errs...)
}
