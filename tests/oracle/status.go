package main

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// The kstatus status of an object, and the reason of the condition that kstatus derives.
func readiness(r *request) ([]byte, error) {
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(r.Sides["object"])); err != nil {
		return nil, err
	}
	result, err := status.Compute(object)
	if err != nil {
		return json.Marshal(map[string]string{"status": "Error"})
	}
	answer := map[string]string{"status": result.Status.String()}
	if len(result.Conditions) > 0 {
		answer["reason"] = result.Conditions[0].Reason
	}
	return json.Marshal(answer)
}
