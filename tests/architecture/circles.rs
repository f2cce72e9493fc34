//! Files of a room that import each other in a circle.
//!
//! An import is a path, in a `use` or in code, that begins with `crate`, `super`, `self` or the name
//! of a module below the file. It leads to the file that defines what it names; names that a module
//! between the two only hands on, as `mod.rs` does with `pub use`, are followed to where they come
//! from. That a file declares its modules, or hands on names that its own code has not, is no import.
//! What [`source`] does not see makes no circle here.
//!
//! [`source`]: super::source

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::source::{Segments, SourceFile, libraries, made_up};

/// Which file imports which, with the names that it takes from there.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The modules of a library and their files.
struct Modules<'f> {
    files: BTreeMap<&'f [String], &'f SourceFile>,
}

/// A name that is handed on from module to module is followed this far.
const MOST_HANDS: usize = 16;

impl<'f> Modules<'f> {
    fn of(files: &'f [SourceFile]) -> Self {
        Self { files: files.iter().map(|file| (file.module.as_slice(), file)).collect() }
    }

    /// The file that defines what a path in a file names; none for what other crates define.
    fn file_of(&self, from: &'f SourceFile, path: &[String], hands: usize) -> Option<&'f SourceFile> {
        let first = path.first()?;
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        let (mut file, rest) = match first.as_str() {
            "crate" => (*self.files.get(&[][..])?, &path[1..]),
            "self" => (from, &path[1..]),
            "super" => {
                let parent = from.module.len().checked_sub(supers)?;
                (*self.files.get(&from.module[..parent])?, &path[supers..])
            }
            _ if from.children.contains(first) => (from, path),
            // A module that was imported: `use super::rules;`, then `rules::RULE`.
            name => {
                let imported = from.bindings.get(name).filter(|to| to.first() != Some(first))?;
                let path = [imported.as_slice(), &path[1..]].concat();
                return self.file_of(from, &path, hands.checked_sub(1)?);
            }
        };
        for (i, segment) in rest.iter().enumerate() {
            if file.children.contains(segment) {
                let module = [file.module.as_slice(), std::slice::from_ref(segment)].concat();
                file = *self.files.get(module.as_slice())?;
            } else if let Some(path) = file.bindings.get(segment).filter(|_| !file.items.contains(segment)) {
                let path = [path.as_slice(), &rest[i + 1..]].concat();
                return self.file_of(file, &path, hands.checked_sub(1)?);
            } else {
                break;
            }
        }
        Some(file)
    }
}

fn imports(files: &[SourceFile]) -> Imports {
    let modules = Modules::of(files);
    let mut imports = Imports::new();
    for file in files {
        let found = imports.entry(file.name.clone()).or_default();
        for path in &file.paths {
            match modules.file_of(file, path, MOST_HANDS) {
                Some(other) if other.name != file.name => {
                    found.entry(other.name.clone()).or_default().insert(name(path));
                }
                _ => {}
            }
        }
    }
    imports
}

/// What a path names: all but where it is looked for.
fn name(path: &Segments) -> String {
    let name: Vec<&str> =
        path.iter().map(String::as_str).filter(|s| !["crate", "self", "super"].contains(s)).collect();
    name.join("::")
}

/// Everything that a file imports, and what that imports, and so on.
fn reached<'i>(imports: &'i Imports, from: &'i str) -> BTreeSet<&'i str> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(imports[file].keys().map(String::as_str).filter(|other| reached.insert(*other)));
    }
    reached
}

/// Files that import each other.
struct Circle {
    files: Vec<String>,
    /// What ties them, a line for each import.
    told: String,
}

fn circles(files: &[SourceFile]) -> Vec<Circle> {
    let imports = imports(files);
    let reached: BTreeMap<&str, _> =
        imports.keys().map(|file| (file.as_str(), reached(&imports, file))).collect();
    let are_tied = |one: &str, other: &str| reached[one].contains(other) && reached[other].contains(one);
    let mut circles: Vec<Circle> = Vec::new();
    for file in imports.keys().filter(|file| are_tied(file, file)) {
        if !circles.iter().any(|circle| circle.files.contains(file)) {
            let files: Vec<String> = imports.keys().filter(|other| are_tied(file, other)).cloned().collect();
            let told = tell(&imports, &files);
            circles.push(Circle { files, told });
        }
    }
    circles
}

fn tell(imports: &Imports, files: &[String]) -> String {
    let mut told = format!("{} files in a circle:\n", files.len());
    for file in files {
        for (other, names) in imports[file].iter().filter(|(other, _)| files.contains(other)) {
            let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            writeln!(told, "  {file} -> {other}: {names}").expect("text");
        }
    }
    told
}

#[test]
fn no_files_of_a_crate_import_each_other_in_a_circle() {
    for library in libraries() {
        let circles = circles(&library.files);
        let wrong: Vec<&str> = circles.iter().map(|circle| circle.told.as_str()).collect();
        assert!(wrong.is_empty(), "{}: {}", library.directory, wrong.concat());
    }
}

#[test]
fn circles_are_seen() {
    let room = ("room/mod.rs", "mod a; mod b; pub use a::A; pub use b::{self, B as C};");
    let table: [(&str, &str, bool); 10] = [
        ("use super::b; fn f() { b::B }", "use super::a; fn f() { a::A }", true),
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
        let circles: Vec<_> = circles(&files).into_iter().map(|circle| circle.files).collect();
        let one = vec![vec!["room/a.rs".to_string(), "room/b.rs".to_string()]];
        assert_eq!(circles, if want { one } else { Vec::new() }, "{a}\n{b}");
    }
}

#[test]
fn a_file_may_be_in_a_circle_with_the_folder_below_it() {
    let files = |room: &str| {
        made_up(&[("lib.rs", "mod room;"), ("room.rs", room), ("room/a.rs", "use super::B; struct A;")])
    };
    let tied = |room: &str| !circles(&files(room)).is_empty();
    assert!(tied("mod a; struct B; use a::A;"));
    assert!(tied("mod a; struct B; fn f() { a::A }"));
    assert!(!tied("mod a; struct B; pub use a::A;"));
    assert!(!tied("#[cfg(test)] mod a; struct B; use a::A;"));
}
