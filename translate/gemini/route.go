package gemini

import (
	"net/url"
	"strings"

	"github.com/hookline-proxy/hookline/stream"
)

// Kind says what a request is about, for routing and for the endpoint policy.
type Kind string

const (
	KindGenerate     Kind = "generate"     // a model call: generateContent, streamGenerateContent
	KindCount        Kind = "countTokens"  // countTokens, computeTokens
	KindEmbed        Kind = "embedContent" // embedContent and its batch forms
	KindBatch        Kind = "batch"        // batchGenerateContent, batches
	KindPredict      Kind = "predict"      // predict, rawPredict, …
	KindCache        Kind = "cachedContents"
	KindInteractions Kind = "interactions"
	KindLive         Kind = "live"
	KindFiles        Kind = "files" // files, uploads, file search stores
	KindOther        Kind = "other" // everything else
)

// Family is a dialect of the family.
type Family string

const (
	FamilyGemini     Family = "gemini"
	FamilyVertex     Family = "vertex"
	FamilyCodeAssist Family = "codeassist"
)

// Target is where a request goes. The zero value is a request that is none of
// the family's business and passes through.
type Target struct {
	Kind    Kind
	Family  Family
	Version string // "v1beta", …; "" when the path names none
	// Model is the bare name under models/; under the other collections it
	// keeps them: "tunedModels/x", "dynamic/x", "endpoints/7". "" for Code
	// Assist, whose model is in the body.
	Model    string
	Verb     string        // "generateContent", …
	Hooked   bool          // hooks see it: a POST of a model call
	Format   stream.Format // how the answer is framed; "" when not hooked
	IntEnums bool          // the client asked for enum numbers

	path  string // as it came
	model span   // where collection and model stand in path
}

// Wire is the wire value for calls to this target.
func (t Target) Wire() Wire {
	return Wire{IntEnums: t.IntEnums, Envelope: t.Family == FamilyCodeAssist}
}

// Path is the target's raw path with another model, as a model override needs
// it; everything else keeps its bytes. A model that names its collection
// ("tunedModels/x") changes that, too. Without a model in the path, or with the
// same one, it is the path as it came.
func (t Target) Path(model string) string {
	model = strings.TrimPrefix(model, "models/")
	if model == "" || model == t.Model || !t.model.ok() {
		return t.path
	}
	segments := strings.Split(model, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	in := "models/"
	if t.Family == FamilyVertex && strings.HasPrefix(t.Model, "endpoints/") {
		in = "publishers/google/models/"
	}
	if len(segments) > 1 && isCollection(segments[0]) {
		in = ""
	}
	return t.path[:t.model.start] + in + strings.Join(segments, "/") + t.path[t.model.end:]
}

func isCollection(s string) bool {
	switch s {
	case "models", "tunedModels", "dynamic", "endpoints":
		return true
	}
	return false
}

// isVersion reports whether s is an API version: v1, v1beta, v1alpha, v1beta1.
func isVersion(s string) bool {
	s, ok := strings.CutPrefix(s, "v")
	if !ok || s == "" || s[0] < '1' || s[0] > '9' {
		return false
	}
	s = strings.TrimLeft(s, "0123456789")
	for _, stage := range [...]string{"beta", "alpha"} {
		if rest, ok := strings.CutPrefix(s, stage); ok {
			s = strings.TrimLeft(rest, "0123456789")
			break
		}
	}
	return s == ""
}

// Route recognises a request by its raw path (without the query) and raw query.
// The path is compared decoded and kept raw; any prefix may stand before the
// version, as a base URL brings it. The query is never parsed as a form: Go
// drops "$alt=json;enum-encoding=int" for its semicolon.
func Route(method, path, rawQuery string) Target {
	t := Target{Kind: KindOther, path: path}
	decoded, at := decodePath(path)
	if internal := strings.LastIndex(decoded, "/v1internal:"); internal >= 0 && !strings.Contains(decoded[internal+1:], "/") {
		t.Family, t.Version = FamilyCodeAssist, "v1internal"
		t.Verb = decoded[internal+len("/v1internal:"):]
		t.Kind = verbKind(t.Verb)
	} else if !t.readModelPath(decoded, at) {
		t.Kind = resourceKind(decoded)
	}
	if verb := nearlyGenerate(decoded); t.Kind == KindOther && verb != "" {
		t.Kind, t.Verb = KindGenerate, verb
		if t.Family == "" {
			t.Family = FamilyGemini
		}
		if strings.Contains(decoded, "/v1internal:") {
			t.Family = FamilyCodeAssist
		}
	}
	if t.Kind != KindGenerate || method != "POST" {
		return t
	}
	t.Hooked = true
	sse := false
	sse, t.IntEnums = readAlt(rawQuery)
	switch {
	case t.Verb == "generateContent":
		t.Format = stream.Unary
	case sse || t.Family == FamilyCodeAssist:
		t.Format = stream.SSE
	default:
		t.Format = stream.Array
	}
	return t
}

// nearlyGenerate is the verb of a path that is no model call by the book, but that
// a lenient upstream may take for one: another collection or none, a slash behind
// it, other capitals. Hooks had better see those, too. "" for other paths.
func nearlyGenerate(decoded string) string {
	verb := decoded[strings.LastIndexByte(decoded, ':')+1:]
	if i := strings.IndexAny(verb, "/;?# "); i >= 0 {
		verb = verb[:i]
	}
	for _, v := range [...]string{"generateContent", "streamGenerateContent"} {
		if len(verb) < len(decoded) && strings.EqualFold(verb, v) {
			return v
		}
	}
	return ""
}

// readModelPath reads …/{version}/[projects/…/]{collection}/{model}:{verb}.
func (t *Target) readModelPath(decoded string, at []int) bool {
	colon := strings.LastIndexByte(decoded, ':')
	if colon < 0 || strings.IndexByte(decoded[colon:], '/') >= 0 {
		return false
	}
	head := decoded[:colon]
	var segments []span
	for from := 0; from <= len(head); {
		end := strings.IndexByte(head[from:], '/')
		if end < 0 {
			end = len(head)
		} else {
			end += from
		}
		segments = append(segments, span{from, end})
		from = end + 1
	}
	text := func(i int) string { return head[segments[i].start:segments[i].end] }
	coll := -1
	for i := len(segments) - 2; i >= 0; i-- {
		if isCollection(text(i)) && segments[i+1].ok() {
			coll = i
			break
		}
	}
	if coll < 0 {
		return false
	}
	version := coll - 1
	for version >= 0 && !isVersion(text(version)) {
		version--
	}
	t.Family = FamilyGemini
	if version >= 0 {
		t.Version = text(version)
	}
	for i := version + 1; i < coll; i++ {
		if s := text(i); s == "publishers" || s == "projects" || s == "locations" {
			t.Family = FamilyVertex
		}
	}
	if text(coll) == "endpoints" && t.Family != FamilyVertex {
		*t = Target{Kind: KindOther, path: t.path}
		return false
	}
	t.Verb = decoded[colon+1:]
	t.Kind = verbKind(t.Verb)
	t.Model = strings.TrimPrefix(head[segments[coll].start:], "models/")
	t.model = span{rawOffset(at, segments[coll].start), rawOffset(at, colon)}
	return true
}

func verbKind(verb string) Kind {
	switch verb {
	case "generateContent", "streamGenerateContent":
		return KindGenerate
	case "countTokens", "computeTokens":
		return KindCount
	case "embedContent", "batchEmbedContents", "asyncBatchEmbedContent", "embedText", "batchEmbedText":
		return KindEmbed
	case "batchGenerateContent":
		return KindBatch
	case "predict", "predictLongRunning", "rawPredict", "streamRawPredict":
		return KindPredict
	}
	return KindOther
}

// resourceKind tells the collections that are no model calls.
func resourceKind(decoded string) Kind {
	segments := strings.Split(strings.Trim(decoded, "/"), "/")
	if i := len(segments) - 1; strings.HasSuffix(segments[i], "BidiGenerateContent") ||
		strings.HasSuffix(segments[i], "BidiGenerateContentConstrained") {
		return KindLive
	}
	for i, s := range segments {
		if i == 0 || !isVersion(segments[i-1]) && segments[max(0, i-2)] != "locations" {
			continue
		}
		name, _, _ := strings.Cut(s, ":")
		switch name {
		case "cachedContents":
			return KindCache
		case "interactions":
			return KindInteractions
		case "files", "fileSearchStores", "corpora":
			return KindFiles
		case "batches", "batchPredictionJobs":
			return KindBatch
		}
	}
	return KindOther
}

// readAlt reads the two forms of the alt parameter.
func readAlt(rawQuery string) (sse, ints bool) {
	for rawQuery != "" {
		var param string
		param, rawQuery, _ = strings.Cut(rawQuery, "&")
		name, value, _ := strings.Cut(param, "=")
		if name = unescape(name); name != "alt" && name != "$alt" {
			continue
		}
		for i, v := range strings.Split(unescape(value), ";") {
			switch {
			case i == 0 && v == "sse":
				sse = true
			case i > 0 && v == "enum-encoding=int":
				ints = true
			}
		}
	}
	return sse, ints
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// decodePath resolves percent escapes. at, nil when there are none, gives for
// each decoded byte its offset in path.
func decodePath(path string) (decoded string, at []int) {
	if strings.IndexByte(path, '%') < 0 {
		return path, nil
	}
	var b []byte
	for i := 0; i < len(path); i++ {
		at = append(at, i)
		if path[i] == '%' && i+2 < len(path) {
			if hi, lo := hexValue(path[i+1]), hexValue(path[i+2]); hi >= 0 && lo >= 0 {
				b = append(b, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		b = append(b, path[i])
	}
	return string(b), append(at, len(path))
}

func rawOffset(at []int, i int) int {
	if at == nil {
		return i
	}
	return at[i]
}
