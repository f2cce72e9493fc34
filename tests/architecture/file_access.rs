//! Files are read and written by the room `files` alone.
//!
//! What a macro makes is not seen, nor a method by another name that does the same.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Names by which the file system is reached, whatever stands around them.
const FILE_ACCESS: &[&str] = &["fs", "OpenOptions", "walkdir", "tempfile"];

/// Methods of `Path` that ask the file system.
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

/// The tokens of a source text that are no tests, with those in brackets of all kinds, and their lines.
fn tokens(stream: TokenStream, out: &mut Vec<(usize, String)>) {
    let mut trees = stream.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                let attribute = trees.next_if(|next| matches!(next, TokenTree::Group(_)));
                if attribute.is_some_and(|attribute| is_for_tests(&attribute)) {
                    // The item ends with its body, or with a semicolon.
                    let is_body = |group: &Group| group.delimiter() == Delimiter::Brace;
                    let _ = trees.by_ref().find(|tree| match tree {
                        TokenTree::Group(group) => is_body(group),
                        TokenTree::Punct(punct) => punct.as_char() == ';',
                        _ => false,
                    });
                }
            }
            TokenTree::Group(group) => {
                let open = if group.delimiter() == Delimiter::Parenthesis { "(" } else { "{" };
                out.push((line, open.to_string()));
                tokens(group.stream(), out);
            }
            other => out.push((line, other.to_string())),
        }
    }
}

/// `#[cfg(test)]` and `#[cfg(all(test, ...))]`.
fn is_for_tests(attribute: &TokenTree) -> bool {
    let text: String = attribute.to_string().chars().filter(|c| !c.is_whitespace()).collect();
    text.starts_with("[cfg(test)") || text.starts_with("[cfg(all(test,")
}

fn tokens_of(text: &str) -> Vec<(usize, String)> {
    let mut out = Vec::new();
    tokens(text.parse().expect("Rust"), &mut out);
    out
}

/// The lines of a text that reach for files, with what they reach by.
fn file_access(text: &str) -> Vec<(usize, String)> {
    let tokens = tokens_of(text);
    let at = |i: Option<usize>| i.and_then(|i| tokens.get(i)).map_or("", |(_, token)| token.as_str());
    let reaches = |i: usize, name: &str| {
        let (before, behind) = (at(i.checked_sub(1)), at(Some(i + 1)));
        let of_path = before == ":" && matches!(at(i.checked_sub(3)), "Path" | "PathBuf");
        FILE_ACCESS.contains(&name)
            || (PATH_METHODS.contains(&name) && ((before == "." && behind == "(") || of_path))
            || (name == "File" && behind == ":")
    };
    let found = tokens.iter().enumerate().filter(|(i, (_, name))| reaches(*i, name));
    found.map(|(_, token)| token.clone()).collect()
}

/// The files of a module and of the modules in it, but for tests.
fn modules(file: &Path, out: &mut Vec<PathBuf>) {
    let text = fs::read_to_string(file).expect("a module");
    let stem = file.file_stem().and_then(|s| s.to_str()).expect("a name");
    let own_folder = ["lib", "main", "mod"].contains(&stem);
    let folder = if own_folder { file.with_file_name("") } else { file.with_extension("") };
    let tokens = tokens_of(&text);
    for three in tokens.windows(3) {
        if let [(_, keyword), (_, name), (_, end)] = three
            && keyword == "mod"
            && end == ";"
        {
            let names = [folder.join(format!("{name}.rs")), folder.join(name).join("mod.rs")];
            modules(names.iter().find(|path| path.exists()).expect("the file of a module"), out);
        }
    }
    out.push(file.to_path_buf());
}

#[test]
fn only_the_room_for_files_touches_files() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    modules(&src.join("lib.rs"), &mut files);
    modules(&src.join("main.rs"), &mut files);
    let all = files.len();
    files.retain(|file| !file.starts_with(src.join("files")));
    assert!(all > 150 && files.len() < all, "only {all} files were found");
    let lines = files.iter().flat_map(|file| {
        let text = fs::read_to_string(file).expect("a source file");
        file_access(&text).into_iter().map(move |(line, name)| format!("{}:{line}: {name}", file.display()))
    });
    let wrong: Vec<_> = lines.collect();
    assert!(wrong.is_empty(), "files are read and written by the room `files` alone:\n{}", wrong.join("\n"));
}

#[test]
fn what_touches_files_is_found() {
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
        assert_eq!(file_access(text).len(), 1, "{text}");
    }
    let right = [
        "/// As `std::fs::read`.\nfn f() { g(\"std::fs\"); } // p.exists()",
        "fn f() { Target::File(p); metadata(node); node.metadata; }",
        "#[cfg(test)] mod tests { use std::fs; fn f() { p.exists(); } }",
        "#[cfg(all(test, unix))]\n#[allow(unused)]\nmod tests { fn f() { p.exists(); } }",
        "#[cfg(test)]\nuse tempfile::TempDir;",
    ];
    for text in right {
        assert_eq!(file_access(text), [], "{text}");
    }
    assert_eq!(file_access("fn f() {\n    p.exists();\n}"), [(2, "exists".to_string())]);
}
