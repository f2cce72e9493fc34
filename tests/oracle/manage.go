package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

// A step is one request that writes an object, by one field manager.
type step struct {
	// apply, update or extract, or define, which replaces the types
	Operation string `json:"operation"`

	Object      json.RawMessage `json:"object"`
	Manager     string          `json:"manager"`
	Force       bool            `json:"force"`
	Subresource string          `json:"subresource"`

	// The fields that the strategy of the resource resets, as a field set.
	Reset json.RawMessage `json:"reset"`

	// Those of other API versions.
	Resets map[string]json.RawMessage `json:"resets"`

	// The time of the request, in RFC 3339.
	Time string `json:"time"`

	// To define types: the object is a CustomResourceDefinition, or null. Fields of the spec may have
	// another name in each version, whose default is that in v1.
	Renames []map[string]string `json:"renames"`

	// The object that creates start from; by default one with only its kind.
	Empty map[string]any `json:"empty"`
}

// An outcome has the object after a step with the field sets of its managers in the order of their
// text form, or the error. The body is that of a response to a conflict.
type outcome struct {
	Object map[string]any `json:"object,omitempty"`
	Fields []string       `json:"fields,omitempty"`
	Error  string         `json:"error,omitempty"`
	Code   int32          `json:"code,omitempty"`
	Body   string         `json:"body,omitempty"`

	// The object is what a manager has applied.
	Extracted bool `json:"extracted,omitempty"`
}

// Runs the steps one after the other. A failed step leaves the object unchanged.
func manage(r *request) ([]byte, error) {
	types, err := kindTypes()
	if err != nil {
		return nil, err
	}
	var live *unstructured.Unstructured
	outcomes := []outcome{}
	for _, s := range r.Steps {
		if s.Operation == "define" {
			if types, err = s.define(); err != nil {
				return nil, err
			}
			continue
		}
		var o outcome
		after, err := s.run(types, live)
		switch {
		case err != nil:
			o = failure(err)
		case s.Operation == "extract":
			o = outcome{Object: after.Object, Extracted: true}
		default:
			live = after
			if o, err = success(live); err != nil {
				return nil, err
			}
		}
		outcomes = append(outcomes, o)
	}
	return json.Marshal(outcomes)
}

// Runs the steps as often as the case says, and measures the time of the requests in nanoseconds. What
// they need besides objects, and the objects themselves, are created before.
func measureManaged(r *request) ([]byte, error) {
	types, err := kindTypes()
	if err != nil {
		return nil, err
	}
	var total time.Duration
	for i := 0; i < r.Count; i++ {
		var live *unstructured.Unstructured
		for _, s := range r.Steps {
			if s.Operation == "extract" {
				continue
			}
			after, duration, err := s.write(types, live)
			if total += duration; err == nil {
				live = after
			}
		}
	}
	return json.Marshal(total.Nanoseconds())
}

func failure(err error) outcome {
	o := outcome{Error: err.Error()}
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		return o
	}
	body := status.Status()
	o.Code = body.Code
	body.Kind, body.APIVersion = "Status", "v1"
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(body); err != nil {
		return outcome{Error: err.Error()}
	}
	o.Body = text.String()
	return o
}

func success(live *unstructured.Unstructured) (outcome, error) {
	o := outcome{Object: live.DeepCopy().Object}
	for _, entry := range live.GetManagedFields() {
		set := fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return o, err
		}
		text, err := set.ToJSON()
		if err != nil {
			return o, err
		}
		o.Fields = append(o.Fields, string(text))
	}
	return o, nil
}

func (s *step) run(types *types, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if s.Operation == "extract" {
		return types.extract(live, s.Manager, s.Subresource)
	}
	after, _, err := s.write(types, live)
	return after, err
}

// Applies or updates. Also returns the duration of the request itself.
func (s *step) write(types *types, live *unstructured.Unstructured) (*unstructured.Unstructured, time.Duration, error) {
	object := &unstructured.Unstructured{}
	content, err := read(string(s.Object))
	if err != nil {
		return nil, 0, err
	}
	object.Object = content
	gvk := object.GroupVersionKind()
	types.empty = s.Empty
	if live == nil {
		live = types.newObject(gvk, s.Operation == "update")
	}
	manager, err := types.manager(gvk, s)
	if err != nil {
		return nil, 0, err
	}
	// Both functions may change their arguments.
	old, current := live.DeepCopy(), live.DeepCopy()
	start := time.Now()
	var after runtime.Object
	if s.Operation == "apply" {
		after, err = manager.Apply(current, object, s.Manager, s.Force)
	} else {
		after, err = manager.Update(current, object, s.Manager)
	}
	duration := time.Since(start)
	if err != nil {
		return nil, duration, err
	}
	// The server responds in the version of the request.
	after, err = relabelling{types, types.known[gvk]}.ConvertToVersion(after, gvk.GroupVersion())
	if err != nil {
		return nil, duration, err
	}
	result, ok := after.(*unstructured.Unstructured)
	if !ok {
		return nil, duration, fmt.Errorf("the result is a %T", after)
	}
	return result, duration, setTime(old, result, s.Time)
}

// Replaces the time of the entries that were just written. Steps are given times in the past.
func setTime(old, result *unstructured.Unstructured, text string) error {
	given, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return err
	}
	entries := result.GetManagedFields()
	for i := range entries {
		if written := entries[i].Time; written != nil && time.Since(written.Time) < 24*time.Hour {
			entries[i].Time = &metav1.Time{Time: given}
		}
	}
	if len(entries) > 0 {
		keepTimes(old, result, entries)
		result.SetManagedFields(entries)
	}
	return nil
}

// Restores the old times if nothing else has changed, as the API server does before it stores an object.
func keepTimes(old, result *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) {
	before := old.GetManagedFields()
	if len(before) != len(entries) || len(before) == 0 {
		return
	}
	content := func(object *unstructured.Unstructured, entries []metav1.ManagedFieldsEntry) string {
		object = object.DeepCopy()
		entries = append([]metav1.ManagedFieldsEntry{}, entries...)
		for i := range entries {
			entries[i].Time = nil
		}
		object.SetManagedFields(entries)
		text, _ := json.Marshal(object.Object)
		return string(text)
	}
	if content(old, before) != content(result, entries) {
		return
	}
	for i := range entries {
		entries[i].Time = before[i].Time
	}
}

// Types has the kinds of the OpenAPI documents, or of one definition.
type types struct {
	converter managedfields.TypeConverter
	known     map[schema.GroupVersionKind]bool
	managers  map[string]*managedfields.FieldManager
	renames   []map[string]string

	// What new objects of the current request have, besides their kind.
	empty map[string]any
}

func newTypes(schemas map[string]*spec.Schema) (*types, error) {
	converter, err := managedfields.NewTypeConverter(schemas, false)
	if err != nil {
		return nil, err
	}
	return &types{converter: converter, known: kindsOf(schemas), managers: map[string]*managedfields.FieldManager{}}, nil
}

// Returns an object of a kind before its creation. Those that are only applied have no fields.
func (t *types) newObject(gvk schema.GroupVersionKind, isComplete bool) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if isComplete && t.empty != nil {
		object.Object = runtime.DeepCopyJSON(t.empty)
	}
	object.SetGroupVersionKind(gvk)
	return object
}

// Returns types with only the definition of a step, and those of metadata.
func (s *step) define() (*types, error) {
	documents, err := documentSchemas()
	if err != nil {
		return nil, err
	}
	schemas := map[string]*spec.Schema{}
	for name, definition := range documents {
		if strings.HasPrefix(name, "io.k8s.apimachinery.pkg.apis.meta.v1.") {
			schemas[name] = definition
		}
	}
	if len(s.Object) > 0 && string(s.Object) != "null" {
		crd := definition{}
		if err := json.Unmarshal(s.Object, &crd); err != nil {
			return nil, err
		}
		crd.addTo(schemas)
	}
	defined, err := newTypes(schemas)
	if err != nil {
		return nil, err
	}
	defined.renames = s.Renames
	return defined, nil
}

// The kinds of the documents and CRDs, which are read once.
var kindTypes = sync.OnceValues(func() (*types, error) {
	schemas, err := documentSchemas()
	if err != nil {
		return nil, err
	}
	schemas = maps.Clone(schemas)
	if err := addCustomTypes(schemas); err != nil {
		return nil, err
	}
	return newTypes(schemas)
})

// Reads the documents from the directory that the variable names.
var documentSchemas = sync.OnceValues(func() (map[string]*spec.Schema, error) {
	folder := os.Getenv("SMP_TEST_OPENAPI")
	paths, err := filepath.Glob(filepath.Join(folder, "openapi-v3", "*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("SMP_TEST_OPENAPI=%s has no documents", folder)
	}
	schemas := map[string]*spec.Schema{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		document := spec3.OpenAPI{}
		if err := json.Unmarshal(text, &document); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if document.Components != nil {
			for name, definition := range document.Components.Schemas {
				schemas[name] = definition
			}
		}
	}
	return schemas, nil
})

const objectMeta = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

// A definition has the parts of a CustomResourceDefinition that decide about types.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
		Versions []struct {
			Name   string `json:"name"`
			Schema struct {
				OpenAPIV3Schema *spec.Schema `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// Adds the types of CustomResourceDefinitions, if there is a directory with some.
func addCustomTypes(schemas map[string]*spec.Schema) error {
	paths, err := filepath.Glob(filepath.Join(os.Getenv("SMP_TEST_SHARED"), "crds", "*.yaml"))
	if err != nil || os.Getenv("SMP_TEST_SHARED") == "" {
		return err
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		crd := definition{}
		if err := yaml.Unmarshal(text, &crd); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		crd.addTo(schemas)
	}
	return nil
}

func (d *definition) addTo(schemas map[string]*spec.Schema) {
	for _, version := range d.Spec.Versions {
		root := version.Schema.OpenAPIV3Schema
		if root == nil {
			continue
		}
		addObjectFields(root)
		addEmbeddedFields(root)
		kind := map[string]any{"group": d.Spec.Group, "version": version.Name, "kind": d.Spec.Names.Kind}
		root.AddExtension("x-kubernetes-group-version-kind", []any{kind})
		schemas[d.Spec.Group+"."+version.Name+"."+d.Spec.Names.Kind] = root
	}
}

// Adds the fields that all objects have, as the API server does.
func addObjectFields(object *spec.Schema) {
	object.SetProperty("apiVersion", *spec.StringProperty())
	object.SetProperty("kind", *spec.StringProperty())
	object.SetProperty("metadata", *spec.RefSchema(objectMeta))
}

// Adds these fields to the objects within an object.
func addEmbeddedFields(object *spec.Schema) {
	if embedded, ok := object.Extensions.GetBool("x-kubernetes-embedded-resource"); ok && embedded {
		addObjectFields(object)
	}
	for name, field := range object.Properties {
		addEmbeddedFields(&field)
		object.Properties[name] = field
	}
	if object.Items != nil && object.Items.Schema != nil {
		addEmbeddedFields(object.Items.Schema)
	}
	if object.AdditionalProperties != nil && object.AdditionalProperties.Schema != nil {
		addEmbeddedFields(object.AdditionalProperties.Schema)
	}
}

func kindsOf(schemas map[string]*spec.Schema) map[schema.GroupVersionKind]bool {
	known := map[schema.GroupVersionKind]bool{}
	for _, definition := range schemas {
		list, _ := definition.Extensions["x-kubernetes-group-version-kind"].([]any)
		for _, entry := range list {
			if entry, ok := entry.(map[string]any); ok {
				group, _ := entry["group"].(string)
				version, _ := entry["version"].(string)
				kind, _ := entry["kind"].(string)
				known[schema.GroupVersionKind{Group: group, Version: version, Kind: kind}] = true
			}
		}
	}
	return known
}

func (t *types) manager(gvk schema.GroupVersionKind, s *step) (*managedfields.FieldManager, error) {
	key := fmt.Sprint(gvk, s.Subresource, string(s.Reset), s.Resets)
	if manager, ok := t.managers[key]; ok {
		return manager, nil
	}
	filters := map[fieldpath.APIVersion]fieldpath.Filter{}
	resets := maps.Clone(s.Resets)
	if resets == nil {
		resets = map[string]json.RawMessage{}
	}
	resets[gvk.GroupVersion().String()] = s.Reset
	for version, reset := range resets {
		if len(reset) > 0 && string(reset) != "null" {
			set := fieldpath.Set{}
			if err := set.FromJSON(bytes.NewReader(reset)); err != nil {
				return nil, err
			}
			filters[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(&set)
		}
	}
	subresource := s.Subresource
	relabel := relabelling{t, t.known[gvk]}
	var manager *managedfields.FieldManager
	var err error
	if relabel.typed {
		manager, err = managedfields.NewDefaultFieldManager(t.converter, relabel, relabel, relabel, gvk, gvk.GroupVersion(), subresource, filters)
	} else {
		deduced := managedfields.NewDeducedTypeConverter()
		manager, err = managedfields.NewDefaultCRDFieldManager(deduced, relabel, relabel, relabel, gvk, gvk.GroupVersion(), subresource, filters)
	}
	if err == nil {
		t.managers[key] = manager
	}
	return manager, err
}

// Extracts what a manager has applied. Of a kind without a type, nothing can be extracted.
func (t *types) extract(live *unstructured.Unstructured, manager, subresource string) (*unstructured.Unstructured, error) {
	if live == nil {
		return nil, fmt.Errorf("there is no object")
	}
	object, err := t.converter.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("error converting obj to typed: %w", err)
	}
	into := &unstructured.Unstructured{Object: map[string]any{}}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != subresource {
			continue
		}
		set := fieldpath.Set{}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, err
		}
		// Nothing is left if others have removed the fields.
		if content, ok := object.ExtractItems(set.Leaves()).AsValue().Unstructured().(map[string]any); ok {
			into.Object = content
		}
		break
	}
	return into, nil
}

// Relabelling converts objects to another version by changing only the version and the names of fields, and has no
// defaults.
type relabelling struct {
	types *types
	typed bool
}

func (r relabelling) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	object := in.(*unstructured.Unstructured)
	from := object.GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		target = to.(schema.GroupVersion).WithKind(from.Kind)
	}
	if from == target {
		return in, nil
	}
	if r.typed && !r.types.known[target] {
		return nil, runtime.NewNotRegisteredErrForKind("tests", target)
	}
	object = object.DeepCopy()
	object.SetGroupVersionKind(target)
	if content, ok := object.Object["spec"].(map[string]any); ok {
		for _, rename := range r.types.renames {
			name := func(version string) string {
				if own, ok := rename[version]; ok {
					return own
				}
				return rename["v1"]
			}
			if value, ok := content[name(from.Version)]; ok {
				delete(content, name(from.Version))
				content[name(target.Version)] = value
			}
		}
	}
	return object, nil
}

func (relabelling) Convert(_, _, _ any) error {
	return fmt.Errorf("unexpected conversion")
}

func (relabelling) ConvertFieldLabel(_ schema.GroupVersionKind, _, _ string) (string, string, error) {
	return "", "", fmt.Errorf("unexpected conversion of a label")
}

func (relabelling) Default(runtime.Object) {}

func (r relabelling) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return r.types.newObject(kind, true), nil
}

// Combines field sets, or returns their paths.
func fieldSets(r *request) ([]byte, error) {
	var sets []*fieldpath.Set
	for _, side := range []string{"a", "b"} {
		if text, ok := r.Sides[side]; ok {
			set := fieldpath.Set{}
			if err := set.FromJSON(strings.NewReader(text)); err != nil {
				return nil, err
			}
			sets = append(sets, &set)
		}
	}
	result := sets[0]
	switch r.Kind {
	case "read":
	case "leaves":
		result = sets[0].Leaves()
	case "union":
		result = sets[0].Union(sets[1])
	case "intersection":
		result = sets[0].Intersection(sets[1])
	case "difference":
		result = sets[0].Difference(sets[1])
	case "recursive difference":
		result = sets[0].RecursiveDifference(sets[1])
	case "paths":
		paths := []string{}
		sets[0].Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
		return json.Marshal(paths)
	default:
		return nil, fmt.Errorf("unknown operation %q", r.Kind)
	}
	text, err := result.ToJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}
