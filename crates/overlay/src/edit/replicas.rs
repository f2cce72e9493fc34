//! `replicas`: replica counts.

use rustc_hash::FxHashSet;

use super::draft::Draft;
use super::fields::{entry_text, new_string, update_list};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv::atoi;
use smp_text::yaml::{List, Map, Meta, Node};

/// The replica count of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaEdit {
    /// The name of the workloads.
    pub name: String,
    /// The count.
    pub count: i64,
}

impl ReplicaEdit {
    /// Parses `NAME=COUNT`.
    ///
    /// # Errors
    /// The argument has another form.
    pub fn parse(argument: &str) -> Result<Self> {
        let parts = argument.split_once('=').filter(|(_, count)| !count.contains('='));
        let parsed = parts.and_then(|(name, count)| Some(Self { name: name.into(), count: atoi(count)? }));
        parsed.ok_or_else(|| {
            Diagnostic::error(Code::InvalidValue, format!("invalid replica count `{argument}`"))
                .help("use NAME=COUNT")
        })
    }
}

/// Sets counts. Of several entries for a name, the first one is kept. kustomize also sorts the list by name.
pub(super) fn set(draft: &mut Draft<'_>, edits: &[ReplicaEdit]) {
    let sorted = draft.options.as_kustomize;
    update_list(&mut draft.fields, "replicas", |replicas| {
        let mut seen = FxHashSet::default();
        replicas.retain(|entry| seen.insert(entry_text(entry, "name").to_string()));
        for edit in edits {
            set_one(replicas, edit);
        }
        if sorted {
            replicas.sort_by(|a, b| entry_text(a, "name").cmp(entry_text(b, "name")));
        }
    });
}

fn set_one(replicas: &mut List, edit: &ReplicaEdit) {
    let found = replicas.iter_mut().find(|entry| entry_text(entry, "name") == edit.name);
    if let Some(entry) = found.and_then(Node::as_map_mut) {
        set_count(entry, edit.count);
    } else {
        let fields = [("name", new_string(&edit.name)), ("count", Node::int(edit.count))];
        replicas.push(Node::map(fields.into_iter().collect()));
    }
}

/// Sets the count of an entry. The entry keeps its comments.
fn set_count(entry: &mut Map, count: i64) {
    let position = super::fields::position(entry, "count");
    let Some(old) = position.map(|i| &mut entry.entries_mut()[i].value) else {
        entry.push("count", Node::int(count));
        return;
    };
    let new = Node::int(count);
    if *old != new {
        let (span, comments) = (old.meta.span, old.meta.comments.take());
        *old = Node { meta: Meta { span, comments, ..new.meta }, ..new };
    }
}
