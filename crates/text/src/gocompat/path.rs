//! Go's `path`: `Base` and `Join`.

/// Returns the last part of a path, like `Base`.
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let path = path.trim_end_matches('/');
    if path.is_empty() { "/" } else { path.rsplit('/').next().unwrap_or(path) }
}

/// Joins parts with slashes, like `Join`. Empty parts and `.` are removed, and `..` removes the previous part. The
/// result is empty if all parts are empty.
pub fn join(parts: &[&str]) -> String {
    let joined = parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/");
    let rooted = joined.starts_with('/');
    let mut out: Vec<&str> = Vec::new();
    for part in joined.split('/') {
        match (part, out.last()) {
            ("" | ".", _) => {}
            ("..", Some(&last)) if last != ".." => {
                out.pop();
            }
            ("..", _) if rooted => {}
            _ => out.push(part),
        }
    }
    let path = out.join("/");
    match (rooted, path.is_empty() && !joined.is_empty()) {
        (true, _) => format!("/{path}"),
        (false, true) => ".".into(),
        (false, false) => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_is_the_last_part() {
        for (path, want) in [("", "."), ("/", "/"), ("//", "/"), ("a", "a"), ("a/b", "b"), ("/a/b/", "b")] {
            assert_eq!(base(path), want, "{path:?}");
        }
    }

    #[test]
    fn joined_paths_are_clean() {
        let table: [(&[&str], &str); 9] = [
            (&[], ""),
            (&["", ""], ""),
            (&["a", "", "b"], "a/b"),
            (&["a", "."], "a"),
            (&["a", ".."], "."),
            (&["a", "../..", "b"], "../b"),
            (&["/a", "../../b"], "/b"),
            (&["..", "a"], "../a"),
            (&["/"], "/"),
        ];
        for (parts, want) in table {
            assert_eq!(join(parts), want, "{parts:?}");
        }
    }
}
