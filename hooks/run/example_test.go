//go:build unix

package run_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/run"
)

// A guard in shell refuses one command and lets the others pass.
func Example() {
	runner := run.New(run.Options{})
	defer runner.Close()
	set, err := hooks.New(hooks.Options{
		Handlers: map[string]hooks.Handler{"command": runner},
		Definitions: map[hooks.Event][]hooks.Definition{
			hooks.BeforeTool: {{Matcher: "shell", Hooks: []hooks.Hook{{
				Name: "guard", Type: "command",
				Command: `if grep -q 'rm -rf'; then echo "not on my machine" >&2; exit 2; fi`,
			}}}},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"ls", "rm -rf /"} {
		input, _ := json.Marshal(map[string]string{"command": command})
		d := set.Fire(context.Background(), hooks.Input{Event: hooks.BeforeTool, Match: "run_shell_command", Fields: []hooks.Field{
			{Key: "tool_name", Value: json.RawMessage(`"run_shell_command"`)},
			{Key: "tool_input", Value: input},
		}})
		fmt.Printf("%s: denied %v %q\n", command, d.Deny, d.Reason)
	}
	// Output:
	// ls: denied false ""
	// rm -rf /: denied true "not on my machine"
}
