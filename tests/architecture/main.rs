//! The rooms of the house import only what stands to their left, no files of a room import each
//! other in a circle, and only `files` touches files.

mod circles;
mod file_access;
mod promises;
mod source;

use std::fs;
use std::path::Path;

/// From left to right; rooms of one group do not import each other.
const ORDER: &[&[&str]] = &[
    &["source", "diagnostic"],
    &["files"],
    &["gocompat"],
    &["yaml"],
    &["path"],
    &["cause"],
    &["schema"],
    &["merge"],
    &["diff", "patch", "validate"],
    &["resource"],
    &["transform"],
    &["overlay", "package"],
    &["explain"],
    &["check"],
    &["cluster"],
    &["cli"],
];

fn rank(room: &str) -> Option<usize> {
    ORDER.iter().position(|group| group.contains(&room))
}

/// `diagnostic` needs places, and nothing else of its own group is imported.
fn may_import(room: &str, other: &str) -> bool {
    room == other || rank(other) < rank(room) || (room, other) == ("diagnostic", "source")
}

fn rust_files(path: &Path, out: &mut Vec<std::path::PathBuf>) {
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("a readable directory") {
            rust_files(&entry.expect("an entry").path(), out);
        }
    } else if path.extension().is_some_and(|e| e == "rs") {
        out.push(path.to_path_buf());
    }
}

/// The rooms that a source text names behind `crate::`, with their lines.
fn imports(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split("crate::").skip(1) {
            let room: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            if rank(&room).is_some() {
                found.push((number + 1, room));
            } else if part.starts_with('{') {
                panic!("line {}: import each room by a line of its own: {line}", number + 1);
            }
        }
    }
    found
}

#[test]
fn no_room_imports_a_room_to_its_right() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut rooms_seen = 0;
    for entry in fs::read_dir(&src).expect("src") {
        let path = entry.expect("an entry").path();
        let room = path.file_stem().and_then(|s| s.to_str()).expect("a name").to_string();
        if room == "lib" || room == "main" {
            continue;
        }
        assert!(
            rank(&room).is_some(),
            "{room} is no room of the house: add it to ORDER and to ARCHITECTURE.md"
        );
        rooms_seen += 1;
        let mut files = Vec::new();
        rust_files(&path, &mut files);
        for file in files {
            let text = fs::read_to_string(&file).expect("a source file");
            for (line, other) in imports(&text) {
                if !may_import(&room, &other) {
                    wrong.push(format!("{}:{line}: {room} imports {other}", file.display()));
                }
            }
        }
    }
    assert!(rooms_seen >= 8, "only {rooms_seen} rooms were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_check_can_fail() {
    assert!(!may_import("yaml", "merge"));
    assert!(may_import("cli", "cluster"));
    assert_eq!(imports("use crate::cluster::apply;"), [(1, "cluster".to_string())]);
}
