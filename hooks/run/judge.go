package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"google.golang.org/genai"

	"github.com/hookline-proxy/hookline/hooks"
)

const (
	// DefaultModel answers hooks that name none.
	DefaultModel = "gemini-2.5-flash"
	// maxQuestion is the most bytes that a model is asked at first: the prompt
	// with the event. It is not cut: what is cut out is not judged.
	maxQuestion = 512 << 10
	// maxReply is the most bytes of a model's answer, decompressed.
	maxReply = 4 << 20
	// maxAnswerTokens leaves room for a model that thinks first.
	maxAnswerTokens = 8192
)

// JudgeOptions of a Judge.
type JudgeOptions struct {
	// BaseURL is the Gemini API's, and never hookline's own: hooks fire no hooks.
	BaseURL string
	// Model answers hooks that name none; "" for DefaultModel.
	Model string
	// Key is sent with all calls; the zero value sends the credential of the
	// agent whose event it is.
	Key hooks.Credential
	// TokensPerHour and CallsPerMinute bound the calls of all hooks together;
	// zero for the defaults.
	TokensPerHour, CallsPerMinute int
	// MaxTurns bounds agent hooks that name none; zero for DefaultMaxTurns.
	MaxTurns int
	// Dir is where the agents of events without a cwd look; "" for the current one.
	Dir string
}

// Judge runs hooks that ask a model whether an event may go on: Prompt with one
// call, Agent with as many as it takes to look at files. Both are
// hooks.HandlerFuncs. It calls the API itself, so no hook ever fires for it.
type Judge struct {
	client    *genai.Client
	transport *http.Transport
	model     string
	key       hooks.Credential
	budget    *budget
	maxTurns  int
	dir       string
}

// NewJudge makes a Judge.
func NewJudge(ctx context.Context, o JudgeOptions) (*Judge, error) {
	j := &Judge{model: o.Model, key: o.Key, maxTurns: o.MaxTurns, dir: o.Dir}
	if j.model == "" {
		j.model = DefaultModel
	}
	if j.maxTurns <= 0 {
		j.maxTurns = DefaultMaxTurns
	}
	if o.TokensPerHour <= 0 {
		o.TokensPerHour = DefaultTokensPerHour
	}
	if o.CallsPerMinute <= 0 {
		o.CallsPerMinute = DefaultCallsPerMinute
	}
	j.budget = newBudget(o.TokensPerHour, o.CallsPerMinute)
	j.transport = &http.Transport{
		Proxy:             http.ProxyFromEnvironment, // as all other calls to the upstream
		ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
	}
	var err error
	j.client, err = genai.NewClient(ctx, &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI,
		// The client needs one and shows it in its errors; the real one is put
		// in below it.
		APIKey:      "none",
		HTTPOptions: genai.HTTPOptions{BaseURL: o.BaseURL},
		HTTPClient: &http.Client{
			Transport: authorized{j},
			// A redirect would take the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	})
	if err != nil {
		return nil, errors.New("make a client of the Gemini API") // its error shows the configuration
	}
	return j, nil
}

// Close closes connections that wait for the next call.
func (j *Judge) Close() error {
	j.transport.CloseIdleConnections()
	return nil
}

func (j *Judge) credential(ctx context.Context) hooks.Credential {
	if j.key.Present() {
		return j.key
	}
	return hooks.CredentialOf(ctx)
}

// authorized puts the credential into requests on their way out, and bounds
// the answers.
type authorized struct{ judge *Judge }

func (a authorized) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Del("X-Goog-Api-Key")
	req.Header.Del("Authorization")
	a.judge.credential(req.Context()).SetOn(req.Header)
	resp, err := a.judge.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxReply), resp.Body}
	return resp, nil
}

var modelID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)?$`)

// generate makes one call within the budget. size is what is asked, in bytes.
func (j *Judge) generate(ctx context.Context, h *hooks.Hook, contents []*genai.Content, size int, config *genai.GenerateContentConfig) (*genai.Content, *hooks.Failure) {
	model := h.Model
	if model == "" {
		model = j.model
	}
	if !modelID.MatchString(model) {
		return nil, hooks.Failuref(hooks.FailureStart, "the name of its model is none")
	}
	if !j.credential(ctx).Present() {
		return nil, &hooks.Failure{Kind: hooks.FailureStart, Text: "there is no key for its model call",
			Hint: "the agent sent none for the Gemini API with this event: name an environment variable with a key in hooksConfig.apiKeyEnv"}
	}
	weight := size/4 + 1024 // some four bytes a token, and the answer
	if failure := j.budget.take(weight); failure != nil {
		return nil, failure
	}
	took := weight
	defer func() { j.budget.settle(weight, took) }()
	resp, err := j.call(ctx, model, contents, config)
	if err != nil {
		if ctx.Err() == nil {
			took = 0 // else the model may have worked for nothing
		}
		return nil, modelFailure(ctx, err)
	}
	if u := resp.UsageMetadata; u != nil && u.TotalTokenCount > 0 {
		took = int(u.TotalTokenCount)
	}
	if len(resp.Candidates) == 0 || resp.Candidates[0] == nil || resp.Candidates[0].Content == nil || len(resp.Candidates[0].Content.Parts) == 0 {
		return nil, &hooks.Failure{Kind: hooks.FailureJSON, Text: "its model gave no answer", Hint: "the model's safety filters, or its limit of tokens, may have stopped it"}
	}
	if resp.Candidates[0].FinishReason == genai.FinishReasonMaxTokens {
		return nil, hooks.Failuref(hooks.FailureSize, "its model's answer was longer than %d tokens", maxAnswerTokens)
	}
	return resp.Candidates[0].Content, nil
}

var errUnreadable = errors.New("the client of the Gemini API broke on the answer")

// call makes a call. The client panics on answers with a null or a text where
// it expects an object.
func (j *Judge) call(ctx context.Context, model string, contents []*genai.Content, config *genai.GenerateContentConfig) (resp *genai.GenerateContentResponse, err error) {
	defer func() {
		if recover() != nil {
			resp, err = nil, errUnreadable
		}
	}()
	return j.client.Models.GenerateContent(ctx, model, contents, config)
}

// baseConfig is what all calls ask for.
func baseConfig(instruction string) *genai.GenerateContentConfig {
	config := &genai.GenerateContentConfig{
		SystemInstruction:     genai.NewContentFromText(instruction, genai.RoleUser),
		MaxOutputTokens:       maxAnswerTokens,
		CandidateCount:        1,
		AutomaticContinuation: genai.Ptr(false), // one call is one call
	}
	// What a guard looks at may well be harmful: that is no reason to not look.
	for _, c := range []genai.HarmCategory{genai.HarmCategoryHarassment, genai.HarmCategoryHateSpeech, genai.HarmCategorySexuallyExplicit, genai.HarmCategoryDangerousContent} {
		config.SafetySettings = append(config.SafetySettings, &genai.SafetySetting{Category: c, Threshold: genai.HarmBlockThresholdBlockNone})
	}
	return config
}

// modelFailure says why a call failed. The errors' own texts may hold what the
// model said, or the key.
func modelFailure(ctx context.Context, err error) *hooks.Failure {
	var api genai.APIError
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case ctx.Err() == nil && (errors.Is(err, errUnreadable) || errors.As(err, &syntax) || errors.As(err, &kind)):
		return hooks.Failuref(hooks.FailureJSON, "its model's answer cannot be read, or is longer than %s", size(maxReply))
	case !errors.As(err, &api):
		return netFailure(ctx, err)
	}
	f := hooks.Failuref(hooks.FailureStatus, "its model call was answered with status %d", api.Code)
	switch api.Code {
	case http.StatusBadRequest:
		f.Hint = "does the model take system instructions, response schemas and functions?"
	case http.StatusUnauthorized, http.StatusForbidden:
		f.Hint = "the key is not accepted: hooksConfig.apiKeyEnv names a variable with another one"
	case http.StatusNotFound:
		f.Hint = "is there such a model? See hooksConfig.model and the hook's own"
	case http.StatusTooManyRequests:
		f.Hint = "the key's quota is used up: hooks share it with the agent, unless hooksConfig.apiKeyEnv names another"
	}
	return f
}

// textOf is a content's text, without thoughts.
func textOf(c *genai.Content) string {
	var b strings.Builder
	for _, p := range c.Parts {
		if p != nil && !p.Thought {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// question puts an event into a hook's prompt.
func question(h *hooks.Hook, in []byte) (string, *hooks.Failure) {
	q := fillPrompt(h.Prompt, string(in))
	if len(q) > maxQuestion {
		return "", &hooks.Failure{Kind: hooks.FailureSize, Text: fmt.Sprintf("the event makes its prompt %d bytes long; the limit is %s", len(q), size(maxQuestion)),
			Hint: "an event is never cut, since what is left out would not be judged: guard an event with less in it"}
	}
	return q, nil
}

// fillPrompt puts the arguments in the place of $ARGUMENTS, or at the end.
// A backslash takes its meaning from a dollar.
func fillPrompt(prompt, arguments string) string {
	const name = "ARGUMENTS"
	var b strings.Builder
	put := false
	for {
		before, after, found := strings.Cut(prompt, "$")
		if !found {
			b.WriteString(before)
			break
		}
		rest, isName := strings.CutPrefix(after, name)
		switch {
		case strings.HasSuffix(before, `\`):
			b.WriteString(before[:len(before)-1] + "$")
			prompt = after
		case isName && (rest == "" || !isWord(rest[0])):
			b.WriteString(before + arguments)
			prompt, put = rest, true
		default:
			b.WriteString(before + "$")
			prompt = after
		}
	}
	if !put {
		b.WriteString("\n\n" + arguments)
	}
	return b.String()
}
