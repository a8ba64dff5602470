GO ?= go
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
ROOMS = bench cmd config examples hooks proxy stream toolloop translate

# $(call step,NAME,COMMAND) runs a command and says how long it took.
define step
@echo "== $(1)"; begun=$$(date +%s); { $(2); } || exit 1; echo "== $(1): $$(( $$(date +%s) - begun )) s"
endef

.PHONY: build test format vet staticcheck tidy cross clients oracle race bench

build:
	$(GO) build -o bin/hookline ./cmd/hookline

# Everything that a change has to pass. Installs what it needs.
test: format tidy vet cross staticcheck clients oracle race

format:
	$(call step,format,out=$$(gofmt -l *.go $(ROOMS)); test -z "$$out" || { echo "not formatted:" $$out; exit 1; })

tidy:
	$(call step,tidy,$(GO) mod tidy -diff)

vet:
	$(call step,vet,$(GO) vet ./...)

# Compiling is what is checked on Linux of the other two systems.
cross:
	$(call step,macOS,GOOS=darwin GOARCH=arm64 $(GO) build ./...)
	$(call step,Windows,GOOS=windows GOARCH=amd64 $(GO) build ./...)

staticcheck:
	$(call step,staticcheck,$(GO) run $(STATICCHECK) ./...)

# The agents that tests drive, as testdata/clients/package-lock.json names them.
clients: testdata/clients/node_modules/.package-lock.json

testdata/clients/node_modules/.package-lock.json: testdata/clients/package-lock.json
	$(call step,npm ci,cd testdata/clients && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json)

# Many random conversations against the oracle; with the race detector there are fewer.
oracle:
	$(call step,oracle,$(GO) test -run '^TestOracle$$' ./toolloop)

race:
	$(call step,race,$(GO) test -race -shuffle=on -timeout 30m ./...)

bench:
	$(GO) run ./bench
