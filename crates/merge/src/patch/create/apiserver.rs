//! The patches that kubectl makes for the API server (apimachinery 0.36, `CreateTwoWayMergePatch`).

use super::keys::{CreationKeys, CreationRules, whole, whole_entries};
use super::lists::{EntryDiff, diff_scalars};
use super::parts::{ListPatch, PatchPart, add_retain_keys, map_of};
use crate::merge::apiserver::types::{
    EntryKind, declared, declared_list, element, entry_kind, known, strategy,
};
use crate::merge::directive::PATCH;
use crate::merge::identity::KeyValue;
use crate::merge::{Trail, align};
use crate::schema::{Cursor, PatchStrategy};
use smp_text::diagnostic::{Code, Result};
use smp_text::yaml::{Entry, Key, Map, Node, Value};

/// How a patch for the API server is made.
#[derive(Debug, Clone, Copy)]
pub(in crate::patch) struct ServerDiff {
    /// The differences that it is about.
    pub part: PatchPart,
    /// The lists of which entries name their keys.
    pub rules: CreationRules,
}

/// The patch between two objects of a kind, as far as it is about some of the differences.
///
/// # Errors
/// As [`create`](super::create).
pub(in crate::patch) fn diff(
    original: &Node,
    modified: &Node,
    kind: Cursor<'_>,
    how: ServerDiff,
) -> Result<Map> {
    let root = Trail::root();
    known(kind, &root)?;
    how.maps(map_of(original)?, map_of(modified)?, kind, PatchStrategy::default(), &root)
}

impl ServerDiff {
    /// The patch between two maps, by the patch strategy of the field or list that they stand in.
    fn maps(
        self,
        original: &Map,
        modified: &Map,
        cursor: Cursor<'_>,
        strategy: PatchStrategy,
        at: &Trail<'_>,
    ) -> Result<Map> {
        let (mut patch, mut loses) = (Map::new(), false);
        if self.part.skips(original, modified) {
            return Ok(patch);
        }
        for row in align::fields([modified, original]) {
            match row {
                [Some(after), Some(before)] => {
                    self.field(&before.value, after, cursor, &mut patch, &at.field(&after.key.text))?;
                }
                [Some(after), None] if self.part.has_changes() => {
                    let cursor = cursor.field(&after.key.text);
                    patch.push(plain(&after.key), whole(&after.value, cursor, self.rules));
                }
                [None, Some(before)] => {
                    loses |= !before.value.is_null();
                    if self.part.has_deletions() {
                        // Conflicts tell where it was.
                        let mut gone = Node::null();
                        gone.meta.span = before.value.span();
                        patch.push(before.key.text.clone(), gone);
                    }
                }
                _ => {}
            }
        }
        if strategy.retain_keys && (!patch.is_empty() || loses) {
            add_retain_keys(&mut patch, modified);
        }
        Ok(patch)
    }

    /// A field that both have.
    fn field(
        self,
        before: &Node,
        entry: &Entry,
        parent: Cursor<'_>,
        patch: &mut Map,
        at: &Trail<'_>,
    ) -> Result<()> {
        let (name, after) = (&entry.key.text, &entry.value);
        if self.part.skips(before, after) {
            return Ok(());
        }
        if name == PATCH {
            return directive(before, entry, patch, at);
        }
        let cursor = match (&before.value, &after.value) {
            (Value::Map(_), Value::Map(_)) => declared(parent, name, after, at),
            (Value::List(_), Value::List(_)) => declared_list(parent, name, after, at),
            _ => {
                if self.part.has_changes() && changed(before, after) {
                    patch.push(plain(&entry.key), after.clone());
                }
                return Ok(());
            }
        };
        match cursor {
            Ok(cursor) => self.both(before, entry, cursor, patch, at),
            // What the schema does not have does no harm while it stays the same.
            Err(_) if before == after => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// A field that is a map on both sides, or a list on both.
    fn both(
        self,
        before: &Node,
        entry: &Entry,
        cursor: Cursor<'_>,
        patch: &mut Map,
        at: &Trail<'_>,
    ) -> Result<()> {
        let after = &entry.value;
        let strategy = strategy(cursor, at)?;
        let replaced = match (&before.value, &after.value) {
            (Value::Map(a), Value::Map(b)) if !strategy.replace => {
                let inner = self.maps(a, b, cursor, strategy, at)?;
                if !inner.is_empty() {
                    patch.push(plain(&entry.key), Node::map(inner).with_span(after.span().at_start()));
                }
                return Ok(());
            }
            (Value::List(a), Value::List(b)) if strategy.merge => {
                self.lists(a, b, cursor, at)?.put_into(patch, &entry.key.text, after);
                return Ok(());
            }
            // A map that is replaced is sent even where nothing changed.
            _ => after.as_map().is_some() || before != after,
        };
        if self.part.has_changes() && replaced {
            patch.push(plain(&entry.key), after.clone());
        }
        Ok(())
    }

    fn lists(
        self,
        original: &[Node],
        modified: &[Node],
        cursor: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<ListPatch> {
        if original.is_empty() {
            let modified = if self.part.has_changes() { modified } else { &[] };
            let entries = whole_entries(modified, cursor, self.rules);
            return Ok(ListPatch { entries, ..ListPatch::default() });
        }
        if entry_kind([original, modified], at)? != Some(EntryKind::Map) {
            return Ok(diff_scalars(original, modified, self.part));
        }
        let keys = CreationKeys::of(cursor, self.rules).ok_or_else(|| {
            let message = "the schema has no merge key for this list, so no patch can be made of its maps";
            at.error(Code::MissingMergeKey, message)
        })?;
        let (element, strategy) = (element(cursor), cursor.patch_strategy());
        let diff = EntryDiff { keys, part: self.part, rules: self.rules, element };
        diff.lists(original, modified, at, |a, b, at| self.maps(a, b, element, strategy, at))
    }
}

/// Whether a scalar is another value or of another type: to JSON, `1` and `1.5` are two types.
fn changed(before: &Node, after: &Node) -> bool {
    match (KeyValue::of(before), KeyValue::of(after)) {
        (Some(a), Some(b)) => a != b,
        _ => before != after,
    }
}

/// A key without the comments that stand above it.
fn plain(key: &Key) -> Key {
    let mut key = key.clone();
    key.meta.comments = None;
    key
}

/// `$patch` on both sides, which only patches have.
fn directive(before: &Node, entry: &Entry, patch: &mut Map, at: &Trail<'_>) -> Result<()> {
    let wrong = |node: &Node| {
        at.error(Code::Directive, format!("`$patch` cannot be {}", node.type_name())).at(node.span())
    };
    let old = before.as_str().ok_or_else(|| wrong(before))?;
    let new = entry.value.as_str().ok_or_else(|| wrong(&entry.value))?;
    if old != new {
        patch.push(plain(&entry.key), entry.value.clone());
    }
    Ok(())
}
