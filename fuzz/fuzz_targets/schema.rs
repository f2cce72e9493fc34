//! Compiled schemas, as stored in caches: a file that opens can be traversed; any other file is rejected.
//!
//! The inputs lack the final checksum, which is added here: a fuzzer would not find a valid one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sha2::{Digest as _, Sha256};
use smp_merge::schema::{Cursor, TypeGraph};

fuzz_target!(|bytes: &[u8]| {
    let _ = TypeGraph::from_bytes(bytes.to_vec());
    let whole = [bytes, Sha256::digest(bytes).as_slice()].concat();
    let Ok(graph) = TypeGraph::from_bytes(whole) else { return };
    for (gvk, _) in graph.kinds().take(64) {
        let _ = graph.scope(&gvk);
        if let Some(cursor) = graph.kind(&gvk) {
            walk(cursor, 4);
        }
    }
    let _ = graph.names().take(1024).map(str::len).sum::<usize>();
});

fn walk(cursor: Cursor<'_>, depth: usize) {
    let _ = (cursor.type_kind(), cursor.directives(), cursor.list_map_keys().count());
    if depth == 0 {
        return;
    }
    walk(cursor.element(), depth - 1);
    for (_, field) in cursor.fields().take(16) {
        walk(field, depth - 1);
    }
}
