//! OpenAPI documents, JSON schemas and CRDs: parsed documents compile to a type graph that can be opened again.
#![no_main]

use kubectl_smp_fuzz::read as documents;
use libfuzzer_sys::fuzz_target;
use smp_merge::schema::openapi::{is_crd, read, read_crd, read_document};
use smp_merge::schema::{Model, TypeGraph};

fuzz_target!(|text: &str| {
    for document in documents(text).into_iter().flatten() {
        let crd = is_crd(&document).then(|| read_crd(&document));
        for model in [read(&document), read_document(&document)].into_iter().chain(crd).flatten() {
            compiled(&model);
        }
    }
});

fn compiled(model: &Model) {
    let Ok(graph) = model.compile() else { return };
    let again = TypeGraph::from_bytes(graph.to_bytes()).expect("what was written can be read");
    assert!(graph.kinds().eq(again.kinds()));
}
