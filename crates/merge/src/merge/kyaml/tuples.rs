//! Key tuples of list entries. They determine which entries of several lists correspond to each other.
//!
//! A tuple contains the text of each key of an entry; the text of an absent key is empty. kyaml identifies entries in
//! this way, including all consequences of the ambiguous empty text.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::merge::identity::{KeyRule, KeyValue, MergeKeys, PAIRWISE_LIMIT};
use smp_text::yaml::{Map, Node, Value};

/// A set of tuple columns, as a bit mask.
pub(super) type Columns = u64;

/// Returns true if a set of columns contains a column.
pub(super) fn has_column(columns: Columns, column: usize) -> bool {
    columns & (1 << column) != 0
}

/// The maximum number of keys. Further keys are ignored.
const MAX_KEYS: usize = 32;

/// The fields that identify the entries of a list. The name `""` means the entry itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Keys {
    names: Vec<SmolStr>,
    /// The texts for absent keys. kyaml's own rules have none.
    defaults: Vec<Option<SmolStr>>,
}

impl Keys {
    pub(super) fn new(mut names: Vec<SmolStr>) -> Self {
        names.truncate(MAX_KEYS);
        let defaults = vec![None; names.len()];
        Self { names, defaults }
    }

    /// Returns the keys of an association.
    pub(super) fn from_merge_keys(keys: &MergeKeys) -> Self {
        let default = |(_, rule): (_, &KeyRule)| match rule {
            KeyRule::Default(KeyValue::Str(text)) => Some(text.clone()),
            _ => None,
        };
        Self {
            defaults: keys.iter().map(default).take(MAX_KEYS).collect(),
            ..Self::new(keys.names().to_vec())
        }
    }

    /// Returns the keys of entries that are identified by their own text.
    pub(super) fn own_text() -> Self {
        Self::new(vec![SmolStr::default()])
    }

    pub(super) fn is_own_text(&self) -> bool {
        self.names.first().is_some_and(SmolStr::is_empty)
    }

    pub(super) fn names(&self) -> &[SmolStr] {
        &self.names
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the names of the keys with their defaults.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&SmolStr, Option<&SmolStr>)> {
        self.names.iter().zip(self.defaults.iter().map(Option::as_ref))
    }

    /// Returns the texts of the keys of an entry, with defaults. The text of an absent key is empty.
    pub(super) fn texts<'k>(&'k self, entry: &'k Node) -> impl Iterator<Item = SmolStr> + use<'k> {
        let whole = self.is_own_text();
        self.iter().map(move |(name, default)| {
            match if whole { raw_text(entry) } else { key_text(entry, name) } {
                text if text.is_empty() => default.cloned().unwrap_or_default(),
                text => text,
            }
        })
    }

    /// Returns the text of a key as written, or its default. Returns `None` if there is neither.
    pub(super) fn raw(&self, entry: &Node, i: usize) -> Option<SmolStr> {
        if self.is_own_text() {
            return Some(raw_text(entry));
        }
        let default = self.defaults.get(i)?;
        let value = entry.get(self.names.get(i)?).filter(|value| default.is_none() || !value.is_null());
        value.map(raw_text).or_else(|| default.clone().filter(|_| entry.as_map().is_some()))
    }

    fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        retain_by_index(&mut self.names, &keep);
        retain_by_index(&mut self.defaults, &keep);
    }
}

fn retain_by_index<T>(items: &mut Vec<T>, keep: impl Fn(usize) -> bool) {
    let mut i = 0;
    items.retain(|_| {
        i += 1;
        keep(i - 1)
    });
}

/// Distinct tuples, in the order of their first entry.
#[derive(Debug)]
pub(super) struct Tuples {
    keys: Keys,
    texts: Vec<SmolStr>,
    /// True if several tuples may match one entry.
    may_overlap: bool,
}

/// Returns the text of a key as in kyaml: empty if the key is absent, null, a map or a list.
pub(super) fn key_text(entry: &Node, key: &str) -> SmolStr {
    entry.get(key).filter(|value| !value.is_null()).map(raw_text).unwrap_or_default()
}

/// Returns the text of a value; empty for maps and lists.
pub(super) fn raw_text(node: &Node) -> SmolStr {
    node.scalar_text().cloned().unwrap_or_default()
}

/// Returns true for null and empty maps, which kyaml does not treat as entries.
pub(super) fn is_empty_entry(node: &Node) -> bool {
    node.is_null() || node.as_map().is_some_and(Map::is_empty)
}

/// Returns the columns of a tuple that are not empty.
pub(super) fn filled_columns(tuple: &[SmolStr]) -> Columns {
    tuple.iter().enumerate().filter(|(_, text)| !text.is_empty()).fold(0, |columns, (i, _)| columns | 1 << i)
}

impl Tuples {
    /// Returns the tuples that kyaml visits for these lists: the tuples of all entries with their gaps filled. They
    /// contain the keys that at least one entry has.
    pub(super) fn from_lists<'n>(lists: impl IntoIterator<Item = &'n [Node]>, keys: Keys) -> Self {
        let mut tuples = Self::collect(lists, keys);
        tuples.may_overlap = tuples.width() > 1 && tuples.texts.iter().any(SmolStr::is_empty);
        tuples.fill_gaps();
        tuples.drop_unused_keys();
        tuples
    }

    fn collect<'n>(lists: impl IntoIterator<Item = &'n [Node]>, keys: Keys) -> Self {
        let mut tuples = Self { keys, texts: Vec::new(), may_overlap: false };
        let mut seen = FxHashSet::default();
        for entry in lists.into_iter().flatten() {
            let start = tuples.texts.len();
            tuples.texts.extend(tuples.keys.texts(entry));
            if !tuples.is_new(start, &mut seen) {
                tuples.texts.truncate(start);
            }
        }
        tuples
    }

    fn is_new(&self, start: usize, seen: &mut FxHashSet<Vec<SmolStr>>) -> bool {
        let (before, tuple) = self.texts.split_at(start);
        let width = self.width();
        if before.len() < PAIRWISE_LIMIT * width {
            return !before.chunks_exact(width).any(|other| other == tuple);
        }
        if seen.is_empty() {
            seen.extend(before.chunks_exact(width).map(<[SmolStr]>::to_vec));
        }
        seen.insert(tuple.to_vec())
    }

    /// Returns the keys that at least one entry has, or all keys if no entry has any.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[SmolStr]> {
        self.texts.chunks_exact(self.width())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// Returns true if an entry lacked a key. Several tuples may then match one entry.
    pub(super) fn may_overlap(&self) -> bool {
        self.may_overlap
    }

    fn width(&self) -> usize {
        self.keys.len().max(1)
    }

    fn len(&self) -> usize {
        self.texts.len() / self.width()
    }

    fn get(&self, i: usize) -> &[SmolStr] {
        &self.texts[i * self.width()..(i + 1) * self.width()]
    }

    /// Drops the columns that are empty in all tuples, unless all columns are empty.
    fn drop_unused_keys(&mut self) {
        let used = self.iter().fold(0, |used, tuple| used | filled_columns(tuple));
        let (width, all) = (self.width(), (1 << self.width()) - 1);
        if used != 0 && used != all {
            retain_by_index(&mut self.texts, |i| used & (1 << (i % width)) != 0);
            self.keys.retain(|i| used & (1 << i) != 0);
        }
    }

    /// Fills gaps: tuples that share a text and differ only in gaps become equal. The order and the side effects are
    /// those of kyaml's loop over all pairs.
    fn fill_gaps(&mut self) {
        let fillings: FxHashSet<Columns> = self.iter().map(filled_columns).collect();
        // Tuples that are distinct but have the same gaps differ in a text.
        if fillings.len() > 1 {
            Filler { tuples: self, fillings: fillings.into_iter().collect(), tables: FxHashMap::default() }
                .run();
        }
    }
}

/// Fills gaps with the same result as a comparison of all pairs, but compares only pairs that can match.
struct Filler<'t> {
    tuples: &'t mut Tuples,
    /// The column sets in which tuples have, or had, texts.
    fillings: Vec<Columns>,
    /// For each column set and each of its subsets: the tuples, by their texts in the subset.
    tables: FxHashMap<(Columns, Columns), FxHashMap<Vec<SmolStr>, Vec<usize>>>,
}

fn project(tuple: &[SmolStr], columns: Columns) -> Vec<SmolStr> {
    tuple.iter().enumerate().filter(|(i, _)| has_column(columns, *i)).map(|(_, text)| text.clone()).collect()
}

impl Filler<'_> {
    fn run(&mut self) {
        for i in 0..self.tuples.len() {
            let tuple = self.tuples.get(i).to_vec();
            for j in self.matches(&tuple) {
                if j != i {
                    let merged: Vec<_> = tuple
                        .iter()
                        .zip(self.tuples.get(j))
                        .map(|(mine, other)| if mine.is_empty() { other.clone() } else { mine.clone() })
                        .collect();
                    self.set(i, &merged);
                    self.set(j, &merged);
                }
            }
        }
    }

    fn matches(&mut self, tuple: &[SmolStr]) -> Vec<usize> {
        let (mine, all) = (filled_columns(tuple), (1 << self.tuples.width()) - 1);
        let mut found = Vec::new();
        for other in self.fillings.clone() {
            let both = mine & other;
            // Matching tuples are equal in at least one column: both have the same text or both have a gap.
            if both != 0 || mine | other != all {
                found
                    .extend_from_slice(self.table(other, both).get(&project(tuple, both)).map_or(&[], |v| v));
            }
        }
        found.retain(|&j| {
            let other = self.tuples.get(j);
            tuple.iter().zip(other).all(|(a, b)| a == b || a.is_empty() || b.is_empty())
                && tuple.iter().zip(other).any(|(a, b)| a == b)
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    fn table(&mut self, of: Columns, columns: Columns) -> &FxHashMap<Vec<SmolStr>, Vec<usize>> {
        let tuples = &*self.tuples;
        self.tables.entry((of, columns)).or_insert_with(|| {
            let mut table: FxHashMap<_, Vec<usize>> = FxHashMap::default();
            for (j, tuple) in tuples.iter().enumerate().filter(|(_, tuple)| filled_columns(tuple) == of) {
                table.entry(project(tuple, columns)).or_default().push(j);
            }
            table
        })
    }

    fn set(&mut self, i: usize, tuple: &[SmolStr]) {
        let start = i * self.tuples.width();
        if self.tuples.get(i) == tuple {
            return;
        }
        self.tuples.texts[start..start + tuple.len()].clone_from_slice(tuple);
        let new = filled_columns(tuple);
        if !self.fillings.contains(&new) {
            self.fillings.push(new);
        }
        for ((_, columns), table) in self.tables.iter_mut().filter(|((of, _), _)| *of == new) {
            table.entry(project(tuple, *columns)).or_default().push(i);
        }
    }
}

/// Returns true if no entries of the list need to be merged with each other, because all are maps with the same keys
/// and distinct values. If entries are identified by their own text, they must be distinct scalars.
pub(super) fn are_distinct(entries: &[Node], keys: &Keys) -> bool {
    if keys.is_own_text() {
        let texts =
            entries.iter().map(|e| e.scalar_text().filter(|_| !e.is_null()).map(|text| [text.as_str()]));
        return no_two_equal(texts, entries.len());
    }
    let is_used = |key: &&SmolStr| entries.iter().any(|entry| scalar_at(entry, key).is_some());
    let used: Vec<&SmolStr> = keys.names.iter().filter(is_used).collect();
    match used.as_slice() {
        [] => entries.is_empty(),
        [key] => no_two_equal(entries.iter().map(|e| scalar_at(e, key).map(|text| [text])), entries.len()),
        many => {
            let tuple = |e| many.iter().map(|key| scalar_at(e, key)).collect::<Option<Vec<&str>>>();
            no_two_equal(entries.iter().map(tuple), entries.len())
        }
    }
}

fn scalar_at<'n>(entry: &'n Node, key: &str) -> Option<&'n str> {
    let Value::Map(map) = &entry.value else { return None };
    let value = map.get(key)?;
    value.scalar_text().filter(|text| !text.is_empty() && !value.is_null()).map(SmolStr::as_str)
}

fn no_two_equal<T: Eq + std::hash::Hash>(items: impl Iterator<Item = Option<T>>, len: usize) -> bool {
    if len > PAIRWISE_LIMIT {
        let mut seen = FxHashSet::default();
        return items.into_iter().all(|item| item.is_some_and(|item| seen.insert(item)));
    }
    let mut seen = Vec::with_capacity(len);
    for item in items {
        match item {
            Some(item) if !seen.contains(&item) => seen.push(item),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::node;

    fn names(keys: &[&str]) -> Keys {
        Keys::new(keys.iter().map(|key| SmolStr::from(*key)).collect())
    }

    fn tuples(list: &str, keys: &[&str]) -> Tuples {
        let list = node(list);
        Tuples::collect([list.as_list().expect("a list").as_slice()], names(keys))
    }

    fn shown(tuples: &Tuples) -> Vec<String> {
        tuples.iter().map(|tuple| tuple.join("/")).collect()
    }

    #[test]
    fn tuples_are_distinct_and_in_order() {
        let list = "[{a: 1, b: x}, {a: \"1\", b: x}, {a: 2}, {a: null, b: [x]}, 5, {a: 2, b: ''}]";
        assert_eq!(shown(&tuples(list, &["a", "b"])), ["1/x", "2/", "/"]);
        assert_eq!(shown(&tuples("[b, a, b, 1, {x: 1}]", &[""])), ["b", "a", "1", ""]);
        let many: Vec<_> = (0..50).map(|i| format!("k{}", i % 20)).collect();
        assert_eq!(tuples(&format!("[{}]", many.join(", ")), &[""]).len(), 20);
    }

    #[test]
    fn unused_keys_are_dropped() {
        let mut some = tuples("[{a: 1}, {a: 2, c: y}]", &["a", "b", "c"]);
        some.drop_unused_keys();
        assert_eq!(some.keys, names(&["a", "c"]));
        assert_eq!(shown(&some), ["1/", "2/y"]);
        let mut none = tuples("[{x: 1}]", &["a", "b"]);
        none.drop_unused_keys();
        assert_eq!(none.keys, names(&["a", "b"]));
        assert_eq!(shown(&none), ["/"]);
    }

    /// Runs kyaml's loop over all pairs, for comparison.
    fn pairs(tuples: &mut [Vec<SmolStr>]) {
        for i in 0..tuples.len() {
            let mine = tuples[i].clone();
            for j in 0..tuples.len() {
                let other = tuples[j].clone();
                let both = || mine.iter().zip(&other);
                if both().any(|(a, b)| a == b) && both().all(|(a, b)| a == b || a.is_empty() || b.is_empty())
                {
                    let merged: Vec<_> =
                        both().map(|(a, b)| if a.is_empty() { b.clone() } else { a.clone() }).collect();
                    tuples[i].clone_from(&merged);
                    tuples[j] = merged;
                }
            }
        }
    }

    #[test]
    fn gaps_are_filled_as_by_comparing_all_pairs() {
        let mut seed = 1_u32;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize % n
        };
        for round in 0..3000 {
            let width = 2 + round % 2;
            let texts = ["", "a", "b", "c"];
            let mut list: Vec<Vec<SmolStr>> = Vec::new();
            for _ in 0..random(9) {
                let tuple: Vec<SmolStr> = (0..width).map(|_| texts[random(4)].into()).collect();
                if !list.contains(&tuple) {
                    list.push(tuple);
                }
            }
            let mut filled =
                Tuples { keys: names(&["x", "y", "z"][..width]), texts: list.concat(), may_overlap: false };
            filled.fill_gaps();
            let before = list.clone();
            pairs(&mut list);
            assert_eq!(filled.texts, list.concat(), "{before:?}");
        }
    }

    #[test]
    fn distinct_lists_need_no_merge() {
        let table: [(&str, &[&str], bool); 9] = [
            ("[{a: 1}, {a: 2}]", &["a", "b"], true),
            ("[{a: 1}, {a: '1'}]", &["a"], false),
            ("[{a: 1}, {b: 2}]", &["a"], false),
            ("[{a: 1, b: 1}, {a: 1, b: 2}]", &["a", "b"], true),
            ("[{a: 1, b: 1}, {a: 2}]", &["a", "b"], false),
            ("[a, b, '']", &[""], true),
            ("[a, 'a']", &[""], false),
            ("[a, null]", &[""], false),
            ("[]", &["a"], true),
        ];
        for (list, keys, want) in table {
            let node = node(list);
            assert_eq!(are_distinct(node.as_list().expect("a list"), &names(keys)), want, "{list}");
        }
    }
}
