package main

import (
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hookline-proxy/hookline/config"
	"github.com/hookline-proxy/hookline/proxy"
)

// The configuration and the proxy know the same endpoints by the same names: one
// that only the configuration knows would be a policy without effect.
func TestEndpointNames(t *testing.T) {
	var e config.Endpoints
	for v, i := reflect.ValueOf(&e).Elem(), 0; i < v.NumField(); i++ {
		v.Field(i).SetString("deny")
	}
	var keys []string
	for k := range e.Named() {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if d := cmp.Diff(slices.Sorted(slices.Values(proxy.EndpointNames())), keys); d != "" {
		t.Errorf("endpoints (-proxy +config):\n%s", d)
	}
}
