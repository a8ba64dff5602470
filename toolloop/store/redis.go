package store

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// RedisOptions configure a Redis. URL is required, the rest works as zero.
type RedisOptions struct {
	// URL is redis://[user:password@]host[:port][/db], rediss:// for TLS, or
	// unix://[user:password@]/path. Parameters of go-redis, such as
	// ?pool_size=20 or ?dial_timeout=2s, override the times below.
	URL         string
	TTL         time.Duration // life of an entry since it was last put; 0: DefaultTTL
	Prefix      string        // of all keys; "": "hookline:"
	DialTimeout time.Duration // 0: 1 second
	OpTimeout   time.Duration // of one operation on a connection; 0: 500 milliseconds
}

// Redis keeps entries in a server of the Redis protocol (Redis, Valkey), shared
// by all replicas. It connects when it is first used, so that a server that is
// down at the start is no other case than one that goes down later.
//
// Nothing is cached: another replica may write a key again at any time. Errors
// wrap ErrDown, unless the caller's context has ended; they name the server's
// address and never the password.
type Redis struct {
	client *redis.Client
	ttl    time.Duration
	prefix string
	addr   string
	budget time.Duration // for an operation, with connecting and one retry

	once     sync.Once
	closeErr error
}

// Both scripts touch one key. A holder's own claim renews its lease, which
// SET NX alone could not tell from another's.
var (
	claimScript = redis.NewScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)
	releaseScript = redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`)
)

// muteRedis turns off go-redis's own log for the process: it goes past slog to
// stderr, and what it tells comes back as errors, too.
var muteRedis = sync.OnceFunc(logging.Disable)

// OpenRedis prepares a client. Its only errors are those of the URL.
func OpenRedis(o RedisOptions) (*Redis, error) {
	muteRedis()
	ro, err := redis.ParseURL(o.URL)
	if err != nil {
		// err may quote the URL, password and all.
		return nil, errors.New("redis URL can't be read: want redis://[user:password@]host[:port][/db], " +
			"rediss://… or unix://…, with special characters of the password percent-encoded")
	}
	dial, op := orDefault(o.DialTimeout, time.Second), orDefault(o.OpTimeout, 500*time.Millisecond)
	ro.DialTimeout = orDefault(ro.DialTimeout, dial)
	ro.ReadTimeout = orDefault(ro.ReadTimeout, op)
	ro.WriteTimeout = orDefault(ro.WriteTimeout, op)
	ro.ContextTimeoutEnabled = true
	// After as many failed dials go-redis fails at once and tries the server
	// each second by itself. Its default, 10 per core, is few on a small machine.
	ro.PoolSize = orDefault(ro.PoolSize, 64)
	// One retry is for a pooled connection that a restarted server had closed;
	// every operation may be repeated.
	ro.MaxRetries = 1
	ro.DialerRetries = 1
	ro.Protocol = 2 // no push messages
	ro.DisableIdentity = true
	ro.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	r := &Redis{
		client: redis.NewClient(ro),
		ttl:    orDefault(o.TTL, DefaultTTL),
		prefix: o.Prefix,
		addr:   ro.Addr,
		budget: ro.DialTimeout + max(ro.ReadTimeout, ro.WriteTimeout),
	}
	if r.prefix == "" {
		r.prefix = "hookline:"
	}
	return r, nil
}

// do runs one operation within the budget.
func (r *Redis) do(ctx context.Context, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, r.budget)
	defer cancel()
	err := f(within)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	// %v: the budget's own end must not look like that of the caller's context.
	return fmt.Errorf("%w: redis at %s: %v", ErrDown, r.addr, err)
}

func (r *Redis) name(kind string, k Key) string {
	return r.prefix + kind + base64.RawURLEncoding.EncodeToString(k[:])
}

const (
	kindEntry = "e:"
	kindLease = "l:"
)

// Get implements Store.
func (r *Redis) Get(ctx context.Context, keys []Key) ([][]byte, error) {
	values := make([][]byte, len(keys))
	if len(keys) == 0 {
		return values, ctx.Err()
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = r.name(kindEntry, k)
	}
	var got []any
	err := r.do(ctx, func(ctx context.Context) (err error) {
		got, err = r.client.MGet(ctx, names...).Result()
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, v := range got {
		if s, ok := v.(string); ok {
			values[i] = []byte(s)
		}
	}
	return values, nil
}

// Put implements Store.
func (r *Redis) Put(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return ctx.Err()
	}
	return r.do(ctx, func(ctx context.Context) error {
		_, err := r.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for _, e := range entries {
				p.Set(ctx, r.name(kindEntry, e.Key), e.Value, r.ttl)
			}
			return nil
		})
		return err
	})
}

// Claim implements Store.
func (r *Redis) Claim(ctx context.Context, key Key, owner string, ttl time.Duration) (bool, error) {
	var got int
	err := r.do(ctx, func(ctx context.Context) (err error) {
		ms := max(ttl.Milliseconds(), 1)
		got, err = claimScript.Run(ctx, r.client, []string{r.name(kindLease, key)}, owner, ms).Int()
		return err
	})
	return got == 1, err
}

// Release implements Store.
func (r *Redis) Release(ctx context.Context, key Key, owner string) error {
	return r.do(ctx, func(ctx context.Context) error {
		return releaseScript.Run(ctx, r.client, []string{r.name(kindLease, key)}, owner).Err()
	})
}

// Ping says whether the server answers.
func (r *Redis) Ping(ctx context.Context) error {
	return r.do(ctx, func(ctx context.Context) error { return r.client.Ping(ctx).Err() })
}

// Close closes the connections.
func (r *Redis) Close() error {
	r.once.Do(func() { r.closeErr = r.client.Close() })
	return r.closeErr
}
