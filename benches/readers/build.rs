//! Compiles the calls of libyaml and rapidyaml. `RAPIDYAML` is the directory `cpp` of its source package; without it,
//! rapidyaml is left out.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories with the sources of rapidyaml.
const SOURCES: [&str; 2] = ["src/c4/yml", "ext/c4core/src/c4"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rapidyaml)");
    println!("cargo::rerun-if-env-changed=RAPIDYAML");
    println!("cargo::rerun-if-changed=src");
    cc::Build::new().file("src/libyaml.c").opt_level(3).compile("calls_libyaml");
    println!("cargo::rustc-link-lib=yaml");
    let Some(directory) = env::var_os("RAPIDYAML").map(PathBuf::from) else { return };
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .warnings(false)
        .define("NDEBUG", None)
        .include(directory.join("src"))
        .include(directory.join("ext/c4core/src"))
        .file("src/rapidyaml.cpp")
        .files(SOURCES.iter().flat_map(|sources| cpp_files(&directory.join(sources))))
        .compile("calls_rapidyaml");
    println!("cargo::rustc-cfg=rapidyaml");
}

fn cpp_files(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).expect("the sources of rapidyaml").filter_map(Result::ok);
    files.map(|file| file.path()).filter(|path| path.extension() == Some(OsStr::new("cpp"))).collect()
}
