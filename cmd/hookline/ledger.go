package main

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/toolloop/store"
)

// stateDir is the folder of hookline's own files.
func stateDir(s config.State) (string, error) {
	if s.Dir != "" {
		return filepath.Abs(s.Dir)
	}
	return userState()
}

// openLedger opens the store that the configuration names.
func openLedger(s config.State, dir string, log *slog.Logger) (store.Store, error) {
	var secret []byte
	if s.EncryptionKey != "" {
		if secret = []byte(os.Getenv(s.EncryptionKey)); len(secret) == 0 {
			return nil, &failure{what: "state.encryptionKey names the environment variable " + s.EncryptionKey + ", which is not set",
				next: "set it to a secret of 16 bytes or more, or leave the key out of the configuration"}
		}
	}
	ledger, err := openStore(s, dir, log)
	if err != nil || secret == nil {
		return ledger, err
	}
	sealed, err := store.Sealed(ledger, secret)
	if err != nil {
		return nil, errors.Join(&failure{what: "state.encryptionKey: " + err.Error(), next: "choose a longer secret"}, ledger.Close())
	}
	return sealed, nil
}

func openStore(s config.State, dir string, log *slog.Logger) (store.Store, error) {
	ttl := time.Duration(s.TTL)
	switch s.Store {
	case config.StoreMemory:
		return store.NewMemory(store.MemoryOptions{TTL: ttl}), nil
	case config.StoreRedis:
		return store.OpenRedis(store.RedisOptions{URL: expandEnv(s.Redis.URL), TTL: ttl})
	default:
		return store.OpenBolt(store.BoltOptions{Path: filepath.Join(dir, "ledger.db"), TTL: ttl, Log: log})
	}
}

var envVar = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expandEnv puts environment variables in the place of ${NAME}.
func expandEnv(s string) string {
	return envVar.ReplaceAllStringFunc(s, func(m string) string { return os.Getenv(m[2 : len(m)-1]) })
}
