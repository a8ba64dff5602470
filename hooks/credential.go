package hooks

import (
	"context"
	"log/slog"
	"net/http"
)

// Credential is what an agent proves itself to the model's API with. Hooks that
// ask a model themselves may use it for the event that it came with, and no
// longer. It cannot be printed, logged or marshalled by accident. The zero
// value is no credential.
type Credential struct {
	// A closure, since package fmt shows unexported fields and cannot look
	// into a function.
	reveal func() (header, value string)
}

// NewCredential makes a credential that is sent as a header.
func NewCredential(header, value string) Credential {
	if value == "" {
		return Credential{}
	}
	return Credential{func() (string, string) { return header, value }}
}

// Present reports whether there is one.
func (c Credential) Present() bool { return c.reveal != nil }

// SetOn puts the credential into a request's header.
func (c Credential) SetOn(h http.Header) {
	if c.reveal != nil {
		h.Set(c.reveal())
	}
}

const redacted = "[redacted]"

func (c Credential) String() string               { return redacted }
func (c Credential) GoString() string             { return redacted }
func (c Credential) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (c Credential) MarshalText() ([]byte, error) { return []byte(redacted), nil }

type credentialKey struct{}

// WithCredential gives the hooks of a context's events the agent's credential
// for the Gemini API.
func WithCredential(ctx context.Context, c Credential) context.Context {
	if !c.Present() {
		return ctx
	}
	return context.WithValue(ctx, credentialKey{}, c)
}

// CredentialOf is the agent's credential; the zero value when the event came
// with none.
func CredentialOf(ctx context.Context) Credential {
	c, _ := ctx.Value(credentialKey{}).(Credential)
	return c
}
