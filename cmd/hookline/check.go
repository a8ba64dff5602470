package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/hookline-proxy/hookline/config"
	"github.com/spf13/cobra"
)

// defaultConfig is the file that init writes and check reads when none is named.
// Its ending tells editors that comments are allowed.
const defaultConfig = "hookline.jsonc"

func checkCommand() *cobra.Command {
	var asJSON, schema bool
	var file string
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "Check a configuration",
		Long: `Check a configuration and print every mistake with its line, its column and a hint.
Without FILE it is ` + defaultConfig + `. The exit code is 1 if there is an error; warnings leave it at 0.`,
		Example: `  hookline check hookline.jsonc
  hookline check --json hookline.jsonc
  hookline check --schema > hookline.schema.json`,
		Args: exactly(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if schema {
				_, err := out.Write(config.Schema())
				return err
			}
			switch {
			case len(args) == 1 && file != "":
				return usage(cmd, "the file is named twice")
			case len(args) == 1:
				file = args[0]
			case file == "":
				file = defaultConfig
			}
			cfg, problems, err := known.Load(file)
			if err != nil {
				return unreadable(file, err)
			}
			// Of imports only the problems are of interest here, and they are warnings.
			if problems.Errors() == 0 && len(cfg.Import) > 0 {
				more, err := importProblems(cfg, file)
				if err != nil {
					return err
				}
				problems = append(problems, more...)
			}
			if asJSON {
				err = printCheckJSON(out, file, problems)
			} else {
				err = printCheck(out, file, cfg, problems)
			}
			if err == nil && problems.Errors() > 0 {
				err = exitCode(exitFailed)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "the file, as for serve and run")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema of the configuration, check nothing")
	return cmd
}

func printCheckJSON(out io.Writer, file string, problems config.Problems) error {
	if problems == nil {
		problems = config.Problems{}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		File     string          `json:"file"`
		OK       bool            `json:"ok"`
		Problems config.Problems `json:"problems"`
	}{file, problems.Errors() == 0, problems})
}

func printCheck(out io.Writer, file string, cfg *config.Config, problems config.Problems) error {
	for _, p := range problems {
		if _, err := fmt.Fprintln(out, p); err != nil {
			return err
		}
	}
	var err error
	if n := problems.Errors(); n > 0 {
		_, err = fmt.Fprintf(out, "%s: %s\n", file, count(n, "error"))
	} else {
		_, err = fmt.Fprintf(out, "%s: ok, %s\n", file, count(hookCount(cfg), "hook"))
	}
	return err
}

// importProblems are those of the settings that a configuration imports.
func importProblems(cfg *config.Config, file string) (config.Problems, error) {
	w, err := newWorkplace(cfg, file)
	if err != nil {
		return nil, err
	}
	return config.Import(cfg.Import, filepath.Dir(w.file), w.Place).Problems, nil
}

// hookCount counts the hooks of a configuration, disabled ones too.
func hookCount(cfg *config.Config) int {
	n := 0
	for _, defs := range cfg.Hooks {
		for _, d := range defs {
			n += len(d.Hooks)
		}
	}
	return n
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// unreadable says why a configuration file could not be opened.
func unreadable(file string, err error) error {
	f := &failure{what: "configuration " + file + ": " + cause(err)}
	if errors.Is(err, fs.ErrNotExist) {
		f.next = "hookline init writes one to begin with"
	}
	return f
}

// cause is the error of a file operation without the path, which the caller
// tells in its own way.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// loadConfig reads the configuration of serve and run; "" is the default one.
// Warnings go to errOut.
func loadConfig(file string, errOut io.Writer) (*config.Config, error) {
	if file == "" {
		return config.Default(), nil
	}
	cfg, problems, err := known.Load(file)
	if err != nil {
		return nil, unreadable(file, err)
	}
	if err := problems.Err(); err != nil {
		return nil, &failure{
			what: "configuration " + file + " has " + count(problems.Errors(), "error") + ":\n" + err.Error(),
			next: "correct the file; hookline check " + file + " shows what is left",
		}
	}
	if d := cfg.State.Dir; d != "" && !filepath.IsAbs(d) {
		cfg.State.Dir = filepath.Join(filepath.Dir(file), d)
	}
	for _, p := range problems {
		fmt.Fprintln(errOut, p)
	}
	return cfg, nil
}
