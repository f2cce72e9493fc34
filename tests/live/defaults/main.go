// Writes the static defaults of the built-in kinds: what the API server's own defaulting functions
// set in objects whose fields are all absent. Standard output is a JSON object of type names with
// their fields and the default of each.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apiserverinternal/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
)

// A position in the type of a kind: the fields that lead to it.
type position string

// The defaults that were seen, by type and field, then by the field that has the type.
type table map[string]map[string]map[string]seen

// The JSON text of a default; empty if the field stays absent.
type seen struct {
	text         string
	replacesZero bool
	isOmitted    bool
}

// A filler creates objects with all structs and no scalars. The field at `absent` is left out.
type filler struct {
	absent   position
	optional []position
	open     map[reflect.Type]bool
}

func main() {
	apiextensions.Install(legacyscheme.Scheme)
	apiregistration.Install(legacyscheme.Scheme)
	found := table{}
	for gvk, goType := range legacyscheme.Scheme.AllKnownTypes() {
		_, hasMeta := goType.FieldByName("ObjectMeta")
		if gvk.Version == runtime.APIVersionInternal || !hasMeta {
			continue
		}
		found.addKind(gvk, goType)
	}
	if err := write(found.defaults()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Writes a line for each type.
func write(defaults map[string]*fieldDefaults) error {
	var names []string
	for name := range defaults {
		names = append(names, name)
	}
	sort.Strings(names)
	separator := "{"
	for _, name := range names {
		text, err := json.Marshal(defaults[name])
		if err != nil {
			return err
		}
		fmt.Printf("%s\n%q:%s", separator, name, text)
		separator = ","
	}
	fmt.Println("\n}")
	return nil
}

// The defaults of the fields of a type.
type fieldDefaults struct {
	Fields map[string]json.RawMessage `json:"fields"`

	// The fields whose zero value, such as an empty string, counts as absent.
	Zero []string `json:"zero,omitempty"`

	// The fields whose zero value, such as false or an empty list, is not written.
	Omit []string `json:"omit,omitempty"`
}

// Returns the defaults of each type. Those that depend on the field that has the type are listed
// under its name.
func (t table) defaults() map[string]*fieldDefaults {
	out := map[string]*fieldDefaults{}
	of := func(owner string) *fieldDefaults {
		if out[owner] == nil {
			out[owner] = &fieldDefaults{Fields: map[string]json.RawMessage{}}
		}
		return out[owner]
	}
	add := func(owner, field string, value seen) {
		if value.text == "" {
			return
		}
		fields := of(owner)
		if _, known := fields.Fields[field]; !known && value.replacesZero {
			fields.Zero = append(fields.Zero, field)
			sort.Strings(fields.Zero)
		}
		fields.Fields[field] = json.RawMessage(value.text)
	}
	for name, fields := range t {
		for field, byParent := range fields {
			values := map[seen]bool{}
			isOmitted := false
			for _, value := range byParent {
				values[value] = true
				isOmitted = value.isOmitted
			}
			if isOmitted {
				fields := of(name)
				fields.Omit = append(fields.Omit, field)
				sort.Strings(fields.Omit)
			}
			for parent, value := range byParent {
				if len(values) == 1 {
					add(name, field, value)
				} else {
					add(parent, field, value)
				}
			}
		}
	}
	return out
}

// Adds the defaults of a kind: once with all structs present, then with each one absent.
func (t table) addKind(gvk schema.GroupVersionKind, goType reflect.Type) {
	whole := &filler{open: map[reflect.Type]bool{}}
	t.compare(gvk, goType, whole)
	for _, absent := range whole.optional {
		t.compare(gvk, goType, &filler{absent: absent, open: map[reflect.Type]bool{}})
	}
}

func (t table) compare(gvk schema.GroupVersionKind, goType reflect.Type, f *filler) {
	before, after := reflect.New(goType), reflect.New(goType)
	f.fill(before.Elem(), "")
	again := &filler{absent: f.absent, open: map[reflect.Type]bool{}}
	again.fill(after.Elem(), "")
	legacyscheme.Scheme.Default(after.Interface().(runtime.Object))
	t.walk(before.Elem(), after.Elem(), "", "", f.absent)
}

// Structs with a JSON form of their own.
func isValue(t reflect.Type) bool {
	_, ok := reflect.New(t).Interface().(json.Marshaler)
	return ok
}

// Structs that are not filled: values, the metadata of objects, and what only servers write.
func isLeaf(t reflect.Type) bool {
	switch t.Name() {
	// VolumeAttachments have volumes without defaults.
	case "ObjectMeta", "TypeMeta", "VolumeAttachmentSource":
		return true
	}
	return isValue(t)
}

func (f *filler) fill(value reflect.Value, at position) {
	switch value.Kind() {
	case reflect.Struct:
		if isLeaf(value.Type()) || f.open[value.Type()] {
			return
		}
		f.open[value.Type()] = true
		defer delete(f.open, value.Type())
		for i := 0; i < value.NumField(); i++ {
			name, _ := jsonName(value.Type().Field(i))
			f.fill(value.Field(i), at+"."+position(name))
		}
	case reflect.Pointer:
		inner := value.Type().Elem()
		if inner.Kind() != reflect.Struct || isLeaf(inner) || f.open[inner] {
			return
		}
		f.optional = append(f.optional, at)
		if at != f.absent {
			value.Set(reflect.New(inner))
			f.fill(value.Elem(), at)
		}
	case reflect.Slice:
		inner := value.Type().Elem()
		if inner.Kind() != reflect.Struct || isLeaf(inner) || f.open[inner] {
			return
		}
		f.optional = append(f.optional, at)
		if at != f.absent {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			f.fill(value.Index(0), at)
		}
	}
}

// Compares an object without and with defaults. Only the type that contains the absent field is
// recorded, if one is absent.
func (t table) walk(before, after reflect.Value, at position, parent string, absent position) {
	switch before.Kind() {
	case reflect.Struct:
		if !isLeaf(before.Type()) {
			t.fields(openAPIName(before.Type()), before, after, at, parent, absent)
		}
	case reflect.Pointer:
		if !before.IsNil() && !after.IsNil() && before.Type().Elem().Kind() == reflect.Struct {
			t.walk(before.Elem(), after.Elem(), at, parent, absent)
		}
	case reflect.Slice:
		if before.Len() == 1 && after.Len() == 1 {
			t.walk(before.Index(0), after.Index(0), at, parent, absent)
		}
	}
}

func (t table) fields(owner string, before, after reflect.Value, at position, parent string, absent position) {
	for i := 0; i < before.NumField(); i++ {
		name, isInline := jsonName(before.Type().Field(i))
		old, new, below := before.Field(i), after.Field(i), at+"."+position(name)
		if isInline {
			if !isLeaf(old.Type()) {
				t.fields(owner, old, new, below, parent, absent)
			}
			continue
		}
		isStruct := old.Kind() == reflect.Struct && !isValue(old.Type())
		if isRecorded := absent == "" || absent == below; isRecorded && (old.IsZero() || isStruct) {
			t.record(owner, before.Type().Field(i), new, parent)
		}
		t.walk(old, new, below, owner+"."+name, absent)
	}
}

func (t table) record(owner string, goField reflect.StructField, value reflect.Value, parent string) {
	field, _ := jsonName(goField)
	found := seen{text: defaultText(goField, value), isOmitted: omitsZero(goField)}
	switch value.Kind() {
	case reflect.String, reflect.Int32, reflect.Int64:
		found.replacesZero = !value.IsZero()
	}
	if t[owner] == nil {
		t[owner] = map[string]map[string]seen{}
	}
	if t[owner][field] == nil {
		t[owner][field] = map[string]seen{}
	}
	if known, ok := t[owner][field][parent]; ok && known != found {
		fmt.Fprintf(os.Stderr, "%s.%s has several defaults in %s: %v and %v\n", owner, field, parent, known, found)
	}
	t[owner][field][parent] = found
}

// Returns true if the zero value of a field is not written, and is not the value behind a pointer.
func omitsZero(field reflect.StructField) bool {
	switch field.Type.Kind() {
	case reflect.Bool, reflect.String, reflect.Int32, reflect.Int64, reflect.Map, reflect.Slice:
		return strings.Contains(field.Tag.Get("json"), ",omitempty")
	}
	return false
}

// Returns what a response of the server has in a field that was absent.
func defaultText(field reflect.StructField, value reflect.Value) string {
	if value.Type() == reflect.TypeOf(&metav1.Time{}) && !value.IsNil() {
		// The time of the request.
		return ""
	}
	options := field.Tag.Get("json")
	isOmitted := strings.Contains(options, ",omitzero") && value.IsZero()
	switch value.Kind() {
	case reflect.Struct:
		if !isValue(value.Type()) {
			// Its own fields have defaults of their own.
			if isOmitted {
				return ""
			}
			return "{}"
		}
	case reflect.Map, reflect.Slice:
		isOmitted = isOmitted || strings.Contains(options, ",omitempty") && value.Len() == 0
	default:
		isOmitted = isOmitted || strings.Contains(options, ",omitempty") && value.IsZero()
	}
	if isOmitted {
		return ""
	}
	encoded, err := json.Marshal(value.Interface())
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

// Returns the name of a field, and true if its own fields are those of the struct that contains it.
func jsonName(field reflect.StructField) (string, bool) {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name, name == "" && field.Anonymous
}

// Returns the name of a type in OpenAPI documents.
func openAPIName(t reflect.Type) string {
	domain, path, _ := strings.Cut(t.PkgPath(), "/")
	parts := strings.Split(domain, ".")
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, ".") + "." + strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}
