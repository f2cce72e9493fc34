package main

import (
	"encoding/json"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The duration of a measurement, and the peak memory so far.
type measured struct {
	Copies int64  `json:"copies"`
	Merges int64  `json:"merges"`
	Peak   string `json:"peak"`
}

// Applies a patch to as many copies of an object as the case says, one after the other, and measures
// the time in nanoseconds. The time of the copies alone is measured separately.
func measure(r *request) ([]byte, error) {
	object, err := structOf(r)
	if err != nil {
		return nil, err
	}
	original, err := read(r.Sides["original"])
	if err != nil {
		return nil, err
	}
	patch, err := read(r.Sides["patch"])
	if err != nil {
		return nil, err
	}
	schema, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	for i := 0; i < r.Count; i++ {
		runtime.DeepCopyJSON(original)
	}
	copies := time.Since(start)
	start = time.Now()
	for i := 0; i < r.Count; i++ {
		live, change := runtime.DeepCopyJSON(original), runtime.DeepCopyJSON(patch)
		if _, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(live, change, schema); err != nil {
			return nil, err
		}
	}
	return json.Marshal(measured{copies.Nanoseconds(), time.Since(start).Nanoseconds(), peak()})
}

// The peak memory of this process, as reported by Linux.
func peak() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "unknown"
	}
	for _, line := range strings.Split(string(text), "\n") {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}
