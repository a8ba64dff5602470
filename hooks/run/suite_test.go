//go:build unix

package run

import (
	"testing"

	"github.com/hookline-proxy/hookline/hooks"
	"github.com/hookline-proxy/hookline/hooks/hookstest"
)

func TestHandlerSuite(t *testing.T) {
	t.Run("spawned", func(t *testing.T) {
		hookstest.TestHandler(t, func(t *testing.T, b hookstest.Behaviour) (hooks.Handler, *hooks.Hook) {
			return newRunner(t, Options{}), command(map[hookstest.Behaviour]string{
				hookstest.Echo:  `printf '{"echo":'; cat; printf '}'`,
				hookstest.Quiet: `cat >/dev/null`,
				hookstest.Hang:  `cat >/dev/null; exec sleep 60`,
				hookstest.Flood: `head -c 10000000 /dev/zero`,
				hookstest.Die:   `kill -9 $$`,
			}[b])
		})
	})
	for name, instances := range map[string]int{"persistent": 1, "persistent, three": 3} {
		t.Run(name, func(t *testing.T) {
			hookstest.TestHandler(t, func(t *testing.T, b hookstest.Behaviour) (hooks.Handler, *hooks.Hook) {
				h := persistent(eachLine(map[hookstest.Behaviour]string{
					hookstest.Echo:  `printf '{"echo":%s}\n' "$line"`,
					hookstest.Quiet: `echo`,
					hookstest.Hang:  `sleep 60`,
					hookstest.Flood: `head -c 10000000 /dev/zero`,
					hookstest.Die:   `exit`,
				}[b]))
				h.Instances = instances
				return newRunner(t, Options{}), h
			})
		})
	}
}
