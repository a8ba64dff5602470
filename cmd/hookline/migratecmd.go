package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/hooks/migrate"
)

type migrateOptions struct {
	from, to, write string
}

func hooksMigrateCommand() *cobra.Command {
	var o migrateOptions
	cmd := &cobra.Command{
		Use:   "migrate --from TOOL --to TOOL",
		Short: "Write the hooks of one tool as those of another",
		Long: `Write the hooks of one tool as those of another: names of events and tools, matchers and
units of time are changed, and what the other tool has no word for is listed on stderr.
--from is claude, qwen, qoder or gemini, with all layers of its settings, or one settings
file, as in claude:.claude/settings.json. --to is hookline, gemini or claude. Nothing is lost
on the way to hookline, which speaks all dialects; "import" runs such hooks even where they are.`,
		Example: `  hookline hooks migrate --from claude --to gemini
  hookline hooks migrate --from gemini --to claude --write claude-hooks.json
  hookline hooks migrate --from qwen:.qwen/settings.json --to hookline`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.migrate(cmd) },
	}
	f := cmd.Flags()
	f.StringVar(&o.from, "from", "", "`TOOL` or settings file to read")
	f.StringVar(&o.to, "to", "", "`TOOL` to write for: hookline, gemini, claude")
	f.StringVar(&o.write, "write", "", "`FILE` to write to, which must not be there (default: stdout)")
	return cmd
}

func (o *migrateOptions) migrate(cmd *cobra.Command) error {
	tool, _, _ := strings.Cut(o.from, ":")
	switch to := migrate.Tool(o.to); {
	case !slices.Contains(config.Tools(), tool):
		return usage(cmd, "--from must be one of "+strings.Join(config.Tools(), ", "))
	case to != migrate.Hookline && to != migrate.Gemini && to != migrate.Claude:
		return usage(cmd, "--to must be one of hookline, gemini, claude")
	}
	w, err := newWorkplace(config.Default(), "")
	if err != nil {
		return err
	}
	im := config.Import([]string{o.from}, w.Project, w.Place)
	errOut := cmd.ErrOrStderr()
	for _, p := range im.Problems {
		fmt.Fprintln(errOut, p)
	}
	if len(im.Hooks) == 0 {
		return &failure{what: o.from + " has no hooks", next: "its settings are " + strings.Join(im.Files, ", ")}
	}
	s := migrate.Migrate(im.Hooks, migrate.Tool(o.to))
	for _, l := range s.Lost {
		fmt.Fprintf(errOut, "%s: %s\n", l.At, printable(l.What))
	}
	var doc bytes.Buffer
	if err := printJSON(&doc, s); err != nil {
		return err
	}
	if o.write == "" {
		_, err := cmd.OutOrStdout().Write(doc.Bytes())
		return err
	}
	return writeMigrated(o.write, doc.Bytes())
}

// writeMigrated writes a file that is not there yet: settings hold more than hooks.
func writeMigrated(file string, data []byte) error {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = writeNew(file, data)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return &failure{what: file + " is there already, and is left as it is", next: "write to another file, and move its \"hooks\" over"}
	case err != nil:
		return &failure{what: "write " + file + ": " + cause(err)}
	}
	return nil
}
