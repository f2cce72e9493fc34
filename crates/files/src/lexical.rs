//! Paths as they are written, without a look at what is there.

use std::path::{Component, Path, PathBuf};

/// Takes `.` and `..` out of a path; a relative one keeps the `..` at its start.
pub fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match (part, out.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => _ = out.pop(),
            // Above the root there is nothing else.
            (Component::CurDir, _)
            | (Component::ParentDir, Some(Component::RootDir | Component::Prefix(_))) => {}
            (part, _) => out.push(part),
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
            assert_eq!(clean(Path::new(path)), Path::new(clear), "{path}");
        }
    }
}
