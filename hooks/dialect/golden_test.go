package dialect

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hookline-proxy/hookline/hooks"
)

var update = flag.Bool("update", false, "rewrite the want sections of the golden files")

const goldens = "../../testdata/hooks"

// TestGolden shows each event to a hook in its dialect and reads the answers. A
// file's sections are: event, the internal event; want stdin; and for each run
// "run NAME", as lines "key value" with what the hook did, and "want NAME".
func TestGolden(t *testing.T) {
	files, err := filepath.Glob(goldens + "/*/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		dialect := filepath.Base(filepath.Dir(file))
		t.Run(dialect+"/"+name, func(t *testing.T) {
			golden(t, file, All()[dialect][name])
		})
	}
}

func golden(t *testing.T, file string, l *hooks.Listener) {
	if l == nil {
		t.Fatal("the dialect has no such event")
	}
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var in hooks.Input
	got := map[string]string{}
	for _, f := range a.Files {
		switch {
		case f.Name == "event":
			in = internal(t, f.Data)
			if l.Takes != nil && !l.Takes(&in) {
				t.Errorf("%s does not take the event", l.Name)
			}
			got["want stdin"] = spread(l.Encode(&in))
		case strings.HasPrefix(f.Name, "run "):
			h, res := result(t, f.Data)
			got["want "+f.Name[len("run "):]] = told(l.Read(&in, h, res))
		}
	}
	for i, f := range a.Files {
		want, ok := got[f.Name]
		if !ok {
			continue
		}
		if *update {
			a.Files[i].Data = []byte(want)
		} else if diff := cmp.Diff(string(f.Data), want); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// internal reads the event of a golden file: what fires, then its fields.
func internal(t *testing.T, data []byte) hooks.Input {
	in := hooks.Input{SessionID: "s1", TranscriptPath: "/t/s1.jsonl", Cwd: "/app", Time: time.Date(2026, 11, 30, 15, 4, 5, 0, time.UTC)}
	members := hooks.Members(data)
	if members == nil {
		t.Fatal("the event is no JSON object")
	}
	for _, m := range members {
		if m.Key == "fires" {
			in.Event = hooks.Event(strings.Trim(string(m.Value), `"`))
		} else {
			in.Fields = append(in.Fields, m)
		}
	}
	return in
}

// result reads what a hook did: lines "exit N", "type T", "failMode M", "failure
// TEXT", "stdout TEXT" and "stderr TEXT".
func result(t *testing.T, data []byte) (*hooks.Hook, hooks.Result) {
	h := &hooks.Hook{Name: "hook", Type: "command"}
	var res hooks.Result
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "exit":
			res.Exit, _ = strconv.Atoi(value)
		case "type":
			h.Type = value
		case "async":
			h.Async = true
		case "failMode":
			h.FailMode = hooks.FailMode(value)
		case "failure":
			res.Err = hooks.Failuref(hooks.FailureTimeout, "%s", value)
		case "stdout":
			res.Stdout = append(append(res.Stdout, value...), '\n')
		case "stderr":
			res.Stderr = append(append(res.Stderr, value...), '\n')
		default:
			t.Fatalf("unknown key %q", key)
		}
	}
	return h, res
}

// spread writes a document one member a line.
func spread(doc []byte) string {
	if !json.Valid(doc) {
		return "not JSON: " + string(doc) + "\n"
	}
	var b strings.Builder
	for _, m := range hooks.Members(doc) {
		fmt.Fprintf(&b, "%s %s\n", m.Key, m.Value)
	}
	return b.String()
}

// told writes the members of an answer that are set, one a line.
func told(a hooks.Answer) string {
	var b strings.Builder
	v := reflect.ValueOf(a)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.IsZero() {
			continue
		}
		switch x := f.Interface().(type) {
		case *hooks.Failure:
			fmt.Fprintf(&b, "Failure %s: %s\n", x.Kind, x.Text)
		case json.RawMessage:
			fmt.Fprintf(&b, "%s %s\n", v.Type().Field(i).Name, x)
		case bool:
			fmt.Fprintln(&b, v.Type().Field(i).Name)
		case string:
			fmt.Fprintf(&b, "%s %s\n", v.Type().Field(i).Name, strings.ReplaceAll(x, "\n", `\n`))
		default:
			text, _ := json.Marshal(x) // of plain values
			fmt.Fprintf(&b, "%s %s\n", v.Type().Field(i).Name, text)
		}
	}
	if b.Len() == 0 {
		return "no opinion\n"
	}
	return b.String()
}

// TestGoldenForEach: each event of the tables has its file.
func TestGoldenForEach(t *testing.T) {
	want := map[string][]string{"claude": Events(), "gemini": {"BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel",
		"BeforeToolSelection", "SessionStart", "SessionEnd", "PreCompress", "Notification"}}
	if len(want["claude"]) != 27 || len(want["gemini"]) != 11 {
		t.Errorf("got %d and %d events; want 27 and 11", len(want["claude"]), len(want["gemini"]))
	}
	for dialect, names := range want {
		for _, name := range names {
			file := filepath.Join(goldens, dialect, name+".txtar")
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			stdin, runs := false, 0
			for _, f := range a.Files {
				stdin = stdin || f.Name == "want stdin" && len(f.Data) > 0
				if strings.HasPrefix(f.Name, "want ") && f.Name != "want stdin" && len(f.Data) > 0 {
					runs++
				}
			}
			if !stdin || runs < 2 {
				t.Errorf("%s: want an input and two outputs at least", file)
			}
		}
	}
}
