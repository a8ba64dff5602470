package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// chatText is 1 MB of prose with now and then a number, a date or a name.
func chatText() []byte {
	words := strings.Fields(`the of and to a in is it you that he was for on are with as I his they be at one have this from or had by hot but some what there we can out other were all your when up use word how said an each she which do their time if will way about many then them would write like so these her long make thing see him two has look more day could go come did my sound no most number who over know water than call first people may down side been now find any new work part take get place made live where after back little only round man year came show every good me give our under name very through just form much great think say help low line before turn cause same mean differ move right boy old too does tell sentence set three want air well also play small end put home read hand port large spell add even land here must big high such follow act why ask men change went light kind off need house picture try us again animal point mother world near build self earth father head stand own page should country found answer school grow study still learn plant cover food sun four thought let keep eye never last door between city tree cross since hard start might story saw far sea draw left late run don't while press close night real life few stop open seem together next white children begin got walk example ease paper often always music those both mark book letter until mile river car feet care second group carry took rain eat room friend began idea fish mountain north once base hear horse cut sure watch color face wood main`)
	r := rand.New(rand.NewPCG(7, 7))
	var b strings.Builder
	for b.Len() < 1<<20 {
		n := 6 + r.IntN(14)
		for i := range n {
			w := words[r.IntN(len(words))]
			if i == 0 {
				w = strings.ToUpper(w[:1]) + w[1:]
			}
			switch r.IntN(80) {
			case 0:
				w = "2026"
			case 1:
				w = "25 percent"
			case 2:
				w = "Dr. Anna-Maria O'Neill,"
			}
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(w)
		}
		b.WriteString(".")
		if r.IntN(4) == 0 {
			b.WriteString("\n\n")
		} else {
			b.WriteByte(' ')
		}
	}
	return []byte(b.String()[:1<<20])
}

func benchText(b *testing.B, text []byte) {
	e := testEngine(b, Options{Entities: []string{"all"}})
	e.Spans(text)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	cpu := cpuTime()
	for b.Loop() {
		m := e.scanText(text)
		m.release()
	}
	b.ReportMetric(float64(len(text))*float64(b.N)/(cpuTime()-cpu).Seconds()/1e6, "MB/cpu-s")
}

// cpuTime is what this process has used of the processor: on a machine that
// others use, too, it tells more than the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkChat(b *testing.B) { benchText(b, chatText()) }
func BenchmarkCode(b *testing.B) { benchText(b, goSource(b)) }

func benchStream(b *testing.B, text []byte) {
	e := testEngine(b, Options{})
	s := e.Stream(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	cpu := cpuTime()
	for b.Loop() {
		s.Reset()
		for i := 0; i < len(text); i += 50 {
			s.Push(text[i:min(i+50, len(text))])
		}
		s.Flush()
	}
	b.ReportMetric(float64(len(text))*float64(b.N)/(cpuTime()-cpu).Seconds()/1e6, "MB/cpu-s")
}

func BenchmarkStreamChat(b *testing.B) { benchStream(b, chatText()) }
func BenchmarkStreamCode(b *testing.B) { benchStream(b, goSource(b)) }

// BenchmarkChunk pushes 50 bytes of clean prose at a time.
func BenchmarkChunk(b *testing.B) {
	e := testEngine(b, Options{})
	s := e.Stream(nil)
	text := chatText()
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i+50 > len(text) {
			i = 0
		}
		s.Push(text[i : i+50])
		i += 50
	}
}

// BenchmarkChunkMedian reports the median and the 99th percentile of a push.
func BenchmarkChunkMedian(b *testing.B) {
	e := testEngine(b, Options{})
	s := e.Stream(nil)
	text := chatText()
	var times []time.Duration
	for b.Loop() {
		for i := 0; i+50 < len(text) && i < 500_000; i += 50 {
			t := time.Now()
			s.Push(text[i : i+50])
			times = append(times, time.Since(t))
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "ns/p50")
	b.ReportMetric(float64(times[len(times)*99/100]), "ns/p99")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		testEngine(b, Options{})
	}
}

// TestHeld measures what is held back on clean prose.
func TestHeld(t *testing.T) {
	e := testEngine(t, Options{})
	s := e.Stream(nil)
	text := chatText()[:200_000]
	sum, n, most := 0, 0, 0
	for i := 0; i+50 <= len(text); i += 50 {
		s.Push(text[i : i+50])
		sum, n, most = sum+s.Held(), n+1, max(most, s.Held())
	}
	t.Logf("held back: %.1f bytes on average, %d at most", float64(sum)/float64(n), most)
	if sum > 8*n || most > 256 {
		t.Errorf("held back: %.1f bytes on average, %d at most, want 8 and 256", float64(sum)/float64(n), most)
	}
}
