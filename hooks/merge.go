package hooks

import (
	"slices"
	"strings"

	"github.com/hookline-proxy/hookline/translate"
)

// merge makes one Decision of the outcomes, which stand in config order.
func merge(ev Event, outs []outcome, log *reporter) Decision {
	var d Decision
	var stops, denies, asks []string
	for i := range outs {
		o := &outs[i]
		if o.hook == nil {
			continue // a deny or stop ended its group before
		}
		d.Fired = true
		d.Runs = append(d.Runs, o.record())
		if o.notice != "" {
			d.Notices = append(d.Notices, Notice{Hook: o.hook.Label(), Text: o.notice, Suppress: o.suppress})
		}
		if o.stop {
			stops = append(stops, o.stopReason)
		}
		if o.deny {
			denies = append(denies, o.reason)
		}
		if o.ask {
			d.Ask = true
			if o.reason != "" && !o.deny {
				asks = append(asks, o.reason)
			}
		}
		if o.context != "" {
			d.Context = append(d.Context, o.context)
		}
		d.ClearContext = d.ClearContext || o.clear
		if o.toolInput != nil {
			d.ToolInput = mergeInput(d.ToolInput, o.toolInput)
		}
		if o.llmRequest != nil {
			if !isNull(orNull(field(fieldsOf(o.llmRequest), "messages"))) {
				d.SawSystem = o.sawSystem
			}
			d.LLMRequest = mergeRequest(d.LLMRequest, o.llmRequest)
		}
	}
	d.Stop, d.Deny = len(stops) > 0, len(denies) > 0
	d.StopReason = strings.Join(stops, "\n")
	d.Ask = d.Ask && !d.Stop && !d.Deny
	switch {
	case d.Deny:
		d.Reason = strings.Join(denies, "\n")
	case d.Ask:
		d.Reason = strings.Join(asks, "\n")
	}
	d.mergeResponse(ev, outs, log)
	d.mergeTail(outs, log)
	d.ToolConfig = mergeToolConfig(outs)
	return d
}

// mergeResponse takes the last llm_response. Where a hook denied or stopped,
// only those that did may say what stands instead: another hook's answer must
// not undo a deny.
func (d *Decision) mergeResponse(ev Event, outs []outcome, log *reporter) {
	var loser *Hook
	for i := range outs {
		o := &outs[i]
		if o.llmResponse == nil || d.Stop && !o.stop || !d.Stop && d.Deny && !o.deny {
			continue
		}
		if loser != nil {
			log.lost(ev, loser, o.hook, "llm_response")
		}
		d.LLMResponse, loser = o.llmResponse, o.hook
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
		if o.tail == nil {
			continue
		}
		if loser != nil {
			log.lost(AfterTool, loser, o.hook, "tailToolCallRequest")
		}
		d.Tail, loser = o.tail, o.hook
	}
}

// mergeToolConfig: any NONE wins, else ANY if any hook asked for it; names are
// the union.
func mergeToolConfig(outs []outcome) *translate.ToolConfig {
	var tc *translate.ToolConfig
	for i := range outs {
		c := outs[i].toolConfig
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
	case o.stop:
		r.Outcome = "stop"
	case o.deny:
		r.Outcome = "deny"
	case o.ask:
		r.Outcome = "ask"
	case o.failure != nil && o.failure.Kind != FailureField:
		r.Outcome = "failed"
	case o.ignored:
		r.Outcome = "ignored"
	}
	if o.failure != nil {
		r.Failure = o.failure.Text
	}
	return r
}
