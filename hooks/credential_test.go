package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/hookline-proxy/hookline/hooks"
)

// However a credential is printed, alone or inside of something, it stays hidden.
func TestCredentialStaysHidden(t *testing.T) {
	const secret = "AIza-very-secret"
	c := hooks.NewCredential("X-Goog-Api-Key", secret)
	ctx := hooks.WithCredential(t.Context(), c)
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(h).Info("m", "c", c, "p", &c, "in", struct{ C hooks.Credential }{c}, "ctx", ctx)
	}
	inside := struct {
		c hooks.Credential
		C *hooks.Credential
	}{c, &c}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&log, format, c)
		fmt.Fprintf(&log, format, &c)
		fmt.Fprintf(&log, format, inside)
		fmt.Fprintf(&log, format, ctx)
	}
	b, err := json.Marshal(map[string]any{"c": c, "p": &c, "in": []hooks.Credential{c}})
	if err != nil {
		t.Error(err)
	}
	log.Write(b)
	for _, leak := range []string{secret, fmt.Sprintf("%x", secret)} {
		if strings.Contains(log.String(), leak) {
			t.Errorf("the credential is in %s", log.String())
		}
	}
	header := http.Header{}
	hooks.CredentialOf(ctx).SetOn(header)
	if got := header.Get("X-Goog-Api-Key"); got != secret {
		t.Errorf("got %q; want the credential", got)
	}
}

func TestNoCredential(t *testing.T) {
	ctx := hooks.WithCredential(context.Background(), hooks.NewCredential("Authorization", ""))
	c, header := hooks.CredentialOf(ctx), http.Header{}
	c.SetOn(header)
	if c.Present() || len(header) > 0 {
		t.Errorf("got %v, %v; want none", c.Present(), header)
	}
}
