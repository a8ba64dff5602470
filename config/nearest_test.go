package config

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"command", "timeout", "type", "name", "env", "args"}
	for in, want := range map[string]string{
		"Command": "command", "comand": "command", "commnad": "command", "timeOut": "timeout", "time_out": "timeout",
		"tpye": "type", "nam": "name", "evn": "env", "zebra": "", "": "", "x": "",
	} {
		if got := nearest(in, known); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]Size{"0": 0, "5": 5, "5B": 5, "2 KiB": 2048, "100MiB": 100 << 20, " 1 GB ": 1e9} {
		if got, err := parseSize(in); err != nil || got != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1.5MiB", "1TiB", "99999999999GiB", "0x10"} {
		if got, err := parseSize(in); err == nil {
			t.Errorf("parseSize(%q) = %d, want an error", in, got)
		}
	}
}
