package run

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/hooks"
)

// secretWords make a variable's name one of a secret, wherever they stand in it.
var secretWords = []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"}

// publicNames hold such a word and no secret. Hooks that use git or TLS behind
// a company's proxy break without them.
var publicNames = []string{"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"}

// secretValue finds keys by their form: vendors' prefixes, JSON web tokens,
// private keys in PEM, and user and password in a URL.
var secretValue = regexp.MustCompile(`AIza[0-9A-Za-z_-]{30}|ya29\.[0-9A-Za-z_-]{10}|\b(?:sk|pk|rk)[-_][0-9A-Za-z_-]{20}|\bgh[opsur]_[0-9A-Za-z]{20}|\bgithub_pat_|\bglpat-|\bnpm_[0-9A-Za-z]{30}|\bxox[abeoprs]-|\b(?:AKIA|ASIA)[0-9A-Z]{16}|\bhf_[0-9A-Za-z]{30}|\beyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY|(?i:\bbearer [0-9a-z._~+/-]{16})|[A-Za-z][A-Za-z0-9+.-]*://[^/?#\s@]*:[^/?#\s@]+@`)

// CleanEnviron gives those of the "NAME=value" pairs that hold no secret, by
// their name or by the form of their value.
func CleanEnviron(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && !isSecret(name, value) {
			kept = append(kept, kv)
		}
	}
	return kept
}

func isSecret(name, value string) bool {
	upper := strings.ToUpper(name)
	if !slices.Contains(publicNames, upper) && slices.ContainsFunc(secretWords, func(w string) bool { return strings.Contains(upper, w) }) {
		return true
	}
	return secretValue.MatchString(value)
}

// environ is the environment of a hook: what is inherited, what tells of the
// firing, and last the hook's own.
func (r *Runner) environFor(h *hooks.Hook, env hooks.Env) []string {
	dir := env.Cwd
	if dir == "" {
		dir = r.dir
	}
	if dir == "" {
		dir, _ = os.Getwd() // hooks then see an empty variable
	}
	out := make([]string, 0, len(r.environ)+len(h.Env)+10)
	out = append(out, r.environ...)
	out = append(out,
		"GEMINI_PROJECT_DIR="+dir,
		"GEMINI_PLANS_DIR="+env.PlansDir,
		"GEMINI_SESSION_ID="+env.SessionID,
		"GEMINI_CWD="+dir,
		"CLAUDE_PROJECT_DIR="+dir,
		"QWEN_PROJECT_DIR="+dir,
		"QODER_PROJECT_DIR="+dir,
		"HOOKLINE_EVENT="+string(env.Event),
		"HOOKLINE_SESSION_ID="+env.SessionID,
		"HOOKLINE_TRANSCRIPT_PATH="+env.TranscriptPath,
		"HOOKLINE_HOOK="+h.Label(),
	)
	for k, v := range h.Env {
		out = append(out, k+"="+v)
	}
	// A NUL, which a client may have put into its session id, would keep the
	// process from starting at all.
	for i, kv := range out {
		if strings.IndexByte(kv, 0) >= 0 {
			out[i] = strings.ReplaceAll(kv, "\x00", "")
		}
	}
	return out
}

// expanded are the variables that args may name: with args there is no shell
// that would put them in. Commands get them from the environment alone, so that
// no directory's name is ever read as shell text.
var expanded = []string{"GEMINI_PROJECT_DIR", "GEMINI_PLANS_DIR", "GEMINI_SESSION_ID", "GEMINI_CWD", "CLAUDE_PROJECT_DIR", "QWEN_PROJECT_DIR", "QODER_PROJECT_DIR"}

// expand replaces $NAME and ${NAME} of the expanded variables; all else stays.
func expand(s string, env []string) string {
	if !strings.Contains(s, "$") {
		return s
	}
	for _, name := range expanded {
		value := ""
		for _, kv := range env {
			if k, v, _ := strings.Cut(kv, "="); k == name {
				value = v // the last one counts
			}
		}
		s = strings.ReplaceAll(s, "${"+name+"}", value)
		s = replaceWord(s, "$"+name, value)
	}
	return s
}

// replaceWord replaces word where no letter, digit or underscore follows.
func replaceWord(s, word, value string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, word)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(word)
		b.WriteString(s[:i])
		if end < len(s) && isWord(s[end]) {
			b.WriteString(word)
		} else {
			b.WriteString(value)
		}
		s = s[end:]
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func isPowerShell(shell string) bool {
	base := strings.ToLower(strings.TrimSuffix(filepath.Base(shell), ".exe"))
	return base == "powershell" || base == "pwsh"
}
