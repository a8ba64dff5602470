package shield

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/hooks/redact"
	"github.com/hookline-proxy/hookline/stream"
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

// both is a shield that redacts both ways.
func both(t testing.TB, o redact.Options, more ...func(*Options)) *Shield {
	t.Helper()
	r := made[fmt.Sprint(o)] // an engine compiles many rules: one for all tests
	if r == nil {
		var err error
		if r, err = NewRedactor(o); err != nil {
			t.Fatal(err)
		}
		made[fmt.Sprint(o)] = r
	}
	opt := Options{Rules: []Rule{{Redactor: r, Direction: ToModel}, {Redactor: r, Direction: ToAgent}}, Note: "-"}
	for _, f := range more {
		f(&opt)
	}
	return New(opt)
}

var made = map[string]*Redactor{}

var placeholders = redact.Options{Action: redact.Placeholder}

// model is an upstream that answers with these events and keeps what it was sent.
type model struct {
	sent   []string
	events []string
	err    error // after the events
}

func (m *model) Generate(_ context.Context, _ string, body []byte) (*toolloop.Reply, error) {
	m.sent = append(m.sent, string(body))
	return &toolloop.Reply{Status: 200, Close: func() error { return nil }, Events: func(yield func(stream.Event, error) bool) {
		for _, e := range m.events {
			if !yield(stream.Event{Data: []byte(e), Raw: []byte(e)}, nil) {
				return
			}
		}
		if m.err != nil {
			yield(stream.Event{}, m.err)
		}
	}}, nil
}

// agent keeps what it was sent.
type agent struct{ docs []string }

func (a *agent) Start(*toolloop.Reply) error   { return nil }
func (a *agent) Forward(*toolloop.Reply) error { return nil }
func (a *agent) Event(p []byte) error          { a.docs = append(a.docs, string(p)); return nil }
func (a *agent) Tail(p []byte) error           { a.docs = append(a.docs, string(p)); return nil }

// exchange takes a request up and its answer down. between sees the documents
// where hooks would.
func exchange(t *testing.T, s *Shield, body string, m *model, between *[]string) (*agent, error) {
	t.Helper()
	var w gemini.Wire
	c := s.Call("r", "tenant", "session")
	defer c.End(t.Context())
	sent, err := c.Request(w, "m", []byte(body))
	if err != nil {
		return nil, err
	}
	reply, err := c.Upstream(m, w, false).Generate(t.Context(), "m", sent)
	if err != nil {
		return nil, err
	}
	a := &agent{}
	out := c.Sink(a, w, false)
	for ev, err := range reply.Events {
		if err != nil {
			return a, err
		}
		if between != nil {
			*between = append(*between, string(ev.Data))
		}
		if ev.Tail {
			err = out.Tail(ev.Raw)
		} else {
			err = out.Event(ev.Data)
		}
		if err != nil {
			return a, err
		}
	}
	return a, out.Finish()
}

func q(s string) string { return string(gemini.Quote(s)) }

func user(texts ...string) string {
	parts := make([]string, len(texts))
	for i, s := range texts {
		parts[i] = `{"text":` + q(s) + `}`
	}
	return `{"role":"user","parts":[` + strings.Join(parts, ",") + `]}`
}

func says(text string) string {
	return `{"candidates":[{"content":{"parts":[{"text":` + q(text) + `}],"role":"model"},"index":0}]}`
}

const stop = `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"totalTokenCount":3}}`

// texts joins what the agent reads of one kind.
func texts(docs []string, kind gemini.LeafKind) string {
	var b strings.Builder
	for _, d := range docs {
		body, err := gemini.Leaves([]byte(d))
		if err != nil {
			b.WriteString("!" + d)
			continue
		}
		for _, l := range body.Leaves {
			if l.Kind == kind {
				b.WriteString(gemini.Unquote([]byte(d)[l.Start:l.End]))
			}
		}
	}
	return b.String()
}

const (
	mail = "jane.roe@example.org"
	card = "4012-8888-8888-1881"
	iban = "DE89370400440532013000"
)

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"text", `{"contents":[` + user("write to "+mail+" now") + `]}`, `{"contents":[{"role":"user","parts":[{"text":"write to <EMAIL_ADDRESS_1> now"}]}]}`},
		{"escapes", `{"contents":[{"parts":[{"text":"write to jane.roe\u0040example.org now \u003c"}]}]}`, `{"contents":[{"parts":[{"text":"write to <EMAIL_ADDRESS_1> now <"}]}]}`},
		{"duplicate members", `{"contents":[{"parts":[{"text":"` + mail + `","text":"x"}],"parts":[{"text":"` + card + `"}]}]}`, `{"contents":[{"parts":[{"text":"<EMAIL_ADDRESS_1>","text":"x"}],"parts":[{"text":"<CREDIT_CARD_1>"}]}]}`},
		{"snake case system instruction", `{"system_instruction":{"parts":[{"text":"I am ` + mail + `"}]},"contents":[]}`, `{"system_instruction":{"parts":[{"text":"I am <EMAIL_ADDRESS_1>"}]},"contents":[]}`},
		{"signed text keeps its signature", `{"contents":[{"role":"model","parts":[{"text":"` + mail + `","thoughtSignature":"AbC="}]}]}`, `{"contents":[{"role":"model","parts":[{"text":"<EMAIL_ADDRESS_1>","thoughtSignature":"AbC="}]}]}`},
		{"arguments and results", `{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"to":["` + mail + `"],"card":4012888888881881}}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"{\"a\":\"jane.roe\\u0040example.org\"}"}}}]}]}`,
			`{"contents":[{"parts":[{"functionCall":{"name":"f","args":{"to":["<EMAIL_ADDRESS_1>"],"card":"<CREDIT_CARD_1>"}}}]},{"parts":[{"functionResponse":{"name":"f","response":{"output":"{\"a\":\"<EMAIL_ADDRESS_1>\"}"}}}]}]}`},
		{"declarations, labels and unknown members", `{"tools":[{"functionDeclarations":[{"name":"f","description":"mails ` + mail + `","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"as ` + iban + `"}}}}]}],"labels":{"owner":"` + mail + `"},"newThing":{"deep":["` + card + `"]}}`,
			`{"tools":[{"functionDeclarations":[{"name":"f","description":"mails <EMAIL_ADDRESS_1>","parameters":{"type":"OBJECT","properties":{"a":{"type":"STRING","description":"as <IBAN_CODE_1>"}}}}]}],"labels":{"owner":"<EMAIL_ADDRESS_1>"},"newThing":{"deep":["<CREDIT_CARD_1>"]}}`},
		{"inline text", `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"amFuZS5yb2VAZXhhbXBsZS5vcmc="}}]}]}`, `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"PEVNQUlMX0FERFJFU1NfMT4="}}]}]}`},
		{"over parts", `{"contents":[` + user("write to jane.r", "oe@exam", "ple.org, please") + `]}`, `{"contents":[` + user("write to <EMAIL_ADDRESS_1>", "", ", please") + `]}`},
		{"over contents of one side", `{"contents":[{"role":"model","parts":[{"text":"it is jane.r"}]},{"role":"model","parts":[{"text":"oe@example.org or so"}]}]}`, `{"contents":[{"role":"model","parts":[{"text":"it is <EMAIL_ADDRESS_1>"}]},{"role":"model","parts":[{"text":" or so"}]}]}`},
		{"not over sides", `{"contents":[{"role":"user","parts":[{"text":"it is jane.r"}]},{"role":"model","parts":[{"text":"oe@example.org or so"}]}]}`, `{"contents":[{"role":"user","parts":[{"text":"it is jane.r"}]},{"role":"model","parts":[{"text":"<EMAIL_ADDRESS_1> or so"}]}]}`},
		{"a border beside a number", `{"contents":[` + user("the card 4012888888881881", "5 apples") + `]}`, `{"contents":[` + user("the card <CREDIT_CARD_1>", "5 apples") + `]}`},
		{"known where no detector knows it", `{"contents":[` + user("the card 4012888888881881") + `,{"role":"model","parts":[{"text":"so 40128888888818815 apples"}]}]}`, `{"contents":[` + user("the card <CREDIT_CARD_1>") + `,{"role":"model","parts":[{"text":"so <CREDIT_CARD_1>5 apples"}]}]}`},
		{"numbers that stand there are not given", `{"contents":[` + user("what is <EMAIL_ADDRESS_1>? mail "+mail) + `]}`, `{"contents":[` + user("what is <EMAIL_ADDRESS_1>? mail <EMAIL_ADDRESS_2>") + `]}`},
		{"nothing found", "{ \"contents\" : [ {\"parts\":[{\"text\":\"a \\u00e9 \\/ b\"},{\"text\":\"lo\"}]} ] }", "{ \"contents\" : [ {\"parts\":[{\"text\":\"a \\u00e9 \\/ b\"},{\"text\":\"lo\"}]} ] }"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := both(t, placeholders).Call("r", "", "")
			got, err := c.Request(gemini.Wire{}, "m", []byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, string(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			again, err := c.Body(got)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second pass changes it: %s (%v)", again, err)
			}
			if back := c.restoreBody(got); !sameJSON(t, tt.in, string(back)) && !strings.Contains(tt.name, "over ") {
				t.Errorf("restored: %s", back)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return cmp.Equal(x, y) || strings.Contains(a, `\\u0040`) || strings.Contains(a, `"data"`)
}

// TestRoundTrip: the model repeats placeholders, cut anywhere, and the agent gets
// the values back; the second request is the same to the model.
func TestRoundTrip(t *testing.T) {
	said := "Mail " + mail + ", pay " + card + " and " + iban + "."
	const echo = "I mailed <EMAIL_ADDRESS_1>, `<CREDIT_CARD_1>` and <iban_code_1>, not <EMAIL_ADDRESS_9>."
	want := "I mailed " + mail + ", `" + card + "` and " + iban + ", not <EMAIL_ADDRESS_9>."
	for i := range len(echo) + 1 {
		s := both(t, placeholders)
		m := &model{events: []string{says(echo[:i]), says(echo[i:]), stop}}
		first := `{"contents":[` + user(said) + `]}`
		a, err := exchange(t, s, first, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(a.docs, gemini.LeafText); got != want {
			t.Fatalf("cut at %d: got %q, want %q", i, got, want)
		}
		for _, secret := range []string{mail, card, iban} {
			if strings.Contains(m.sent[0], secret) {
				t.Fatalf("%s went up: %s", secret, m.sent[0])
			}
		}
		if !strings.Contains(a.docs[len(a.docs)-1], `"finishReason":"STOP"`) || !strings.Contains(a.docs[len(a.docs)-1], `totalTokenCount`) {
			t.Fatalf("the end is not at the end: %q", a.docs)
		}
		if i%7 != 0 {
			continue
		}
		contents := user(said)
		for _, d := range a.docs {
			contents += `,{"role":"model","parts":[{"text":` + q(texts([]string{d}, gemini.LeafText)) + `}]}`
		}
		m2 := &model{events: []string{stop}}
		if _, err := exchange(t, s, `{"contents":[`+contents+`,`+user("thanks")+`]}`, m2, nil); err != nil {
			t.Fatal(err)
		}
		if got := texts(m2.sent, gemini.LeafText); got != texts(m.sent, gemini.LeafText)+strings.Replace(echo, "iban_code", "IBAN_CODE", 1)+"thanks" {
			t.Fatalf("cut at %d: the second request reads %q", i, got)
		}
	}
}

// TestSplits: what the model says is redacted in the same way, however it is cut.
func TestSplits(t *testing.T) {
	text := "It is " + mail + " or " + card + ", not " + iban + ". Well: jane@exam"
	const want = "It is [EMAIL_ADDRESS] or [CREDIT_CARD], not [IBAN_CODE]. Well: jane@exam"
	s := both(t, redact.Options{})
	check := func(kind gemini.LeafKind, events []string) {
		t.Helper()
		var between []string
		a, err := exchange(t, s, `{"contents":[`+user("hello")+`]}`, &model{events: events}, &between)
		if err != nil {
			t.Fatal(err)
		}
		if got := texts(between, kind); got != want {
			t.Fatalf("%s: hooks see %q of %q", kind, got, events)
		}
		if got := texts(a.docs, kind); got != want {
			t.Fatalf("%s: the agent gets %q", kind, got)
		}
	}
	thought := func(s string) string {
		return `{"candidates":[{"content":{"parts":[{"thought":true,"text":` + q(s) + `}],"role":"model"}}]}`
	}
	piece := func(s string, more bool) string {
		return fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"functionCall":{"partialArgs":[{"jsonPath":"$.a","stringValue":%s,"willContinue":%v}],"willContinue":true}}]}}]}`, q(s), more)
	}
	for i := range len(text) + 1 {
		check(gemini.LeafText, []string{says(text[:i]), says(text[i:]), stop})
		check(gemini.LeafText, []string{says(text[:i]), says(text[i:])}) // no finish reason
		check(gemini.LeafThought, []string{thought(text[:i]), thought(text[i:]), says("done"), stop})
		check(gemini.LeafPartial, []string{`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","willContinue":true}}]}}]}`, piece(text[:i], true), piece(text[i:], false), `{"candidates":[{"content":{"parts":[{"functionCall":{}}]},"finishReason":"STOP"}]}`})
	}
	var bytewise []string
	for i := range len(text) {
		bytewise = append(bytewise, says(text[i:i+1]))
	}
	check(gemini.LeafText, append(bytewise, stop))
	// A finish reason on each chunk is no end.
	var each []string
	for i := 0; i < len(text); i += 5 {
		each = append(each, strings.Replace(says(text[i:min(i+5, len(text))]), `"index"`, `"finishReason":"STOP","index"`, 1))
	}
	check(gemini.LeafText, each)
}

// TestNoEmptyParts: a chunk of which all is held is not sent without it.
func TestNoEmptyParts(t *testing.T) {
	a, err := exchange(t, both(t, redact.Options{}), `{"contents":[`+user("hi")+`]}`, &model{events: []string{
		says("jane@"), `{"candidates":[{"content":{"parts":[{"text":"example"},{"functionCall":{"name":"f","args":{}}}]}}]}`, says("next"),
		strings.Replace(says("@x"), `"index"`, `"finishReason":"STOP","index"`, 1),
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"candidates":[{"content":{"parts":[{"text":"jane@example"},{"functionCall":{"name":"f","args":{}}}]}}]}`,
		`{"candidates":[{"content":{"role":"model","parts":[{"text":"next@x"}]},"finishReason":"STOP","index":0}]}`,
	}
	if d := cmp.Diff(want, a.docs); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestCandidatesAreApart(t *testing.T) {
	two := func(a, b string) string {
		return `{"candidates":[{"content":{"parts":[{"text":` + q(a) + `}]}},{"index":1,"content":{"parts":[{"text":` + q(b) + `}]}}]}`
	}
	var between []string
	_, err := exchange(t, both(t, redact.Options{}), `{"contents":[`+user("x")+`]}`, &model{events: []string{two("a jane@exam", "b john@exam"), two("ple.org!", "ple.net?")}}, &between)
	if err != nil {
		t.Fatal(err)
	}
	var got [2]string
	for _, d := range between {
		b, _ := gemini.Leaves([]byte(d))
		for _, l := range b.Leaves {
			got[l.Candidate] += gemini.Unquote([]byte(d)[l.Start:l.End])
		}
	}
	if want := [2]string{"a [EMAIL_ADDRESS]!", "b [EMAIL_ADDRESS]?"}; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestArguments(t *testing.T) {
	s := both(t, placeholders)
	call := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"pay","args":{"to":"<EMAIL_ADDRESS_1>","card":"<CREDIT_CARD_1>","json":"{\"m\":\"<EMAIL_ADDRESS_1>\",\"n\":\"<PASSWORD_1>\"}"}}}]},"finishReason":"STOP"}]}`
	body := `{"contents":[` + user("pay with the password") + `,{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"mail":"` + mail + `","card":4012888888881881,"password":"pa\"ss\\w0rd"}}}]}]}`
	m := &model{events: []string{call}}
	a, err := exchange(t, s, body, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("<EMAIL_ADDRESS_1>", mail, `"<CREDIT_CARD_1>"`, "4012888888881881", "<PASSWORD_1>", `pa\\\"ss\\\\w0rd`).Replace(call)
	if d := cmp.Diff([]string{want}, a.docs); d != "" {
		t.Errorf("sent %s\n(-want +got):\n%s", m.sent, d)
	}
}

func TestOffsetsGo(t *testing.T) {
	const places = `"citationMetadata":{"citationSources":[{"startIndex":3}]},"groundingMetadata":{"groundingSupports":[{"segment":{"endIndex":3}}],"webSearchQueries":["x"]},"logprobsResult":{}`
	for text, want := range map[string]string{
		"plain":                "plain",
		"so <EMAIL_ADDRESS_1>": "so " + mail,
	} {
		doc := `{"candidates":[{"content":{"parts":[{"text":` + q(text) + `}]},"finishReason":"STOP",` + places + `}]}`
		a, err := exchange(t, both(t, placeholders), `{"contents":[`+user(mail)+`]}`, &model{events: []string{doc}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		exp := `{"candidates":[{"content":{"parts":[{"text":` + q(want) + `}]},"finishReason":"STOP",` + places + `}]}`
		if want != text {
			exp = `{"candidates":[{"content":{"parts":[{"text":` + q(want) + `}]},"finishReason":"STOP","groundingMetadata":{"webSearchQueries":["x"]}}]}`
		}
		if d := cmp.Diff([]string{exp}, a.docs); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}

func TestBlock(t *testing.T) {
	s := both(t, redact.Options{Actions: map[string]redact.Action{"CREDIT_CARD": redact.Block}})
	_, err := s.Call("r", "", "").Request(gemini.Wire{}, "m", []byte(`{"contents":[`+user(mail+" and "+card)+`]}`))
	var blocked *BlockedError
	if !errors.As(err, &blocked) || !cmp.Equal(blocked.Entities, []string{"CREDIT_CARD"}) || strings.Contains(err.Error(), card) {
		t.Fatalf("got %v", err)
	}
	a, err := exchange(t, s, `{"contents":[`+user("hi")+`]}`, &model{events: []string{says("Well, here: "), says(card + " it is"), says("more")}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := texts(a.docs, gemini.LeafText)
	if strings.Contains(got, "1881") || strings.Contains(got, "more") || !strings.Contains(got, "CREDIT_CARD") || !strings.Contains(a.docs[len(a.docs)-1], "STOP") {
		t.Errorf("got %q", a.docs)
	}
}

func TestAbortDrops(t *testing.T) {
	cut := errors.New("cut")
	a, err := exchange(t, both(t, redact.Options{}), `{"contents":[`+user("hi")+`]}`, &model{events: []string{says("it is jane@exam")}, err: cut}, nil)
	if !errors.Is(err, cut) {
		t.Fatalf("got %v", err)
	}
	if got := texts(a.docs, gemini.LeafText); got != "it is " {
		t.Errorf("got %q", got)
	}
}

func TestClosed(t *testing.T) {
	for _, body := range []string{``, `[`, `{"contents":`, `{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"#"}}]}]}`} {
		_, err := both(t, placeholders).Call("r", "", "").Request(gemini.Wire{}, "m", []byte(body))
		var un *UnreadableError
		if !errors.As(err, &un) {
			t.Errorf("%q: got %v", body, err)
		}
		got, err := both(t, placeholders, func(o *Options) { o.FailOpen = true }).Call("r", "", "").Request(gemini.Wire{}, "m", []byte(body))
		if err != nil || string(got) != body {
			t.Errorf("open: %q gives %q, %v", body, got, err)
		}
	}
	picture := `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`
	if _, err := both(t, placeholders, func(o *Options) { o.Inline = InlineDeny }).Call("r", "", "").Request(gemini.Wire{}, "m", []byte(picture)); err == nil {
		t.Error("a picture passes although inline data is denied")
	}
}

func TestOtherSessionsStayShut(t *testing.T) {
	s := both(t, placeholders)
	if _, err := exchange(t, s, `{"contents":[`+user("mail "+mail)+`]}`, &model{events: []string{stop}}, nil); err != nil {
		t.Fatal(err)
	}
	a, err := exchange(t, s, `{"contents":[`+user("who was that?")+`]}`, &model{events: []string{says("<EMAIL_ADDRESS_1>"), stop}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := texts(a.docs, gemini.LeafText); got != "<EMAIL_ADDRESS_1>" {
		t.Errorf("a value that is not in the request came down: %q", got)
	}
}

func TestNote(t *testing.T) {
	s := both(t, placeholders, func(o *Options) { o.Note = "keep them" })
	for in, want := range map[string]string{
		`{"contents":[]}`: `{"contents":[],"systemInstruction":{"parts":[{"text":"keep them"}]}}`,
		`{"contents":[],"system_instruction":{"parts":[{"text":"a"}]}}`: `{"contents":[],"system_instruction":{"parts":[{"text":"a"},{"text":"keep them"}]}}`,
		`{"contents":[],"systemInstruction":{"parts":{"text":"a"}}}`:    `{"contents":[],"systemInstruction":{"parts":[{"text":"a"},{"text":"keep them"}]}}`,
		`{"contents":[],"cachedContent":"x"}`:                           `{"contents":[],"cachedContent":"x"}`,
	} {
		got, err := s.Call("r", "", "").Request(gemini.Wire{}, "m", []byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s:\ngot  %s (%v)\nwant %s", in, got, err, want)
		}
	}
}

func TestRecord(t *testing.T) {
	var log bytes.Buffer
	s := both(t, placeholders, func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	body := `{"contents":[` + user("mail "+mail) + `,{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]}]}`
	if _, err := exchange(t, s, body, &model{events: []string{says("<EMAIL_ADDRESS_1> is from me@example.net"), stop}}, nil); err != nil {
		t.Fatal(err)
	}
	st := s.Stats()
	want := map[string]int{"to_model.EMAIL_ADDRESS": 1, "to_agent.EMAIL_ADDRESS": 1}
	if d := cmp.Diff(want, st.Found); d != "" {
		t.Errorf("found (-want +got):\n%s", d)
	}
	if st.Skipped["to_model.inline_data"] != 6 || st.Scanned["to_model.text"] != len("mail "+mail) {
		t.Errorf("skipped %v, scanned %v", st.Skipped, st.Scanned)
	}
	if out := log.String(); strings.Contains(out, mail) || !strings.Contains(out, "found.to_model.EMAIL_ADDRESS=1") || !strings.Contains(out, "not_scanned.to_model.inline_data=6") {
		t.Errorf("the record is %s", out)
	}
}

// FuzzAnswer: however a text is cut, hooks and agent get what the detector makes
// of it in one piece, and every document is JSON.
func FuzzAnswer(f *testing.F) {
	f.Add("mail "+mail+" and "+card, uint16(3), uint16(9))
	f.Add("ein \u2028 K\u00e4se <EMAIL_ADDRESS_1> \\ \"", uint16(5), uint16(6))
	r, err := NewRedactor(redact.Options{})
	if err != nil {
		f.Fatal(err)
	}
	s := New(Options{Rules: []Rule{{Redactor: r, Direction: ToModel}, {Redactor: r, Direction: ToAgent}}, Note: "-"})
	f.Fuzz(func(t *testing.T, text string, i, j uint16) {
		if !utf8.ValidString(text) || len(text) > 1<<12 {
			return
		}
		a, b := int(i)%(len(text)+1), int(j)%(len(text)+1)
		a, b = min(a, b), max(a, b)
		for a > 0 && a < len(text) && !utf8.RuneStart(text[a]) {
			a--
		}
		for b < len(text) && !utf8.RuneStart(text[b]) {
			b++
		}
		var between []string
		got, err := exchange(t, s, `{"contents":[`+user("hi")+`]}`, &model{events: []string{says(text[:a]), says(text[a:b]), says(text[b:]), stop}}, &between)
		if err != nil {
			t.Fatal(err)
		}
		want := string(r.engine.Redact([]byte(text), nil).Text)
		for _, docs := range [][]string{between, got.docs} {
			if read := texts(docs, gemini.LeafText); read != want {
				t.Fatalf("got %q, want %q", read, want)
			}
			for _, d := range docs {
				if !json.Valid([]byte(d)) {
					t.Fatalf("no JSON: %q", d)
				}
			}
		}
	})
}

// FuzzBody: bodies of any shape give JSON or an error, and a second pass changes
// nothing.
func FuzzBody(f *testing.F) {
	for _, in := range []string{
		`{"contents":[` + user("mail "+mail, card) + `]}`, `{"contents":[{"parts":{"text":"` + mail + `"}},{"parts":[{"text":"a","text":"` + card + `"}]}]}`,
		`{"candidates":[{"content":{"parts":[{"functionCall":{"args":{"a":"{\"b\":4012888888881881}"}}}]}}]}`, `"` + mail + `"`,
		`{"contents":[{"parts":[{"inlineData":{"mimeType":"text/plain","data":"YUBiLmNv"}}]}]}`,
	} {
		f.Add([]byte(in))
	}
	r, err := NewRedactor(placeholders)
	if err != nil {
		f.Fatal(err)
	}
	s := New(Options{Rules: []Rule{{Redactor: r, Direction: ToModel}, {Redactor: r, Direction: ToAgent}}})
	f.Fuzz(func(t *testing.T, in []byte) {
		c := s.Call("r", "", "")
		out, err := c.Request(gemini.Wire{}, "m", in)
		if err != nil || !utf8.Valid(in) {
			return
		}
		if !json.Valid(bytes.TrimPrefix(out, []byte("\xEF\xBB\xBF"))) {
			t.Fatalf("no JSON: %q", out)
		}
		p := &pipe{w: gemini.Wire{}, work: &redaction{c}}
		docs, err := p.doc(in)
		if err != nil {
			return
		}
		more, err := p.end()
		if err != nil {
			return
		}
		for _, d := range append(docs, more...) {
			if !json.Valid(bytes.TrimPrefix(d, []byte("\xEF\xBB\xBF"))) {
				t.Fatalf("no JSON: %q of %q", d, in)
			}
		}
	})
}
