//! The embedded schema matches the server in every merge directive of every kind.

use std::collections::BTreeSet;

use kubectl_smp_testing::openapi::{CHANGED_IN_1_37, DIRECTIVES, Documents, check_kinds, compare_directives};
use serde_json::Value;
use smp_merge::schema::Schema;

use super::rig::Rig;

/// Lists that a patch merges and server-side apply replaces. They are in no manifest: the server writes them.
const REPLACED_BY_APPLY: [&str; 2] =
    ["io.k8s.api.batch.v1.JobStatus.conditions", "io.k8s.api.core.v1.PodStatus.hostIPs"];

/// The server's documents of its built-in kinds.
fn documents(rig: &Rig) -> Documents {
    let json =
        |path: &str| -> Value { serde_json::from_str(&rig.kubectl(&["get", "--raw", path])).expect("JSON") };
    let index = json("/openapi/v3");
    let mut all = Documents::default();
    for path in index["paths"].as_object().expect("paths").keys() {
        let parts: Vec<_> = path.split('/').collect();
        // CRDs of other tests come and go.
        let is_own = matches!(parts[..], ["api", _])
            || matches!(parts[..], ["apis", group, _] if !group.ends_with(".example.com"));
        if is_own {
            all.add(&json(&format!("/openapi/v3/{path}")));
        }
    }
    all
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn embedded_schema_matches_the_server() {
    let documents = documents(&Rig::new());
    check_kinds(&documents, &Schema::embedded());
    assert!(documents.kinds.len() > 130, "{} kinds", documents.kinds.len());
    let counts = compare_directives(&documents, &Schema::embedded());
    // All differences, with the version in which the directive changed.
    assert_eq!(counts.differences, CHANGED_IN_1_37);
    assert!(counts.fields > 3000, "{} fields", counts.fields);
    for directive in &DIRECTIVES[..5] {
        assert!(counts.documents[directive] > 0, "{directive}");
    }
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn lists_merged_by_patches_and_replaced_by_apply_are_known() {
    let documents = documents(&Rig::new());
    let mut found = BTreeSet::new();
    for (name, definition) in &documents.definitions {
        for (field, schema) in definition["properties"].as_object().into_iter().flatten() {
            let merges = schema["x-kubernetes-patch-strategy"].as_str().is_some_and(|s| s.contains("merge"));
            let list_type = schema["x-kubernetes-list-type"].as_str().unwrap_or("atomic");
            if merges && schema["type"] == "array" && list_type == "atomic" {
                found.insert(format!("{name}.{field}"));
            }
        }
    }
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), REPLACED_BY_APPLY);
}
