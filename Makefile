GO ?= go

.PHONY: build test
build:
	$(GO) build -o bin/hookline ./cmd/hookline

test:
	$(GO) test -race -shuffle=on ./...
