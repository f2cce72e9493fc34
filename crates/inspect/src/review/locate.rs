//! The source locations that caused a change, in both builds.

use smol_str::SmolStr;

use super::changes::BuiltSide;
use smp_merge::cause::OperationPart;
use smp_overlay::resource::Resource;
use smp_text::path::FieldPath;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// Returns the location where an object is defined, which is that of the first write of its kind.
pub(super) fn definition(resource: &Resource) -> Option<Span> {
    let history = resource.history.as_deref();
    let first = history.and_then(|history| history.writes_at(&["kind"])?.last());
    let own = first.map(|write| write.at).or_else(|| resource.node().get("kind").map(Node::span));
    // A generated object has the location of its generator.
    let found = own.filter(|at| !at.is_none()).or_else(|| first.map(|write| write.by.location()));
    found.filter(|at| !at.is_none())
}

/// Returns the location where the value at a path is written, or where it was removed. `other` is the same object in
/// the other build. It has the value if this object does not.
pub(super) fn value(resource: &Resource, other: Option<&Resource>, path: &FieldPath) -> Option<Span> {
    let positions = path.positions(resource.node());
    let history = resource.history.as_deref();
    if let Some(node) = path.find(resource.node()) {
        let written = history.and_then(|history| history.write_location(&positions, OperationPart::Value));
        return written.or(Some(node.span())).filter(|at| !at.is_none());
    }
    let positions: Vec<SmolStr> = other.map_or(positions, |other| path.positions(other.node()));
    history?.last_removal_location(&positions)
}

/// Returns the location of the step that deleted an object during a build.
pub(super) fn deletion(side: &BuiltSide<'_>, object: &Resource) -> Option<Span> {
    let mut deleted = side.built.resources.deleted();
    let (_, by) = deleted.find(|(deleted, _)| deleted.ids().any(|id| object.ids().any(|own| own == id)))?;
    Some(by.location()).filter(|at| !at.is_none())
}
