//! Sets of field paths, as trees.

use std::cmp::Ordering;
use std::fmt;

use super::path_element::{Path, PathElement};

/// A set of field paths: the fields and list entries that a manager owns.
///
/// A path can be in the set with or without the paths below it. Operations return new sets.
///
/// ```
/// use strategic_merge_patch::managed_fields::{FieldSet, Path};
///
/// let mut ours = FieldSet::new();
/// ours.insert(&Path::fields(["spec", "replicas"]));
/// ours.insert(&Path::fields(["spec", "paused"]));
/// let theirs: FieldSet = [Path::fields(["spec", "replicas"])].into_iter().collect();
///
/// assert!(ours.contains(&Path::fields(["spec", "paused"])));
/// assert_eq!(ours.intersection(&theirs), theirs);
/// assert_eq!(ours.difference(&theirs).to_string(), ".spec.paused");
/// assert_eq!(ours.union(&theirs), ours);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldSet {
    /// Sorted by element. Each entry is a member or has children.
    entries: Vec<Entry>,
}

/// A path element, with its membership in the set and the paths below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) element: PathElement,
    /// True if the path that ends with this element is in the set.
    pub(super) is_member: bool,
    pub(super) children: FieldSet,
}

impl Entry {
    pub(super) fn new(element: PathElement, is_member: bool, children: FieldSet) -> Self {
        Self { element, is_member, children }
    }

    fn is_empty(&self) -> bool {
        !self.is_member && self.children.is_empty()
    }
}

impl FieldSet {
    /// Returns the empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a set from entries with distinct elements, in any order. Empty entries are dropped.
    pub(super) fn from_entries(mut entries: Vec<Entry>) -> Self {
        entries.retain(|entry| !entry.is_empty());
        if !entries.is_sorted_by(|a, b| a.element < b.element) {
            entries.sort_by(|a, b| a.element.cmp(&b.element));
        }
        Self { entries }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    fn find(&self, element: &PathElement) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.element.cmp(element))
    }

    pub(super) fn entry(&self, element: &PathElement) -> Option<&Entry> {
        self.find(element).ok().and_then(|i| self.entries.get(i))
    }

    /// Adds an entry and all paths below it. Fast if entries are added in ascending order.
    pub(super) fn add(&mut self, new: Entry) {
        if new.is_empty() {
            return;
        }
        let is_last = self.entries.last().is_none_or(|last| last.element < new.element);
        match if is_last { Err(self.entries.len()) } else { self.find(&new.element) } {
            Err(i) => self.entries.insert(i, new),
            Ok(i) => {
                let old = &mut self.entries[i];
                old.is_member |= new.is_member;
                old.children = old.children.union(&new.children);
            }
        }
    }

    /// Adds a path without its parents. The root of an object is never in a set.
    pub fn insert(&mut self, path: &Path) {
        self.insert_below(&path.0);
    }

    fn insert_below(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        let i = self.find(first).unwrap_or_else(|i| {
            self.entries.insert(i, Entry::new(first.clone(), false, Self::new()));
            i
        });
        match rest {
            [] => self.entries[i].is_member = true,
            rest => self.entries[i].children.insert_below(rest),
        }
    }

    /// Returns true if a path itself is in the set.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        let Some((last, parents)) = path.0.split_last() else { return false };
        let set =
            parents.iter().try_fold(self, |set, element| set.entry(element).map(|entry| &entry.children));
        set.and_then(|set| set.entry(last)).is_some_and(|entry| entry.is_member)
    }

    /// Returns the paths below an element, without the element itself.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let set: FieldSet = [Path::fields(["spec", "replicas"])].into_iter().collect();
    /// assert_eq!(set.with_prefix(&"spec".into()).to_string(), ".replicas");
    /// assert!(set.with_prefix(&"status".into()).is_empty());
    /// ```
    #[must_use]
    pub fn with_prefix(&self, element: &PathElement) -> Self {
        self.entry(element).map(|entry| entry.children.clone()).unwrap_or_default()
    }

    /// Returns true if the path of an element itself is in the set, and the set of the paths below it. Returns `None`
    /// if the set contains neither.
    #[must_use]
    pub fn get(&self, element: &PathElement) -> Option<(bool, &Self)> {
        self.entry(element).map(|entry| (entry.is_member, &entry.children))
    }

    /// Returns true if the set has no paths.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the number of paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| usize::from(entry.is_member) + entry.children.len()).sum()
    }

    /// Returns true if all paths are in the other set.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let all: FieldSet = [Path::fields(["a"]), Path::fields(["a", "b"])].into_iter().collect();
    /// let some: FieldSet = [Path::fields(["a", "b"])].into_iter().collect();
    /// assert!(some.is_subset(&all) && !all.is_subset(&some));
    /// ```
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut others = other.entries.iter();
        self.entries.iter().all(|own| {
            let found = others.find(|other| other.element >= own.element);
            found.is_some_and(|other| {
                other.element == own.element
                    && (other.is_member || !own.is_member)
                    && own.children.is_subset(&other.children)
            })
        })
    }

    /// Returns the paths that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if self.is_empty() || other.is_empty() {
            return if self.is_empty() { other.clone() } else { self.clone() };
        }
        self.zip(other, |a, b| match (a, b) {
            (Some(a), Some(b)) => (a.is_member || b.is_member, a.children.union(&b.children)),
            (one, other) => {
                one.or(other).map(|entry| (entry.is_member, entry.children.clone())).unwrap_or_default()
            }
        })
    }

    /// Returns the paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.zip(other, |a, b| match (a, b) {
            (Some(a), Some(b)) => (a.is_member && b.is_member, a.children.intersection(&b.children)),
            _ => Default::default(),
        })
    }

    /// Returns the paths that are not in `other`. A path is kept even if `other` contains a parent of it.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut rest = self.clone();
        rest.remove_all(other);
        rest
    }

    /// Removes the paths that are in `other`. A path is kept even if `other` contains a parent of it.
    pub(super) fn remove_all(&mut self, other: &Self) {
        let mut others = other.entries.iter().peekable();
        if others.peek().is_none() {
            return;
        }
        self.entries.retain_mut(|own| {
            while others.next_if(|other| other.element < own.element).is_some() {}
            if let Some(other) = others.next_if(|other| other.element == own.element) {
                own.is_member &= !other.is_member;
                own.children.remove_all(&other.children);
            }
            !own.is_empty()
        });
    }

    /// Adds the paths of `other`.
    pub(super) fn add_all(&mut self, other: Self) {
        if self.is_empty() {
            *self = other;
        } else if !other.is_empty() {
            *self = self.union(&other);
        }
    }

    /// Returns the paths that are not in `other` and have no parent in `other`.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let set: FieldSet = [Path::fields(["a", "b", "c"]), Path::fields(["a"])].into_iter().collect();
    /// let parent: FieldSet = [Path::fields(["a", "b"])].into_iter().collect();
    /// assert_eq!(set.recursive_difference(&parent).to_string(), ".a");
    /// assert_eq!(set.difference(&parent), set);
    /// ```
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        self.zip(other, |a, b| match (a, b) {
            (Some(_), Some(b)) if b.is_member => Default::default(),
            (Some(a), Some(b)) => (a.is_member, a.children.recursive_difference(&b.children)),
            (Some(a), None) => (a.is_member, a.children.clone()),
            (None, _) => Default::default(),
        })
    }

    /// Returns the paths that are not in `other` and have no parent among the leaves of `other`. These paths remain if
    /// the owner of `other` owns its leaves as a whole.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let paths = [Path::fields(["list"]), Path::fields(["list", "a"]), Path::fields(["map", "b"])];
    /// let other: FieldSet = [Path::fields(["list"]), Path::fields(["list", "c"]), Path::fields(["map"])].into_iter().collect();
    /// let set: FieldSet = paths.into_iter().collect();
    /// assert_eq!(set.difference_below_leaves(&other).to_string(), ".list.a");
    /// ```
    #[must_use]
    pub fn difference_below_leaves(&self, other: &Self) -> Self {
        self.difference(other).recursive_difference(&other.leaves())
    }

    /// Returns the paths without other paths below them.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let set: FieldSet = [Path::fields(["a"]), Path::fields(["a", "b"]), Path::fields(["c"])].into_iter().collect();
    /// assert_eq!(set.leaves().to_string(), ".c\n.a.b");
    /// ```
    #[must_use]
    pub fn leaves(&self) -> Self {
        let leaf = |entry: &Entry| {
            let is_leaf = entry.is_member && entry.children.is_empty();
            Entry::new(entry.element.clone(), is_leaf, entry.children.leaves())
        };
        Self::from_entries(self.entries.iter().map(leaf).collect())
    }

    /// Returns the set with all parents of its paths.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let set: FieldSet = [Path::fields(["a", "b"]), Path::fields(["c"])].into_iter().collect();
    /// assert_eq!(set.parents().to_string(), ".a");
    /// ```
    #[must_use]
    pub fn parents(&self) -> Self {
        let parent = |entry: &Entry| {
            Entry::new(entry.element.clone(), !entry.children.is_empty(), entry.children.parents())
        };
        Self::from_entries(self.entries.iter().map(parent).collect())
    }

    /// Returns all paths. At each level, the paths that end there come first.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{FieldSet, Path};
    ///
    /// let paths = [Path::fields(["c"]), Path::fields(["a", "b"])];
    /// let set: FieldSet = paths.iter().cloned().collect();
    /// assert_eq!(set.paths(), paths);
    /// ```
    #[must_use]
    pub fn paths(&self) -> Vec<Path> {
        let mut found = Vec::with_capacity(self.len());
        self.add_paths(&mut Path::default(), &mut found);
        found
    }

    fn add_paths(&self, prefix: &mut Path, found: &mut Vec<Path>) {
        let members = self.entries.iter().filter(|entry| entry.is_member);
        found.extend(members.map(|entry| prefix.clone().join(entry.element.clone())));
        for entry in self.entries.iter().filter(|entry| !entry.children.is_empty()) {
            prefix.0.push(entry.element.clone());
            entry.children.add_paths(prefix, found);
            prefix.0.pop();
        }
    }

    /// Combines the entries of two sets, element by element. Elements with an empty result are dropped.
    fn zip(&self, other: &Self, combine: impl Fn(Option<&Entry>, Option<&Entry>) -> (bool, Self)) -> Self {
        let (mut ours, mut theirs) = (self.entries.iter().peekable(), other.entries.iter().peekable());
        let mut entries = Vec::new();
        loop {
            let order = match (ours.peek(), theirs.peek()) {
                (Some(a), Some(b)) => a.element.cmp(&b.element),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Self { entries },
            };
            let a = ours.next_if(|_| order.is_le());
            let b = theirs.next_if(|_| order.is_ge());
            let (is_member, children) = combine(a, b);
            if let Some(entry) = a.or(b).filter(|_| is_member || !children.is_empty()) {
                entries.push(Entry::new(entry.element.clone(), is_member, children));
            }
        }
    }
}

impl FromIterator<Path> for FieldSet {
    fn from_iter<I: IntoIterator<Item = Path>>(paths: I) -> Self {
        let mut set = Self::new();
        paths.into_iter().for_each(|path| set.insert(&path));
        set
    }
}

impl fmt::Display for FieldSet {
    /// Formats one path per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.paths().iter().map(Path::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}
