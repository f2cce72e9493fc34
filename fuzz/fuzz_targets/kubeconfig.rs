//! Kubeconfig files: any text names a server or is rejected. No request is sent and no program run.
#![no_main]

use std::io::Write as _;

use libfuzzer_sys::fuzz_target;
use smp_cluster::ConnectOptions;

fuzz_target!(|bytes: &[u8]| {
    // Keys and certificates may be in files, and reading files of `/dev` and `/proc` may never end.
    if bytes.windows(4).any(|part| part == b"/dev" || part == b"/pro") {
        return;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(bytes).expect("writable");
    let options = ConnectOptions { kubeconfig: Some(file.path().into()), ..ConnectOptions::default() };
    let _ = options.server_id();
});
