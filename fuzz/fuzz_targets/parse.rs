//! Texts: any text is parsed or rejected, and parsed values can be written and parsed again.
#![no_main]

use kubectl_smp_fuzz::{read_as, read_with};
use libfuzzer_sys::fuzz_target;
use smp_text::source::Reading;
use smp_text::yaml::{
    DuplicateKeys, Node, ParseOptions, decode, edit_text, to_json, to_yaml, write_documents_in_source_style,
};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = decode(bytes.to_vec()) else { return };
    for duplicate_keys in [DuplicateKeys::LastWins, DuplicateKeys::FirstWins] {
        let _ = read_with(&text, ParseOptions::default().duplicate_keys(duplicate_keys));
    }
    check_round_trip(Reading::Kustomize, &text);
    check_round_trip(Reading::Kubectl, &text);
});

fn check_round_trip(reading: Reading, text: &str) {
    let Some(documents) = read_as(reading, text) else { return };
    let same: Vec<_> = documents.iter().cloned().map(Some).collect();
    assert_eq!(
        edit_text(text, reading, &documents, &same).as_deref(),
        Ok(text),
        "an edit that changes nothing"
    );
    for document in &documents {
        let _ = to_json(document);
        if has_old_breaks(document) {
            // Written as line breaks, as in YAML 1.1 and kustomize. YAML 1.2 parses them differently.
            continue;
        }
        for written in to_yaml(document)
            .into_iter()
            .chain([write_documents_in_source_style(std::slice::from_ref(document))])
        {
            let again = read_as(reading, &written);
            assert!(
                again.as_deref() == Some(std::slice::from_ref(document)),
                "read as {document:?}\nwritten as {written:?}\nread again as {again:?}"
            );
        }
    }
}

fn has_old_breaks(node: &Node) -> bool {
    let is_old = |text: &str| text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    node.scalar_text().is_some_and(|text| is_old(text))
        || node.as_list().is_some_and(|list| list.iter().any(has_old_breaks))
        || node
            .as_map()
            .is_some_and(|map| map.iter().any(|(name, value)| is_old(name) || has_old_breaks(value)))
}
