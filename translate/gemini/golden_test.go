package gemini

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/hookline-proxy/hookline/translate"
)

var update = flag.Bool("update", false, "rewrite the want sections of the golden files")

// golden is a case of testdata/translate: a comment that says why it exists, an
// "op" section with an operation and its options, inputs, and what is wanted.
type golden struct {
	wire Wire
	opts map[string]bool
	in   map[string][]byte
}

// TestGolden runs each case. Outputs are compared byte for byte: the order of
// members and the space between them are part of what is promised.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("../../testdata/translate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(strings.TrimSpace(string(a.Comment))) == 0 {
				t.Error("the case does not say why it exists")
			}
			g := golden{opts: map[string]bool{}, in: map[string][]byte{}}
			want := -1
			for i, f := range a.Files {
				g.in[f.Name] = []byte(strings.TrimSuffix(string(f.Data), "\n"))
				if f.Name == "want" {
					want = i
				}
			}
			op := strings.Fields(string(g.in["op"]))
			for _, o := range op[1:] {
				g.opts[o] = true
			}
			g.wire = Wire{IntEnums: g.opts["int"], Envelope: g.opts["envelope"], OnePart: g.opts["onepart"]}
			got := g.run(op[0])
			if *update {
				if want < 0 {
					a.Files = append(a.Files, txtar.File{Name: "want"})
					want = len(a.Files) - 1
				}
				a.Files[want].Data = []byte(got + "\n")
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(g.in["want"]), got); diff != "" {
				t.Errorf("%s: -want +got\n%s", op[0], diff)
			}
		})
	}
}

// run performs an operation; errors are outputs, too.
func (g golden) run(op string) string {
	var out []byte
	var err error
	switch op {
	case "request", "apply", "toolconfig":
		out, err = g.request(op)
	case "response", "apply-response", "synthesize", "join", "emit", "assemble":
		out, err = g.response(op)
	case "usage":
		out = g.wire.AddUsage(g.in["a"], g.in["b"])
	default:
		err = fmt.Errorf("unknown operation %q", op)
	}
	if err != nil {
		return "error: " + err.Error()
	}
	return string(out)
}

func (g golden) request(op string) ([]byte, error) {
	model := string(g.in["model"])
	r, err := g.wire.ParseRequest(g.in["request"], model)
	if err != nil {
		return nil, err
	}
	switch op {
	case "request":
		return g.wire.LLMRequest(r, g.opts["system"]), nil
	case "apply":
		r, err = g.wire.ApplyLLMRequest(r, g.in["patch"], g.opts["system"])
	case "toolconfig":
		var tc translate.ToolConfig
		if err := json.Unmarshal(g.in["toolconfig"], &tc); err != nil {
			return nil, err
		}
		r, err = g.wire.ApplyToolConfig(r, tc)
	}
	if err != nil {
		return nil, err
	}
	if string(r.Raw) == string(g.in["request"]) {
		return []byte("model " + r.Model + ", body unchanged"), nil
	}
	return append([]byte("model "+r.Model+"\n"), r.Raw...), nil
}

func (g golden) response(op string) ([]byte, error) {
	var chunks []*translate.Chunk
	for _, doc := range strings.Split(string(g.in["chunks"]), "\n") {
		if doc == "" {
			continue
		}
		c, err := g.wire.ParseChunk([]byte(doc))
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, c)
	}
	var like *translate.Chunk
	if len(chunks) > 0 {
		like = chunks[0]
	}
	var c *translate.Chunk
	var err error
	switch op {
	case "response":
		return g.wire.LLMResponse(like), nil
	case "apply-response":
		c, err = g.wire.ApplyLLMResponse(like, g.in["llm_response"])
		if err == nil && string(c.Raw) == string(like.Raw) {
			return []byte("unchanged"), nil
		}
	case "synthesize":
		c, err = g.wire.Synthesize(like, g.in["llm_response"])
	case "join":
		c, err = g.wire.Join(chunks)
	case "emit":
		var docs []string
		for _, c := range chunks {
			for _, doc := range g.wire.Emit(c) {
				docs = append(docs, string(doc))
			}
		}
		return []byte(strings.Join(docs, "\n")), nil
	case "assemble":
		var parts []translate.Part
		for _, c := range chunks {
			for _, cand := range c.Candidates {
				parts = append(parts, cand.Parts...)
			}
		}
		var lines []string
		for _, p := range g.wire.Assemble(parts) {
			lines = append(lines, string(p.Raw))
		}
		return []byte(strings.Join(lines, "\n")), nil
	}
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, errors.New("no chunk")
	}
	return c.Raw, nil
}
