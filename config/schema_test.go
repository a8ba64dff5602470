package config

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"
)

type node struct {
	Ref        string           `json:"$ref"`
	Type       string           `json:"type"`
	Enum       []string         `json:"enum"`
	Properties map[string]*node `json:"properties"`
	Items      *node            `json:"items"`
	Additional json.RawMessage  `json:"additionalProperties"`
}

// TestSchemaKeys walks the Go types and the schema side by side.
func TestSchemaKeys(t *testing.T) {
	var root struct {
		node
		Definitions map[string]*node `json:"definitions"`
	}
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, n *node, typ reflect.Type)
	same := func(path string, n *node, keys []string) {
		have := make([]string, 0, len(n.Properties))
		for k := range n.Properties {
			have = append(have, k)
		}
		slices.Sort(have)
		keys = slices.Sorted(slices.Values(keys))
		if d := cmp.Diff(keys, have); d != "" {
			t.Errorf("%s: keys (-Go +schema):\n%s", path, d)
		}
		if string(n.Additional) != "false" {
			t.Errorf("%s: the schema lets unknown keys through", path)
		}
	}
	walk = func(path string, n *node, typ reflect.Type) {
		if name, ok := strings.CutPrefix(n.Ref, "#/definitions/"); ok {
			n = root.Definitions[name]
		}
		if e, ok := reflect.Zero(typ).Interface().(closed); ok {
			if d := cmp.Diff(e.values(), n.Enum); d != "" {
				t.Errorf("%s: values (-Go +schema):\n%s", path, d)
			}
			return
		}
		switch typ.Kind() {
		case reflect.Struct:
			var keys []string
			for i := range typ.NumField() {
				f := typ.Field(i)
				name := f.Tag.Get("json")
				if name == "-" {
					continue
				}
				keys = append(keys, name)
				if p := n.Properties[name]; p != nil {
					walk(join(path, name), p, f.Type)
				}
			}
			same(path, n, keys)
		case reflect.Map:
			if typ == reflect.TypeFor[Hooks]() {
				same(path, n, events)
				for _, p := range n.Properties {
					walk(path, p, typ.Elem())
				}
			}
		case reflect.Slice:
			if n.Items == nil {
				t.Errorf("%s: the schema has no items", path)
				return
			}
			walk(path+"[]", n.Items, typ.Elem())
		}
	}
	walk("", &root.node, reflect.TypeFor[Config]())
}

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	std, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(std))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// TestSchemaAgrees holds the schema's verdict against the parser's.
func TestSchemaAgrees(t *testing.T) {
	s := compiled(t)
	for _, in := range []string{
		`{}`,
		`{"listen": "127.0.0.1:8787", "limits": {"maxBody": "100MiB"}}`,
		`{"limits": {"maxBody": "100 furlongs"}}`,
		`{"limits": {"maxBody": 5}}`,
		`{"listen": 1}`,
		`{"nope": 1}`,
		`{"upstream": {"gemini": {"baseUrl": "ftp://h"}}}`,
		`{"upstream": {"gemini": {"baseUrl": "http://h/p"}}}`,
		`{"upstream": {"gemini": {"baseUrl": "https://u:p@h"}}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "command", "command": "x", "timeout": 500}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "Command", "command": "x"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "command"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "http"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "http://h", "headers": {"A": "b"}}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "ftp://h"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "http://h", "command": "x"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "http", "url": "http://h", "instances": 1}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "prompt", "prompt": "p", "model": "m"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "prompt", "prompt": "p", "maxTurns": 3}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "prompt", "prompt": "p", "url": "http://h"}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "agent", "prompt": "p", "tools": ["grep"], "maxTurns": 3}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "agent", "prompt": "p", "tools": ["rm"]}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "agent", "prompt": "p", "maxTurns": 0}]}]}}`,
		`{"hooks": {"BeforeTool": [{"hooks": [{"type": "agent", "prompt": "p", "model": "a b"}]}]}}`,
		`{"hooksConfig": {"allowedHttpHookUrls": ["*", "https://*.h.test/*"], "maxConcurrent": 2, "callsPerMinute": 1}}`,
		`{"hooksConfig": {"allowedHttpHookUrls": ["h.test"]}}`,
		`{"hooksConfig": {"apiKeyEnv": "a-b"}}`,
		`{"hooksConfig": {"model": ""}}`,
		`{"hooksConfig": {"tokensPerHour": 0}}`,
		`{"hooks": {"BeforeTool": [{}]}}`,
		`{"hooks": {"PreToolUse": []}}`,
		`{"denyAs": "maybe"}`,
	} {
		_, ps := Parse("f", []byte(in))
		if err := validate(t, s, []byte(in)); (err == nil) != (ps.Errors() == 0) {
			t.Errorf("%s\nschema: %v\nparser: %v", in, err, ps)
		}
	}
}

// TestExamples reads every configuration that the repository shows people.
func TestExamples(t *testing.T) {
	s := compiled(t)
	var files []string
	for _, pattern := range []string{"../examples/*.json", "../examples/*/*.json", "../cmd/hookline/*.jsonc", "../examples/*.jsonc", "../examples/*/*.jsonc"} {
		m, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: schema: %v", f, err)
		}
		if _, ps := Parse(f, data); len(ps) > 0 {
			t.Errorf("%s: parser: %v", f, ps)
		}
	}
}
