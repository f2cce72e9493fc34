//! Texts: no text is too odd to read or refuse, and what is read can be written and read again.
#![no_main]

use kubectl_smp::yaml::{
    DuplicateKeys, Node, ParseOptions, decode, edit, to_json, to_yaml, write_documents_as_written,
};
use kubectl_smp_fuzz::{read, read_with};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes.to_vec()) else { return };
    for duplicate_keys in [DuplicateKeys::LastWins, DuplicateKeys::FirstWins] {
        let _ = read_with(&text, ParseOptions { comments: false, duplicate_keys });
    }
    let Some(documents) = read(&text) else { return };
    let same: Vec<_> = documents.iter().cloned().map(Some).collect();
    assert_eq!(edit(&text, &documents, &same).as_ref(), Ok(&text), "an edit that changes nothing");
    for document in &documents {
        let _ = to_json(document);
        if has_old_breaks(document) {
            // Written as line breaks, as YAML 1.1 and kustomize have them; YAML 1.2 reads them otherwise.
            continue;
        }
        for written in
            to_yaml(document).into_iter().chain([write_documents_as_written(std::slice::from_ref(document))])
        {
            let again = read(&written);
            assert!(
                again.as_deref() == Some(std::slice::from_ref(document)),
                "read as {document:?}\nwritten as {written:?}\nread again as {again:?}"
            );
        }
    }
});

fn has_old_breaks(node: &Node) -> bool {
    let is_old = |text: &str| text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    node.scalar_text().is_some_and(|text| is_old(text))
        || node.as_list().is_some_and(|list| list.iter().any(has_old_breaks))
        || node
            .as_map()
            .is_some_and(|map| map.iter().any(|(name, value)| is_old(name) || has_old_breaks(value)))
}
