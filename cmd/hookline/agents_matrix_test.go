package main_test

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
	"github.com/hookline-proxy/hookline/toolloop/store/storetest"
)

var matrixFile = flag.String("matrix", "", "write the matrix of agents and hook results to this file, as Markdown")

// matrixRedact runs the same conversations with redaction on: nothing may differ.
var matrixRedact = flag.Bool("matrix-redact", false, "run the matrix with redaction on")

// matrixStore is where hookline keeps the ledger.
var matrixStore = flag.String("matrix-store", "", "run the whole matrix with this store: memory, embedded or redis; the default is embedded, and the others for some agents")

// storeAgents are enough for every day: one has tools of its own and starts
// sessions, one is given parsed calls, one reads the array and loses signatures.
var storeAgents = []string{"Gemini CLI acp", "@google/genai chat-stream", "generative-ai-go chat-stream"}

// matrix is the outcome of the test: agent, then scenario.
type matrix struct {
	mu    sync.Mutex
	cells map[string]map[string]bool // true: all went as it must
}

func (m *matrix) set(agent, scenario string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cells[agent] == nil {
		m.cells[agent] = map[string]bool{}
	}
	before, seen := m.cells[agent][scenario]
	m.cells[agent][scenario] = ok && (before || !seen)
}

func (m *matrix) markdown(rows []string) string {
	var b strings.Builder
	b.WriteString("| agent |")
	for _, s := range scenarios {
		b.WriteString(" " + s.name + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat(":-:|", len(scenarios)) + "\n")
	for _, r := range rows {
		b.WriteString("| " + r + " |")
		for _, s := range scenarios {
			switch ok, ran := m.cells[r][s.name]; {
			case !ran:
				b.WriteString(" – |")
			case ok:
				b.WriteString(" ✓ |")
			default:
				b.WriteString(" ✗ |")
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// TestAgentsMatrix puts hookline between each agent and the strict model, and
// has hooks interfere in every way. Each conversation goes on for ten turns. The
// model refuses every request that the Gemini API would refuse; beyond that the
// user must see the right text, the agent run the right tools, and the model be
// shown the right history to the end.
func TestAgentsMatrix(t *testing.T) {
	m := &matrix{cells: map[string]map[string]bool{}}
	list := append([]agent{geminiCLI("acp")}, agents(t)...)
	var rows []string
	for _, a := range list {
		rows = append(rows, a.String())
	}
	t.Cleanup(func() { // after the parallel subtests
		if *matrixFile == "" {
			return
		}
		if err := os.WriteFile(*matrixFile, []byte(m.markdown(rows)), 0o644); err != nil {
			t.Error(err)
		}
	})
	for _, a := range list {
		for _, kind := range rowStores(a) {
			name := a.String()
			if kind != "embedded" {
				name += " " + kind
			}
			t.Run(strings.ReplaceAll(name, "/", "_"), func(t *testing.T) {
				t.Parallel()
				matrixRow(t, a, kind, m)
			})
		}
	}
}

// rowStores are the stores to run an agent with.
func rowStores(a agent) []string {
	switch {
	case *matrixStore != "":
		return []string{*matrixStore}
	case slices.Contains(storeAgents, a.String()):
		return []string{"embedded", "memory", "redis"}
	}
	return []string{"embedded"}
}

// withStore is the state of a hookline that keeps its ledger in that store.
func withStore(t *testing.T, kind string) map[string]any {
	t.Helper()
	state := map[string]any{"dir": t.TempDir(), "store": kind}
	if kind == "redis" {
		state["redis"] = map[string]any{"url": storetest.StartRedis(t).URL}
	}
	return state
}

func matrixRow(t *testing.T, a agent, kind string, m *matrix) {
	script, tool := scripted.Script(matrixScript), asIs
	if a.cli {
		script, tool = cliScript, cliRun
	}
	model := scripted.New(scripted.Options{Script: script})
	ts := httptest.NewServer(model)
	t.Cleanup(ts.Close)
	g := startHookline(t, ts.URL, map[string]any{
		"hooks": matrixHooks(tool), "redact": map[string]any{"enabled": *matrixRedact}, "state": withStore(t, kind),
	})
	for _, r := range holdScenarios(t, a, g.url, model, turnsOn) {
		m.set(a.String(), r.scenario, len(r.problems) == 0)
		for _, p := range r.problems {
			t.Errorf("%s, %s: %s", r.model, r.scenario, p)
		}
	}
	t.Logf("%d conversations with the store %s", 2*len(scenarios), kind)
}

// held is a conversation that was held, with what went wrong.
type held struct {
	model, scenario string
	problems        []string
}

// holdScenarios holds every scenario in both manners of the model, each as a
// tenant of its own.
func holdScenarios(t *testing.T, a agent, url string, model *scripted.Server, on int) []held {
	t.Helper()
	var out []held
	var tags []string
	var cs []conversation
	for _, name := range []string{"gemini-2.5-flash", "gemini-3-flash-preview"} {
		for i, s := range scenarios {
			tag := fmt.Sprintf("%s/%d", name, i)
			out, tags = append(out, held{model: name, scenario: s.name}), append(tags, tag)
			cs = append(cs, conversation{BaseURL: url, Key: "key of " + tag, Model: name, Prompts: s.prompts(tag, on), Tools: matrixTools, Files: cliFiles})
		}
	}
	got, err := a.hold(t.Context(), cs)
	if err != nil {
		t.Fatal(err)
	}
	requests := model.Requests()
	for i := range out {
		out[i].problems = judge(a, scenarios[i%len(scenarios)], tags[i], on, got[i], requests)
	}
	return out
}

// judge says what went wrong in one conversation.
func judge(a agent, s scenario, tag string, on int, got outcome, requests []scripted.Request) (problems []string) {
	var last *scripted.Request
	for i, r := range requests {
		if !strings.Contains(string(r.Contents), "["+tag+"]") {
			continue
		}
		last = &requests[i]
		if r.Violation != nil {
			problems = append(problems, fmt.Sprintf("the model refuses a request (%s): %s\n%s", r.Violation.Rule, r.Violation, r.Contents))
			break
		}
	}
	if last == nil {
		return append(problems, "the model got no request: "+got.failed())
	}
	var texts []string
	for _, turn := range got.Turns {
		texts = append(texts, turn.Text+turn.Error)
	}
	if d := cmp.Diff(s.user(a.finalOnly, on), texts); d != "" {
		problems = append(problems, "what the user saw (-want +got):\n"+d)
	}
	if d := cmp.Diff(s.runs(on), got.Ran, cmpopts.SortSlices(runsBefore), cmpopts.EquateEmpty()); d != "" && !a.cli {
		problems = append(problems, "tools that ran (-want +got):\n"+d)
	}
	if len(problems) > 0 && last.Violation != nil {
		return problems // what came after the refusal says nothing
	}
	shown, err := flatten(last.Contents)
	if err != nil {
		return append(problems, err.Error())
	}
	want := s.model(tag, on)
	if a.cli {
		want, shown = cliHistory(want), cliShown(shown, got.Workspace)
	}
	if d := cmp.Diff(want, shown); d != "" {
		problems = append(problems, "what the model was shown at last (-want +got):\n"+d)
	}
	return problems
}
