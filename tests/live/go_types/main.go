// Prints the facts about Go types that OpenAPI documents lack: the order of the fields, which are always written, which
// are pointers, and the names of their types. crates/server/src/go_types.txt is its output.
package main

import (
	"fmt"
	"os"
	"path"
	"reflect"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apps "k8s.io/api/apps/v1"
	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	certificates "k8s.io/api/certificates/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	events "k8s.io/api/events/v1"
	flowcontrol "k8s.io/api/flowcontrol/v1"
	networking "k8s.io/api/networking/v1"
	node "k8s.io/api/node/v1"
	policy "k8s.io/api/policy/v1"
	rbac "k8s.io/api/rbac/v1"
	resource "k8s.io/api/resource/v1"
	scheduling "k8s.io/api/scheduling/v1"
	storage "k8s.io/api/storage/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func name(t reflect.Type) string {
	version := path.Base(t.PkgPath())
	return path.Base(path.Dir(t.PkgPath())) + "." + version + "." + t.Name()
}

var lines = map[string]string{}

// Types with their own JSON form.
func isOpaque(t reflect.Type) bool {
	for _, known := range []string{"meta.v1.Time", "meta.v1.MicroTime", "meta.v1.FieldsV1", "meta.v1.Duration", "apiextensions.v1.JSON",
		"apiextensions.v1.JSONSchemaPropsOrArray", "apiextensions.v1.JSONSchemaPropsOrBool", "apiextensions.v1.JSONSchemaPropsOrStringArray"} {
		if name(t) == known {
			return true
		}
	}
	return t.PkgPath() == "k8s.io/apimachinery/pkg/util/intstr" || t.PkgPath() == "k8s.io/apimachinery/pkg/api/resource" || t.PkgPath() == "k8s.io/apimachinery/pkg/runtime"
}

func fields(t reflect.Type) []string {
	var out []string
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		words := strings.Split(f.Tag.Get("json"), ",")
		if words[0] == "-" {
			continue
		}
		has := func(option string) bool {
			for _, word := range words[1:] {
				if word == option {
					return true
				}
			}
			return false
		}
		if f.Anonymous && (has("inline") || words[0] == "") {
			visit(f.Type)
			out = append(out, fields(f.Type)...)
			continue
		}
		visit(f.Type)
		sigil := ""
		ft := f.Type
		switch ft.Kind() {
		case reflect.Pointer:
			if ft.Elem().Kind() != reflect.Struct || isOpaque(ft.Elem()) {
				sigil = "*"
			}
		case reflect.Struct:
			if !has("omitzero") {
				sigil = map[bool]string{true: "!", false: "="}[isOpaque(ft)]
			}
		}
		if !has("omitempty") && !has("omitzero") && sigil != "=" {
			sigil = "!"
			if ft.Kind() == reflect.Pointer {
				sigil = "!*"
			}
		}
		named := ""
		scalar := ft
		if scalar.Kind() == reflect.Pointer {
			scalar = scalar.Elem()
		}
		switch scalar.Kind() {
		case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
			if scalar.PkgPath() != "" {
				named = ":" + scalar.String()
			}
		}
		out = append(out, sigil+words[0]+named)
	}
	return out
}

func visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		visit(t.Elem())
	case reflect.Struct:
		if isOpaque(t) {
			return
		}
		key := name(t)
		if _, known := lines[key]; known {
			return
		}
		lines[key] = ""
		lines[key] = strings.Join(fields(t), " ")
	}
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{admissionregistration.AddToScheme, apps.AddToScheme, authentication.AddToScheme,
		authorization.AddToScheme, autoscalingv1.AddToScheme, autoscaling.AddToScheme, batch.AddToScheme, certificates.AddToScheme,
		coordination.AddToScheme, core.AddToScheme, discovery.AddToScheme, events.AddToScheme, flowcontrol.AddToScheme,
		networking.AddToScheme, node.AddToScheme, policy.AddToScheme, rbac.AddToScheme, resource.AddToScheme, scheduling.AddToScheme,
		storage.AddToScheme, apiextensions.AddToScheme, apiregistration.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "List") && !strings.HasSuffix(gvk.Kind, "Options") {
			visit(t)
		}
	}
	var keys []string
	for key, line := range lines {
		if line != "" {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Println(key + " " + lines[key])
	}
}
