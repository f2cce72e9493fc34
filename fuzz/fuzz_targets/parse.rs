//! Texts: no text is too odd to read or refuse, and what is read can be written and read again.
#![no_main]

use kubectl_smp::yaml::{
    DuplicateKeys, ParseOptions, decode, edit, to_json, to_yaml, write_documents_as_written,
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
