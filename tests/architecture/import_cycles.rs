//! Import cycles between the files of a crate.
//!
//! An import is a path, in a `use` or in code, that begins with `crate`, `super`, `self` or the name of a module
//! below the file. It leads to the file that defines the name. Names that a module between the two only
//! re-exports, as `mod.rs` does with `pub use`, are followed to their definition. Declaring modules, or
//! re-exporting names that the file's own code does not use, is not an import. Imports that [`source`] does not
//! see cause no cycle here.
//!
//! [`source`]: super::source

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::source::{Segments, SourceFile, libraries, made_up};

/// The imports between files, with the imported names.
type Imports = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The modules of a library and their files.
struct Modules<'f> {
    files: BTreeMap<&'f [String], &'f SourceFile>,
}

/// The maximum number of re-exports that are followed for one name.
const MAX_REEXPORTS: usize = 16;

impl<'f> Modules<'f> {
    fn new(files: &'f [SourceFile]) -> Self {
        Self { files: files.iter().map(|file| (file.module.as_slice(), file)).collect() }
    }

    /// Returns the file that defines a path used in `from`. None for items of other crates.
    fn file_of(&self, from: &'f SourceFile, path: &[String], reexports: usize) -> Option<&'f SourceFile> {
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
            // An imported module: `use super::rules;`, then `rules::RULE`.
            name => {
                let imported = from.bindings.get(name).filter(|to| to.first() != Some(first))?;
                let path = [imported.as_slice(), &path[1..]].concat();
                return self.file_of(from, &path, reexports.checked_sub(1)?);
            }
        };
        for (i, segment) in rest.iter().enumerate() {
            if file.children.contains(segment) {
                let module = [file.module.as_slice(), std::slice::from_ref(segment)].concat();
                file = *self.files.get(module.as_slice())?;
            } else if let Some(path) = file.bindings.get(segment).filter(|_| !file.items.contains(segment)) {
                let path = [path.as_slice(), &rest[i + 1..]].concat();
                return self.file_of(file, &path, reexports.checked_sub(1)?);
            } else {
                break;
            }
        }
        Some(file)
    }
}

fn imports(files: &[SourceFile]) -> Imports {
    let modules = Modules::new(files);
    let mut imports = Imports::new();
    for file in files {
        let found = imports.entry(file.name.clone()).or_default();
        for path in &file.paths {
            match modules.file_of(file, path, MAX_REEXPORTS) {
                Some(other) if other.name != file.name => {
                    found.entry(other.name.clone()).or_default().insert(name(path));
                }
                _ => {}
            }
        }
    }
    imports
}

/// The imported name: the path without its leading `crate`, `super` and `self`.
fn name(path: &Segments) -> String {
    let name: Vec<&str> =
        path.iter().map(String::as_str).filter(|s| !["crate", "self", "super"].contains(s)).collect();
    name.join("::")
}

/// All files that a file imports, directly or indirectly.
fn transitive_imports<'i>(imports: &'i Imports, from: &'i str) -> BTreeSet<&'i str> {
    let (mut transitive_imports, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        next.extend(
            imports[file].keys().map(String::as_str).filter(|other| transitive_imports.insert(*other)),
        );
    }
    transitive_imports
}

/// A group of files that import each other.
struct Cycle {
    files: Vec<String>,
    /// The imports between the files, one per line.
    report: String,
}

fn cycles(files: &[SourceFile]) -> Vec<Cycle> {
    let imports = imports(files);
    let transitive_imports: BTreeMap<&str, _> =
        imports.keys().map(|file| (file.as_str(), transitive_imports(&imports, file))).collect();
    let are_tied = |one: &str, other: &str| {
        transitive_imports[one].contains(other) && transitive_imports[other].contains(one)
    };
    let mut cycles: Vec<Cycle> = Vec::new();
    for file in imports.keys().filter(|file| are_tied(file, file)) {
        if !cycles.iter().any(|cycle| cycle.files.contains(file)) {
            let files: Vec<String> = imports.keys().filter(|other| are_tied(file, other)).cloned().collect();
            let report = describe(&imports, &files);
            cycles.push(Cycle { files, report });
        }
    }
    cycles
}

fn describe(imports: &Imports, files: &[String]) -> String {
    let mut report = format!("{} files in a cycle:\n", files.len());
    for file in files {
        for (other, names) in imports[file].iter().filter(|(other, _)| files.contains(other)) {
            let names = names.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            writeln!(report, "  {file} -> {other}: {names}").expect("text");
        }
    }
    report
}

#[test]
fn files_of_a_crate_have_no_import_cycles() {
    for library in libraries() {
        let cycles = cycles(&library.files);
        let wrong: Vec<&str> = cycles.iter().map(|cycle| cycle.report.as_str()).collect();
        assert!(wrong.is_empty(), "{}: {}", library.directory, wrong.concat());
    }
}

#[test]
fn import_cycles_are_found() {
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
        let cycles: Vec<_> = cycles(&files).into_iter().map(|cycle| cycle.files).collect();
        let one = vec![vec!["room/a.rs".to_string(), "room/b.rs".to_string()]];
        assert_eq!(cycles, if want { one } else { Vec::new() }, "{a}\n{b}");
    }
}

#[test]
fn a_file_and_its_submodules_may_import_each_other() {
    let files = |room: &str| {
        made_up(&[("lib.rs", "mod room;"), ("room.rs", room), ("room/a.rs", "use super::B; struct A;")])
    };
    let tied = |room: &str| !cycles(&files(room)).is_empty();
    assert!(tied("mod a; struct B; use a::A;"));
    assert!(tied("mod a; struct B; fn f() { a::A }"));
    assert!(!tied("mod a; struct B; pub use a::A;"));
    assert!(!tied("#[cfg(test)] mod a; struct B; use a::A;"));
}
