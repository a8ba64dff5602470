package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/hooks/reported"
)

const (
	// envURL tells the agent's own hooks where hookline is; the session is in it.
	envURL         = "HOOKLINE_URL"
	envReportToken = "HOOKLINE_REPORT_TOKEN"
)

type reportOptions struct {
	url, dialect string
	timeout      time.Duration
}

func reportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [EVENT]",
		Short: "Report an event of an agent to a running hookline",
		Long: `Report an event that hookline does not see on the wire. It is a command hook for the agent's
own settings: it reads the event's document from stdin and prints what hookline's hooks say,
or ends with exit code 2 and the reason on stderr where they deny. Without EVENT the document
says which it is. An event that hookline did see on the wire fires once all the same.
Behind "hookline run" it finds hookline by ` + envURL + `; a token is taken from ` + envReportToken + `.`,
		Example: `  echo '{"tool_name":"Bash","tool_input":{"command":"ls"}}' | hookline report PreToolUse
  hookline report --dialect qwen --url http://127.0.0.1:8787 SessionEnd < event.json`,
		Args: exactly(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			event := ""
			if len(args) == 1 {
				event = args[0]
			}
			return o.report(cmd, event)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.url, "url", "", "hookline's address (default $"+envURL+", else http://127.0.0.1:8787)")
	f.StringVar(&o.dialect, "dialect", "", "gemini, claude, qwen or qoder (default: what fits the event)")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long to wait for the answer")
	return cmd
}

func (o *reportOptions) report(cmd *cobra.Command, event string) error {
	base := o.url
	if base == "" {
		base = os.Getenv(envURL)
	}
	if base == "" {
		base = "http://127.0.0.1:8787"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage(cmd, "--url: that is no http or https URL")
	}
	doc, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), reported.MaxDocument+1))
	if err != nil {
		return err
	}
	if len(doc) > reported.MaxDocument {
		return &failure{what: fmt.Sprintf("the event has more than %d bytes", reported.MaxDocument)}
	}
	u = u.JoinPath("hooks", "v1", "events", event)
	u.RawQuery = url.Values{"dialect": {o.dialect}}.Encode()
	answer, err := o.post(cmd, u.String(), doc)
	if err != nil {
		return err
	}
	if reason, denied := denial(answer); denied {
		fmt.Fprintln(cmd.ErrOrStderr(), reason)
		return exitCode(2)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n", answer)
	return err
}

func (o *reportOptions) post(cmd *cobra.Command, to string, doc []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(cmd.Context(), http.MethodPost, to, bytes.NewReader(doc))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if token := os.Getenv(envReportToken); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Timeout: o.timeout}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL
		}
		return nil, &failure{what: "hookline cannot be reached at " + req.URL.Host + ": " + err.Error(), next: "start it, or name its address with --url"}
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 4*reported.MaxDocument))
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		what := gjson.GetBytes(answer, "error.message").String()
		if what == "" {
			what = res.Status
		}
		return nil, &failure{what: "the report was refused: " + printable(what)}
	}
	return answer, nil
}

// denial is the reason of an answer that denies, in any dialect.
func denial(answer []byte) (reason string, denied bool) {
	a := gjson.ParseBytes(answer)
	for _, at := range []struct{ verdict, reason string }{
		{"hookSpecificOutput.permissionDecision", "hookSpecificOutput.permissionDecisionReason"}, {"decision", "reason"},
	} {
		if v := a.Get(at.verdict).String(); v == "deny" || v == "block" {
			reason, denied = strings.TrimSpace(a.Get(at.reason).String()), true
			break
		}
	}
	if b := a.Get("hookSpecificOutput.decision"); b.Get("behavior").String() == "deny" {
		return b.Get("message").String(), true
	}
	return reason, denied
}
