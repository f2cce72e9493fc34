//! Properties of merges of whole directories: changes of only one side are the result, file by file and byte for
//! byte. Files are randomly moved, joined, removed, added, broken and edited.
//!
//! The directories are those of `examples`; `SMP_TEST_REALWORLD` names a directory with more. `SMP_TEST_TREES`
//! sets their number (60), `SMP_TEST_TREES_SEED` the first seed.

#![allow(clippy::print_stderr, reason = "tests say which seeds they used")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kubectl_smp_testing::dice::Dice;
use kubectl_smp_testing::seeds;
use smp_merge::merge::MergeOptions;
use smp_merge::schema::Schema;
use smp_overlay::package::{Package, merge3_packages, write_copy};
use smp_text::source::{Reading, SourceMap};

type Tree = BTreeMap<PathBuf, Vec<u8>>;

fn read(directory: &Path) -> Tree {
    let walk = walkdir::WalkDir::new(directory).sort_by_file_name();
    let files = walk.into_iter().map(|entry| entry.expect("readable")).filter(|e| e.file_type().is_file());
    let relative = |path: &Path| path.strip_prefix(directory).expect("below it").to_path_buf();
    files.map(|entry| (relative(entry.path()), fs::read(entry.path()).expect("readable"))).collect()
}

fn write(tree: &Tree, directory: &Path) {
    for (path, content) in tree {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, content).expect("written");
    }
}

fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// Makes one random change.
fn change(tree: &mut Tree, dice: &mut Dice) {
    let mut paths: Vec<PathBuf> = tree.keys().cloned().collect();
    dice.shuffle(&mut paths);
    let Some(path) = paths.first() else { return };
    let content = tree.get(path).cloned().unwrap_or_default();
    match dice.below(8) {
        0 => drop(tree.remove(path)),
        1 => {
            tree.remove(path);
            tree.insert(Path::new("moved").join(path), content);
        }
        2 => {
            let other = paths.iter().find(|other| *other != path && is_yaml(other) && is_yaml(path));
            if let Some(more) = other.and_then(|other| tree.remove(other)) {
                let parts = [content.as_slice(), b"\n---\n", more.as_slice()];
                tree.insert(path.clone(), parts.concat());
            }
        }
        3 => {
            let number = dice.pick(&[1, 2, 3]);
            let text = format!(
                "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: new-{number}
"
            );
            tree.insert(format!("new-{number}.yaml").into(), text.into_bytes());
        }
        edit => {
            let mut lines: Vec<Vec<u8>> = content.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            let at = dice.below(lines.len());
            match edit {
                4 => lines.insert(at, b"# a comment".to_vec()),
                5 => lines.insert(at, b"{{ broken".to_vec()),
                6 => drop(lines.remove(at)),
                _ => lines[at].push(b'x'),
            }
            tree.insert(path.clone(), lines.join(&b'\n'));
        }
    }
}

fn merged([original, updated, dest]: [&Path; 3], out: &Path) -> Result<Tree, String> {
    let sources = SourceMap::default();
    let read_all =
        |path| Package::read_everything(path, Reading::Kubectl, &sources).map_err(|e| e.to_string());
    let (original, updated, dest) = (read_all(original)?, read_all(updated)?, read_all(dest)?);
    let (schema, options) = (Schema::embedded(), MergeOptions::lossless());
    let changed =
        merge3_packages(&original, &updated, &dest, &schema, &options).map_err(|e| e.to_string())?;
    if !changed.conflicts.is_empty() {
        return Err(format!("conflicts: {:?}", changed.conflicts));
    }
    write_copy(&changed.files, out).map_err(|error| error.to_string())?;
    Ok(read(out))
}

fn try_one(tree: &Tree, seed: u64) {
    let mut dice = Dice::new(seed);
    let mut other = tree.clone();
    change(&mut other, &mut dice);
    while !dice.one_in(3) {
        change(&mut other, &mut dice);
    }
    let home = tempfile::tempdir().expect("a directory");
    let at = |name: &str| home.path().join(name);
    for (tree, name) in [(tree, "a"), (&other, "b")] {
        fs::create_dir(at(name)).expect("made");
        write(tree, &at(name));
    }
    for (number, sides) in [["a", "b", "a"], ["a", "a", "b"], ["a", "b", "b"]].into_iter().enumerate() {
        let paths = sides.map(at);
        let out = at(&format!("out-{number}"));
        fs::create_dir(&out).expect("made");
        let merged = merged(std::array::from_fn(|i| paths[i].as_path()), &out);
        let merged = merged.unwrap_or_else(|error| panic!("seed {seed}, {sides:?}: {error}"));
        let differ: Vec<_> = merged.iter().filter(|(path, text)| other.get(*path) != Some(*text)).collect();
        let missing: Vec<_> = other.keys().filter(|path| !merged.contains_key(*path)).collect();
        assert!(
            differ.is_empty() && missing.is_empty(),
            "seed {seed}, {sides:?}: {differ:?}, without {missing:?}"
        );
    }
}

/// The directories at and below a path that contain a few small files.
fn trees(folder: &Path) -> Vec<Tree> {
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name();
    let directories = walk.into_iter().map(|entry| entry.expect("readable"));
    let directories = directories.filter(|entry| entry.file_type().is_dir() && entry.file_name() != ".git");
    let trees = directories.map(|entry| read(entry.path())).filter(|tree| {
        let size: usize = tree.values().map(Vec::len).sum();
        (2..40).contains(&tree.len()) && size < 200_000 && tree.keys().any(|path| is_yaml(path))
    });
    trees.collect()
}

fn try_all(folder: &Path) {
    let trees = trees(folder);
    assert!(trees.len() > 3, "{}", trees.len());
    for seed in seeds::seeds("SMP_TEST_TREES", 60) {
        try_one(&trees[Dice::new(seed ^ 0x5eed).below(trees.len())], seed);
    }
}

#[test]
fn directory_changes_of_one_side_are_the_result() {
    try_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples"));
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_directory_changes_of_one_side_are_the_result() {
    try_all(Path::new(&std::env::var("SMP_TEST_REALWORLD").expect("SMP_TEST_REALWORLD names a folder")));
}
