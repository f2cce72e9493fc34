// Command definitions prints kyaml's built-in data of Kubernetes 1.21.2: the OpenAPI definitions,
// and the scope of each kind with a GET path.
package main

import (
	"encoding/json"
	"log"
	"os"
	"strings"

	openapipb "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/kustomize/kyaml/openapi/kubernetesapi"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

type resource struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Scope      string `json:"scope"`
}

// The document as kyaml unpacks it.
func document() *spec.Swagger {
	packed := kubernetesapi.OpenAPIMustAsset["v1.21.2"]("kubernetesapi/v1_21_2/swagger.pb")
	var message openapipb.Document
	if err := proto.Unmarshal(packed, &message); err != nil {
		log.Fatal(err)
	}
	var swagger spec.Swagger
	if _, err := swagger.FromGnostic(&message); err != nil {
		log.Fatal(err)
	}
	return &swagger
}

// The kinds of all paths, with the scope that kyaml reports.
func resources(swagger *spec.Swagger) []resource {
	var found []resource
	for _, path := range swagger.Paths.Paths {
		if path.Get == nil {
			continue
		}
		kind, _ := path.Get.Extensions["x-kubernetes-group-version-kind"].(map[string]any)
		text := func(key string) string {
			value, _ := kind[key].(string)
			return value
		}
		version := strings.TrimPrefix(text("group")+"/"+text("version"), "/")
		namespaced, known := openapi.IsNamespaceScoped(yaml.TypeMeta{APIVersion: version, Kind: text("kind")})
		if !known {
			continue
		}
		scope := "Cluster"
		if namespaced {
			scope = "Namespaced"
		}
		found = append(found, resource{version, text("kind"), scope})
	}
	return found
}

func main() {
	swagger := document()
	out := map[string]any{"definitions": swagger.Definitions, "resources": resources(swagger)}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		log.Fatal(err)
	}
}
