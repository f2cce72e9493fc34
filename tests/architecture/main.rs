//! The rooms of the house import only what stands to their left, no files of a room import each
//! other in a circle, the name of a type means one thing, and only `files` touches files.

mod circles;
mod file_access;
mod names;
mod source;

use std::fs;
use std::path::Path;

use source::SourceFile;

/// From left to right; rooms of one group do not import each other.
const ORDER: &[&[&str]] = &[
    &["source", "diagnostic"],
    &["files"],
    &["gocompat"],
    &["yaml"],
    &["path"],
    &["schema"],
    &["merge"],
    &["diff", "patch"],
    &["resource"],
    &["transform"],
    &["overlay", "package"],
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

fn library() -> Vec<SourceFile> {
    let texts = source::texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let files = source::library(&texts);
    assert!(files.len() > 150, "only {} files were found", files.len());
    files
}

#[test]
fn no_files_of_a_room_import_each_other_in_a_circle() {
    let library = library();
    let circles = circles::circles(&library);
    let wrong: Vec<&str> = circles.iter().map(|circle| circle.told.as_str()).collect();
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn the_name_of_a_type_means_one_thing() {
    let files = library();
    let wrong = names::with_several_meanings(&files);
    let wrong: Vec<_> = wrong.iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files of a library that is made up.
fn made_up(texts: &[(&str, &str)]) -> Vec<SourceFile> {
    let texts: Vec<_> = texts.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
    source::library(&texts)
}

#[test]
fn circles_are_seen() {
    let room = ("room/mod.rs", "mod a; mod b; pub use a::A; pub use b::{self, B as C};");
    let table: [(&str, &str, bool); 9] = [
        ("use super::b::B;", "use super::a::A;", true),
        ("use super::{C, other};", "fn f() -> crate::room::A { 1 }", true),
        ("use crate::{x, room::{y, b::{B, z}}};", "use super::super::room::a::A as D;", true),
        ("use super::b;", "pub(super) fn f() { super::a::A::new(b'\'', '\"', r#\"\"\"#) }", true),
        ("use super::b::B;", "pub use super::a::A; fn f() -> A { 1 }", true),
        ("use super::b::B;", "pub use super::a::A;", false),
        (
            "use super::b::B;",
            "use super::a_thing; // super::a::A\nconst D: &'static str = \"super::a::A\";",
            false,
        ),
        ("use super::b::B;", "#[cfg(test)]\nmod tests { use super::super::a::A; }", false),
        ("use super::b::B;", "use other::a::A; fn f(a: u8) -> crate::elsewhere::A { a::b }", false),
    ];
    for (a, b, want) in table {
        let a = format!("{a}\npub struct A;");
        let b = format!("{b}\npub struct B;");
        let files = made_up(&[("lib.rs", "mod room;"), room, ("room/a.rs", &a), ("room/b.rs", &b)]);
        let circles: Vec<_> = circles::circles(&files).into_iter().map(|circle| circle.files).collect();
        let one = vec![vec!["room/a.rs".to_string(), "room/b.rs".to_string()]];
        assert_eq!(circles, if want { one } else { Vec::new() }, "{a}\n{b}");
    }
}

#[test]
fn a_file_may_be_in_a_circle_with_the_folder_below_it() {
    let files = |room: &str| {
        made_up(&[("lib.rs", "mod room;"), ("room.rs", room), ("room/a.rs", "use super::B; struct A;")])
    };
    let tied = |room: &str| !circles::circles(&files(room)).is_empty();
    assert!(tied("mod a; struct B; use a::A;"));
    assert!(tied("mod a; struct B; fn f() { a::A }"));
    assert!(!tied("mod a; struct B; pub use a::A;"));
    assert!(!tied("#[cfg(test)] mod a; struct B; use a::A;"));
}

#[test]
fn types_of_one_name_are_seen() {
    let a = "struct One { of: Other } impl Trait for One { type Item = u8; }\ntype Two<T> = Vec<T>;";
    let b = "fn f() { enum One {} }\ntrait Two { type Item; } #[cfg(test)] mod tests { struct Three; }";
    let files = made_up(&[("a.rs", a), ("b/c.rs", b), ("d.rs", "const Three: u8 = 1; struct Three;")]);
    let places = |places: [&str; 2]| places.map(String::from).to_vec();
    let want = [("One", places(["a.rs:1", "b/c.rs:1"])), ("Two", places(["a.rs:2", "b/c.rs:2"]))];
    assert_eq!(names::with_several_meanings(&files), want.into());
}
