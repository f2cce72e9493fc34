//! Builds an overlay from files in memory and prints it, with its warnings.
//!
//!     cargo run --no-default-features --example build_in_memory
//!
//! It needs neither a disk nor a cluster, and runs in WebAssembly, too; `tests/wasm` runs it there.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::path::Path;
use std::sync::Arc;

use kubectl_smp::diagnostic::Result;
use kubectl_smp::files::MemoryTree;
use kubectl_smp::overlay::{BuildOptions, Builder};

/// A base and an overlay whose patch names a list that no schema knows.
const FILES: [(&str, &str); 5] = [
    ("base/kustomization.yaml", "resources: [web.yaml, gadget.yaml]\n"),
    (
        "base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      \
         - {name: web, image: 'web:1'}\n      - {name: log, image: 'log:1'}\n",
    ),
    (
        "base/gadget.yaml",
        "apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: gadget}\nspec: {parts: [{name: a}]}\n",
    ),
    (
        "prod/kustomization.yaml",
        "resources: [../base]\nnamePrefix: prod-\npatches: [{path: patch.yaml}]\nconfigMapGenerator:\n- name: config\n  \
         literals: [mode=prod]\n",
    ),
    (
        "prod/patch.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: \
         web, image: 'web:2'}]}}}\n---\napiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: gadget}\nspec: \
         {parts: [{name: b}]}\n",
    ),
];

/// The expected output.
const WANT: &str = "apiVersion: v1
data:
  mode: prod
kind: ConfigMap
metadata:
  name: prod-config-mgc92dd9c6
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: prod-web
spec:
  template:
    spec:
      containers:
      - image: web:2
        name: web
      - image: log:1
        name: log
---
apiVersion: example.com/v1
kind: Gadget
metadata:
  name: prod-gadget
spec:
  parts:
  - name: b
";

fn main() -> Result<()> {
    let mut options = BuildOptions::default().tree(Arc::new(MemoryTree::new(FILES)?));
    options.offline = true;
    let built = Builder::new(options)?.build(Path::new("prod"))?;
    let text = built.to_yaml()?;
    print!("{text}");
    for warning in &built.warnings {
        println!("# {warning}");
    }
    assert_eq!(text, WANT);
    assert_eq!(built.warnings.len(), 1, "a list was replaced for want of a schema");
    Ok(())
}
