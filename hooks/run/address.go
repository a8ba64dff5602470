package run

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// reach says who may be reached at an address.
type reach int

const (
	reachOpen    reach = iota // the internet, and this machine
	reachPrivate              // a network of somebody's own
	reachBarred               // nobody's business, whatever is configured
)

// metadataNames are the names of cloud metadata services, which hand
// credentials to whoever asks from within a machine.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
	"metadata.azure.com", "metadata.azure.internal", "metadata.tencentyun.com", "metadata.platformequinix.com", "metadata.packet.net",
}

// networks are tried in order; what none of them has is open. The special
// ranges are those of the IANA registries (iana.org/assignments/
// iana-ipv4-special-registry and -ipv6-, read 2026-11), the metadata addresses
// those of the vendors' documentation.
var networks = []struct {
	reach reach
	what  string
	nets  []netip.Prefix
}{
	{reachBarred, "a cloud metadata service", prefixes(
		"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "fd00:ec2::/32", // AWS
		"fd20:ce::254/128",               // Google
		"168.63.129.16/32",               // Azure
		"100.100.100.200/32",             // Alibaba
		"192.0.0.192/32", "fd00:c1::/32", // Oracle
		"fd00:42::42/128", // Scaleway
	)},
	{reachBarred, "link-local", prefixes("169.254.0.0/16", "fe80::/10")},
	{reachBarred, "unspecified", prefixes("0.0.0.0/8", "::/128")},
	{reachBarred, "multicast", prefixes("224.0.0.0/4", "ff00::/8")},
	{reachBarred, "reserved", prefixes("240.0.0.0/4", "2001::/32", "100::/64", "5f00::/16")},
	{reachOpen, "this machine", prefixes("127.0.0.0/8", "::1/128")},
	{reachPrivate, "a private network", prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"2001:db8::/32", "3fff::/20", "64:ff9b:1::/48")},
}

func prefixes(all ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(all))
	for i, s := range all {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// reachOf says who is reached at an address, and why it is not the internet.
// An IPv4 address within an IPv6 one counts as itself, since a gateway takes it
// out again; only this machine's own address does not get any better by that.
func reachOf(ip netip.Addr) (r reach, what string) {
	ip = ip.WithZone("").Unmap()
	for _, n := range networks {
		for _, p := range n.nets {
			if p.Contains(ip) {
				return n.reach, n.what
			}
		}
	}
	inner, ok := embedded(ip)
	if !ok {
		return reachOpen, ""
	}
	r, what = reachOf(inner)
	if what == "this machine" {
		r = reachBarred
	}
	return r, what
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	compatible = netip.MustParsePrefix("::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// embedded is the IPv4 address in a NAT64 (RFC 6052), 6to4 (RFC 3056) or
// IPv4-compatible (RFC 4291) address.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	b := ip.As16()
	switch {
	case nat64.Contains(ip), compatible.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// blocked is an address that hooks may not reach.
type blocked struct {
	addr    string
	what    string
	private bool // the configuration could open it
}

func (b *blocked) Error() string { return fmt.Sprintf("%s is blocked: it is %s", b.addr, b.what) }

// checkAddr is nil for an address that may be reached.
func checkAddr(ip netip.Addr, allowPrivate bool) *blocked {
	r, what := reachOf(ip)
	if r == reachOpen || r == reachPrivate && allowPrivate {
		return nil
	}
	return &blocked{addr: ip.String(), what: what, private: r == reachPrivate}
}

// checkHost refuses what a host says by its form alone, before it is looked up.
func checkHost(host string, allowPrivate bool) *blocked {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c > '~' || strings.IndexByte("%\\/?#@", c) >= 0 {
			return &blocked{addr: strconv.Quote(host), what: "no plain host name"}
		}
	}
	for _, m := range metadataNames {
		if name == m {
			return &blocked{addr: name, what: "a cloud metadata service"}
		}
	}
	if ip, err := netip.ParseAddr(name); err == nil {
		return checkAddr(ip, allowPrivate)
	}
	// Some resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as addresses.
	last := name[strings.LastIndexByte(name, '.')+1:]
	if _, err := strconv.ParseUint(last, 0, 64); err == nil || name == "" || strings.Trim(last, "0123456789") == "" {
		return &blocked{addr: strconv.Quote(host), what: "an unusual form of an address"}
	}
	return nil
}
