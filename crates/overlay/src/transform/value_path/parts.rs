//! The parts of a path.

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// How many parts a path may have: what it creates must not nest deeper than trees may.
const MAX_PARTS: usize = 200;

/// Checks that a path is not so long that what it creates would nest too deep.
///
/// # Errors
/// It is.
pub(in crate::transform) fn check_length(path: &[String]) -> Result<()> {
    if path.len() <= MAX_PARTS {
        return Ok(());
    }
    let message = format!("this path has more than {MAX_PARTS} parts");
    Err(Diagnostic::error(Code::LimitExceeded, message))
}

/// Splits at a delimiter that no backslash escapes. A leading delimiter is dropped.
fn split(path: &str, delimiter: char) -> Vec<String> {
    let path = path.strip_prefix(delimiter).unwrap_or(path);
    let mut parts: Vec<String> = Vec::new();
    for part in path.split(delimiter) {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(part);
            }
            _ => parts.push(part.into()),
        }
    }
    parts
}

/// Splits `spec.containers.[name=a.b].image` at its dots. Brackets and backslashes protect dots;
/// `[a.b]`, without `=`, is the field `a.b`.
pub(in crate::transform) fn split_dotted(path: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = split(path, '.').into_iter();
    while let Some(mut part) = rest.next() {
        if part.starts_with('[') && !part.ends_with(']') {
            for next in rest.by_ref() {
                part.push('.');
                part.push_str(&next);
                if next.ends_with(']') {
                    break;
                }
            }
            if !part.contains('=') {
                part = part.trim_matches(['[', ']']).into();
            }
        }
        parts.push(part);
    }
    parts
}

/// Splits `spec/a\/b` at the slashes that no backslash escapes.
pub(in crate::transform) fn split_slashed(path: &str) -> Vec<String> {
    split(path, '/')
}

/// Whether a part names an entry: `[name=web]` or `[=value]`.
pub(super) fn is_entry(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']')
}

/// `[name=value]` as name and value.
pub(super) fn entry_parts(part: &str) -> Result<(&str, &str)> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| {
        Diagnostic::error(Code::InvalidValue, format!("`{part}` does not say which entry is meant"))
            .help("write it as [field=value], or [=value] in a list of plain values")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split() {
        let table: &[(&str, &[&str])] = &[
            ("a.b", &["a", "b"]),
            (".a.b", &["a", "b"]),
            ("a", &["a"]),
            ("", &[""]),
            ("a..b", &["a", "", "b"]),
            ("a\\.b.c", &["a.b", "c"]),
            ("a.[x.y/z].b", &["a", "x.y/z", "b"]),
            ("a.[name=x.y].b", &["a", "[name=x.y]", "b"]),
            ("a.[name=x].0.*", &["a", "[name=x]", "0", "*"]),
            ("a.[b].c", &["a", "[b]", "c"]),
            ("a.[b.c", &["a", "b.c"]),
        ];
        for (path, want) in table {
            assert_eq!(split_dotted(path), *want, "{path}");
        }
        assert_eq!(split_slashed("/a/b\\/c/d"), ["a", "b/c", "d"]);
    }
}
