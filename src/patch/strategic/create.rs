//! Makes patches as kubectl and the API server do (apimachinery 0.36, `CreateTwoWayMergePatch`).

use smol_str::{SmolStr, format_smolstr};

use super::create_list::diff_lists;
use super::named_keys::{prepend, whole};
use super::server::{declared, is_list, strategy};
use super::{Dialect, create_overlay};
use crate::diagnostic::{Code, Result};
use crate::merge::Trail;
use crate::merge::align::KeyValue;
use crate::merge::directive::{DELETE_FROM_PRIMITIVE_LIST, PATCH, RETAIN_KEYS, SET_ELEMENT_ORDER};
use crate::schema::Cursor;
use crate::yaml::{Entry, Key, Map, Node, Value};

/// How a strategic merge patch is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CreateOptions {
    /// By whose rules it will be applied.
    pub dialect: Dialect,
}

impl CreateOptions {
    /// A patch for the API server, as kubectl makes it.
    #[must_use]
    pub fn apiserver() -> Self {
        Self { dialect: Dialect::Apiserver }
    }

    /// A patch for [`Dialect::Overlay`]: entries name all keys where there are several, and an order is
    /// given only where the entries would not come out in it anyway.
    #[must_use]
    pub fn overlay() -> Self {
        Self { dialect: Dialect::Overlay }
    }
}

/// Makes the patch that turns `original` into `modified`; empty when they are equal.
///
/// A null in `modified` comes out as a removal: a strategic merge patch cannot set a field to null.
///
/// # Errors
/// Entries without their merge key, lists of mixed types, and what differs below a field that the
/// schema does not have, each with its field path.
pub fn create(original: &Node, modified: &Node, cursor: Cursor<'_>, options: &CreateOptions) -> Result<Node> {
    let root = Trail::root();
    let map = |node| map_of(node, &root);
    let patch = match options.dialect {
        Dialect::Apiserver => {
            known(cursor, &root)?;
            Diff::EVERYTHING.maps(map(original)?, map(modified)?, cursor, false, &root)?
        }
        Dialect::Overlay => create_overlay::diff_maps(map(original)?, map(modified)?, cursor, false),
    };
    Ok(Node::map(patch))
}

pub(in crate::patch) fn map_of<'n>(node: &'n Node, at: &Trail<'_>) -> Result<&'n Map> {
    node.as_map().ok_or_else(|| {
        let message = format!("a patch is made of maps, and this is {}", node.type_name());
        at.error(Code::WrongType, message).at(node.span())
    })
}

/// The API server has strategic merge patches for built-in kinds only.
pub(in crate::patch) fn known(cursor: Cursor<'_>, at: &Trail<'_>) -> Result<()> {
    if cursor.is_known() {
        return Ok(());
    }
    let message = "the API server takes no strategic merge patch for a kind without a built-in schema";
    Err(at
        .error(Code::NoSchema, message)
        .help("use a JSON merge patch, or the overlay dialect, which needs no schema"))
}

/// What goes into a patch.
#[derive(Debug, Clone, Copy)]
pub(in crate::patch) struct Diff {
    /// What was changed or added.
    pub(in crate::patch) changes: bool,
    /// What was removed.
    pub(in crate::patch) deletions: bool,
    /// `$setElementOrder`
    pub(in crate::patch) order: bool,
}

impl Diff {
    pub(in crate::patch) const EVERYTHING: Self = Self { changes: true, deletions: true, order: true };

    /// The patch between two maps; `retain` says whether it lists the fields that stay.
    pub(in crate::patch) fn maps(
        self,
        original: &Map,
        modified: &Map,
        cursor: Cursor<'_>,
        retain: bool,
        at: &Trail<'_>,
    ) -> Result<Map> {
        let mut patch = Map::new();
        let index = original.index();
        for entry in modified.entries() {
            let before = index.position(&entry.key.text).map(|i| &original.entries()[i].value);
            self.field(before, entry, cursor, &mut patch, &at.field(&entry.key.text))?;
        }
        let index = modified.index();
        let missing = |entry: &&Entry| index.position(&entry.key.text).is_none();
        if self.deletions {
            for entry in original.entries().iter().filter(missing) {
                patch.push(entry.key.text.clone(), Node::null());
            }
        }
        let loses = original.entries().iter().filter(missing).any(|entry| !entry.value.is_null());
        if retain && (!patch.is_empty() || loses) {
            add_retain_keys(&mut patch, modified);
        }
        Ok(patch)
    }

    fn field(
        self,
        before: Option<&Node>,
        entry: &Entry,
        parent: Cursor<'_>,
        patch: &mut Map,
        at: &Trail<'_>,
    ) -> Result<()> {
        let after = &entry.value;
        let Some(before) = before else {
            if self.changes {
                let cursor = parent.field(&entry.key.text);
                patch.push(plain(&entry.key), whole(after, cursor, Dialect::Apiserver));
            }
            return Ok(());
        };
        if entry.key.text == PATCH {
            return directive(before, entry, patch, at);
        }
        match (&before.value, &after.value) {
            (Value::Map(_), Value::Map(_)) | (Value::List(_), Value::List(_)) => {
                match lookup(parent, entry, at) {
                    Ok(cursor) => self.both(before, entry, cursor, patch, at),
                    // What the schema does not have does no harm while it stays the same.
                    Err(_) if before == after => Ok(()),
                    Err(error) => Err(error),
                }
            }
            _ => {
                if self.changes && changed(before, after) {
                    patch.push(plain(&entry.key), after.clone());
                }
                Ok(())
            }
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
        let (name, after) = (&entry.key.text, &entry.value);
        let strategy = strategy(cursor, at)?;
        let replaced = match (&before.value, &after.value) {
            // Even where nothing changed.
            (Value::Map(_), Value::Map(_)) if strategy.replace => true,
            (Value::Map(a), Value::Map(b)) => {
                let inner = self.maps(a, b, cursor, strategy.retain_keys, at)?;
                if !inner.is_empty() {
                    patch.push(plain(&entry.key), Node::map(inner));
                }
                false
            }
            (Value::List(a), Value::List(b)) if strategy.merge => {
                let lists = diff_lists(a, b, cursor, self, at)?;
                let parts = [
                    (format_smolstr!("{SET_ELEMENT_ORDER}/{name}"), lists.order),
                    (name.clone(), lists.patch),
                    (format_smolstr!("{DELETE_FROM_PRIMITIVE_LIST}/{name}"), lists.delete),
                ];
                for (key, list) in parts.into_iter().filter(|(_, list)| !list.is_empty()) {
                    patch.push(key, Node::list(list));
                }
                false
            }
            _ => before != after,
        };
        if self.changes && replaced {
            patch.push(plain(&entry.key), after.clone());
        }
        Ok(())
    }
}

/// The schema of a field that is a map or a list.
fn lookup<'s>(parent: Cursor<'s>, entry: &Entry, at: &Trail<'_>) -> Result<Cursor<'s>> {
    let cursor = declared(parent, &entry.key.text, &entry.value, at)?;
    if entry.value.as_list().is_some() {
        is_list(cursor, &entry.value, at)?;
    }
    Ok(cursor)
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

/// `$retainKeys`: all fields that stay.
pub(super) fn add_retain_keys(patch: &mut Map, modified: &Map) {
    let mut keys: Vec<&SmolStr> =
        modified.entries().iter().filter(|e| !e.value.is_null()).map(|e| &e.key.text).collect();
    if keys.is_empty() {
        return;
    }
    keys.sort_unstable();
    let keys = keys.into_iter().map(|key| Node::string(key.clone())).collect();
    prepend(patch, RETAIN_KEYS, Node::list(keys));
}
