//! Tests of file trees on disk and in memory, which must behave the same.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use tempfile::TempDir;

use super::*;
use smp_text::diagnostic::Code;

const FILES: [&str; 8] = [
    "other/c.yaml",
    "root/.hidden/d.yaml",
    "root/a.yaml",
    "root/sub/.e.yaml",
    "root/sub/b.yaml",
    "root/sub/deep/f.yaml",
    "root/with space",
    "root/with:colon",
];

/// Symlinks below `root` with their targets. One symlink refers to itself, one to its parent directory, and two to
/// missing files.
const LINKS: [(&str, &str); 8] = [
    (".lost", "nowhere"),
    ("folder", "../other"),
    ("link.yaml", "a.yaml"),
    ("lost", "nowhere"),
    ("self", "self"),
    ("sub/other", "../../other"),
    ("sub/through", "other/../root/sub/deep"),
    ("sub/up", ".."),
];

/// The same files and symlinks on disk and in memory, with the real path of their directory.
struct Fixture {
    _guard: TempDir,
    home: PathBuf,
    memory: MemoryTree,
}

impl Fixture {
    fn new(links: &[(&str, &str)]) -> Self {
        let guard = tempfile::tempdir().expect("a directory");
        let home = guard.path().canonicalize().expect("its real path");
        for file in FILES.map(|file| home.join(file)) {
            fs::create_dir_all(file.parent().expect("a parent")).expect("made");
            fs::write(&file, file.display().to_string()).expect("written");
        }
        let content = |file: &str| home.join(file).display().to_string();
        let files = FILES.map(|file| (home.join(file), content(file)));
        let mut memory = MemoryTree::new(files).expect("distinct").with_working_directory(&home);
        for (name, target) in links.iter().filter(|_| cfg!(unix)) {
            let link = home.join("root").join(name);
            #[cfg(unix)]
            std::os::unix::fs::symlink(target, &link).expect("linked");
            memory = memory.with_link(link, *target).expect("distinct");
        }
        Self { _guard: guard, home, memory }
    }

    fn trees(&self) -> [&dyn FileTree; 2] {
        [&DiskTree, &self.memory]
    }
}

#[test]
fn paths_are_resolved_as_by_the_system() {
    let fixture = Fixture::new(&LINKS);
    let (root, absolute) = (fixture.home.join("root"), fixture.home.join("other/c.yaml"));
    let below = "sub sub/ sub/b.yaml sub//b.yaml sub/../a.yaml ./a.yaml sub/deep/../b.yaml . ./ with:colon";
    let above = ".. ../ ../root ../root/a.yaml ../other/./c.yaml ../../.. ../missing/a.yaml";
    let through =
        "link.yaml folder folder/c.yaml folder/../root/a.yaml sub/up sub/up/a.yaml sub/through/f.yaml";
    let wrong = "a.yaml/ a.yaml/. a.yaml/.. a.yaml/b link.yaml/ lost missing missing/.. with\\backslash";
    let table = [below, above, through, wrong].map(|paths| paths.split(' ')).into_iter().flatten();
    for path in table.chain(["a.yaml", "with space", absolute.to_str().expect("UTF-8")]) {
        let want = root.join(path).canonicalize();
        for tree in fixture.trees() {
            let got = tree.locate(&root, Path::new(path));
            if let Ok(found) = &got {
                assert_eq!(found.is_directory(), root.join(path).is_dir(), "{path} {tree:?}");
            }
            let kind = |error: &io::Error| error.kind();
            assert_eq!(
                got.as_ref().map(Located::path).map_err(kind),
                want.as_deref().map_err(kind),
                "{path} {tree:?}"
            );
        }
    }
    if cfg!(unix) {
        for tree in fixture.trees() {
            assert!(tree.locate(&root, Path::new("self")).is_err(), "{tree:?}");
        }
    }
}

#[test]
fn files_are_read_by_any_path() {
    let fixture = Fixture::new(&LINKS);
    let text = fixture.home.join("root/a.yaml").display().to_string();
    for tree in fixture.trees() {
        for path in ["root/a.yaml", "root/sub/../a.yaml", "root/link.yaml"] {
            let path = fixture.home.join(path);
            if cfg!(unix) || !path.ends_with("link.yaml") {
                assert_eq!(tree.read_text(&path).expect("there"), text);
            }
        }
        let error = |path: &str| tree.read(&fixture.home.join(path)).expect_err(path).kind();
        assert_eq!(error("root/sub"), io::ErrorKind::IsADirectory);
        assert_eq!(error("root/missing"), io::ErrorKind::NotFound);
        assert_eq!(tree.list(&fixture.home.join("root/a.yaml")).expect_err("a file").kind(), {
            io::ErrorKind::NotADirectory
        });
        assert!(tree.is_directory(&fixture.home) && !tree.contains(&fixture.home.join("root/missing")));
    }
    assert_eq!(fixture.memory.read_text(Path::new("root/a.yaml")).expect("by a relative path"), text);
}

/// Returns the entries and errors that walkdir reports.
fn walked_by_walkdir(top: &Path, options: WalkOptions) -> Vec<String> {
    let is_hidden = |entry: &walkdir::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    let kept = |entry: &walkdir::DirEntry| options.hidden == Hidden::Keep || !is_hidden(entry);
    let walk = walkdir::WalkDir::new(top)
        .follow_links(options.links == LinkPolicy::Follow)
        .max_depth(options.max_depth)
        .sort_by_file_name()
        .into_iter()
        .filter_entry(|entry| entry.depth() == 0 || kept(entry));
    let line = |entry: Result<walkdir::DirEntry, walkdir::Error>| match entry {
        Err(error) => error.to_string(),
        Ok(entry) => {
            let kind = match entry.file_type() {
                t if t.is_dir() => FileKind::Directory,
                t if t.is_file() => FileKind::File,
                _ => FileKind::Link,
            };
            format!("{} {} {kind:?}", entry.path().display(), entry.depth())
        }
    };
    walk.map(line).skip(1).collect()
}

fn walked(tree: &dyn FileTree, top: &Path, options: WalkOptions) -> Vec<String> {
    let line = |walked: Result<WalkEntry, WalkError>| match walked {
        Err(error) => error.to_string(),
        Ok(WalkEntry { path, depth, kind, .. }) => format!("{} {depth} {kind:?}", top.join(path).display()),
    };
    TreeWalk::new(tree, top, options).map(line).collect()
}

#[test]
fn directories_are_walked_like_with_walkdir() {
    let links = LINKS.into_iter().filter(|(name, _)| *name != "self").collect::<Vec<_>>();
    let fixture = Fixture::new(&links);
    let mut lines = 0;
    for top in ["root", "root/sub", "other", "root/sub/other"].map(|top| fixture.home.join(top)) {
        for (links, hidden, max_depth) in [
            (LinkPolicy::Follow, Hidden::Skip, usize::MAX),
            (LinkPolicy::Follow, Hidden::Keep, usize::MAX),
            (LinkPolicy::Follow, Hidden::Keep, 1),
            (LinkPolicy::Keep, Hidden::Skip, usize::MAX),
            (LinkPolicy::Keep, Hidden::Keep, 2),
        ] {
            let options = WalkOptions { links, hidden, max_depth };
            let want = walked_by_walkdir(&top, options);
            assert_eq!(walked(&DiskTree, &top, options), want, "{options:?}");
            // Only the error messages for missing files differ. On disk, they are those of the system.
            let of_disk = want.iter().map(|line| line.replace("No such file or directory (os error 2)", ""));
            let in_memory = walked(&fixture.memory, &top, options).into_iter();
            let in_memory = in_memory.map(|line| line.replace("entity not found", ""));
            assert_eq!(in_memory.collect::<Vec<_>>(), of_disk.collect::<Vec<_>>(), "{options:?}");
            lines += want.len();
        }
    }
    assert!(lines > 50, "{lines}");
    let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth: 1 };
    let missing = fixture.home.join("missing");
    for tree in fixture.trees() {
        let error = TreeWalk::new(tree, &missing, options).next().expect("an error").expect_err("not there");
        assert!(error.to_string().starts_with("IO error for operation on "), "{error}");
        let message = format!("`{}` cannot be read: no such file or directory", missing.display());
        assert_eq!(error.diagnostic().message(), message);
    }
}

#[test]
fn memory_tree_is_created_from_paths() {
    let tree =
        MemoryTree::new([("a/b.yaml", "1"), ("/a/../c.yaml", "2"), ("a/b.yaml", "3")]).expect("distinct");
    let tree = tree.with_directory("a/empty").expect("distinct").with_directory("a").expect("there");
    let options = WalkOptions { links: LinkPolicy::Follow, hidden: Hidden::Keep, max_depth: usize::MAX };
    let names: Vec<_> =
        TreeWalk::new(&tree, Path::new("/"), options).map(|w| w.expect("readable").path).collect();
    assert_eq!(names, ["a", "a/b.yaml", "a/empty", "c.yaml"].map(PathBuf::from));
    assert_eq!(tree.read(Path::new("a/b.yaml")).expect("there"), b"3", "the later one wins");
    assert!(!tree.is_on_disk());
    for files in [["a", "a/b"], ["a/b", "a"], ["a", ""]] {
        let error = MemoryTree::new(files.map(|file| (file, ""))).expect_err("a file and a directory");
        assert_eq!(error.code(), Code::InvalidValue, "{files:?}");
    }
    let link = MemoryTree::default().with_link("l", "x").expect("a link");
    assert!(link.clone().with_directory("l/a").is_err() && link.with_directory("l").is_err());
}

#[test]
fn reads_are_recorded() {
    let fixture = Fixture::new(&LINKS);
    let at = |path: &str| fixture.home.join(path);
    for tree in [Arc::new(DiskTree) as Arc<dyn FileTree>, Arc::new(fixture.memory.clone())] {
        let recorded = RecordingTree::new(tree);
        // Several threads read each file, in any order.
        let read = |i: usize| recorded.read(&at(FILES[i % FILES.len()])).map(drop);
        (0..1000).into_par_iter().map(read).collect::<io::Result<()>>().expect("all are there");
        recorded.list(&at("root/sub")).expect("a directory");
        let missing = recorded.locate(&at("root"), Path::new("sub/../missing"));
        assert!(missing.is_err() && !recorded.contains(&at("root/a.yaml/x")));
        recorded.locate(&at("root"), Path::new("./sub/../../other")).expect("it exists and is not read");
        let mut want = ReadSet {
            files: FILES.iter().map(|file| at(file)).collect(),
            directories: [at("root/sub")].into(),
            found: [(at("other"), FileKind::Directory)].into(),
            absent: [at("root/missing"), at("root/a.yaml/x")].into(),
            ..ReadSet::default()
        };
        if cfg!(unix) {
            recorded.read(&at("root/folder/c.yaml")).expect("through a symlink");
            recorded.locate(&at("root"), Path::new("sub/up")).expect("a symlink");
            want.found.insert(at("root"), FileKind::Directory);
            want.links =
                [(at("root/folder/c.yaml"), at("other/c.yaml")), (at("root/sub/up"), at("root"))].into();
        }
        assert_eq!(recorded.read_set(), want);
    }
}
