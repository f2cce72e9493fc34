//! Counts kinds and merge directives of raw OpenAPI documents and compares them with the embedded tables, which
//! other code compiled. The documents are not part of the repository. The variable `SMP_TEST_OPENAPI` names a
//! directory with the documents of Kubernetes 1.36 and the definitions of 1.21, which `tests/oracle/documents`
//! creates.

use std::path::{Path, PathBuf};

use kubectl_smp_testing::openapi::{CHANGED_IN_1_37, DIRECTIVES, Documents, check_kinds, compare_directives};
use kubectl_smp_testing::requirements::required_env;
use smp_merge::schema::Schema;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "json") {
            found.push(entry);
        }
    }
}

/// The documents of the directory whose path contains `part`.
fn documents(part: &str) -> Documents {
    let folder = required_env("SMP_TEST_OPENAPI", "openapi");
    let mut paths = Vec::new();
    files(Path::new(&folder), &mut paths);
    paths.retain(|path| path.to_string_lossy().contains(part));
    assert!(!paths.is_empty(), "no document named {part} in {folder}");
    let mut all = Documents::default();
    for path in paths {
        let text = std::fs::read(&path).expect("readable");
        all.add(&serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    all
}

#[test]
#[ignore = "needs OpenAPI documents, see .ci/tools"]
fn embedded_table_matches_the_server_documents() {
    for part in ["openapi-v3", "openapi-v2"] {
        let documents = documents(part);
        check_kinds(&documents, &Schema::embedded());
        assert!(documents.kinds.len() > 130, "{} kinds", documents.kinds.len());
        let counts = compare_directives(&documents, &Schema::embedded());
        assert_eq!(counts.differences, CHANGED_IN_1_37, "{part}");
        assert!(counts.fields > 3000, "{} fields", counts.fields);
        for directive in DIRECTIVES {
            let (documents, table) = (counts.documents[directive], counts.table[directive]);
            // The one field that changed gained the directives of an associative list.
            let gained = table - documents;
            assert!(gained <= 1, "{part} {directive}: {documents} in the documents, {table} in the table");
        }
        let keys = counts.documents["x-kubernetes-list-map-keys"];
        assert!(keys >= 59, "{keys} lists with keys");
    }
}

#[test]
#[ignore = "needs OpenAPI documents, see .ci/tools"]
fn kustomize_table_matches_the_definitions_of_1_21() {
    let documents = documents("1.21-definitions");
    check_kinds(&documents, &Schema::kustomize());
    let counts = compare_directives(&documents, &Schema::kustomize());
    assert_eq!(counts.differences, [""; 0]);
    assert_eq!(counts.documents, counts.table);
    let unknown = documents.kinds.iter().filter(|gvk| Schema::embedded().kind(gvk).is_none());
    assert_eq!(unknown.count(), 0, "kinds of 1.21 that the table of Kubernetes does not know");
    let extra = Schema::kustomize().graphs().map(|(_, graph)| graph.kinds().count()).sum::<usize>();
    assert!(extra >= documents.kinds.len() + 7, "its own kinds, and two of which only the scope is known");
}
