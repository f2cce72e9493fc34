//! Texts: the fast reader passes on the same events as the parser, or leaves the text to it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use smp_text::yaml::compare_readers;

fuzz_target!(|text: &str| {
    if let Err(problem) = compare_readers(text) {
        panic!("{problem}\n{text:?}");
    }
});
