package main_test

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

var restartAll = flag.Bool("restart-all", false, "test restarts and replicas with every agent, not only with some")

// restartAgents are enough for every day: one spreads an answer over contents,
// one loses ids and signatures and reads the array, one builds its history anew,
// one has tools of its own.
var restartAgents = []string{"@google/genai afc-stream", "generative-ai-go chat", "@ai-sdk/google stream", "Gemini CLI acp"}

// front hands each request to a hookline of its choice, one request at a time.
type front struct {
	mu   sync.Mutex
	next func() (*gateway, error)
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock() // nobody kills a hookline in the midst of an answer
	g, err := f.next()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	// The answer may begin while net/http still looks for the end of the
	// request's body; a body in memory does not mind.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	to, err := url.Parse(g.url)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
		Rewrite:       func(pr *httputil.ProxyRequest) { pr.SetURL(to) },
	}
	proxy.ServeHTTP(w, r)
}

// TestAgentsRestart kills hookline before every request of a conversation, with
// no time to say goodbye. The store in a file must hold all that it knew.
func TestAgentsRestart(t *testing.T) {
	throughFront(t, func(t *testing.T, model string, hooks map[string]any) func() (*gateway, error) {
		file := configure(t, model, map[string]any{"hooks": hooks})
		var g *gateway
		t.Cleanup(func() {
			if g != nil {
				g.end(t)
			}
		})
		return func() (*gateway, error) {
			if g != nil {
				if err := g.kill(); err != nil {
					return nil, err
				}
			}
			var err error
			g, err = launch(file)
			return g, err
		}
	})
}

// TestAgentsReplicas spreads the requests of a conversation over two hooklines
// that share a Redis server.
func TestAgentsReplicas(t *testing.T) {
	throughFront(t, func(t *testing.T, model string, hooks map[string]any) func() (*gateway, error) {
		redis := storetest.StartRedis(t)
		var both []*gateway
		for range 2 {
			both = append(both, startHookline(t, model, map[string]any{
				"hooks": hooks,
				"state": map[string]any{"dir": t.TempDir(), "store": "redis", "redis": map[string]any{"url": redis.URL}},
			}))
		}
		n := 0
		return func() (*gateway, error) {
			n++
			return both[n%2], nil
		}
	})
}

// throughFront holds the scenarios, two turns on, with requests that open sends
// to one hookline or another.
func throughFront(t *testing.T, open func(t *testing.T, model string, hooks map[string]any) func() (*gateway, error)) {
	for _, a := range append([]agent{geminiCLI("acp")}, agents(t)...) {
		if !*restartAll && !slices.Contains(restartAgents, a.String()) {
			continue
		}
		t.Run(strings.ReplaceAll(a.String(), "/", "_"), func(t *testing.T) {
			t.Parallel()
			script, tool := scripted.Script(matrixScript), asIs
			if a.cli {
				script, tool = cliScript, cliRun
			}
			model := scripted.New(scripted.Options{Script: script})
			ts := httptest.NewServer(model)
			t.Cleanup(ts.Close)
			fs := httptest.NewServer(&front{next: open(t, ts.URL, matrixHooks(tool))})
			t.Cleanup(fs.Close)
			for _, r := range holdScenarios(t, a, fs.URL, model, 2) {
				for _, p := range r.problems {
					t.Errorf("%s, %s: %s", r.model, r.scenario, p)
				}
			}
			t.Logf("%d conversations", 2*len(scenarios))
		})
	}
}
