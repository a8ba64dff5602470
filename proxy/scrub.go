package proxy

import "regexp"

// secrets finds what looks like a credential in texts that are not ours, as
// transport errors that quote a URL.
var secrets = regexp.MustCompile(`(?i)([?&](?:key|access_token|upload_id)=)[^&\s"]+`)

// scrub cuts credentials out of a text for the log.
func scrub(text string) string { return secrets.ReplaceAllString(text, "${1}REDACTED") }
