//! Which line of a patch speaks of a field, found by reading the patch once more.
//!
//! The steps of a build say which patch wrote or removed a value; what a patch removes, or makes by a path, stands at
//! no place of its own. Knows patches as texts, and nothing of rules.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use smp_files::clean;
use smp_merge::cause::Cause;
use smp_overlay::resource::Resource;
use smp_text::path::{is_within, pointer_to};
use smp_text::source::{SourceId, SourceMap, Span};
use smp_text::yaml::{DuplicateKeys, Node, ParseOptions, Value, parse_documents};

/// The fields of kustomizations that are patches, and what a document over another one is called.
const PATCHES: [&str; 4] = ["patches", "patchesStrategicMerge", "patchesJson6902", "overlay"];

/// What of an operation of a JSON patch is asked for, where it speaks of just the field.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationPart {
    /// The path, by which the field is there or is not.
    Path,
    /// What the field gets.
    Value,
}

/// The patches of a run; each is read when somebody asks for its lines.
pub(super) struct PatchLines<'c> {
    sources: &'c SourceMap,
    read: RefCell<FxHashMap<SourceId, Arc<Vec<Node>>>>,
    /// The texts by the paths that they were read from, the last one of each.
    by_path: RefCell<Option<FxHashMap<PathBuf, SourceId>>>,
}

impl<'c> PatchLines<'c> {
    pub(super) fn new(sources: &'c SourceMap) -> Self {
        Self { sources, read: RefCell::default(), by_path: RefCell::default() }
    }

    pub(super) fn sources(&self) -> &'c SourceMap {
        self.sources
    }

    /// The place in a patch that speaks of a field of a resource.
    pub(super) fn of(
        &self,
        cause: &Cause,
        way: &[SmolStr],
        resource: &Resource,
        part: OperationPart,
    ) -> Option<Span> {
        let step = cause.writer();
        let is_patch = PATCHES.iter().any(|field| step.name.split('[').next() == Some(*field));
        let texts = if is_patch { self.texts(cause.at()) } else { Vec::new() };
        texts.into_iter().find_map(|id| {
            let documents = self.documents(id);
            let own = documents.iter().filter(|document| is_meant(document, resource, cause.at()));
            own.filter_map(|document| place_in(document, way, part)).next_back()
        })
    }

    /// Whether the patch that is asked for at a place is one in JSON that tests something.
    pub(super) fn tests(&self, at: Span) -> bool {
        self.texts(at).into_iter().any(|id| {
            let documents = self.documents(id);
            let mut operations = documents.iter().filter_map(Node::as_list).flatten();
            operations.any(is_test)
        })
    }

    /// The texts of the patch that is asked for at a place: one that stands there, the file that is named there, or the
    /// text itself.
    fn texts(&self, at: Span) -> Vec<SourceId> {
        let within = self.sources.texts_within(at);
        if !within.is_empty() || at.start == at.end {
            return if within.is_empty() { vec![at.source] } else { within };
        }
        let named = || {
            let path = self.sources.written(at)?;
            let source = self.sources.get(at.source)?;
            let directory = source.name().parent().unwrap_or(Path::new(""));
            self.by_path(&clean(&directory.join(path.trim_matches(['"', '\'']))))
        };
        named().into_iter().collect()
    }

    fn by_path(&self, path: &Path) -> Option<SourceId> {
        let mut known = self.by_path.borrow_mut();
        let known = known.get_or_insert_with(|| {
            let ids = self.sources.outer_texts().into_iter();
            ids.filter_map(|id| Some((clean(self.sources.get(id)?.name()), id))).collect()
        });
        known.get(path).copied()
    }

    fn documents(&self, id: SourceId) -> Arc<Vec<Node>> {
        let read = || {
            let options = ParseOptions::default().duplicate_keys(DuplicateKeys::LastWins);
            Arc::new(parse_documents(self.sources, id, options).unwrap_or_default())
        };
        Arc::clone(self.read.borrow_mut().entry(id).or_insert_with(read))
    }
}

/// Whether a document can be a patch of a resource. A document over another one is known by its place.
fn is_meant(document: &Node, resource: &Resource, at: Span) -> bool {
    let kind = document.get("kind").and_then(Node::as_str);
    let is_own = at.start != at.end || at == document.span().at_start();
    is_own && kind.is_none_or(|kind| kind == resource.id().gvk.kind)
}

fn place_in(document: &Node, way: &[SmolStr], part: OperationPart) -> Option<Span> {
    match &document.value {
        Value::List(operations) => {
            let operation = operations.iter().rev().find(|one| speaks_of(one, way))?;
            Some(place_in_operation(operation, way, part))
        }
        Value::Map(_) => place_in_map(document, way),
        Value::Scalar(_) => None,
    }
}

fn is_test(operation: &Node) -> bool {
    operation.get("op").and_then(Node::as_str) == Some("test")
}

/// Whether an operation of a JSON patch changes a value, what is around it, or what is in it.
fn speaks_of(operation: &Node, way: &[SmolStr]) -> bool {
    !is_test(operation) && named_by(operation, way).is_some()
}

/// The path of an operation that leads to a value, around it or into it.
fn named_by<'n>(operation: &'n Node, way: &[SmolStr]) -> Option<&'n Node> {
    let pointer = pointer_to(way);
    let mut paths = ["path", "from"].into_iter().filter_map(|field| operation.get(field));
    paths.find(|path| {
        let Some(path) = path.as_str() else { return false };
        is_within(path, &pointer) || is_within(&pointer, path) || is_added_to(path, &pointer)
    })
}

/// Whether something is in an entry that is added: `-` stands for the entry behind the last one.
fn is_added_to(path: &str, pointer: &str) -> bool {
    path.strip_suffix("/-").is_some_and(|list| is_within(list, pointer))
}

/// The place in an operation that speaks of a field: what it has of it in its value, or else its path.
fn place_in_operation(operation: &Node, way: &[SmolStr], part: OperationPart) -> Span {
    let Some(path) = named_by(operation, way) else { return operation.span() };
    let steps = path.as_str().unwrap_or_default().matches('/').count();
    let is_own = operation.get("path").is_some_and(|own| std::ptr::eq(own, path));
    let value = operation.get("value").filter(|_| is_own);
    match (value, way.get(steps..)) {
        (Some(value), Some(rest)) if !rest.is_empty() => place_in_value(value, rest),
        (Some(value), Some(_)) if part == OperationPart::Value => value.span(),
        _ => path.span(),
    }
}

/// The deepest place on the way to a field that a value has.
fn place_in_value(value: &Node, way: &[SmolStr]) -> Span {
    let Some((step, rest)) = way.split_first() else { return value.span() };
    let (here, below) = match &value.value {
        Value::Map(map) => {
            let entry = map.entry(step);
            (entry.map(|entry| entry.key.meta.span), entry.map(|entry| &entry.value))
        }
        Value::List(list) => (None, step.parse::<usize>().ok().and_then(|position| list.get(position))),
        Value::Scalar(_) => (None, None),
    };
    match (here, below) {
        (Some(key), _) if rest.is_empty() => key,
        (_, Some(below)) => place_in_value(below, rest),
        _ => value.span(),
    }
}

/// The deepest place on the way to a field at which a strategic merge patch says something: the field, or a null or a
/// directive around it.
fn place_in_map(node: &Node, way: &[SmolStr]) -> Option<Span> {
    if let Value::List(list) = &node.value {
        // Entries stand elsewhere in the result: the first that speaks of it is taken.
        let rest = way.get(1..)?;
        return list.iter().find_map(|entry| place_in_map(entry, rest));
    }
    let map = node.as_map()?;
    let directive = || map.entry("$patch").map(|entry| entry.key.meta.span);
    let Some((step, rest)) = way.split_first() else { return directive() };
    let Some(entry) = map.entry(step) else { return directive() };
    let is_end = rest.is_empty() || entry.value.is_null();
    let own = Some(entry.key.meta.span).filter(|_| is_end);
    own.or_else(|| place_in_map(&entry.value, rest)).or_else(directive)
}
