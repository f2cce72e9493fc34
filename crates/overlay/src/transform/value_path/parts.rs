//! The parts of a path.

use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum number of parts of a path. It keeps created values within the nesting limit of trees.
const MAX_PARTS: usize = 200;

/// Checks the number of parts of a path, which limits the nesting of created values.
///
/// # Errors
/// The path has too many parts.
pub(in crate::transform) fn check_length(path: &[String]) -> Result<()> {
    if path.len() <= MAX_PARTS {
        return Ok(());
    }
    let message = format!("the path has more than {MAX_PARTS} parts");
    Err(Diagnostic::error(Code::LimitExceeded, message))
}

/// Splits a path at a delimiter, unless a backslash precedes it. A leading delimiter is dropped.
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

/// Splits `spec.containers.[name=a.b].image` at its dots. Dots in brackets or after a backslash do not split.
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

/// Splits `spec/a\/b` at slashes without a preceding backslash.
pub(in crate::transform) fn split_slashed(path: &str) -> Vec<String> {
    split(path, '/')
}

/// Returns true if a part selects an entry: `[name=web]` or `[=value]`.
pub(super) fn is_entry(part: &str) -> bool {
    part.starts_with('[') && part.ends_with(']')
}

/// Splits `[name=value]` into name and value.
pub(super) fn entry_parts(part: &str) -> Result<(&str, &str)> {
    let inner = part.strip_suffix(']').unwrap_or(part);
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    inner.split_once('=').ok_or_else(|| {
        Diagnostic::error(Code::InvalidValue, format!("`{part}` is not a valid list entry selector"))
            .help("use `[field=value]`, or `[=value]` in a list of scalars")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split_into_parts() {
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
