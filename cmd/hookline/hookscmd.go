package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hookline-proxy/hookline/config"
)

func hooksCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List hooks, switch them, try them, move them",
		Long: `List the hooks of a configuration and of what it imports, switch them on and off, try them
on one event, and move them between the settings of several tools.`,
		Example: `  hookline hooks list
  hookline hooks disable deny-rm
  hookline hooks test BeforeTool --input event.json`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(hooksListCommand(), hooksSwitchCommand("enable", true), hooksSwitchCommand("disable", false),
		hooksSwitchAllCommand("enable-all", "on"), hooksSwitchAllCommand("disable-all", "off"), hooksTestCommand(), hooksMigrateCommand())
	return cmd
}

// configFlag is the flag of all commands about hooks.
func configFlag(cmd *cobra.Command, file *string) {
	cmd.Flags().StringVar(file, "config", "", "configuration file (default "+defaultConfig+")")
}

func printJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// listed is a hook as "hooks list --json" tells of it.
type listed struct {
	Event   string        `json:"event"`
	Dialect string        `json:"dialect"`
	Matcher string        `json:"matcher"`
	Type    string        `json:"type"`
	Name    string        `json:"name"` // the command, URL or prompt of a hook without one
	Source  config.Source `json:"source"`
	Line    int           `json:"line"`
	Runs    bool          `json:"runs"`
	Enabled bool          `json:"enabled"`
	Off     string        `json:"disabledBy,omitempty"`
	Trust   string        `json:"trust"` // "" when it needs none
	Changes []string      `json:"changes,omitempty"`
	LastRun *lastRun      `json:"lastRun,omitempty"`
}

func (p *hookPlan) list(w workplace) []listed {
	runs := readLastRuns(w)
	all := []listed{}
	for i := range p.entries {
		e := &p.entries[i]
		src := e.def.Source
		src.File = cmp.Or(src.File, w.file)
		l := listed{
			Event: e.event, Dialect: string(e.def.In(e.event)), Matcher: e.def.Matcher, Type: string(e.config.Type), Name: e.name(), Source: src,
			Line: e.config.Line, Runs: e.runs(), Enabled: e.off == "", Off: e.off, Trust: e.trust, Changes: e.diff,
		}
		if r, ok := runs[e.hook.Name]; ok && e.hook.Name != "" {
			l.LastRun = &r
		}
		all = append(all, l)
	}
	return all
}

func hooksListCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the hooks, in the order in which they run",
		Long: `List the hooks of a configuration and of what it imports, in the order in which they run.
Of a hook without a name the command stands in its place.`,
		Example: `  hookline hooks list
  hookline hooks list --config hookline.jsonc --json`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, w, p, err := plan(file)
			if err != nil {
				return err
			}
			for _, pr := range p.problems {
				fmt.Fprintln(cmd.ErrOrStderr(), pr)
			}
			all := p.list(w)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printHooks(cmd.OutOrStdout(), all)
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printHooks(out io.Writer, all []listed) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "EVENT\tMATCHER\tTYPE\tNAME\tSTATE\tLAST RUN\tSOURCE")
	for _, l := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Event, cmp.Or(printable(l.Matcher), "*"), l.Type, short(l.Name), l.state(), l.LastRun, l.where())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range all {
		for _, c := range l.Changes {
			fmt.Fprintf(out, "%s: %s\n", short(l.Name), printable(c))
		}
	}
	if slices.ContainsFunc(all, func(l listed) bool { return l.Enabled && !l.Runs }) {
		fmt.Fprintln(out, "\nHooks that came with the project do not run before hookline trust.")
	}
	return nil
}

// short is a name that fits into a table.
func short(s string) string {
	const most = 40
	s = printable(s)
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func (l *listed) state() string {
	switch {
	case !l.Enabled:
		return "off by " + l.Off
	case l.Trust != "" && !l.Runs:
		return l.Trust
	case l.Trust != "":
		return "on, " + l.Trust
	}
	return "on"
}

func (l *listed) where() string {
	at := fmt.Sprintf("%s:%d", l.Source.File, l.Line)
	if l.Source.Tool == "" {
		return at
	}
	parts := []string{l.Source.Tool, string(l.Source.Layer)}
	if l.Source.Name != "" {
		parts = append(parts, l.Source.Name)
	}
	return strings.Join(parts, " ") + " " + at
}

// named are the hooks called name; an error that helps where there is none.
func (p *hookPlan) named(name string) error {
	var names []string
	for i := range p.entries {
		if n := p.entries[i].name(); n == name && p.entries[i].config.Type == config.BuiltinHook {
			return &failure{what: fmt.Sprintf("%q is built in", name), next: `switch it in the configuration: "hooksConfig": {"disabled": […]}`}
		} else if n == name {
			return nil
		} else if !slices.Contains(names, short(n)) {
			names = append(names, short(n))
		}
	}
	f := &failure{what: fmt.Sprintf("no hook is called %q", name), next: "the hooks are " + strings.Join(names, ", ")}
	if len(names) == 0 {
		f.next = "the configuration has no hooks"
	}
	return f
}

func hooksSwitchCommand(verb string, on bool) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   verb + " NAME...",
		Short: strings.ToUpper(verb[:1]) + verb[1:] + " hooks by name",
		Long: strings.ToUpper(verb[:1]) + verb[1:] + ` hooks by name; one without a name is called by its command. A running hookline follows
at once. The configuration stays as it is: the choice is kept in the state folder.`,
		Example: "  hookline hooks " + verb + " deny-rm",
		Args:    exactly(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			cfg, w, p, err := plan(file)
			if err != nil {
				return err
			}
			o, err := readOverrides(w)
			if err != nil {
				return err
			}
			for _, n := range names {
				if err := p.named(n); err != nil {
					return err
				}
				o = o.switchHook(n, on)
			}
			if err := o.write(w); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%sd %s\n", verb, printable(strings.Join(names, ", ")))
			return tellKillSwitch(cfg, on, cmd.ErrOrStderr())
		},
	}
	configFlag(cmd, &file)
	return cmd
}

func hooksSwitchAllCommand(verb, all string) *cobra.Command {
	var file string
	what, _, _ := strings.Cut(verb, "-")
	cmd := &cobra.Command{
		Use:   verb,
		Short: strings.ToUpper(what[:1]) + what[1:] + " all hooks",
		Long: strings.ToUpper(what[:1]) + what[1:] + ` all hooks, those of the configuration and imported ones, also where single ones had been
switched before. A running hookline follows at once.`,
		Example: "  hookline hooks " + verb,
		Args:    exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, w, p, err := plan(file)
			if err != nil {
				return err
			}
			if err := (overrides{All: all}).write(w); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%sd %s\n", what, count(len(p.entries), "hook"))
			return tellKillSwitch(cfg, all == "on", cmd.ErrOrStderr())
		},
	}
	configFlag(cmd, &file)
	return cmd
}

// tellKillSwitch says that the configuration switches all hooks off.
func tellKillSwitch(cfg *config.Config, on bool, errOut io.Writer) error {
	if on && !cfg.HooksConfig.Enabled {
		fmt.Fprintln(errOut, `no hook runs all the same: the configuration has "hooksConfig": {"enabled": false}`)
	}
	return nil
}

// String is a last run in a table.
func (r *lastRun) String() string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%s %s", r.At.Local().Format(time.DateTime), r.Outcome)
}
