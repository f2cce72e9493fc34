//! Inference of the key of a list of unknown type: the first candidate that all entries have.

use smol_str::SmolStr;

use crate::merge::Trail;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::Node;

/// Returns the first key that all entries have, even with the value null. For an empty list, returns the first
/// candidate.
fn key_of<'k>(list: &[Node], keys: &'k [SmolStr]) -> Option<&'k SmolStr> {
    keys.iter().find(|key| list.iter().all(|entry| entry.get(key).is_some()))
}

/// Returns true if kyaml merges these lists of unknown type, which requires that at least one of them has a key.
pub(super) fn is_keyed(sides: &[&[Node]], keys: &[SmolStr]) -> bool {
    sides.iter().any(|side| key_of(side, keys).is_some())
}

/// Returns the key by which kyaml merges the lists.
///
/// # Errors
/// The lists have different keys, or all lists with a key are empty.
pub(super) fn agreed_key(sides: &[&[Node]], keys: &[SmolStr], trail: &Trail<'_>) -> Result<SmolStr> {
    let mut agreed: Option<&SmolStr> = None;
    for side in sides.iter().filter(|side| !side.is_empty()) {
        let key = key_of(side, keys);
        if let Some(first) = agreed.filter(|first| Some(*first) != key) {
            let other = key.map_or("none", SmolStr::as_str);
            let message = format!("the merged lists have different merge keys: {first} and {other}");
            return Err(error(Code::Ambiguous, message, side, trail));
        }
        agreed = key;
    }
    agreed.cloned().ok_or_else(|| {
        let side = sides.iter().find(|side| !side.is_empty()).copied().unwrap_or_default();
        error(Code::MissingMergeKey, "found no merge key for this list".into(), side, trail)
    })
}

/// Returns the first key that all entries of all lists have, or `None` if there are no entries.
pub(super) fn common_key(sides: &[&[Node]], keys: &[SmolStr]) -> Option<SmolStr> {
    let entries = || sides.iter().copied().flatten();
    entries().next()?;
    keys.iter().find(|key| entries().all(|entry| entry.get(key).is_some())).cloned()
}

fn error(code: Code, message: String, side: &[Node], trail: &Trail<'_>) -> Diagnostic {
    let span = side.first().map(Node::span).unwrap_or_default();
    trail.error(code, message).at(span).help("set the same key field in all entries")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::node;
    use crate::merge::options::InferKeys;

    #[test]
    fn keys_are_inferred_from_all_sides() {
        // dest, the patch, kyaml's result (`!` is an error), and the lenient result.
        let table = [
            ("[{name: a}]", "[{name: b, ip: 1}]", "!", "name"),
            ("[{name: a, ip: 1}]", "[{name: b, ip: 1}]", "ip", "ip"),
            ("[{name: a, ip: 1}]", "[{name: b}]", "!", "name"),
            ("[{x: 1}]", "[{name: a}]", "name", "-"),
            ("[{name: a}]", "[{x: 1}]", "!", "-"),
            ("[a]", "[b]", "-", "-"),
            ("[]", "[b]", "!", "-"),
            ("[]", "[]", "!", "-"),
            ("[]", "[{type: x}]", "type", "type"),
            ("[{name: null}]", "[]", "name", "name"),
        ];
        let usual = InferKeys::common();
        for (dest, patch, want, want_lenient) in table {
            let (dest, patch) = (node(dest), node(patch));
            let sides = [dest.as_list().expect("list").as_slice(), patch.as_list().expect("list").as_slice()];
            let got = if is_keyed(&sides, usual.keys()) {
                agreed_key(&sides, usual.keys(), &Trail::root()).unwrap_or("!".into())
            } else {
                "-".into()
            };
            assert_eq!(got, want, "{dest:?} {patch:?}");
            let got = common_key(&sides, usual.keys()).unwrap_or("-".into());
            assert_eq!(got, want_lenient, "{dest:?} {patch:?}");
        }
    }
}
