package main

import (
	"encoding/json"

	"sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge2"
	"sigs.k8s.io/kustomize/kyaml/yaml/merge3"
)

func mergeTwo(r *request) ([]byte, error) {
	order := yaml.MergeOptionsListAppend
	if r.Prepend {
		order = yaml.MergeOptionsListPrepend
	}
	options := yaml.MergeOptions{ListIncreaseDirection: order}
	text, err := merge2.MergeStrings(r.Sides["patch"], r.Sides["dest"], infer(r), options)
	if err != nil {
		return nil, err
	}
	return asJSON(text)
}

func mergeThree(r *request) ([]byte, error) {
	text, err := merge3.MergeStrings(r.Sides["dest"], r.Sides["original"], r.Sides["updated"], infer(r))
	if err != nil {
		return nil, err
	}
	return asJSON(text)
}

// Sets the keys for inference. kyaml stores them in a package variable.
func infer(r *request) bool {
	if len(r.Infer) > 0 {
		yaml.AssociativeSequenceKeys = r.Infer
	}
	return len(r.Infer) > 0
}

// The data of a text. Null if nothing is left.
func asJSON(text string) ([]byte, error) {
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}
