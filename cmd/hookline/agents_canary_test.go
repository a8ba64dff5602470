package main_test

import (
	"flag"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/cmd/hookline/internal/scripted"
)

// canaryAll has every agent of the matrix carry canaries; without it some do.
var canaryAll = flag.Bool("canary-all", false, "run the canary test with every agent of the matrix")

// canaryAgents carry canaries by default.
var canaryAgents = []string{"Gemini CLI acp", "@google/genai chat-stream", "generative-ai-go chat-stream", "@ai-sdk/google stream"}

// canarySong is a conversation with values of its own.
type canarySong struct {
	tag                         string
	first, second, owner        string // e-mail addresses; the first two are names of files, too
	card, iban, token, hardware string
}

// songs makes n of them.
func songs(n int) (all []canarySong, values []string) {
	const each = 15 // three of five kinds
	values = canaries(n * each)
	for i := range n {
		v := values[i*each:]
		all = append(all, canarySong{first: v[0], second: v[5], owner: v[10], card: v[1], iban: v[2], token: v[3], hardware: v[4]})
	}
	return all, values
}

func (s canarySong) result() string {
	return fmt.Sprintf("the owner is %s with %s", s.owner, s.iban)
}

func (s canarySong) prompts() []string {
	return []string{
		fmt.Sprintf("[%s] file it for %s, card %s, key %s.", s.tag, s.first, s.card, s.token),
		fmt.Sprintf("[%s] then open %s.", s.tag, s.second),
		fmt.Sprintf("[%s] who was %s at %s?", s.tag, s.first, s.hardware),
	}
}

// seen is what the user reads.
func (s canarySong) seen(finalOnly bool) []string {
	before := fmt.Sprintf("Filing for %s with %s. ", s.first, s.card)
	if finalOnly {
		before = ""
	}
	return []string{
		before + fmt.Sprintf("Filed: it is %s with %s, and %s.", s.owner, s.iban, s.token),
		fmt.Sprintf("Opened for %s.", s.owner),
		fmt.Sprintf("It was %s at %s.", s.first, s.hardware),
	}
}

// What the model is shown: placeholders in the place of values.
var (
	shownFile   = regexp.MustCompile(`file it for (<EMAIL_ADDRESS_\d+>), card (<CREDIT_CARD_\d+>), key (<GITHUB_PAT_\d+>)\.`)
	shownOpen   = regexp.MustCompile(`then open (<EMAIL_ADDRESS_\d+>)\.`)
	shownWho    = regexp.MustCompile(`who was (<EMAIL_ADDRESS_\d+>) at (<MAC_ADDRESS_\d+>)\?`)
	shownResult = regexp.MustCompile(`the owner is (<EMAIL_ADDRESS_\d+>) with (<IBAN_CODE_\d+>)`)
)

// canaryScript works with the placeholders that it is shown: in texts, thoughts
// and arguments, and with those of results. Calls are of the agent's own tool.
func canaryScript(call func(name, args string) scripted.Call) scripted.Script {
	look := func(path string) []scripted.Call {
		return []scripted.Call{call("look", fmt.Sprintf(`{"path":%q}`, path))}
	}
	return func(v scripted.View) scripted.Answer {
		var result string
		for _, r := range v.Results {
			result += strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(r.Response))
		}
		file, open, who, got := shownFile.FindStringSubmatch(v.Prompt), shownOpen.FindStringSubmatch(v.Prompt), shownWho.FindStringSubmatch(v.Prompt), shownResult.FindStringSubmatch(result)
		switch {
		case file != nil && v.Step == 0:
			return scripted.Answer{Thoughts: []string{"so " + file[1] + " wants it"}, Text: "Filing for " + file[1] + " with " + file[2] + ". ", Calls: look(file[1])}
		case file != nil && got != nil:
			return scripted.Answer{Text: "Filed: it is " + got[1] + " with " + got[2] + ", and " + file[3] + "."}
		case open != nil && v.Step == 0:
			return scripted.Answer{StreamArgs: true, Calls: look(open[1])}
		case open != nil && got != nil:
			return scripted.Answer{Text: "Opened for " + got[1] + "."}
		case who != nil:
			return scripted.Answer{Text: "It was " + who[1] + " at " + who[2] + "."}
		}
		return scripted.Answer{Text: fmt.Sprintf("step %d: no placeholders in %q and %q", v.Step, v.Prompt, result)}
	}
}

// TestAgentsCanary has agents carry values in prompts, arguments and results
// through a hookline that redacts: the model and everything that hookline writes
// see none of them, tools and users all.
func TestAgentsCanary(t *testing.T) {
	for _, a := range append([]agent{geminiCLI("acp")}, agents(t)...) {
		if !*canaryAll && !slices.Contains(canaryAgents, a.String()) {
			continue
		}
		t.Run(strings.ReplaceAll(a.String(), "/", "_"), func(t *testing.T) {
			t.Parallel()
			canaryRow(t, a)
		})
	}
}

func canaryRow(t *testing.T, a agent) {
	call := func(name, args string) scripted.Call { return scripted.Call{Name: name, Args: args} }
	tool := asIs
	if a.cli {
		call, tool = cliCall, cliRun
	}
	model := scripted.New(scripted.Options{Script: canaryScript(call), Chunk: 7})
	ts := httptest.NewServer(model)
	t.Cleanup(ts.Close)
	dir := t.TempDir()
	hooked := filepath.Join(dir, "hooks")
	spy := []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "name": "spy", "timeout": 20000, "command": "cat >> '" + hooked + "'"}}}}
	g, err := launch(configure(t, ts.URL, map[string]any{
		"redact": map[string]any{}, "log": map[string]any{"level": "debug"}, "state": map[string]any{"dir": filepath.Join(dir, "state")},
		"hooks": map[string]any{"BeforeAgent": spy, "BeforeModel": spy, "BeforeTool": spy, "AfterTool": spy, "AfterAgent": spy},
	}))
	if err != nil {
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { g.end(t) })
	t.Cleanup(end)

	models := []string{"gemini-2.5-flash", "gemini-3-flash-preview"}
	list, values := songs(len(models))
	var cs []conversation
	for i, m := range models {
		s := &list[i]
		s.tag = m
		look := matrixTools[0]
		look.Result = s.result()
		cs = append(cs, conversation{
			BaseURL: g.url, Key: "key of " + m, Model: m, Prompts: s.prompts(), Tools: []agentTool{look},
			Files: map[string]string{s.first: s.result(), s.second: s.result()},
		})
	}
	got, err := a.hold(t.Context(), cs)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		var texts []string
		for _, turn := range got[i].Turns {
			texts = append(texts, turn.Text+turn.Error)
		}
		if d := cmp.Diff(s.seen(a.finalOnly), texts); d != "" {
			t.Errorf("%s: what the user saw (-want +got):\n%s", s.tag, d)
		}
		if d := cmp.Diff([]agentRun{tool(onPath("look", s.first)), tool(onPath("look", s.second))}, got[i].Ran); d != "" && !a.cli {
			t.Errorf("%s: tools that ran (-want +got):\n%s", s.tag, d)
		}
	}
	end()
	for _, r := range model.Violations() {
		t.Errorf("the model refuses a request: %s", r.Violation)
	}
	noCanary(t, g, model, dir, values)
}

// noCanary looks for values in what the model was sent and in what hookline wrote.
func noCanary(t *testing.T, g *gateway, model *scripted.Server, dir string, values []string) {
	t.Helper()
	places := map[string]string{"the log": g.log.String()}
	for i, r := range model.Requests() {
		places[fmt.Sprintf("request %d", i)] = fmt.Sprint(r.Path, r.Query, r.Header, string(r.Body), plainOf(r.Body, 0))
	}
	requests := len(places) - 1
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		places[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for place, got := range places {
		for i, v := range values {
			if at := strings.Index(got, v); at >= 0 {
				t.Errorf("%s holds canary %d (%s): …%.120q", place, i, v, got[max(0, at-60):])
			}
		}
	}
	t.Logf("%d requests, %d files and %d bytes of log looked through for %d values", requests, len(places)-1-requests, len(places["the log"]), len(values))
}
