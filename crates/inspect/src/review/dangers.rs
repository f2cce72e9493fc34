//! Runs the rules about dangerous changes, and determines the locations of the dangers.

use smol_str::SmolStr;

use super::changes::{ChangeDanger, ObjectChange};
use crate::check::{ChangedObject, ChangedTarget, Danger, Finder, RULES, Rule};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::path::pointer_to;
use smp_text::source::Span;

/// Returns the dangers of a changed object. `change` is its change, followed by the built object of each side.
pub(super) fn dangers_of(
    change: &ObjectChange,
    sides: [Option<&Resource>; 2],
    target: &ChangedTarget<'_>,
) -> Vec<ChangeDanger> {
    let [old, new] = sides.map(|side| side.map(Resource::node));
    let object = ChangedObject { id: &change.id, former: change.former.as_ref(), old, new, target };
    let mut all = Vec::new();
    for rule in RULES.iter() {
        if let Finder::Change(find) = rule.finder {
            all.extend(find(&object).into_iter().map(|danger| located(rule, &danger, change)));
        }
    }
    all
}

fn located(rule: &Rule, danger: &Danger, change: &ObjectChange) -> ChangeDanger {
    let [before, after] = locations(change, &danger.path);
    let finding = match rule.severity {
        Severity::Error => Diagnostic::error(rule.code, &danger.message),
        _ => Diagnostic::warning(rule.code, &danger.message),
    };
    let finding = finding.resource(&change.id).field(pointer_to(&danger.path));
    let finding = match (after, before) {
        (Some(after), Some(before)) if after != before => {
            finding.at(after).label(before, "before the change")
        }
        (Some(at), _) | (None, Some(at)) => finding.at(at),
        (None, None) => finding,
    };
    ChangeDanger { finding: finding.help(rule.code.remedy()), before }
}

/// Returns the locations of the changed field that contains a value or is part of it.
fn locations(change: &ObjectChange, path: &[SmolStr]) -> [Option<Span>; 2] {
    let is_related = |steps: &[SmolStr]| steps.iter().zip(path).all(|(a, b)| a == b);
    let related = change.fields.iter().filter(|field| {
        let sides = [(&field.new, &change.new), (&field.old, &change.old)];
        sides.iter().any(|(value, node)| {
            let node = node.as_ref().filter(|_| value.is_some());
            node.is_some_and(|node| is_related(&field.path.positions(node)))
        })
    });
    // The most specific field is the best location. Both an added and a removed entry of a list may have the same
    // index.
    related
        .max_by_key(|field| (field.path.elements().len().min(path.len()), field.new.is_some()))
        .map(|field| field.at)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests;
