package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A file of 2 GB goes up without being held in memory.
func TestHugeUpload(t *testing.T) {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("this system does not tell a process's memory")
	}
	const limit = 64 << 20
	for framing, size := range map[string]int64{"sized": 2 << 30, "chunked": 256 << 20} {
		t.Run(framing, func(t *testing.T) {
			if testing.Short() {
				size = 128 << 20
			}
			got := make(chan int64, 1)
			addr, pid := serveProcess(t, countingUpstream(t, got))
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			sendHuge(t, conn, framing, size)
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if m, err := readRaw(bufio.NewReader(conn)); err != nil || string(m.body) != "ok" {
				t.Fatalf("answer %q, %v", m.head, err)
			}
			if n := <-got; n != size {
				t.Errorf("%d of %d bytes arrived", n, size)
			}
			if peak := peakMemory(t, pid); peak > limit {
				t.Errorf("the proxy's memory peaked at %d MiB, want %d at most", peak>>20, limit>>20)
			} else {
				t.Logf("peak %d MiB", peak>>20)
			}
		})
	}
}

// countingUpstream takes one upload and tells how large its body was.
func countingUpstream(t *testing.T, got chan<- int64) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() { // ends with its one connection, or the listener
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		r := bufio.NewReaderSize(c, 256<<10)
		m, err := readHead(r)
		if err != nil {
			return
		}
		var n int64
		if v := m.header("Content-Length"); len(v) == 1 {
			want, err := strconv.ParseInt(v[0], 10, 64)
			if err != nil {
				return
			}
			n, _ = io.CopyN(io.Discard, r, want)
		} else {
			for {
				line, err := r.ReadString('\n')
				if err != nil {
					break
				}
				k, err := strconv.ParseInt(strings.TrimSpace(line), 16, 64)
				if err != nil {
					break
				}
				d, err := io.CopyN(io.Discard, r, k+2)
				if err != nil || k == 0 {
					break
				}
				n += d - 2
			}
		}
		got <- n
		_, _ = io.WriteString(c, sized(200, "text/plain", "ok"))
	}()
	return "http://" + ln.Addr().String()
}

func sendHuge(t *testing.T, conn net.Conn, framing string, size int64) {
	t.Helper()
	w := bufio.NewWriterSize(conn, 1<<20)
	write := func(s string) {
		if _, err := w.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	write("POST /upload/v1beta/files HTTP/1.1\r\nHost: h\r\n")
	block := make([]byte, 256<<10)
	if framing == "sized" {
		write(fmt.Sprintf("Content-Length: %d\r\n\r\n", size))
	} else {
		write("Transfer-Encoding: chunked\r\n\r\n")
	}
	for n := int64(0); n < size; n += int64(len(block)) {
		if framing == "chunked" {
			write(fmt.Sprintf("%x\r\n", len(block)))
		}
		if _, err := w.Write(block); err != nil {
			t.Fatal(err)
		}
		if framing == "chunked" {
			write("\r\n")
		}
	}
	if framing == "chunked" {
		write("0\r\n\r\n")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// serveProcess starts a proxy that is a process of its own.
func serveProcess(t *testing.T, up string) (addr string, pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), serveEnv+"="+up)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), cmd.Process.Pid
}

// peakMemory is the highest resident memory that a process ever had.
func peakMemory(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(v)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}
