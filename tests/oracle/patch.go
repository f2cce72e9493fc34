package main

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// The kinds that cases may name, each with the Go struct that the API server uses for merging.
var kinds = map[string]any{
	"apps/v1 DaemonSet":            appsv1.DaemonSet{},
	"apps/v1 Deployment":           appsv1.Deployment{},
	"apps/v1 StatefulSet":          appsv1.StatefulSet{},
	"batch/v1 CronJob":             batchv1.CronJob{},
	"networking.k8s.io/v1 Ingress": networkingv1.Ingress{},
	"v1 ConfigMap":                 corev1.ConfigMap{},
	"v1 Namespace":                 corev1.Namespace{},
	"v1 Node":                      corev1.Node{},
	"v1 PersistentVolumeClaim":     corev1.PersistentVolumeClaim{},
	"v1 Pod":                       corev1.Pod{},
	"v1 Service":                   corev1.Service{},
	"v1 ServiceAccount":            corev1.ServiceAccount{},
}

func structOf(r *request) (any, error) {
	object, ok := kinds[r.Kind]
	if !ok {
		return nil, fmt.Errorf("the oracle has no kind %q", r.Kind)
	}
	return object, nil
}

func (r *request) json(side string) []byte {
	return []byte(r.Sides[side])
}

func read(text string) (map[string]any, error) {
	object := map[string]any{}
	if err := kjson.Unmarshal([]byte(text), &object); err != nil {
		return nil, err
	}
	return object, nil
}

func apply(r *request) ([]byte, error) {
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
	trim(original)
	merged, err := strategicpatch.StrategicMergeMapPatch(original, patch, object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged)
}

// Removes the spare capacity of all lists. The JSON decoder leaves some, and the merge would
// append to it for several lists at once. The API server has none: it converts the live object
// instead of decoding it.
func trim(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, field := range value {
			value[name] = trim(field)
		}
	case []any:
		for i, entry := range value {
			value[i] = trim(entry)
		}
		return value[:len(value):len(value)]
	}
	return value
}

func createTwoWay(r *request) ([]byte, error) {
	object, err := structOf(r)
	if err != nil {
		return nil, err
	}
	return strategicpatch.CreateTwoWayMergePatch(r.json("original"), r.json("modified"), object)
}

func createThreeWay(r *request) ([]byte, error) {
	object, err := structOf(r)
	if err != nil {
		return nil, err
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(object)
	if err != nil {
		return nil, err
	}
	original, modified, current := r.json("original"), r.json("modified"), r.json("current")
	return strategicpatch.CreateThreeWayMergePatch(original, modified, current, meta, r.Overwrite)
}
