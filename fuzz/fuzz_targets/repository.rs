//! What names a repository: any text is one, or a path, and nothing is fetched to find that out.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use smp_overlay::overlay::Builder;

fuzz_target!(|text: &str| {
    let _ = Builder::is_remote(Path::new(text));
});
