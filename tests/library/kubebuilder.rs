//! The `config/` directory of a kubebuilder project, upgraded under local changes: definitions next to their
//! patches, the manager next to its patches, settings without a kind.

use std::fs;
use std::path::Path;

use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_overlay::package::{ChangedPackage, OriginRecording, Package, PackageMerge3, write_files};
use smp_text::source::{Reading, SourceMap};

const FILES: [(&str, &str); 10] = [
    (
        "PROJECT",
        r#"domain: example.com
layout:
- go.kubebuilder.io/v4
version: "3"
"#,
    ),
    (
        "config/crd/bases/shop.example.com_carts.yaml",
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: carts.shop.example.com
spec:
  group: shop.example.com
  names: {kind: Cart, listKind: CartList, plural: carts, singular: cart}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              lines:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [sku]
                items:
                  type: object
                  properties: {sku: {type: string}, count: {type: integer}}
",
    ),
    (
        "config/crd/patches/webhook_in_carts.yaml",
        "# The following patch enables a conversion webhook for the CRD
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: carts.shop.example.com
spec:
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions:
      - v1
",
    ),
    (
        "config/crd/kustomization.yaml",
        "\
resources:
- bases/shop.example.com_carts.yaml
# +kubebuilder:scaffold:crd

patches: []
",
    ),
    (
        "config/crd/kustomizeconfig.yaml",
        "\
nameReference:
- kind: Service
  version: v1
  fieldSpecs: []
",
    ),
    (
        "config/default/kustomization.yaml",
        "\
namespace: shop-system

namePrefix: shop-

resources:
- ../crd
- ../manager
",
    ),
    (
        "config/default/manager_patch.yaml",
        "apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
spec:
  template:
    spec:
      containers:
      - name: manager
        args:
        - --leader-elect
",
    ),
    (
        "config/manager/manager.yaml",
        "apiVersion: v1
kind: Namespace
metadata:
  name: system
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: controller-manager
  namespace: system
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: manager
        image: controller:v1
        resources:
          limits:
            cpu: 500m
",
    ),
    (
        "config/rbac/role.yaml",
        "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
- apiGroups: [shop.example.com]
  resources: [carts]
  verbs: [get]
",
    ),
    (
        "config/samples/cart.yaml",
        "\
apiVersion: shop.example.com/v1
kind: Cart
metadata:
  name: sample
spec:
  lines:
  - sku: a
    count: 1
",
    ),
];

/// Changes by upstream or by the user: file, text, new text.
type Changes = [(&'static str, &'static str, &'static str)];

const UPSTREAM: &Changes = &[
    ("PROJECT", "version: \"3\"", "version: \"4\""),
    (
        "config/crd/bases/shop.example.com_carts.yaml",
        "count: {type: integer}",
        "count: {type: integer}, note: {type: string}",
    ),
    (
        "config/crd/patches/webhook_in_carts.yaml",
        "      - v1\n",
        r"      - v1
      - v2
",
    ),
    ("config/crd/kustomization.yaml", "patches: []", "patches:\n- path: patches/webhook_in_carts.yaml"),
    ("config/crd/kustomizeconfig.yaml", "fieldSpecs: []", "fieldSpecs:\n  - kind: CustomResourceDefinition"),
    (
        "config/default/kustomization.yaml",
        "- ../manager\n",
        "\
- ../manager
- ../rbac
",
    ),
    (
        "config/default/manager_patch.yaml",
        "- --leader-elect\n",
        "\
- --leader-elect
        - --health-probe-bind-address=:8081
",
    ),
    ("config/manager/manager.yaml", "controller:v1", "controller:v2"),
    ("config/rbac/role.yaml", "verbs: [get]", "verbs: [get, list]"),
    (
        "config/samples/cart.yaml",
        "count: 1\n",
        "\
count: 1
  - sku: b
    count: 2
",
    ),
];

const MINE: &Changes = &[
    ("PROJECT", "domain: example.com", "domain: example.org"),
    (
        "config/crd/patches/webhook_in_carts.yaml",
        "  name: carts.shop.example.com\n",
        r#"  name: carts.shop.example.com
  labels: {mine: "yes"}
"#,
    ),
    ("config/default/kustomization.yaml", "namespace: shop-system", "namespace: prod"),
    ("config/manager/manager.yaml", "cpu: 500m", "cpu: \"2\" # ours is large"),
    ("config/manager/manager.yaml", "replicas: 1", "replicas: 3"),
    (
        "config/samples/cart.yaml",
        "lines:\n",
        "\
lines:
  - sku: mine
    count: 7
",
    ),
];

fn with(changes: &[&Changes]) -> Vec<(String, String)> {
    let mut files: Vec<_> =
        FILES.iter().map(|(name, text)| ((*name).to_string(), (*text).to_string())).collect();
    for (name, old, new) in changes.iter().flat_map(|changes| changes.iter()) {
        let (_, text) = files.iter_mut().find(|(known, _)| known == name).expect("a file");
        assert!(text.contains(old), "{name} has no {old}");
        *text = text.replacen(old, new, 1);
    }
    files
}

fn write(directory: &Path, files: &[(String, String)]) {
    for (name, text) in files {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
}

#[test]
fn upgrade_is_exact_and_has_no_conflicts() {
    let directory = tempfile::tempdir().expect("a directory");
    let sources = SourceMap::default();
    let sides = [("original", with(&[])), ("updated", with(&[UPSTREAM])), ("dest", with(&[MINE]))];
    let [original, updated, dest] = sides.map(|(side, files)| {
        let path = directory.path().join(side);
        write(&path, &files);
        Package::read_everything(&path, Reading::Kubectl, &sources).expect("readable")
    });
    let (mut schema, options) = (Schema::embedded(), MergeOptions::lossless());
    updated.add_types(&mut schema);
    let merge = PackageMerge3 {
        original: &original,
        updated: &updated,
        dest: &dest,
        schema: &schema,
        options: &options,
        origins: OriginRecording::Disabled,
    };
    let ChangedPackage { files, conflicts, warnings, .. } = merge.merge().expect("merged");
    assert!(conflicts.is_empty(), "{conflicts:#?}");
    let [warning] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(warning.message().ends_with("so it is merged line by line"), "{warning}");
    write_files(&directory.path().join("dest"), &files).expect("written");
    for (name, want) in with(&[UPSTREAM, MINE]) {
        let text = fs::read_to_string(directory.path().join("dest").join(&name)).expect("there");
        assert_eq!(text, want, "{name}");
    }
}
