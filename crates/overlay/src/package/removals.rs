//! Locates removals of required fields in patches.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use smp_merge::cause::{History, OperationPart, Writer, location_in_patch};
use smp_text::diagnostic::{Code, Diagnostic};
use smp_text::path::{FieldPath, PathElement, pointer_steps};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// Returns the paths that patches removed, with the location of the removal in the patch.
pub(super) fn removals(patches: &[&Node], [before, after]: [&Node; 2]) -> FxHashMap<String, Span> {
    let patched = Arc::new(Writer::default());
    let mut history = History::new(before, &patched);
    history.record(after, &patched);
    let location = |steps: &[SmolStr]| {
        patches.iter().rev().find_map(|patch| location_in_patch(patch, steps, OperationPart::Path))
    };
    let removed = history.removed().iter().filter_map(|removed| {
        let steps: Vec<SmolStr> = pointer_steps(&removed.pointer).map(SmolStr::from).collect();
        Some((field_path(&steps, after).to_string(), location(&steps)?))
    });
    removed.collect()
}

/// Moves a missing-field warning to the location in the patch that removed the field.
pub(super) fn locate_at_removal(warning: Diagnostic, removals: &FxHashMap<String, Span>) -> Diagnostic {
    let span = warning.field_path().and_then(|path| removals.get(path));
    let Some(span) = span.filter(|_| warning.code() == Code::MissingField) else { return warning };
    let moved = Diagnostic::warning(warning.code(), warning.message()).at(*span);
    let moved = warning.field_path().into_iter().fold(moved, Diagnostic::field);
    warning.help_text().into_iter().fold(moved, Diagnostic::help)
}

fn field_path(steps: &[SmolStr], object: &Node) -> FieldPath {
    let mut here = Some(object);
    let element = |name: &SmolStr| {
        let list = here.is_some_and(|node| matches!(node.value, Value::List(_)));
        let position = name.parse().ok().filter(|_| list);
        let element = position.map_or_else(|| PathElement::Field(name.clone()), PathElement::Index);
        here = here.and_then(|node| element.find(node));
        element
    };
    steps.iter().map(element).collect()
}
