//! Names in findings, and the detection of typos.

use smp_text::path::{PathElement, PathValue};
use smp_text::yaml::{Node, differ_by_one, nearest_name};

/// Returns the path element of a list entry: by `name` if it has one, otherwise by index.
pub(super) fn named_entry(position: usize, entry: &Node) -> PathElement {
    match entry.get("name").and_then(Node::as_str) {
        Some(name) => PathElement::Key(vec![("name".into(), PathValue::Str(name.into()))]),
        None => PathElement::Index(position),
    }
}

/// Returns true if two names differ by a typo and not by a word or number: `web-config` and `web-confg` do, but not
/// `web-key` and `app-key`, nor `web-1` and `web-2`.
pub(super) fn is_typo(name: &str, known: &str) -> bool {
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
    if name == known || digits(name) != digits(known) {
        return false;
    }
    let words = |text: &str| text.split(['-', '.', '_', '/']).map(str::to_string).collect::<Vec<_>>();
    let (words_of_name, words_of_known) = (words(name), words(known));
    if words_of_name.len() != words_of_known.len() {
        return differ_by_one(name, known) && name.len() > 4;
    }
    let differing: Vec<_> = words_of_name.iter().zip(&words_of_known).filter(|(a, b)| a != b).collect();
    match differing.as_slice() {
        // A word of one or two letters is treated like a number.
        [(a, b)] => a.len().max(b.len()) > 2 && (differ_by_one(a, b) || is_near(a, b)),
        _ => differ_by_one(name, known),
    }
}

fn is_near(a: &str, b: &str) -> bool {
    a.len().min(b.len()) > 2 && nearest_name(a, &[b]).is_some()
}

#[cfg(test)]
mod tests {
    use super::is_typo;

    #[test]
    fn typos_are_distinguished_from_other_names() {
        for (name, known) in [
            ("webb", "web"),
            ("contianer", "container"),
            ("web-confg", "web-config"),
            ("po-dtmp", "pod-tmp"),
            ("po-tmp-gc", "pod-tmp-gc"),
        ] {
            assert!(is_typo(name, known), "{name} {known}");
        }
        for (name, known) in [
            ("web-1", "web-2"),
            ("db-key", "app-key"),
            ("web", "web"),
            ("a", "b"),
            ("web-a", "web-b"),
            ("web-a", "web"),
        ] {
            assert!(!is_typo(name, known), "{name} {known}");
        }
    }
}
