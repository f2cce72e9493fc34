//! Patches as kubectl creates them for the API server (apimachinery 0.36, `CreateTwoWayMergePatch`).

use super::keys::{CreationKeys, CreationRules, whole_entries, whole_value};
use super::lists::{EntryDiff, diff_scalars};
use super::parts::{ListPatch, PatchPart, add_retain_keys, map_of};
use crate::merge::apiserver::types::{
    EntryKind, check_known, declared_field, declared_list, element, entry_kind, strategy,
};
use crate::merge::directive::PATCH;
use crate::merge::identity::KeyValue;
use crate::merge::{Trail, align};
use crate::schema::{Cursor, PatchStrategy};
use smp_text::diagnostic::{Code, Result};
use smp_text::yaml::{Entry, Key, Map, Node, Value};

/// Options for creating a patch for the API server.
#[derive(Debug, Clone, Copy)]
pub(in crate::patch) struct ServerPatchOptions {
    /// The differences that the patch includes.
    pub part: PatchPart,
    /// The rules that determine which lists get `$patchMergeKey`.
    pub rules: CreationRules,
}

/// Returns the patch between two objects of a kind, limited to a part of the differences.
///
/// # Errors
/// The schema lacks a field that changes, a list has no merge key, or an entry lacks its key.
pub(in crate::patch) fn diff(
    original: &Node,
    modified: &Node,
    kind: Cursor<'_>,
    options: ServerPatchOptions,
) -> Result<Map> {
    let root = Trail::root();
    check_known(kind, &root)?;
    options.diff_maps(map_of(original)?, map_of(modified)?, kind, PatchStrategy::default(), &root)
}

impl ServerPatchOptions {
    /// Returns the patch between two maps. `strategy` is the patch strategy of the field or list that contains them.
    fn diff_maps(
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
                    self.diff_field(&before.value, after, cursor, &mut patch, &at.field(&after.key.text))?;
                }
                [Some(after), None] if self.part.has_changes() => {
                    let cursor = cursor.field(&after.key.text);
                    patch.push(without_comments(&after.key), whole_value(&after.value, cursor, self.rules));
                }
                [None, Some(before)] => {
                    loses |= !before.value.is_null();
                    if self.part.has_deletions() {
                        // Conflict errors show the location of the old value.
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

    /// Adds the change of a field that both objects have to the patch. Fails if the field changes and is not in the
    /// schema.
    fn diff_field(
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
            return diff_directive(before, entry, patch, at);
        }
        // The schema of the field, or the error if the schema lacks it.
        let declared = match (&before.value, &after.value) {
            (Value::Map(_), Value::Map(_)) => declared_field(parent, name, after, at),
            (Value::List(_), Value::List(_)) => declared_list(parent, name, after, at),
            _ => {
                if self.part.has_changes() && changed(before, after) {
                    patch.push(without_comments(&entry.key), after.clone());
                }
                return Ok(());
            }
        };
        match declared {
            Ok(cursor) => self.diff_nested(before, entry, cursor, patch, at),
            // A field that the schema lacks is allowed if it does not change.
            Err(_) if before == after => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Compares a field that is a map in both, or a list in both.
    fn diff_nested(
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
                let inner = self.diff_maps(a, b, cursor, strategy, at)?;
                if !inner.is_empty() {
                    patch.push(
                        without_comments(&entry.key),
                        Node::map(inner).with_span(after.span().at_start()),
                    );
                }
                return Ok(());
            }
            (Value::List(a), Value::List(b)) if strategy.merge => {
                self.diff_lists(a, b, cursor, at)?.put_into(patch, &entry.key.text, after);
                return Ok(());
            }
            // A map with strategy `replace` is sent even if it has not changed.
            _ => after.as_map().is_some() || before != after,
        };
        if self.part.has_changes() && replaced {
            patch.push(without_comments(&entry.key), after.clone());
        }
        Ok(())
    }

    /// Returns the patch between two lists whose entries merge.
    fn diff_lists(
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
        let keys = CreationKeys::for_list(cursor, self.rules).ok_or_else(|| {
            let message =
                "the schema has no merge key for this list, so no patch can be created for its entries";
            at.error(Code::MissingMergeKey, message)
        })?;
        let (element, strategy) = (element(cursor), cursor.patch_strategy());
        let diff = EntryDiff { keys, part: self.part, rules: self.rules, element };
        diff.diff(original, modified, at, |a, b, at| self.diff_maps(a, b, element, strategy, at))
    }
}

/// Returns true if a scalar has another value or type. Whole floats are integers.
fn changed(before: &Node, after: &Node) -> bool {
    match (KeyValue::from_node(before), KeyValue::from_node(after)) {
        (Some(a), Some(b)) => a != b,
        _ => before != after,
    }
}

/// Returns a key without the comments above it.
fn without_comments(key: &Key) -> Key {
    let mut key = key.clone();
    key.meta.comments = None;
    key
}

/// Adds the change of `$patch` to the patch, as kubectl does. Only patches should have this field.
fn diff_directive(before: &Node, entry: &Entry, patch: &mut Map, at: &Trail<'_>) -> Result<()> {
    let wrong = |node: &Node| {
        at.error(Code::Directive, format!("`$patch` must be a string, not {}", node.type_name()))
            .at(node.span())
    };
    let old = before.as_str().ok_or_else(|| wrong(before))?;
    let new = entry.value.as_str().ok_or_else(|| wrong(&entry.value))?;
    if old != new {
        patch.push(without_comments(&entry.key), entry.value.clone());
    }
    Ok(())
}
