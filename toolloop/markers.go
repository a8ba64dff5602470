package toolloop

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// markersJSON is what tells, in an agent's requests, of what the agent does beside
// its model calls. It was read in requests of Gemini CLI 0.61 and Qwen Code 0.24.
//
//go:embed markers.json
var markersJSON []byte

// markers are an agent's. Zero members mean that it is not known how the agent
// tells.
type markers struct {
	Cwd          string `json:"cwd"`          // a regular expression; its group is the working directory
	Instructions string `json:"instructions"` // a regular expression; its group is the path of a file of instructions, which follows

	Files  map[string]string      `json:"files"`  // tools that write a file, and their argument that names it
	Added  []string               `json:"added"`  // how the result of such a tool begins when the file is new
	Tasks  map[string]taskMarker  `json:"tasks"`  // tools that write the whole list of tasks
	Denied []string               `json:"denied"` // stands in the error of a call that was not permitted
	Agents map[string]agentMarker `json:"agents"` // tools that start a subagent
	Finish string                 `json:"finish"` // the tool with which a subagent ends; "" when it just answers

	Task string `json:"task"` // a regular expression; its group is the task in a subagent's first turn, where more stands around it

	cwd, instructions, taskText *regexp.Regexp
}

type taskMarker struct {
	List    string `json:"list"` // the argument that is the list
	ID      string `json:"id"`   // members of its items; "" for none
	Subject string `json:"subject"`
	Status  string `json:"status"`
	Done    string `json:"done"` // the status of a task that is completed
}

type agentMarker struct {
	Type   string `json:"type"` // arguments of the tool
	Prompt string `json:"prompt"`
}

var agentMarkers = func() map[string]*markers {
	var m map[string]*markers
	if err := json.Unmarshal(markersJSON, &m); err != nil {
		panic(fmt.Sprintf("toolloop: markers.json: %v", err))
	}
	for _, a := range m {
		a.cwd, a.instructions = regexp.MustCompile(a.Cwd), regexp.MustCompile(a.Instructions)
		if a.Task != "" {
			a.taskText = regexp.MustCompile(a.Task)
		}
	}
	return m
}()

// noMarkers are those of agents that are not known.
var noMarkers = &markers{}

func markersOf(c *Call) *markers {
	if m := agentMarkers[c.Agent]; m != nil {
		return m
	}
	return noMarkers
}

// workingDir is the directory that a text says the agent works in; "" for none.
func (m *markers) workingDir(text string) string {
	if m.cwd == nil {
		return ""
	}
	if g := m.cwd.FindStringSubmatch(text); g != nil {
		return strings.TrimSpace(g[1])
	}
	return ""
}

// instructionFile is a file of instructions that stands in a request.
type instructionFile struct {
	path   string
	memory string // memory_type
	sum    digest // of its content
}

// files finds the files of instructions in a text. cwd is what their paths are
// relative to; "" when that is not known.
func (m *markers) files(text, cwd string) []instructionFile {
	if m.instructions == nil {
		return nil
	}
	var all []instructionFile
	for _, at := range m.instructions.FindAllStringSubmatchIndex(text, maxInstructions) {
		name := text[at[2]:at[3]]
		content, _, _ := strings.Cut(text[at[1]:], "--- End of Context from: "+name)
		var d digester
		f := instructionFile{path: absolute(name, cwd), memory: "Project", sum: d.string(content).sum()}
		global, project := strings.LastIndex(text[:at[0]], "<global_context>"), strings.LastIndex(text[:at[0]], "<project_context>")
		if global > project || project < 0 && (strings.HasPrefix(name, "..") || path.IsAbs(name)) {
			f.memory = "User"
		}
		all = append(all, f)
	}
	return all
}

// maxInstructions bounds the files of instructions of one text.
const maxInstructions = 64

func absolute(name, cwd string) string {
	if name == "" || cwd == "" || path.IsAbs(name) {
		return name
	}
	return path.Join(cwd, name)
}

// task is the task of a subagent in a text around it; "" for none.
func (m *markers) task(text string) string {
	if m.taskText == nil {
		return ""
	}
	if g := m.taskText.FindStringSubmatch(text); g != nil {
		return g[1]
	}
	return ""
}

// task is an item of an agent's list of tasks.
type task struct {
	id, subject string
	done        bool
}

// tasks reads the list that a call writes; ok is false when it writes none.
func (m *markers) tasks(tool string, args json.RawMessage) (list []task, ok bool) {
	t, ok := m.Tasks[tool]
	if !ok {
		return nil, false
	}
	member := func(item gjson.Result, key string) string {
		if key == "" {
			return ""
		}
		return item.Get(gjson.Escape(key)).String()
	}
	items := gjson.GetBytes(args, gjson.Escape(t.List))
	if !items.IsArray() {
		return nil, false
	}
	items.ForEach(func(_, item gjson.Result) bool {
		k := task{id: member(item, t.ID), subject: member(item, t.Subject), done: member(item, t.Status) == t.Done}
		if k.id == "" {
			// What the task says names it: its place changes.
			var d digester
			sum := d.string(k.subject).sum()
			k.id = fmt.Sprintf("task-%x", sum[:4])
		}
		list = append(list, k)
		return len(list) < maxTasks
	})
	return list, true
}

// maxTasks bounds a list of tasks.
const maxTasks = 256

// denied reports whether a result's error says that the call was not permitted.
func (m *markers) denied(text string) bool {
	for _, d := range m.Denied {
		if strings.Contains(text, d) {
			return true
		}
	}
	return false
}
