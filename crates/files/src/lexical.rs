//! Lexical path operations. They do not access the file system.

use std::path::{Component, Path, PathBuf};

/// Removes `.` and `..` from a path. Leading `..` of a relative path are kept.
pub fn clean_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => match out.components().next_back() {
                Some(Component::Normal(_)) => _ = out.pop(),
                // `..` in the root directory is the root directory.
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => out.push(part),
            },
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned() {
        for (path, clear) in [
            ("/a/./b/../c", "/a/c"),
            ("/../a", "/a"),
            ("a/../../b", "../b"),
            ("../../b", "../../b"),
            ("./a/", "a"),
            ("a/..", ""),
        ] {
            assert_eq!(clean_path(Path::new(path)), Path::new(clear), "{path}");
        }
    }
}
