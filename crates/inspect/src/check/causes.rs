//! What caused a finding, where that is not what the finding is about: a patch that took away what is missed, or that
//! changed the other side of what must fit together; and the place of what stands nowhere.

use smol_str::{SmolStr, ToSmolStr};

use super::patch_lines::{OperationPart, PatchLines};
use super::reference::template_labels;
use smp_merge::cause::{Cause, History, KnownValue, Write};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::{FieldPath, PathElement, is_within, pointer_to, steps_of};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Value};
use smp_validate::ViolationRule;

/// The steps that change names, and with them what refers to these.
const RENAMING: [&str; 5] = ["namePrefix", "nameSuffix", "namespace", "nameHash", "nameReference"];

/// Finds what caused the findings of a run.
pub(super) struct Causes<'c> {
    lines: PatchLines<'c>,
}

impl<'c> Causes<'c> {
    pub(super) fn new(sources: &'c SourceMap) -> Self {
        Self { lines: PatchLines::new(sources) }
    }

    /// A finding on a field, by what caused it.
    pub(super) fn told(
        &self,
        finding: Diagnostic,
        rule: ViolationRule,
        path: &FieldPath,
        resource: &Resource,
    ) -> Diagnostic {
        let way = way_of(resource.node(), path);
        let Some(history) = resource.history.as_deref() else { return finding };
        let finding = if finding.labels().is_empty() {
            finding.at(self.place(history, &way, resource, OperationPart::Path).unwrap_or_default())
        } else {
            finding
        };
        let cause = match rule {
            ViolationRule::SelectorMismatch => self.other_side(&way, resource),
            ViolationRule::VolumeMount => self.lost_volume(history, &way, resource),
            ViolationRule::MissingRequired
            | ViolationRule::ServicePorts
            | ViolationRule::Handler
            | ViolationRule::VolumeSource
            | ViolationRule::EnvSource
            | ViolationRule::SecretType => self.removal(history, &way, resource),
            _ => None,
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
            self.removal(resource.history.as_deref().filter(|_| is_there)?, &way, resource)
        };
        match removal() {
            Some(cause) => self.caused(finding, cause),
            None => finding,
        }
    }

    /// A finding by what caused it, unless both stand in one file: what is there speaks for itself then.
    pub(super) fn caused(&self, finding: Diagnostic, cause: Span) -> Diagnostic {
        let sources = self.lines.sources();
        let file =
            |span| sources.get(sources.outermost(span).source).map(|source| source.name().to_path_buf());
        let own = finding.labels().first().and_then(|label| file(label.span));
        if own.is_some() && own == file(cause) { finding } else { finding.caused(cause, "of this") }
    }

    /// Where a label of a workload's Pods was changed or taken away by something else than what made it.
    pub(super) fn changed_label(&self, workload: &Resource, label: &str) -> Option<Span> {
        let history = workload.history.as_deref()?;
        let above = template_labels(workload)?.map(SmolStr::new_static);
        let way: Vec<SmolStr> = above.chain([label.into()]).collect();
        let steps: Vec<&str> = way.iter().map(SmolStr::as_str).collect();
        match history.leaf(&steps) {
            Some(writes) if writes.len() > 1 => self.place(history, &way, workload, OperationPart::Value),
            Some(_) => None,
            None => self.removal(history, &way, workload),
        }
    }

    /// Whether a value is as what made it wrote it.
    pub(super) fn is_first(resource: &Resource, way: &[&str]) -> bool {
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
            let steps: Vec<&str> = way.iter().map(SmolStr::as_str).collect();
            let is_own =
                |write: &&Write| !RENAMING.contains(&write.by.writer().name.as_str()) && !write.at.is_none();
            history.leaf(&steps)?.iter().find(is_own).map(|write| write.at)
        };
        written().unwrap_or_else(|| value.span())
    }

    /// The label of the template that a selector misses, where it was changed and the selector was not.
    fn other_side(&self, way: &[SmolStr], resource: &Resource) -> Option<Span> {
        let label = way.last()?;
        let steps: Vec<&str> = way.iter().map(SmolStr::as_str).collect();
        if Self::is_first(resource, &steps) { self.changed_label(resource, label) } else { None }
    }

    /// What took a volume away, or named it otherwise, that something is mounted from.
    fn lost_volume(&self, history: &History, way: &[SmolStr], resource: &Resource) -> Option<Span> {
        let list = way.iter().rposition(|step| step.to_lowercase().ends_with("containers"))?;
        let volumes: Vec<SmolStr> = way[..list].iter().cloned().chain(["volumes".into()]).collect();
        let steps: Vec<&str> = way.iter().map(SmolStr::as_str).collect();
        let name = history.leaf(&steps)?.first()?.value.scalar_text()?.clone();
        let pointer = pointer_to(&volumes);
        let removed = history
            .removed()
            .iter()
            .rev()
            .find(|removed| is_within(&pointer, &removed.pointer) && has_name(&removed.value, &name));
        if let Some(removed) = removed {
            return self.place_of(
                &removed.by,
                &steps_of(&removed.pointer).map(SmolStr::from).collect::<Vec<_>>(),
                resource,
            );
        }
        let KnownValue::List(entries) = known_at(history, &volumes)? else { return None };
        let renamed = entries.iter().find_map(|(_, entry)| {
            let KnownValue::Map(fields) = entry else { return None };
            let (_, KnownValue::Leaf(writes)) = fields.iter().find(|(field, _)| field == "name")? else {
                return None;
            };
            writes.iter().skip(1).any(|older| older.value.scalar_text() == Some(&name)).then_some(writes)
        });
        renamed?.first().map(|write| write.at).filter(|at| !at.is_none())
    }

    /// What took a value away, or all that was in it.
    fn removal(&self, history: &History, way: &[SmolStr], resource: &Resource) -> Option<Span> {
        let pointer = pointer_to(way);
        let removed =
            history.removed().iter().rev().find(|removed| {
                is_within(&removed.pointer, &pointer) || is_within(&pointer, &removed.pointer)
            })?;
        let mut steps: Vec<SmolStr> = steps_of(&removed.pointer).map(SmolStr::from).collect();
        steps.extend(way.get(steps.len()..).unwrap_or_default().iter().cloned());
        self.place_of(&removed.by, &steps, resource)
    }

    /// Where the value of a field comes from: the line of the patch that made it, its own place, what asked for it.
    fn place(
        &self,
        history: &History,
        way: &[SmolStr],
        resource: &Resource,
        part: OperationPart,
    ) -> Option<Span> {
        let write = first_write(known_at(history, way)?)?;
        let line = self.lines.of(&write.by, way, resource, part);
        let own = Some(write.at).filter(|at| !at.is_none());
        line.or(own).or(Some(write.by.at())).filter(|at| !at.is_none())
    }

    fn place_of(&self, cause: &Cause, way: &[SmolStr], resource: &Resource) -> Option<Span> {
        let line = self.lines.of(cause, way, resource, OperationPart::Path);
        line.or(Some(cause.at())).filter(|at| !at.is_none())
    }
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

fn known_at<'h>(history: &'h History, way: &[SmolStr]) -> Option<&'h KnownValue> {
    way.iter().try_fold(history.root(), |known, step| match known {
        KnownValue::Leaf(_) => None,
        KnownValue::Map(fields) => fields.iter().find(|(name, _)| name == step).map(|(_, value)| value),
        KnownValue::List(entries) => entries.get(step.parse::<usize>().ok()?).map(|(_, value)| value),
    })
}

fn first_write(known: &KnownValue) -> Option<&Write> {
    match known {
        KnownValue::Leaf(writes) => writes.first(),
        KnownValue::Map(fields) => fields.iter().find_map(|(_, value)| first_write(value)),
        KnownValue::List(entries) => entries.iter().find_map(|(_, value)| first_write(value)),
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
