//! JSON patches: results can be printed, a failed patch changes nothing, and both parsers agree on patches that
//! the strict one accepts.
#![no_main]

use kubectl_smp_fuzz::read;
use libfuzzer_sys::fuzz_target;
use smp_merge::patch::{JsonPatchOptions, parse_json_patch};
use smp_text::yaml::{to_json, to_yaml};

const OBJECT: &str = "{a: {b: [1, {c: d}], e: null}, f: text, g: [], 'h/i~': {'': 0}}";

fuzz_target!(|text: &str| {
    let Some(document) = read(text).and_then(|mut documents| documents.pop()) else { return };
    let Ok(patch) = parse_json_patch(&document) else { return };
    let object = read(OBJECT).expect("YAML").remove(0);
    for options in [JsonPatchOptions::kubernetes(), JsonPatchOptions::rfc6902()] {
        let mut patched = object.clone();
        match patch.apply_with(&mut patched, &options) {
            Ok(()) => drop((to_json(&patched), to_yaml(&patched))),
            Err(_) => assert!(patched == object, "{text:?} failed and changed something"),
        }
    }
});
