package hooks

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/hookline-proxy/hookline/translate"
)

// merge makes one Decision of the outcomes, which stand in config order.
func merge(ev Event, outs []outcome, log *reporter) Decision {
	var d Decision
	var stops, denies, defers, asks []string
	for i := range outs {
		o := &outs[i]
		if o.hook == nil {
			continue // a deny or stop ended its group before
		}
		d.Fired = true
		d.Runs = append(d.Runs, o.record())
		if o.Notice != "" {
			d.Notices = append(d.Notices, Notice{Hook: o.hook.Label(), Text: o.Notice, Suppress: o.Suppress})
		}
		if o.Stop {
			stops = append(stops, o.StopReason)
		}
		switch {
		case o.Deny:
			denies = append(denies, o.Reason)
		case o.Defer:
			defers = append(defers, o.Reason)
		case o.Ask:
			asks = append(asks, o.Reason)
		}
		d.Allow = d.Allow || o.Allow
		if o.Context != "" {
			d.Context = append(d.Context, o.Context)
		}
		d.ClearContext = d.ClearContext || o.Clear
		if o.LLMRequest != nil {
			if !isNull(orNull(field(fieldsOf(o.LLMRequest), "messages"))) {
				d.SawSystem = o.sawSystem
			}
			d.LLMRequest = mergeRequest(d.LLMRequest, o.LLMRequest)
		}
	}
	d.StopReason = strings.Join(stops, "\n")
	d.decide(len(stops) > 0, denies, defers, asks)
	d.mergeToolInput(ev, outs, log)
	d.mergeResponse(ev, outs, log)
	d.mergeTail(outs, log)
	d.Output = d.last(ev, outs, log, "updatedToolOutput", func(o *outcome) json.RawMessage { return o.Output })
	d.Prompt = d.last(ev, outs, log, "prompt", func(o *outcome) json.RawMessage { return o.Prompt })
	d.Specific = mergeSpecific(outs)
	d.ToolConfig = mergeToolConfig(outs)
	return d
}

// decide makes one decision of all: deny before defer before ask before allow.
func (d *Decision) decide(stop bool, denies, defers, asks []string) {
	d.Stop, d.Deny = stop, len(denies) > 0
	open := !d.Stop && !d.Deny
	d.Defer = open && len(defers) > 0
	d.Ask = open && !d.Defer && len(asks) > 0
	d.Allow = d.Allow && open && !d.Defer && !d.Ask
	var reasons []string
	switch {
	case d.Deny:
		reasons = denies
	case d.Defer:
		reasons = defers
	case d.Ask:
		reasons = asks
	}
	reasons = slices.DeleteFunc(slices.Clone(reasons), func(s string) bool { return s == "" })
	d.Reason = strings.Join(reasons, "\n")
}

// patch joins the arguments that an answer asks for to those that were asked for
// before. One that replaces them leaves nothing of what came before.
func (o *Answer) patch(before json.RawMessage) json.RawMessage {
	if !o.Replace || before == nil {
		return mergeInput(before, o.ToolInput)
	}
	var removed []member
	for _, m := range members(before) {
		removed = append(removed, member{key: m.key, raw: m.raw, val: json.RawMessage("null")})
	}
	return mergeInput(object(removed), o.ToolInput)
}

func (d *Decision) mergeToolInput(ev Event, outs []outcome, log *reporter) {
	var loser *Hook
	for i := range outs {
		o := &outs[i]
		if o.ToolInput == nil {
			continue
		}
		if loser != nil && o.Replace {
			log.lost(ev, loser, o.hook, "updatedInput")
		}
		d.ToolInput, loser = o.patch(d.ToolInput), o.hook
	}
}

// last takes the last value of the config order; there is none where a hook
// denied or stopped.
func (d *Decision) last(ev Event, outs []outcome, log *reporter, what string, of func(*outcome) json.RawMessage) (v json.RawMessage) {
	if d.Stop || d.Deny {
		return nil
	}
	var loser *Hook
	for i := range outs {
		own := of(&outs[i])
		if own == nil {
			continue
		}
		if loser != nil {
			log.lost(ev, loser, outs[i].hook, what)
		}
		v, loser = own, outs[i].hook
	}
	return v
}

// mergeSpecific merges members key by key, the last of the config order wins;
// but a PermissionRequest's decision is merged as a decision.
func mergeSpecific(outs []outcome) json.RawMessage {
	var all json.RawMessage
	for i := range outs {
		own := outs[i].Specific
		if own == nil {
			continue
		}
		if all == nil {
			all = own
			continue
		}
		all = object(overlay(all, own, func(key string, old, new json.RawMessage) json.RawMessage {
			if key == "decision" {
				return mergePermission(old, new)
			}
			return new
		}))
	}
	return all
}

// mergePermission joins two answers to a PermissionRequest: deny beats allow,
// messages are joined, interrupt counts when one asks for it, permissions are
// strung together, and of updatedInput the last counts.
func mergePermission(a, b json.RawMessage) json.RawMessage {
	of := func(v json.RawMessage) string { return gjson.GetBytes(v, "behavior").String() }
	if of(a) == "deny" && of(b) != "deny" {
		return a
	}
	if of(b) == "deny" && of(a) != "deny" {
		return b
	}
	return object(overlay(a, b, func(key string, old, new json.RawMessage) json.RawMessage {
		x, y := gjson.ParseBytes(old), gjson.ParseBytes(new)
		switch {
		case key == "message" && x.String() != "":
			return appendString(nil, x.String()+"\n"+y.String())
		case key == "interrupt" && x.Bool():
			return old
		case key == "updatedPermissions" && x.IsArray() && y.IsArray():
			return joinArrays(elements(old), elements(new))
		}
		return new
	}))
}

// mergeResponse takes the last llm_response. Where a hook denied or stopped,
// only those that did may say what stands instead: another hook's answer must
// not undo a deny.
func (d *Decision) mergeResponse(ev Event, outs []outcome, log *reporter) {
	var loser *Hook
	for i := range outs {
		o := &outs[i]
		if o.LLMResponse == nil || d.Stop && !o.Stop || !d.Stop && d.Deny && !o.Deny {
			continue
		}
		if loser != nil {
			log.lost(ev, loser, o.hook, "llm_response")
		}
		d.LLMResponse, loser = o.LLMResponse, o.hook
	}
}

// mergeTail takes the last tail call; a result that is denied has none.
func (d *Decision) mergeTail(outs []outcome, log *reporter) {
	if d.Stop || d.Deny {
		return
	}
	var loser *Hook
	for i := range outs {
		o := &outs[i]
		if o.Tail == nil {
			continue
		}
		if loser != nil {
			log.lost(AfterTool, loser, o.hook, "tailToolCallRequest")
		}
		d.Tail, loser = o.Tail, o.hook
	}
}

// mergeToolConfig: any NONE wins, else ANY if any hook asked for it; names are
// the union.
func mergeToolConfig(outs []outcome) *translate.ToolConfig {
	var tc *translate.ToolConfig
	for i := range outs {
		c := outs[i].ToolConfig
		if c == nil {
			continue
		}
		if tc == nil {
			tc = &translate.ToolConfig{Mode: "AUTO"}
		}
		if c.Mode == "NONE" || c.Mode == "ANY" && tc.Mode == "AUTO" {
			tc.Mode = c.Mode
		}
		tc.AllowedFunctionNames = append(tc.AllowedFunctionNames, c.AllowedFunctionNames...)
	}
	if tc == nil {
		return nil
	}
	if tc.Mode == "NONE" {
		tc.AllowedFunctionNames = nil
		return tc
	}
	slices.Sort(tc.AllowedFunctionNames)
	tc.AllowedFunctionNames = slices.Compact(tc.AllowedFunctionNames)
	return tc
}

func orNull(v []byte) []byte {
	if v == nil {
		return []byte("null")
	}
	return v
}

func (o *outcome) record() Run {
	r := Run{Hook: o.hook.Label(), Exit: o.exit, Duration: o.took, Outcome: "allow"}
	switch {
	case o.Stop:
		r.Outcome = "stop"
	case o.Deny:
		r.Outcome = "deny"
	case o.Defer:
		r.Outcome = "defer"
	case o.Ask:
		r.Outcome = "ask"
	case o.Failure != nil && o.Failure.Kind != FailureField:
		r.Outcome = "failed"
	case o.Ignored:
		r.Outcome = "ignored"
	}
	if o.Failure != nil {
		r.Failure = o.Failure.Text
	}
	return r
}
