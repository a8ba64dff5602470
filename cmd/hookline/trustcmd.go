package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookline-proxy/hookline/hooks/trust"
)

type trustOptions struct {
	config                    string
	list, revoke, yes, asJSON bool
}

func trustCommand() *cobra.Command {
	var o trustOptions
	cmd := &cobra.Command{
		Use:   "trust [NAME...]",
		Short: "Let hooks that came with the project run",
		Long: `Show the hooks that the project's own settings bring along, and let them run after a yes.
What is agreed to is the hook's name, its command and its other settings, and the content
of the scripts in the project that the command names. When any of it changes the hook does
not run any more; trust then shows what changed. With NAME only these hooks are meant.`,
		Example: `  hookline trust
  hookline trust --yes format-code
  hookline trust --list --json
  hookline trust --revoke`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if o.list && o.revoke || o.list && o.yes || o.revoke && o.yes {
				return usage(cmd, "--list, --revoke and --yes exclude each other")
			}
			_, w, p, err := plan(o.config)
			if err != nil {
				return err
			}
			return o.run(cmd, w, p, names)
		},
	}
	configFlag(cmd, &o.config)
	f := cmd.Flags()
	f.BoolVar(&o.list, "list", false, "show the hooks of the project and whether they are trusted")
	f.BoolVar(&o.revoke, "revoke", false, "take trust back")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
	return cmd
}

func (o *trustOptions) run(cmd *cobra.Command, w workplace, p *hookPlan, names []string) error {
	out := cmd.OutOrStdout()
	store := trust.Open(w.trustFile())
	for _, n := range names {
		if err := p.named(n); err != nil && !o.revoke {
			return err
		}
	}
	var meant []*hookEntry
	for i := range p.entries {
		e := &p.entries[i]
		if e.trust != "" && (len(names) == 0 || slices.Contains(names, e.name())) {
			meant = append(meant, e)
		}
	}
	switch {
	case o.list:
		return o.print(out, meant)
	case o.revoke:
		return o.takeBack(out, store, w, names)
	}
	meant = slices.DeleteFunc(meant, func(e *hookEntry) bool { return e.trust == string(trust.Trusted) })
	if len(meant) == 0 {
		if o.asJSON {
			return o.print(out, nil)
		}
		fmt.Fprintln(out, "no hook of the project waits for trust")
		return nil
	}
	if !o.yes {
		// The question goes to stderr, so that JSON on stdout stays JSON.
		if err := printTrust(cmd.ErrOrStderr(), meant); err != nil {
			return err
		}
		if !agreed(cmd.InOrStdin(), cmd.ErrOrStderr(), len(meant)) {
			return &failure{what: "nothing is trusted", next: "answer y, or run hookline trust --yes"}
		}
	}
	var prints []trust.Print
	for _, e := range meant {
		prints = append(prints, e.print)
		e.trust, e.diff = string(trust.Trusted), nil
	}
	if err := store.Trust(prints...); err != nil {
		return err
	}
	if o.asJSON {
		return o.print(out, meant)
	}
	fmt.Fprintf(out, "trusted %s\n", count(len(meant), "hook"))
	return nil
}

func (o *trustOptions) takeBack(out io.Writer, store *trust.Store, w workplace, names []string) error {
	total := 0
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		n, err := store.Revoke(w.Project, name)
		if err != nil {
			return err
		}
		total += n
	}
	if o.asJSON {
		return printJSON(out, map[string]int{"revoked": total})
	}
	fmt.Fprintf(out, "trust taken back from %s\n", count(total, "hook"))
	return nil
}

// trustLine is a hook as "trust --json" tells of it.
type trustLine struct {
	Name    string            `json:"name"`
	Event   string            `json:"event"`
	Matcher string            `json:"matcher"`
	Command string            `json:"command"`
	At      string            `json:"at"`
	Trust   string            `json:"trust"`
	Changes []string          `json:"changes,omitempty"`
	Scripts map[string]string `json:"scripts,omitempty"` // by path, hashes
}

func (o *trustOptions) print(out io.Writer, meant []*hookEntry) error {
	if !o.asJSON {
		if len(meant) == 0 {
			fmt.Fprintln(out, "the project brings no hooks along")
		}
		return printTrust(out, meant)
	}
	lines := []trustLine{}
	for _, e := range meant {
		lines = append(lines, trustLine{Name: e.hook.Name, Event: e.event, Matcher: e.def.Matcher, Command: e.print.Command, At: e.hook.Source,
			Trust: e.trust, Changes: e.diff, Scripts: e.print.Scripts})
	}
	return printJSON(out, lines)
}

func printTrust(out io.Writer, meant []*hookEntry) error {
	for _, e := range meant {
		var b strings.Builder
		fmt.Fprintf(&b, "%s: %s\n  at      %s\n  runs    %s\n", printable(e.event+" "+e.def.Matcher), e.trust, e.hook.Source, printable(e.print.Command))
		if e.hook.Name != "" {
			fmt.Fprintf(&b, "  name    %s\n", printable(e.hook.Name))
		}
		if len(e.hook.Args) > 0 {
			fmt.Fprintf(&b, "  args    %s\n", printable(fmt.Sprintf("%q", e.hook.Args)))
		}
		for name := range e.hook.Env {
			fmt.Fprintf(&b, "  env     %s\n", printable(name))
		}
		for name := range e.print.Scripts {
			fmt.Fprintf(&b, "  script  %s\n", printable(name))
		}
		for _, c := range e.diff {
			fmt.Fprintf(&b, "  !       %s\n", printable(c))
		}
		if _, err := io.WriteString(out, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// agreed asks. Only a person at a terminal or a line on stdin can say yes.
func agreed(in io.Reader, errOut io.Writer, n int) bool {
	fmt.Fprintf(errOut, "Let %s run with your rights? [y/N] ", map[bool]string{true: "this hook", false: "these hooks"}[n == 1])
	line, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
	fmt.Fprintln(errOut)
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes"
}
