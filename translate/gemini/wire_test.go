package gemini_test

import (
	"github.com/hookline-proxy/hookline/toolloop"
	"github.com/hookline-proxy/hookline/translate/gemini"
)

var _ toolloop.Wire = gemini.Wire{}
