package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

var clientCounts = []int{10, 64}

// contender is one way from the clients to the upstream.
type contender struct {
	name string
	*child
	rates map[int][]float64 // answers per second, by number of clients
	bad   int               // answers cut or changed
}

func contenders(ctx context.Context, s settings, upstream string) (all []*contender, err error) {
	add := func(name string, c *child) {
		all = append(all, &contender{name: name, child: c, rates: map[int][]float64{}})
	}
	wanted := func(name string) bool {
		return s.only == "" || slices.Contains(strings.Split(s.only, ","), name)
	}
	if wanted("direct") {
		add("direct", &child{addr: upstream})
	}
	if wanted("nginx") {
		c, found, err := startNginx(ctx, s.dir, upstream)
		if err != nil {
			return all, err
		}
		if found {
			add("nginx", c)
		} else {
			fmt.Fprintln(os.Stderr, "nginx is not installed and is left out; on Debian: apt-get install nginx-light")
		}
	}
	if wanted("httputil") {
		c, err := startRole(ctx, "httputil", "http://"+upstream)
		if err != nil {
			return all, err
		}
		add("httputil", c)
	}
	if wanted("hookline") {
		c, err := startHookline(ctx, s, upstream, "")
		if err != nil {
			return all, err
		}
		add("hookline", c)
	}
	return all, nil
}

// throughput measures answers per second of all contenders, round by round, so
// that whatever else the machine does hits each alike.
func throughput(ctx context.Context, s settings, upstream string, w io.Writer) error {
	all, err := contenders(ctx, s, upstream)
	defer func() {
		for _, c := range all {
			if c.cmd != nil {
				c.stop()
			}
		}
	}()
	if err != nil {
		return err
	}
	for range s.rounds {
		for _, n := range clientCounts {
			order := slices.Clone(all)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, c := range order {
				o, err := load(ctx, c.addr, n, s.duration)
				if err != nil {
					return fmt.Errorf("%s with %d clients: %w", c.name, n, err)
				}
				c.rates[n] = append(c.rates[n], o.rate)
				c.bad += o.bad
			}
		}
	}
	fmt.Fprintf(w, "Streamed answers per second (%d events of %d bytes of text each), medians of %d rounds of %v, each answer compared byte for byte:\n\n", chunks, chunkLen, s.rounds, s.duration)
	fmt.Fprint(w, "| way |")
	for _, n := range clientCounts {
		fmt.Fprintf(w, " %d clients | of nginx | spread |", n)
	}
	fmt.Fprint(w, " cut or changed |\n|---|")
	for range clientCounts {
		fmt.Fprint(w, "---:|---:|---:|")
	}
	fmt.Fprintln(w, "---:|")
	for _, c := range all {
		fmt.Fprintf(w, "| %s |", c.name)
		for _, n := range clientCounts {
			m := median(c.rates[n])
			fmt.Fprintf(w, " %.0f | %s | %.0f to %.0f |", m, ratio(all, c, n), slices.Min(c.rates[n]), slices.Max(c.rates[n]))
		}
		fmt.Fprintf(w, " %d |\n", c.bad)
		if c.bad > 0 && c.name == "hookline" {
			err = fmt.Errorf("hookline cut or changed %d answers", c.bad)
		}
	}
	fmt.Fprintln(w)
	return err
}

// ratio is the median, over the rounds, of what c made of nginx's rate in the
// same round.
func ratio(all []*contender, c *contender, n int) string {
	i := slices.IndexFunc(all, func(c *contender) bool { return c.name == "nginx" })
	if i < 0 {
		return "-"
	}
	var rs []float64
	for k, r := range c.rates[n] {
		rs = append(rs, r/all[i].rates[n][k])
	}
	return fmt.Sprintf("%.2f", median(rs))
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if len(v) == 0 {
		return 0
	}
	return (v[len(v)/2] + v[(len(v)-1)/2]) / 2
}
