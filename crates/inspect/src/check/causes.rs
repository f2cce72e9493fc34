//! What caused a finding, where that is not what the finding is about: a patch that took away what is missed, or that
//! changed the other side of what must fit together; and the place of what stands nowhere.

use smol_str::{SmolStr, ToSmolStr};

use super::reference::template_labels;
use smp_merge::cause::{History, KnownValue, OperationPart, Write};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::{FieldPath, PathElement, is_within, pointer_to};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Value};
use smp_validate::ViolationCause;

/// The steps that change names, and with them what refers to these.
const RENAMING: [&str; 5] = ["namePrefix", "nameSuffix", "namespace", "nameHash", "nameReference"];

/// Finds what caused the findings of a run.
pub(super) struct Causes<'c> {
    sources: &'c SourceMap,
}

impl<'c> Causes<'c> {
    pub(super) fn new(sources: &'c SourceMap) -> Self {
        Self { sources }
    }

    /// A finding on a field, by what caused it.
    pub(super) fn told(
        &self,
        finding: Diagnostic,
        cause: ViolationCause,
        path: &FieldPath,
        resource: &Resource,
    ) -> Diagnostic {
        let way = way_of(resource.node(), path);
        let Some(history) = resource.history.as_deref() else { return finding };
        let finding = if finding.labels().is_empty() {
            finding.at(history.written_at(&way, OperationPart::Path).unwrap_or_default())
        } else {
            finding
        };
        let cause = match cause {
            ViolationCause::Value => None,
            ViolationCause::Removal => history.removed_at(&way),
            ViolationCause::PodLabels => Self::other_side(&way, resource),
            ViolationCause::PodVolume => lost_volume(history, &way),
        };
        match cause {
            Some(cause) => self.caused(finding, cause),
            None => finding,
        }
    }

    /// A finding on a map that has not a field, by what took it away.
    pub(super) fn of_missing(
        &self,
        finding: Diagnostic,
        (map, field): (&Node, &str),
        resource: &Resource,
    ) -> Diagnostic {
        let removal = || {
            let mut way = Vec::new();
            let is_there = way_to(resource.node(), map, &mut way);
            way.push(field.into());
            resource.history.as_deref().filter(|_| is_there)?.removed_at(&way)
        };
        match removal() {
            Some(cause) => self.caused(finding, cause),
            None => finding,
        }
    }

    /// A finding by what caused it, unless both stand in one file: what is there speaks for itself then.
    pub(super) fn caused(&self, finding: Diagnostic, cause: Span) -> Diagnostic {
        let file = |span| {
            let source = self.sources.get(self.sources.outermost(span).source)?;
            Some(source.name().to_path_buf())
        };
        let own = finding.labels().first().and_then(|label| file(label.span));
        if own.is_some() && own == file(cause) { finding } else { finding.caused(cause, "of this") }
    }

    /// Where a label of a workload's Pods was changed or taken away by something else than what made it.
    pub(super) fn changed_label(workload: &Resource, label: &str) -> Option<Span> {
        let history = workload.history.as_deref()?;
        let above = template_labels(workload)?.map(SmolStr::new_static);
        let way: Vec<SmolStr> = above.chain([label.into()]).collect();
        match history.leaf(&way) {
            Some(writes) if writes.len() > 1 => history.written_at(&way, OperationPart::Value),
            Some(_) => None,
            None => history.removed_at(&way),
        }
    }

    /// Whether a value is as what made it wrote it.
    pub(super) fn is_first(resource: &Resource, way: &[impl AsRef<str>]) -> bool {
        let writes = resource.history.as_deref().and_then(|history| history.leaf(way));
        writes.is_some_and(|writes| writes.len() == 1)
    }

    /// Where a value was written that something may have carried a change of names into: what changed the name is asked
    /// for elsewhere, and who wrote the value has to correct it.
    pub(super) fn written_at(resource: &Resource, value: &Node) -> Span {
        let mut way = Vec::new();
        let mut written = || {
            let history = resource.history.as_deref()?;
            way_to(resource.node(), value, &mut way).then_some(())?;
            let is_own =
                |write: &&Write| !RENAMING.contains(&write.by.writer().name.as_str()) && !write.at.is_none();
            history.leaf(&way)?.iter().find(is_own).map(|write| write.at)
        };
        written().unwrap_or_else(|| value.span())
    }

    /// The label of the template that a selector misses, where it was changed and the selector was not.
    fn other_side(way: &[SmolStr], resource: &Resource) -> Option<Span> {
        let label = way.last()?;
        if Self::is_first(resource, way) { Self::changed_label(resource, label) } else { None }
    }
}

/// What removed or renamed a volume that something is mounted from.
fn lost_volume(history: &History, way: &[SmolStr]) -> Option<Span> {
    let list = way.iter().rposition(|step| step.to_lowercase().ends_with("containers"))?;
    let volumes: Vec<SmolStr> = way[..list].iter().cloned().chain(["volumes".into()]).collect();
    let name = history.leaf(way)?.first()?.value.scalar_text()?.clone();
    let pointer = pointer_to(&volumes);
    let mut removed = history.removed().iter().rev();
    let removed = removed.find(|one| is_within(&pointer, &one.pointer) && has_name(&one.value, &name));
    if let Some(removed) = removed {
        return history.place_of_removal(removed, &[]);
    }
    let KnownValue::List(entries) = history.known(&volumes)? else { return None };
    let renamed = entries.iter().find_map(|(_, entry)| {
        let KnownValue::Map(fields) = entry else { return None };
        let (_, KnownValue::Leaf(writes)) = fields.iter().find(|(field, _)| field == "name")? else {
            return None;
        };
        writes.iter().skip(1).any(|older| older.value.scalar_text() == Some(&name)).then_some(writes)
    });
    renamed?.first().map(|write| write.at).filter(|at| !at.is_none())
}

/// The fields and positions of a path.
fn way_of(node: &Node, path: &FieldPath) -> Vec<SmolStr> {
    let mut at = Some(node);
    let mut way = Vec::new();
    for element in path.elements() {
        let position = at.and_then(|node| element.position(node));
        match (element, position) {
            (PathElement::Field(name), _) => way.push(name.clone()),
            (_, Some(position)) => way.push(position.to_smolstr()),
            (PathElement::Index(index), None) => way.push(index.to_smolstr()),
            (_, None) => break,
        }
        at = at.and_then(|node| element.find(node));
    }
    way
}

/// Finds the way to a value of a tree; returns whether there is one.
fn way_to(node: &Node, wanted: &Node, way: &mut Vec<SmolStr>) -> bool {
    if std::ptr::eq(node, wanted) {
        return true;
    }
    let mut below = |step: SmolStr, value| {
        way.push(step);
        way_to(value, wanted, way) || way.pop().is_none()
    };
    match &node.value {
        Value::Scalar(_) => false,
        Value::Map(map) => map.iter().any(|(name, value)| below(name.into(), value)),
        Value::List(list) => list.iter().enumerate().any(|(i, value)| below(i.to_smolstr(), value)),
    }
}

/// Whether a volume that is no more, or one of several, was called so.
fn has_name(known: &KnownValue, name: &str) -> bool {
    match known {
        KnownValue::Leaf(writes) => {
            writes.first().is_some_and(|write| write.value.scalar_text().is_some_and(|text| text == name))
        }
        KnownValue::Map(fields) => {
            fields.iter().any(|(field, value)| field == "name" && has_name(value, name))
        }
        KnownValue::List(entries) => entries.iter().any(|(_, value)| has_name(value, name)),
    }
}
