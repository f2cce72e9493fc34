//! The causes of findings that are not at the reported value: a patch that removed a required value, or that changed
//! one of two values that must match. Also determines a location for missing values.

use smol_str::{SmolStr, ToSmolStr};

use super::reference::template_labels;
use smp_merge::cause::{History, OperationPart, ValueHistory, Write};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::{FieldPath, is_within, pointer_to};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Value};
use smp_validate::ViolationCause;

/// The build steps that rename objects and the references to them.
const RENAMING: [&str; 5] = ["namePrefix", "nameSuffix", "namespace", "nameHash", "nameReference"];

/// The step that merges a document of a plain overlay.
pub(super) const OVERLAY: &str = "overlay";

/// Returns true if a step is a patch: one of a kustomization, or a document of a plain overlay.
pub(super) fn is_patch(step: &str) -> bool {
    step.starts_with("patches") || step == OVERLAY
}

/// Determines the locations of the causes of findings.
pub(super) struct Causes<'c> {
    sources: &'c SourceMap,
}

impl<'c> Causes<'c> {
    pub(super) fn new(sources: &'c SourceMap) -> Self {
        Self { sources }
    }

    /// Moves a finding about a field to the location of its cause.
    pub(super) fn at_cause(
        &self,
        finding: Diagnostic,
        cause: ViolationCause,
        path: &FieldPath,
        resource: &Resource,
    ) -> Diagnostic {
        let path = path.positions(resource.node());
        let Some(history) = resource.history.as_deref() else { return finding };
        let finding = if finding.labels().is_empty() {
            finding.at(history.write_location(&path, OperationPart::Path).unwrap_or_default())
        } else {
            finding
        };
        let cause = match cause {
            ViolationCause::Value => None,
            ViolationCause::Removal => history.last_removal_location(&path),
            ViolationCause::PodLabels => Self::changed_template_label(&path, resource),
            ViolationCause::PodVolume => lost_volume(history, &path),
        };
        match cause {
            Some(cause) => self.with_cause(finding, cause),
            None => finding,
        }
    }

    /// Moves a finding about a missing field to the step that removed the field.
    pub(super) fn missing_field(
        &self,
        finding: Diagnostic,
        (map, field): (&Node, &str),
        resource: &Resource,
    ) -> Diagnostic {
        let removal = || {
            let mut path = Vec::new();
            let is_there = find_path(resource.node(), map, &mut path);
            path.push(field.into());
            resource.history.as_deref().filter(|_| is_there)?.last_removal_location(&path)
        };
        match removal() {
            Some(cause) => self.with_cause(finding, cause),
            None => finding,
        }
    }

    /// Moves a finding to its cause, unless both are in the same file, in which the cause is easy to see.
    pub(super) fn with_cause(&self, finding: Diagnostic, cause: Span) -> Diagnostic {
        let file = |span| {
            let source = self.sources.get(self.sources.outermost(span).source)?;
            Some(source.name().to_path_buf())
        };
        let own = finding.labels().first().and_then(|label| file(label.span));
        if own.is_some() && own == file(cause) {
            finding
        } else {
            finding.with_cause(cause, "this value no longer matches")
        }
    }

    /// Returns the location where a Pod label of a workload was changed or removed after it was first written.
    pub(super) fn changed_label(workload: &Resource, label: &str) -> Option<Span> {
        let history = workload.history.as_deref()?;
        let above = template_labels(workload)?.map(SmolStr::new_static);
        let path: Vec<SmolStr> = above.chain([label.into()]).collect();
        match history.writes_at(&path) {
            Some(writes) if writes.len() > 1 => history.write_location(&path, OperationPart::Value),
            Some(_) => None,
            None => history.last_removal_location(&path),
        }
    }

    /// Returns true if a value was written only once.
    pub(super) fn is_unchanged(resource: &Resource, path: &[impl AsRef<str>]) -> bool {
        let writes = resource.history.as_deref().and_then(|history| history.writes_at(path));
        writes.is_some_and(|writes| writes.len() == 1)
    }

    /// Returns the location where a reference was written. Steps that only propagate a rename are ignored, since the
    /// original reference must be corrected.
    pub(super) fn written_at(resource: &Resource, value: &Node) -> Span {
        let mut path = Vec::new();
        let mut written = || {
            let history = resource.history.as_deref()?;
            find_path(resource.node(), value, &mut path).then_some(())?;
            let is_own =
                |write: &&Write| !RENAMING.contains(&write.by.writer().name.as_str()) && !write.at.is_none();
            history.writes_at(&path)?.iter().find(is_own).map(|write| write.at)
        };
        written().unwrap_or_else(|| value.span())
    }

    /// Returns the location of the changed template label that a selector does not match, if the selector itself
    /// was not changed.
    fn changed_template_label(path: &[SmolStr], resource: &Resource) -> Option<Span> {
        let label = path.last()?;
        if Self::is_unchanged(resource, path) { Self::changed_label(resource, label) } else { None }
    }
}

/// Returns the location where the volume of a volume mount was removed or renamed.
fn lost_volume(history: &History, path: &[SmolStr]) -> Option<Span> {
    let list = path.iter().rposition(|step| step.to_lowercase().ends_with("containers"))?;
    let volumes: Vec<SmolStr> = path[..list].iter().cloned().chain(["volumes".into()]).collect();
    let name = history.writes_at(path)?.first()?.value.scalar_text()?.clone();
    let pointer = pointer_to(&volumes);
    let mut removed = history.removed().iter().rev();
    let removed = removed.find(|one| is_within(&pointer, &one.pointer) && has_name(&one.value, &name));
    if let Some(removed) = removed {
        return history.removal_location(removed, &[]);
    }
    let ValueHistory::List(entries) = history.value_at(&volumes)? else { return None };
    let renamed = entries.iter().find_map(|(_, entry)| {
        let ValueHistory::Map(fields) = entry else { return None };
        let (_, ValueHistory::Leaf(writes)) = fields.iter().find(|(field, _)| field == "name")? else {
            return None;
        };
        writes.iter().skip(1).any(|older| older.value.scalar_text() == Some(&name)).then_some(writes)
    });
    renamed?.first().map(|write| write.at).filter(|at| !at.is_none())
}

/// Finds the path to a node in a tree. Returns true if the node is part of it.
fn find_path(node: &Node, target: &Node, path: &mut Vec<SmolStr>) -> bool {
    if std::ptr::eq(node, target) {
        return true;
    }
    let mut below = |step: SmolStr, value| {
        path.push(step);
        find_path(value, target, path) || path.pop().is_none()
    };
    match &node.value {
        Value::Scalar(_) => false,
        Value::Map(map) => map.iter().any(|(name, value)| below(name.into(), value)),
        Value::List(list) => list.iter().enumerate().any(|(i, value)| below(i.to_smolstr(), value)),
    }
}

/// Returns true if a removed volume, or one of several removed volumes, had a name.
fn has_name(known: &ValueHistory, name: &str) -> bool {
    match known {
        ValueHistory::Leaf(writes) => {
            writes.first().is_some_and(|write| write.value.scalar_text().is_some_and(|text| text == name))
        }
        ValueHistory::Map(fields) => {
            fields.iter().any(|(field, value)| field == "name" && has_name(value, name))
        }
        ValueHistory::List(entries) => entries.iter().any(|(_, value)| has_name(value, name)),
    }
}
