//! Structure rules that Cargo does not check: modules of a crate import only earlier modules, files have no import
//! cycles, and only `crates/files` accesses the file system.

mod file_access;
mod import_cycles;
mod language;
mod promises;
mod source;

use std::fs;
use std::path::{Path, PathBuf};

/// The crates with several modules, and these modules in import order. Modules of one group do not import each
/// other.
const ORDER: &[(&str, &[&[&str]])] = &[
    ("text", &[&["source"], &["diagnostic"], &["gocompat"], &["yaml"], &["path"]]),
    (
        "merge",
        &[&["cause"], &["schema"], &["defaults"], &["merge"], &["diff"], &["patch"], &["managed_fields"]],
    ),
    ("overlay", &[&["schema_chain"], &["resource"], &["transform"], &["overlay", "package"], &["edit"]]),
    ("inspect", &[&["explain"], &["check"], &["review"]]),
];

fn rank(order: &[&[&str]], module: &str) -> Option<usize> {
    order.iter().position(|group| group.contains(&module))
}

fn may_import(order: &[&[&str]], module: &str, other: &str) -> bool {
    module == other || rank(order, other) < rank(order, module)
}

fn rust_files(path: &Path, out: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a readable directory") {
            rust_files(&entry.expect("an entry").path(), out);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        out.push(path.to_path_buf());
    }
}

/// The modules that a source names after `crate::`, with their lines.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split("crate::").skip(1) {
            let module: String =
                part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            found.push((number + 1, module));
        }
    }
    found
}

#[test]
fn modules_import_only_earlier_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut wrong = Vec::new();
    for (name, order) in ORDER {
        for entry in fs::read_dir(crates.join(name).join("src")).expect("src") {
            let path = entry.expect("an entry").path();
            let module = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_string();
            if module == "lib" {
                continue;
            }
            assert!(rank(order, &module).is_some(), "{name}: add {module} to ORDER and to ARCHITECTURE.md");
            let mut files = Vec::new();
            rust_files(&path, &mut files);
            for file in files {
                let text = fs::read_to_string(&file).expect("a source file");
                let others =
                    imports(&text).into_iter().filter(|(_, other)| !may_import(order, &module, other));
                wrong.extend(others.map(|(line, other)| format!("{}:{line}: {other}", file.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn crates_with_several_modules_declare_their_order() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    for (name, order) in ORDER {
        let text = fs::read_to_string(crates.join(name).join("src/lib.rs")).expect("a crate");
        let modules = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
        let mut modules: Vec<_> = modules.collect();
        let mut named: Vec<_> = order.concat();
        modules.sort_unstable();
        named.sort_unstable();
        assert_eq!(modules, named, "{name}");
    }
}

#[test]
fn import_of_a_later_module_is_found() {
    let order: &[&[&str]] = &[&["yaml"], &["path"]];
    assert!(!may_import(order, "yaml", "path"));
    assert!(may_import(order, "path", "yaml"));
    assert_eq!(imports("use crate::path::Path;"), [(1, "path".to_string())]);
}
