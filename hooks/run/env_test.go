package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCleanEnviron(t *testing.T) {
	keep := []string{
		"PATH=/bin:/usr/bin", "HOME=/home/jane", "LANG=C.UTF-8", "TERM=xterm", "EMPTY=", "GOOGLE_CLOUD_PROJECT=p-1",
		"GIT_AUTHOR_NAME=Jane", "SSL_CERT_FILE=/etc/ssl/ca.pem", "NODE_EXTRA_CA_CERTS=/etc/ssl/ca.pem",
		"PROXY=http://proxy:3128/", "URL=https://example.org/?a=b@c", "LONG=" + strings.Repeat("x", 500), "COLOR=sk-short",
	}
	drop := []string{
		"GEMINI_API_KEY=x", "github_token=x", "My_Secret_Thing=x", "DB_PASSWORD=x", "PASSWD=x", "SSH_AUTH_SOCK=/tmp/s", "AUTHORIZATION=x",
		"GOOGLE_APPLICATION_CREDENTIALS=/x.json", "CREDS=x", "PRIVATE_DATA=x", "TLS_CERT=x",
		"A=AIzaSyA1234567890abcdefghijklmnopqrstuv", "B=xx sk-proj-abcdefghijklmnopqrstuvwx", "C=ghp_abcdefghijklmnopqrstuvwxyz0123456789",
		"D=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "E=-----BEGIN RSA PRIVATE KEY-----", "F=postgres://user:hunter2@db/x",
		"G=redis://:hunter2@cache:6379", "H=AKIAABCDEFGHIJKLMNOP", "I=Bearer abcdefghijklmnop1234", "J=ya29.a0AfH6SMBx1234", "no equals sign",
	}
	got := CleanEnviron(append(append([]string{}, drop...), keep...))
	if diff := cmp.Diff(keep, got); diff != "" {
		t.Errorf("CleanEnviron (-want +got):\n%s", diff)
	}
}

func TestExpand(t *testing.T) {
	env := []string{"GEMINI_CWD=/old", "GEMINI_CWD=/a b", "GEMINI_PLANS_DIR=$GEMINI_CWD2", "HOME=/h"}
	for in, want := range map[string]string{
		"x":                               "x",
		"$GEMINI_CWD/x":                   "/a b/x",
		"${GEMINI_CWD}x$GEMINI_CWD":       "/a bx/a b",
		"$GEMINI_CWDX":                    "$GEMINI_CWDX",
		"$HOME $1 $$":                     "$HOME $1 $$",
		"$GEMINI_SESSION_ID|${NO}":        "|${NO}",
		"$GEMINI_PLANS_DIR":               "$GEMINI_CWD2",
		"$GEMINI_CWD$GEMINI_CWD_$GEMINI_": "/a b$GEMINI_CWD_$GEMINI_",
	} {
		if got := expand(in, env); got != want {
			t.Errorf("expand(%q): got %q; want %q", in, got, want)
		}
	}
}
