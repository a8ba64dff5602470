package main

import (
	"strconv"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/spf13/cobra"
)

func redactCommand() *cobra.Command {
	var o redact.FilterOptions
	var opts redact.Options
	var action, split string
	cmd := &cobra.Command{
		Use:   "redact",
		Short: "Redact text from standard input",
		Long: `Redact personal data and secrets in the text on standard input, as the gateway does.
With --jsonl each line is {"text":"…"}, and the answer {"text":"…","spans":[…]} says
what was found where (byte offsets of the input; spans of several entities may overlap).`,
		Example: `  hookline redact < mail.txt
  hookline redact --jsonl --chunks 50 < texts.jsonl
  hookline redact --report < log.txt`,
		Args: exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Chunks < 0 {
				return usage(cmd, "--chunks is less than 0")
			}
			if split != "" {
				seed, err := strconv.ParseUint(split, 10, 64)
				if err != nil {
					return usage(cmd, "--split "+strconv.Quote(split)+" is no number")
				}
				o.Split = &seed
			}
			opts.Action = redact.Action(action)
			e, err := redact.New(opts)
			if err != nil {
				return usage(cmd, err.Error())
			}
			return e.Filter(cmd.InOrStdin(), cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.JSONL, "jsonl", false, "read and print JSON lines")
	f.IntVar(&o.Chunks, "chunks", 0, "stream in chunks of `N` bytes")
	f.StringVar(&split, "split", "", "stream in chunks of random sizes, from `SEED`")
	f.BoolVar(&o.Report, "report", false, "print how much was found, by entity, instead of the text")
	f.StringSliceVar(&opts.Entities, "entities", nil, "entities to find: `NAMES`, \"default\" (all but URL) or \"all\"")
	f.BoolVar(&opts.NoSecrets, "no-secrets", false, "find no secrets")
	f.Float64Var(&opts.MinScore, "min-score", 0, "least `SCORE` of a match (default 0.4)")
	f.StringVar(&action, "action", "mask", "mask, partial, hash, placeholder or report")
	return cmd
}
