//! Only the crate `files` reads and writes files.
//!
//! Accesses made by macros, and methods of other names that do the same, are not found.

use super::source::{Token, libraries, tokens_of};

/// Names that reach the file system, in any context.
const FILE_ACCESS: &[&str] = &["fs", "OpenOptions", "walkdir", "tempfile"];

/// Methods of `Path` that query the file system.
const PATH_METHODS: &[&str] = &[
    "canonicalize",
    "exists",
    "try_exists",
    "is_file",
    "is_dir",
    "is_symlink",
    "read_dir",
    "metadata",
    "symlink_metadata",
    "read_link",
];

/// The file accesses in a source, each with its line.
fn file_access(tokens: &[Token]) -> Vec<(usize, String)> {
    let at = |i: Option<usize>| i.and_then(|i| tokens.get(i));
    let reaches = |i: usize, name: &str| {
        let (before, behind) = (at(i.checked_sub(1)), at(Some(i + 1)));
        let is_method = before == Some(&Token::Sign('.')) && behind == Some(&Token::Sign('('));
        let is_of_path = before == Some(&Token::Separator)
            && at(i.checked_sub(2)).is_some_and(|token| token.is("Path") || token.is("PathBuf"));
        FILE_ACCESS.contains(&name)
            || PATH_METHODS.contains(&name) && (is_method || is_of_path)
            || name == "File" && behind == Some(&Token::Separator)
    };
    let words = tokens.iter().enumerate().filter_map(|(i, token)| match token {
        Token::Word(name, line) => Some((i, name, *line)),
        _ => None,
    });
    words.filter(|(i, name, _)| reaches(*i, name)).map(|(_, name, line)| (line, name.clone())).collect()
}

#[test]
fn only_the_files_crate_accesses_the_file_system() {
    let libraries = libraries();
    let others = libraries.iter().filter(|library| library.directory != "crates/files/src");
    let files = others.flat_map(|library| library.files.iter().map(|file| (&library.directory, file)));
    let lines = files.flat_map(|(directory, file)| {
        let found = file_access(&file.tokens).into_iter();
        found.map(move |(line, name)| format!("{directory}/{}:{line}: {name}", file.name))
    });
    let wrong: Vec<_> = lines.collect();
    assert!(wrong.is_empty(), "files are read and written by `crates/files` alone:\n{}", wrong.join("\n"));
}

#[test]
fn file_accesses_are_found() {
    let wrong = [
        "use std::fs;",
        "use std::{fs::File, io};",
        "fn f() { std::fs::read(p); }",
        "fn f() { tokio::fs::read(p); }",
        "use std::os::unix::fs::symlink;",
        "fn f() { File::open(p); }",
        "fn f(options: &OpenOptions) {}",
        "fn f() { walkdir::WalkDir::new(p); }",
        "use tempfile::TempDir;",
        "fn f() { vec![p.join(q).canonicalize()]; }",
        "fn f() { p.parent()\n    .is_some_and(|p| p.is_dir()); }",
        "fn f() { paths.filter(Path::exists); }",
        "fn f() { paths.map(PathBuf::is_file); }",
        "#[cfg(feature = \"test\")] fn f() { p.metadata(); }",
        "#[cfg(not(test))] fn f() { p.metadata(); }",
        "#[cfg(test)] mod tests { }\nfn f() { p.metadata(); }",
    ];
    for text in wrong {
        assert_eq!(file_access(&tokens_of(text)).len(), 1, "{text}");
    }
    let right = [
        "/// As `std::fs::read`.\nfn f() { g(\"std::fs\"); } // p.exists()",
        "fn f() { Target::File(p); metadata(node); node.metadata; }",
        "#[cfg(test)] mod tests { use std::fs; fn f() { p.exists(); } }",
        "#[cfg(all(test, unix))]\n#[allow(unused)]\nmod tests { fn f() { p.exists(); } }",
        "#[cfg(test)]\nuse tempfile::TempDir;",
    ];
    for text in right {
        assert_eq!(file_access(&tokens_of(text)), [], "{text}");
    }
    assert_eq!(file_access(&tokens_of("fn f() {\n    p.exists();\n}")), [(2, "exists".to_string())]);
}
