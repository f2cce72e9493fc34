//! Repository references: any text is a reference or a path, and parsing it fetches nothing.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use smp_overlay::overlay::Builder;

fuzz_target!(|text: &str| {
    let _ = Builder::is_remote(Path::new(text));
});
