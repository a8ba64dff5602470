package config

import _ "embed"

//go:embed schema.json
var schema []byte

// Schema is the JSON Schema (draft 7, the newest that editors read everywhere)
// of the configuration file.
func Schema() []byte { return append([]byte(nil), schema...) }
