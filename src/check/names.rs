//! How findings name what they are about.

use crate::path::{PathElement, PathValue};
use crate::yaml::{Node, nearest};

/// The step to an entry of a list: by its `name`, if it has one, else by its position.
pub(super) fn named_entry(position: usize, entry: &Node) -> PathElement {
    match entry.get("name").and_then(Node::as_str) {
        Some(name) => PathElement::Key(vec![("name".into(), PathValue::Str(name.into()))]),
        None => PathElement::Index(position),
    }
}

/// Whether two names differ by a slip and not by a word or a number: `web-config` and `web-confg`, not `web-key` and
/// `app-key`, nor `web-1` and `web-2`.
pub(super) fn is_slip(name: &str, known: &str) -> bool {
    let words = |text: &str| text.split(['-', '.', '_', '/']).map(str::to_string).collect::<Vec<_>>();
    let (words_of_name, words_of_known) = (words(name), words(known));
    if words_of_name.len() != words_of_known.len() {
        return false;
    }
    let mut differing = words_of_name.iter().zip(&words_of_known).filter(|(a, b)| a != b);
    let Some((a, b)) = differing.next() else { return false };
    let digits = |word: &str| word.chars().filter(char::is_ascii_digit).collect::<String>();
    differing.next().is_none()
        && a.len().min(b.len()) > 2
        && digits(a) == digits(b)
        && nearest(a, &[b.as_str()]).is_some()
}

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    fn slips() {
        for (name, known) in [("webb", "web"), ("contianer", "container"), ("web-confg", "web-config")] {
            assert!(is_slip(name, known), "{name} {known}");
        }
        for (name, known) in
            [("web-1", "web-2"), ("db-key", "app-key"), ("web", "web"), ("a", "b"), ("web-a", "web")]
        {
            assert!(!is_slip(name, known), "{name} {known}");
        }
    }
}
