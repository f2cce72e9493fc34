//! The sort orders of printed fields: go-yaml's natural order and the order by bytes.
//!
//! This module does not depend on the printing of fields.

use std::cmp::Ordering;

use super::node::{Entry, Map};

/// An iterator over the fields of a map in some order. Most maps are already sorted.
pub(super) enum OrderedFields<'n> {
    /// The map is already sorted.
    AlreadySorted(std::slice::Iter<'n, Entry>),
    /// The fields had to be sorted.
    Sorted(std::vec::IntoIter<&'n Entry>),
}

impl<'n> Iterator for OrderedFields<'n> {
    type Item = &'n Entry;

    fn next(&mut self) -> Option<&'n Entry> {
        match self {
            Self::AlreadySorted(entries) => entries.next(),
            Self::Sorted(entries) => entries.next(),
        }
    }
}

/// Iterates over the fields in the order of the bytes of their names, as in Go's JSON.
pub(super) fn byte_order(map: &Map) -> OrderedFields<'_> {
    let entries = map.entries();
    if entries.is_sorted_by(|a, b| a.key.text <= b.key.text) {
        return OrderedFields::AlreadySorted(entries.iter());
    }
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_unstable_by(|a, b| a.key.text.cmp(&b.key.text));
    OrderedFields::Sorted(sorted.into_iter())
}

/// Iterates over the fields in the natural order of their names, as go-yaml v2 prints them (see [`natural`]).
///
/// This comparison is cyclic where a digit meets a letter (`a10 < a1b < a2 < a10`), and go-yaml's output for such names
/// varies from run to run. Here names are sorted by bytes and then merge-sorted. The result depends only on the set of
/// names, and is the natural order wherever this order exists. The sort functions of the standard library may panic on
/// such a comparison.
pub(super) fn natural_order(map: &Map) -> OrderedFields<'_> {
    let entries = map.entries();
    if entries.windows(2).all(|pair| precedes_by_letter(&pair[0].key.text, &pair[1].key.text)) {
        return OrderedFields::AlreadySorted(entries.iter());
    }
    let has_digit = |e: &Entry| e.key.text.bytes().any(|b| b.is_ascii_digit());
    let sorted = entries.is_sorted_by(|a, b| natural(&a.key.text, &b.key.text) == Ordering::Less);
    // Without digits the comparison is transitive, so comparing neighbors is sufficient.
    if sorted && (entries.len() < 3 || !entries.iter().any(has_digit)) {
        return OrderedFields::AlreadySorted(entries.iter());
    }
    let mut sorted: Vec<(u64, &Entry)> = entries.iter().map(|e| (first_bytes(&e.key.text), e)).collect();
    sorted.sort_unstable_by(|(x, a), (y, b)| x.cmp(y).then_with(|| a.key.text.cmp(&b.key.text)));
    let sorted: Vec<&Entry> = sorted.into_iter().map(|(_, entry)| entry).collect();
    let is_natural = sorted.windows(2).all(|pair| precedes_by_letter(&pair[0].key.text, &pair[1].key.text));
    OrderedFields::Sorted(if is_natural { sorted } else { merge_sort(sorted) }.into_iter())
}

/// Returns the first eight bytes as a number with the same order.
fn first_bytes(text: &str) -> u64 {
    let bytes = text.as_bytes();
    bytes.first_chunk().map_or_else(
        || bytes.iter().rev().fold(0, |all, byte| all >> 8 | u64::from(*byte) << 56),
        |first| u64::from_be_bytes(*first),
    )
}

/// Returns true if `a` is before `b` because the first difference is two ASCII letters, or because `b` is longer.
///
/// A list in which each name precedes the next one in this way is sorted in both orders, because names that are further
/// apart also differ in two letters.
fn precedes_by_letter(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(x, y)| x != y) {
        Some((x, y)) => x < y && x.is_ascii_alphabetic() && y.is_ascii_alphabetic(),
        None => a.len() < b.len(),
    }
}

/// Sorts bottom-up by merging runs of doubling length. Terminates for any comparison.
fn merge_sort(mut from: Vec<&Entry>) -> Vec<&Entry> {
    let mut to: Vec<&Entry> = Vec::with_capacity(from.len());
    let mut run = 1;
    while run < from.len() {
        for pair in from.chunks(2 * run) {
            let (left, right) = pair.split_at(run.min(pair.len()));
            merge(left, right, &mut to);
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        run *= 2;
    }
    from
}

fn merge<'n>(mut left: &[&'n Entry], mut right: &[&'n Entry], to: &mut Vec<&'n Entry>) {
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        if natural(&b.key.text, &a.key.text) == Ordering::Less {
            to.push(b);
            right = right_rest;
        } else {
            to.push(a);
            left = left_rest;
        }
    }
    to.extend_from_slice(left);
    to.extend_from_slice(right);
}

/// Compares names like go-yaml v2. At the first difference, letters come after all other characters, runs of digits are
/// compared as numbers, and all other characters are compared by code point.
fn natural(a: &str, b: &str) -> Ordering {
    let mut at = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    while !a.is_char_boundary(at) {
        at -= 1;
    }
    let (Some(x), Some(y)) = (first(a, at), first(b, at)) else { return a.len().cmp(&b.len()) };
    match (is_letter(x), is_letter(y)) {
        (true, true) => x.cmp(&y),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) if !x.is_ascii_digit() && !y.is_ascii_digit() => x.cmp(&y),
        (false, false) => {
            // A zero that follows other digits is part of their number.
            let inside = (x == '0' || y == '0') && ends_in_number(&a[..at]);
            let before = i64::from(inside);
            number(before, &a[at..]).cmp(&number(before, &b[at..])).then_with(|| x.cmp(&y))
        }
    }
}

fn first(text: &str, at: usize) -> Option<char> {
    text.get(at..)?.chars().next()
}

/// Returns true for letters according to go-yaml, which excludes Roman numerals. Unlike in go-yaml, vowel signs and
/// circled letters are letters here, because the standard library cannot distinguish them.
fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || (!c.is_ascii() && c.is_alphabetic() && !c.is_numeric())
}

/// Returns true if the text ends in digits that are not all zeros.
fn ends_in_number(text: &str) -> bool {
    text.bytes().rev().take_while(u8::is_ascii_digit).any(|b| b != b'0')
}

/// Parses the number at the start of a text, with `before` as its leading digit. It wraps at 64 bits, as in go-yaml.
/// Returns the number and the number of its digits.
fn number(before: i64, text: &str) -> (i64, usize) {
    let digits = text.bytes().take_while(u8::is_ascii_digit);
    digits.fold((before, 0), |(n, len), b| (n.wrapping_mul(10).wrapping_add(i64::from(b - b'0')), len + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::node::Node;

    fn names(fields: OrderedFields<'_>) -> Vec<&str> {
        fields.map(|entry| entry.key.text.as_str()).collect()
    }

    fn map<'k>(names: impl IntoIterator<Item = &'k str>) -> Map {
        names.into_iter().map(|name| (name, Node::null())).collect()
    }

    #[test]
    fn names_are_sorted_naturally() {
        // Each list is sorted. The test sorts it in its own and in the reverse order.
        let table: [&[&str]; 9] = [
            &["", "a", "aa", "ab", "b"],
            &["k", "k1", "k2", "k10", "k10a", "k11"],
            &["-a", ".a", "/a", "_a", "1", "2", "10", "A", "Z", "a", "z", "é"],
            &["a-b", "a.b", "a/b", "a_b", "a1", "ab"],
            &["a0", "a00", "a1", "a01", "a001", "a2"],
            &["a100", "a101", "a110", "a1000"],
            &["v1alpha1", "v1beta1", "v1beta2", "v2alpha1"],
            &["a b", "a:b", "aB", "ab"],
            &["Ⅷ", "☃", "b", "é", "中"],
        ];
        for want in table {
            let reversed = map(want.iter().rev().copied());
            assert_eq!(names(natural_order(&reversed)), want);
            assert_eq!(names(natural_order(&map(want.iter().copied()))), want);
        }
    }

    #[test]
    fn cyclic_names_are_sorted_the_same_from_any_order() {
        let all = [["a10", "a1b", "a2"], ["a2", "a10", "a1b"], ["a1b", "a2", "a10"], ["a2", "a1b", "a10"]];
        let orders: Vec<_> = all.map(map).iter().map(|m| names(natural_order(m)).join(" ")).collect();
        assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "{orders:?}");
    }

    #[test]
    fn large_maps_are_sorted() {
        let mut fields: Vec<String> = (0..1000).map(|i| format!("k{i}")).collect();
        let want = fields.clone();
        fields.sort();
        let fields = map(fields.iter().map(String::as_str));
        assert_eq!(names(natural_order(&fields)), want);
    }

    #[test]
    fn overlong_digit_runs_are_accepted() {
        let long = "9".repeat(50);
        let fields = map(["1", &long, "2"]);
        assert_eq!(natural_order(&fields).count(), 3);
    }

    #[test]
    fn byte_order_ignores_numbers() {
        let fields = map(["k2", "k10", "a", "B", "é", "z"]);
        assert_eq!(names(byte_order(&fields)), ["B", "a", "k10", "k2", "z", "é"]);
    }
}
