//! Kustomization files: any text, with a few files that it may name, builds resources that can be printed, or
//! gives an error.
#![no_main]

use std::path::Path;
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use smp_files::MemoryTree;
use smp_overlay::overlay::{BuildOptions, Builder, ChainPurpose, LockSource, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::source::SourceMap;
use smp_text::yaml::to_documents;

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {a: b}}\ndata: {x: y, z: '{\"a\": [1]}'}\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata: {labels: {a: b}}\n    spec:\n      containers:\n      - {name: a, image: 'x:1', env: [{name: A, value: $(A)}], ports: [{containerPort: 80}]}\n";
const PATCH: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: b, image: y}]}}}\n";

/// The files that the kustomization may name, besides itself.
static FILES: LazyLock<MemoryTree> = LazyLock::new(|| {
    let files = [
        ("a.yaml", CONFIG_MAP),
        ("b.yaml", DEPLOYMENT),
        ("p.yaml", PATCH),
        ("e.env", "A=b\nC\n"),
        ("base/kustomization.yaml", "resources: [a.yaml]\nnamePrefix: p-\n"),
        ("base/a.yaml", CONFIG_MAP),
        ("c/kustomization.yaml", "kind: Component\nnameSuffix: -s\n"),
    ];
    MemoryTree::new(files).expect("distinct")
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(tree) = FILES.clone().with_file("kustomization.yaml", bytes.to_vec()) else { return };
    let mut options = BuildOptions::default().tree(Arc::new(tree));
    options.offline = true;
    options.cache = Some("/nonexistent".into());
    options.lock = LockSource::Ignore;
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    let builder =
        Builder::with_chain(SourceMap::default(), options, Box::new(chain), Targets::One).expect("made");
    if let Ok(built) = builder.build(Path::new(".")) {
        let _ = to_documents(built.resources.iter().map(Resource::node));
    }
});
