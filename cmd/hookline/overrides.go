package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hookline-proxy/hookline/config"
)

// overrides are what "hookline hooks" has switched for one configuration. A
// running hookline watches their file.
type overrides struct {
	All string   `json:"all,omitempty"` // "on", "off", "" for what the configuration says
	On  []string `json:"on,omitempty"`
	Off []string `json:"off,omitempty"`
}

// overridesFile is the file of the overrides of all configurations, by their
// absolute paths.
func (w *workplace) overridesFile() string { return filepath.Join(w.state, "hooks.json") }

func readAllOverrides(w workplace) (map[string]overrides, error) {
	all := map[string]overrides{}
	data, err := os.ReadFile(w.overridesFile())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, &failure{what: "read " + w.overridesFile() + ": " + cause(err), next: "remove the file: hooks are then on as the configuration says"}
	}
	return all, nil
}

func readOverrides(w workplace) (overrides, error) {
	all, err := readAllOverrides(w)
	return all[w.file], err
}

// write replaces the overrides of the workplace's configuration.
func (o overrides) write(w workplace) error {
	all, err := readAllOverrides(w)
	if err != nil {
		return err
	}
	all[w.file] = o
	if o.All == "" && len(o.On)+len(o.Off) == 0 {
		delete(all, w.file)
	}
	return replaceFile(w.overridesFile(), all)
}

// switchHook switches one hook.
func (o overrides) switchHook(name string, on bool) overrides {
	is := func(n string) bool { return n == name }
	o.On, o.Off = slices.DeleteFunc(slices.Clone(o.On), is), slices.DeleteFunc(slices.Clone(o.Off), is)
	if on {
		o.On = append(o.On, name)
	} else {
		o.Off = append(o.Off, name)
	}
	return o
}

// offBy says why a hook is switched off; "" if it is not.
func (o overrides) offBy(cfg *config.Config, e *hookEntry) string {
	name := e.name()
	if e.config.Type == config.BuiltinHook {
		o = overrides{} // redaction follows the configuration alone
	}
	switch {
	case !cfg.HooksConfig.Enabled:
		return "hooksConfig.enabled"
	case slices.Contains(o.On, name):
		return ""
	case slices.Contains(o.Off, name), o.All == "off":
		return "hookline hooks"
	case o.All == "on":
		return ""
	case slices.Contains(cfg.HooksConfig.Disabled, name):
		return "hooksConfig.disabled"
	case e.config.Off != "":
		return fmt.Sprintf("its settings (%s)", e.config.Off)
	}
	return ""
}
