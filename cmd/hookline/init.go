package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
)

//go:embed starter.jsonc
var starter []byte

func initCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a configuration to begin with",
		Long: `Write a configuration with two sample hooks: one denies rm -rf, one keeps a journal of
tool results. Without FILE it is ` + defaultConfig + `. A file that is there is never overwritten.`,
		Example: `  hookline init
  hookline check
  hookline run --config hookline.jsonc -- gemini`,
		Args: exactly(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := defaultConfig
			if len(args) == 1 {
				file = args[0]
			}
			if err := writeNew(file, starter); err != nil {
				if errors.Is(err, fs.ErrExist) {
					return &failure{what: file + " is there already", next: "name another file: hookline init FILE"}
				}
				return &failure{what: "write " + file + ": " + cause(err)}
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), `wrote %[1]s
next: hookline check %[1]s
      hookline run --config %[1]s -- gemini
`, file)
			return err
		},
	}
}

// writeNew writes a file that must not be there yet.
func writeNew(file string, data []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
