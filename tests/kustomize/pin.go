//go:build pin

// Package pin keeps kustomize among the requirements of this module, so that go.sum covers all of its dependencies.
package pin

import _ "sigs.k8s.io/kustomize/kustomize/v5"
