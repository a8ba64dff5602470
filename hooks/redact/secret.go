package redact

import (
	"bytes"
	"encoding/base64"
	"math"
)

// use says what a literal of the automaton is for.
type use uint8

const (
	useContext use = iota // supports weak matches; index of a contextWord
	useRule               // begins or announces a secret; index of a rule
	useToken              // begins a token; index in tokens
	useAssign             // names a secret: what it is set to is one
	useURL                // "://"
	useJWT                // "eyJ"
	usePEM                // "-----BEGIN"
	useUser               // keyword of a user's rule
)

// literal is a word of the automaton.
type literal struct {
	use   use
	index int
	n     int // bytes
}

// token is a secret with a sure beginning: what to find after it.
type token struct {
	prefix string // in its true case
	name   string
	set    string // bytes besides letters and digits
	min    int    // bytes after the prefix
	inside bool   // may follow a letter or digit
}

// tokens are the kinds that gitleaks' rules lack, or look for only near a
// keyword or before white space.
var tokens = []token{
	{prefix: "ya29.", name: "GOOGLE_OAUTH_TOKEN", set: "-_", min: 20},
	{prefix: "GOCSPX-", name: "GOOGLE_OAUTH_CLIENT_SECRET", set: "-_", min: 20},
	{prefix: "1//0", name: "GOOGLE_OAUTH_REFRESH_TOKEN", set: "-_", min: 40},
	{prefix: "sk-proj-", name: "OPENAI_API_KEY", set: "-_", min: 32},
	{prefix: "sk-admin-", name: "OPENAI_API_KEY", set: "-_", min: 32},
	{prefix: "sk-svcacct-", name: "OPENAI_API_KEY", set: "-_", min: 32},
	{prefix: "sk-or-v1-", name: "OPENROUTER_API_KEY", set: "", min: 40},
	{prefix: "sk-ant-", name: "ANTHROPIC_API_KEY", set: "-_", min: 32},
	{prefix: "gsk_", name: "GROQ_API_KEY", set: "", min: 40},
	{prefix: "xai-", name: "XAI_API_KEY", set: "", min: 60},
	{prefix: "nvapi-", name: "NVIDIA_API_KEY", set: "-_", min: 40},
	{prefix: "r8_", name: "REPLICATE_API_TOKEN", set: "", min: 36},
	{prefix: "tvly-", name: "TAVILY_API_KEY", set: "-", min: 24},
	{prefix: "dckr_pat_", name: "DOCKER_PAT", set: "-_", min: 20},
	{prefix: "dckr_oat_", name: "DOCKER_OAT", set: "-_", min: 20},
	{prefix: "sbp_", name: "SUPABASE_TOKEN", set: "", min: 36},
	{prefix: "whsec_", name: "WEBHOOK_SECRET", set: "+/=", min: 24},
	{prefix: "discord.com/api/webhooks/", name: "DISCORD_WEBHOOK", set: "-_/", min: 60, inside: true},
	{prefix: "discordapp.com/api/webhooks/", name: "DISCORD_WEBHOOK", set: "-_/", min: 60, inside: true},
	{prefix: "hooks.slack.com/services/", name: "SLACK_WEBHOOK_URL", set: "/", min: 38, inside: true},
	{prefix: "api.telegram.org/bot", name: "TELEGRAM_BOT_API_TOKEN", set: ":-_", min: 40, inside: true},
	{prefix: "ATATT3", name: "ATLASSIAN_API_TOKEN", set: "-_=", min: 100},
	{prefix: "AGE-SECRET-KEY-1", name: "AGE_SECRET_KEY", set: "", min: 58},
	{prefix: "AGE-SECRET-KEY-PQ-1", name: "AGE_SECRET_KEY", set: "", min: 58},
	{prefix: "github_pat_", name: "GITHUB_FINE_GRAINED_PAT", set: "_", min: 60},
	{prefix: "xoxb-", name: "SLACK_BOT_TOKEN", set: "-", min: 30},
	{prefix: "xoxp-", name: "SLACK_USER_TOKEN", set: "-", min: 30},
	{prefix: "xapp-", name: "SLACK_APP_TOKEN", set: "-", min: 30},
	{prefix: ":AA", name: "TELEGRAM_BOT_API_TOKEN", set: "-_", min: 32, inside: true},
}

// naming says how strongly a word announces a secret.
type naming uint8

const (
	namesKey      naming = iota // "key": only what looks random
	namesToken                  // "api_key", "token", "secret"
	namesPassword               // "password": short and simple values, too
	namesBearer                 // "Bearer": the value follows without a sign
	namesBasic                  // "Basic": user and password in Base64
	namesUser                   // curl's -u: user and password follow
)

var secretNames = []struct {
	word string
	kind naming
}{
	{"password", namesPassword}, {"passwd", namesPassword}, {"passphrase", namesPassword}, {"passwort", namesPassword},
	{"contraseña", namesPassword}, {"mot de passe", namesPassword}, {"kennwort", namesPassword}, {"pwd", namesPassword}, {"senha", namesPassword},
	{"secret", namesToken}, {"token", namesToken}, {"api_key", namesToken}, {"api-key", namesToken}, {"apikey", namesToken}, {"api key", namesToken},
	{"access_key", namesToken}, {"access-key", namesToken}, {"accesskey", namesToken}, {"accountkey", namesToken}, {"account_key", namesToken},
	{"credential", namesToken}, {"private_key", namesToken}, {"private-key", namesToken}, {"privatekey", namesToken},
	{"auth_key", namesToken}, {"authkey", namesToken}, {"signing_key", namesToken}, {"encryption_key", namesToken}, {"sharedaccesssignature", namesToken},
	{"authorization", namesToken}, {"x-auth", namesToken}, {"sharedaccesskey", namesToken}, {"session_id", namesToken}, {"sessionid", namesToken}, {"cookie", namesToken},
	{"key", namesKey}, {"auth", namesKey},
	{"bearer", namesBearer}, {"authorization: token", namesBearer}, {"api-token", namesBearer}, {"basic", namesBasic},
	{" -u ", namesUser}, {"--user ", namesUser}, {"--user=", namesUser},
}

// sawLiterals notes the literals that end before end. It reports whether a
// long secret begins, which the caller has to read on.
func (m *scanner) sawLiterals(ids []int32, end int) bool {
	for _, id := range ids {
		l := &m.e.literals[id]
		switch l.use {
		case useContext:
			m.sawContext(&m.e.context[l.index], end)
		case useAssign:
			m.hits = append(m.hits, hit{id, end})
			// In "secret_access_key" the strongest word counts.
			if o := m.assign; o.end == 0 || o.end < end-24 || secretNames[m.e.literals[o.literal].index].kind <= secretNames[l.index].kind {
				m.assign = hit{id, end}
			}
		case useRule:
			r := m.e.rules[l.index]
			if !r.starts {
				m.expect(hit{id, end})
			} else if r.begins(m.b, end-l.n) {
				m.hits = append(m.hits, hit{id, end})
			}
		case useUser:
			m.expect(hit{id, end})
		case usePEM:
			if m.beginLong(end - l.n) {
				return true
			}
		case useToken:
			if p := m.e.tokens[l.index].prefix; string(m.b[end-len(p):end]) == p {
				m.hits = append(m.hits, hit{id, end})
			}
		default:
			m.hits = append(m.hits, hit{id, end})
		}
	}
	return false
}

// expect notes a keyword whose secret may follow, once per literal.
func (m *scanner) expect(h hit) {
	for i := range m.pending {
		if m.pending[i].literal == h.literal {
			m.pending[i].end = h.end
			return
		}
	}
	m.pending = append(m.pending, h)
}

const (
	// ruleReach is how far (bytes) before a value its keyword may end.
	ruleReach   = 56
	assignReach = 64
)

// secrets follows up the literals seen in b[a:e] and shortly before it.
func (m *scanner) secrets(a, e int, mask uint32) {
	for _, h := range m.hits {
		if h.end > e {
			continue
		}
		switch l := m.e.literals[h.literal]; l.use {
		case useAssign:
			m.assigned(h, a, e)
		case useRule:
			m.rule(m.e.rules[l.index], h.end-l.n, a, e)
		case useToken:
			m.token(&m.e.tokens[l.index], h.end, a, e)
		case useURL:
			m.urlPassword(h.end, a, e)
		case useJWT:
			m.jwt(h.end-l.n, a, e)
		}
	}
	if m.assign.end > 0 && m.assign.end <= a {
		if a-m.assign.end > assignReach {
			m.assign.end = 0
		} else {
			m.assigned(m.assign, a, e)
		}
	}
	if len(m.pending) > 0 {
		m.followUp(a, e, mask)
	}
}

// followUp tries the rules whose keywords stand in or shortly before b[a:e].
func (m *scanner) followUp(a, e int, mask uint32) {
	kept := m.pending[:0]
	longest := -1
	for _, p := range m.pending {
		l := m.e.literals[p.literal]
		if l.use == useUser {
			if a-p.end <= m.e.user[l.index].reach {
				kept = append(kept, p)
			}
			continue
		}
		if a-p.end > ruleReach {
			continue
		}
		kept = append(kept, p)
		if longest < 0 {
			longest = longestToken(m.b[a:e])
		}
		if r := m.e.rules[l.index]; longest >= r.secretMin && p.end <= e {
			m.rule(r, p.end-l.n, a, e)
		}
	}
	m.pending = kept
}

func longestToken(b []byte) int {
	best, n := 0, 0
	for _, c := range b {
		if isToken(c) || c == ':' || c == '|' {
			if n++; n > best {
				best = n
			}
		} else {
			n = 0
		}
	}
	return best
}

// addSecret notes b[s:e] as a secret of the rule.
func (m *scanner) addSecret(rule, s, e int) {
	m.add(found{s: s, e: e, kind: int32(numEntities) + int32(rule), score: 1})
}

func (m *scanner) token(t *token, p, a, e int) {
	s := p - len(t.prefix)
	if s < a || !t.inside && s > m.floor && isAlnum(m.b[s-1]) && !escaped(m.b, s) {
		return
	}
	end := p
	for end < e && (isAlnum(m.b[end]) || bytes.IndexByte([]byte(t.set), m.b[end]) >= 0) {
		end++
	}
	for end > p && (m.b[end-1] == '-' || m.b[end-1] == '_') && end < e {
		break
	}
	if end-p < t.min || repetitive(m.b[p:end]) {
		return
	}
	switch t.prefix {
	case ":AA": // of a Telegram bot's token: the bot's number stands before it
		for s > a && isDigit(m.b[s-1]) {
			s--
		}
		if n := p - 3 - s; n < 7 || n > 12 || s > m.floor && isAlnum(m.b[s-1]) && !escaped(m.b, s) || end-p > 36 {
			return
		}
	case "discord.com/api/webhooks/", "discordapp.com/api/webhooks/", "hooks.slack.com/services/":
		for s > a && class[m.b[s-1]]&(cAlnum|cColon|cSlash|cDot) != 0 {
			s--
		}
	case "api.telegram.org/bot":
		s = p
	}
	m.addSecret(m.e.ruleNumber[t.name], s, end)
}

// urlPassword finds the password in a URL; p is the end of its "://".
func (m *scanner) urlPassword(p, a, e int) {
	if p-3 < a {
		return
	}
	s := p - 3
	for s > a && (isAlnum(m.b[s-1]) || m.b[s-1] == '+' || m.b[s-1] == '-' || m.b[s-1] == '.') {
		s--
	}
	if s == p-3 || !isLetter(m.b[s]) {
		return
	}
	end, at, colon := p, -1, -1
	for ; end < e && end-p < 300; end++ {
		c := m.b[end]
		if c == '/' || c == '?' || c == '#' {
			break
		}
		if c == '@' {
			at = end
		} else if c == ':' && colon < 0 && at < 0 {
			colon = end
		}
	}
	if at < 0 {
		return
	}
	if colon < 0 { // a lone user name may be a token
		if v := m.b[p:at]; len(v) >= 20 && shape(v).mixed() && !repetitive(v) {
			m.addSecret(m.e.ruleNumber["URL_PASSWORD"], p, at)
		}
		return
	}
	v := m.b[colon+1 : at]
	if len(v) == 0 || isPlaceholder(v) || len(v) >= 2 && v[0] == '$' {
		return
	}
	m.addSecret(m.e.ruleNumber["URL_PASSWORD"], colon+1, at)
}

func isB64URL(c byte) bool { return isAlnum(c) || c == '-' || c == '_' }

// jwt finds a JSON Web Token that begins at s.
func (m *scanner) jwt(s, a, e int) {
	if s < a || string(m.b[s:s+3]) != "eyJ" || s > m.floor && (isB64URL(m.b[s-1]) || m.b[s-1] == '.') && !escaped(m.b, s) {
		return
	}
	var parts [3]int // ends
	i, n := s, 0
	for n < 3 {
		t := i
		for i < e && isB64URL(m.b[i]) {
			i++
		}
		if i-t < 8 {
			break
		}
		parts[n] = i
		n++
		if i >= e || m.b[i] != '.' {
			break
		}
		i++
	}
	cutShort := e-a >= wordCap && i >= e // goes on after the cut
	if n < 2 && !cutShort {
		return
	}
	var head [96]byte
	k := min(parts[0]-s, 128) / 4 * 4
	if k < 8 {
		return
	}
	d, err := base64.RawURLEncoding.Decode(head[:], m.b[s:s+k])
	if err != nil || !bytes.HasPrefix(head[:d], []byte(`{"`)) {
		return
	}
	h := head[:d]
	if !bytes.Contains(h, []byte(`"alg"`)) && !bytes.Contains(h, []byte(`"typ"`)) && !bytes.Contains(h, []byte(`"enc"`)) && !bytes.Contains(h, []byte(`"kid"`)) {
		return
	}
	end := e
	if !cutShort {
		end = parts[n-1]
	}
	m.addSecret(m.e.ruleNumber["JWT"], s, end)
}

// shapeOf counts the kinds of bytes in a value.
type shapeOf struct{ lower, upper, digit, mark, other int }

func shape(v []byte) (s shapeOf) {
	for _, c := range v {
		switch k := class[c]; {
		case k&cLower != 0:
			s.lower++
		case k&cUpper != 0:
			s.upper++
		case k&cDigit != 0:
			s.digit++
		case c == '_' || c == '-' || c == '.' || c == '/' || c == ':' || c == ',' || c == '(' || c == ')' || c == '[' || c == ']':
			s.other++
		default:
			s.mark++
		}
	}
	return s
}

func (s shapeOf) mixed() bool { return s.digit > 0 && s.lower+s.upper > 0 }

// entropy is Shannon's, in bits per byte.
func entropy(v []byte) float64 {
	var n [256]int
	for _, c := range v {
		n[c]++
	}
	h := 0.0
	for _, k := range n {
		if k > 0 {
			p := float64(k) / float64(len(v))
			h -= p * math.Log2(p)
		}
	}
	return h
}

// repetitive reports values such as "xxxxxxxx" that stand for a secret.
func repetitive(v []byte) bool {
	var seen [256]bool
	n := 0
	for _, c := range v {
		if !seen[c] {
			seen[c] = true
			n++
		}
	}
	return n < 4 || n*5 < len(v) && n < 6
}

// placeholders are values that people write where a secret belongs.
var placeholders = []string{
	"password", "passwd", "changeme", "change_me", "change-me", "changeit", "example", "secret", "mysecret", "your", "yourpassword",
	"placeholder", "redacted", "null", "none", "nil", "true", "false", "undefined", "string", "test", "pass", "user", "token", "pwd", "todo", "xxx", "insert", "replace", "masked", "hidden", "key", "apikey", "api_key", "value", "foobar",
}

func isPlaceholder(v []byte) bool {
	if len(v) == 0 || repetitive(v) && len(v) > 3 {
		return true
	}
	switch v[0] {
	case '$', '%', '<', '{', '[', '*', '&', '#':
		if len(v) < 3 || v[1] == '{' || v[0] == '<' || v[0] == '*' || v[0] == '{' || v[0] == '[' && v[len(v)-1] == ']' || isUpper(v[1]) && !shape(v).mixed() || v[len(v)-1] == '%' {
			return true
		}
	}
	if len(v) > 256 {
		return false
	}
	var buf [256]byte
	low := buf[:len(v)]
	for i, c := range v {
		low[i] = toLower(c)
	}
	for _, p := range placeholders {
		if string(low) == p {
			return true
		}
	}
	return bytes.HasPrefix(low, []byte("your")) || bytes.HasPrefix(low, []byte("my-")) || bytes.HasPrefix(low, []byte("my_")) ||
		bytes.Contains(v, []byte("...")) || bytes.Contains(low, []byte("_here")) || bytes.Contains(low, []byte("process.env")) || bytes.Contains(low, []byte("os.environ"))
}
