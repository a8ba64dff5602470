package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// fill replaces each '#' by a letter or digit, each '@' by a digit and each
// '%' by a hexadecimal digit, so that no secret, not even a false one, stands
// in the source.
func fill(pattern string, r *rand.Rand) string {
	const alnum = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	var b strings.Builder
	for _, c := range pattern {
		switch c {
		case '#':
			b.WriteByte(alnum[r.IntN(len(alnum))])
		case '@':
			b.WriteByte(alnum[52+r.IntN(10)])
		case '%':
			b.WriteByte("0123456789abcdef"[r.IntN(16)])
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func n(s string, k int) string { return strings.Repeat(s, k) }

func TestSecrets(t *testing.T) {
	e := testEngine(t, Options{})
	r := rand.New(rand.NewPCG(3, 3))
	wraps := []string{"\x00", "the key \x00, then go on", "(\x00)", "[\x00].", "x = '\x00';", "see \x00: it works", "<td>\x00</td>", "a\\n\x00\\nb", "**\x00**", "K=\x00&x=1"}
	for _, tt := range []struct{ name, pattern string }{
		{"GITHUB_PAT", "ghp_" + n("#", 36)},
		{"GITLAB_PAT", "glpat-" + n("#", 20)},
		{"STRIPE_ACCESS_TOKEN", "sk_live_" + n("#", 24)},
		{"NPM_ACCESS_TOKEN", "npm_" + n("#", 36)},
		{"GCP_API_KEY", "AIza" + n("#", 35)},
		{"GOOGLE_OAUTH_TOKEN", "ya29." + n("#", 60)},
		{"GOOGLE_OAUTH_CLIENT_SECRET", "GOCSPX-" + n("#", 28)},
		{"ANTHROPIC_API_KEY", "sk-ant-api03-" + n("#", 93) + "AA"},
		{"OPENAI_API_KEY", "sk-" + n("#", 20) + "T3BlbkFJ" + n("#", 20)},
		{"SLACK_BOT_TOKEN", "xoxb-" + n("@", 12) + "-" + n("@", 12) + "-" + n("#", 24)},
		{"TWILIO_API_KEY", "SK" + n("%", 32)},
		{"TELEGRAM_BOT_API_TOKEN", "1" + n("@", 8) + ":AA" + n("#", 33)},
		{"DISCORD_WEBHOOK", "https://discord.com/api/webhooks/1" + n("@", 17) + "/" + n("#", 68)},
		{"SENDGRID_API_TOKEN", "SG." + n("#", 22) + "." + n("#", 43)},
		{"DIGITALOCEAN_PAT", "dop_v1_" + n("%", 64)},
	} {
		for _, w := range wraps {
			v := fill(tt.pattern, r)
			text := strings.ReplaceAll(w, "\x00", v)
			i := strings.Index(text, v)
			ok := false
			spans := e.Spans([]byte(text))
			for _, s := range spans {
				ok = ok || s.Entity == tt.name && s.Start == i && s.End == i+len(v)
			}
			if !ok {
				t.Errorf("%s in %q: got %v", tt.name, text, spans)
			}
		}
	}
}

func TestAssignments(t *testing.T) {
	e := testEngine(t, Options{})
	r := rand.New(rand.NewPCG(4, 4))
	for _, tt := range []struct{ name, text, secret string }{
		{"PASSWORD", `db.password: "%s"`, "x9#kLm.q2!"},
		{"PASSWORD", `DB_PASSWORD='%s'`, "hunter22"},
		{"PASSWORD", `mysql --password %s -u root`, "tr0ub4dor3"},
		{"PASSWORD", `my password is %s, thanks`, "Tr0ub4dor3"},
		{"PASSWORD", `curl -s -u admin:%s https://example.test/`, "s3cr-et"},
		{"SECRET", `apiKey: "%s",`, "q7Wd93kLmZp04xTv"},
		{"SECRET", `setToken("api_token", "%s")`, "q7Wd93kLmZp04xTv"},
		{"SECRET", `client_secret=%s`, "q7Wd93kLmZp04xTvB8"},
		{"URL_PASSWORD", `postgres://app:%s@db.example.test/x`, "p4ss%21"},
		{"URL_PASSWORD", `redis://:%s@cache.example.test:6379`, "abc"},
		{"BEARER_TOKEN", `Authorization: Bearer %s`, fill(n("#", 40), r)},
		{"BEARER_TOKEN", `authorization: Basic %s`, "Ym9iOnNlY3JldA=="},
	} {
		text := strings.ReplaceAll(tt.text, "%s", tt.secret)
		i, ok := strings.Index(text, tt.secret), false
		spans := e.Spans([]byte(text))
		for _, s := range spans {
			ok = ok || s.Entity == tt.name && s.Start == i && s.End == i+len(tt.secret)
		}
		if !ok {
			t.Errorf("%s in %q: got %v", tt.name, text, spans)
		}
	}
	for _, text := range []string{
		`password = "changeme"`, `password: ${DB_PASSWORD}`, `token = get_token(user)`, `secret: <your secret>`, `api_key = os.environ["API_KEY"]`,
		`tokenizer = AutoTokenizer2.load("x")`, `password is required`, `postgres://user:password@localhost/db`, `Authorization: Bearer <token>`,
		`const token = req.headers.token1;`, `public_key = "9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRYC"`, "PWD=/home/ann1", `the password field2 of form3`, "key: value123",
		"-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----", "ghp_" + n("x", 36), "ask-me, task_test", "https://example.test/a@b:c",
	} {
		if spans := e.Spans([]byte(text)); spans != nil {
			t.Errorf("%q: got %v", text, spans)
		}
	}
}
