//! Kubeconfig files: any text names a server or is refused; no server is asked and no program run.
#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use smp_cluster::ConnectOptions;

fuzz_target!(|bytes: &[u8]| {
    // Keys and certificates may lie in files, and reading some of those never ends.
    if bytes.windows(4).any(|part| part == b"/dev" || part == b"/pro") {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("writable");
    let options = ConnectOptions { kubeconfig: Some(file.path().into()), ..ConnectOptions::default() };
    let _ = options.server_id();
});
