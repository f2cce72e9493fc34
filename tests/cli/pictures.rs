//! The pictures of the book and the README, drawn from what the program prints.
//!
//! `SMP_WRITE_PAGES=1 cargo test --test cli pictures` draws them again.

mod flow;
mod layers;
mod merge;
mod svg;
mod terminal;

use std::fs;
use std::path::Path;

/// Compares a picture with the file in `book/pictures`, or writes it.
fn check(name: &str, picture: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/pictures").join(name);
    if std::env::var_os("SMP_WRITE_PAGES").is_some() {
        fs::write(&path, picture).expect("written");
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    assert!(recorded == picture, "{name} differs: SMP_WRITE_PAGES=1 cargo test --test cli pictures");
}
