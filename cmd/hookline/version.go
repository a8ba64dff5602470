package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for a release: -X main.version=1.2.3.
var version = ""

type buildVersion struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // of the source, "" when not built from a repository
	Modified bool   `json:"modified,omitempty"` // the source differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func currentVersion() buildVersion {
	v := buildVersion{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	if v.Version == "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version // what go install NAME@VERSION asked for
	}
	if v.Version == "" {
		v.Version = "devel"
	}
	return v
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  hookline version --json",
		Args:    exactly(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v := currentVersion()
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(v)
			}
			rev := ""
			if v.Revision != "" {
				rev = " " + v.Revision[:min(12, len(v.Revision))]
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "hookline %s%s %s %s\n", v.Version, rev, v.Go, v.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
