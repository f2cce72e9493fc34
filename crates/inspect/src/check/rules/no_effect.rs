//! Rule: an entry of a kustomization changes nothing.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::check::causes::{OVERLAY, is_patch};
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::cause::{Cause, History, ValueHistory, Writer, WriterEntry, changes};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::Span;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "no-effect",
        meaning: "A patch or another entry of a kustomization changes nothing.",
        remedy: "Remove the entry, or correct its values.",
    }),
    title: "Entry without effect",
    group: RuleGroup::NoEffect,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::Entry,
    why: "A patch, or an entry of `images`, `replicas`, `replacements`, `labels`, `commonLabels` or \
          `commonAnnotations`, matches its target but writes values that are already set, or removes what does not exist. It looks as if the \
          entry sets the value. When the base changes, the entry silently starts to override it. An entry of \
          a base or component is reported only if it has no effect in any checked target. JSON patches with a \
          `test` operation are never reported, because the test is a guard. A document of a plain overlay is reported \
          if it changes nothing in the base; documents may repeat values of the base next to their changes.",
    suppress: Some(
        "The entry pins a value on purpose, so that a later change of the base does not take effect.",
    ),
    documentation: "https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/patches/",
    bad: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {a: b}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    good: &[
        (
            "kustomization.yaml",
            "resources: [map.yaml]\npatches:\n- patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: \
             web}\n    data: {a: c}\n",
        ),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {a: b}\n"),
    ],
    finder: Finder::Target(find),
};

/// The fields whose entries are checked, and the step of a document of a plain overlay.
const FIELDS: [&str; 10] = [
    "images",
    "replicas",
    "replacements",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
    OVERLAY,
];

/// The reported location of an entry, and its name.
type EntryKey = (Span, SmolStr);

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let resources = &target.built.resources;
    let mut effective = FxHashSet::default();
    for history in resources.iter().filter_map(|resource| resource.history.as_deref()) {
        record(history, &mut effective);
        // A patch that names list entries also moves them.
        if is_reordered(history.root()) {
            effective.extend(
                history
                    .selecting_steps()
                    .iter()
                    .filter(|step| is_patch(&step.name))
                    .flat_map(|step| keys(step)),
            );
        }
    }
    for (resource, cause) in resources.deleted() {
        effective.insert(key(cause));
        resource.history.iter().for_each(|history| record(history, &mut effective));
    }
    let unmatched: FxHashSet<Span> = target
        .built
        .warnings
        .iter()
        .flat_map(|warning| warning.labels().iter().map(|label| label.span))
        .collect();
    let mut reported = FxHashSet::default();
    let entries = resources.writers().iter().flat_map(|writer| entries(writer));
    let idle = entries.filter(|(locations, name)| {
        locations
            .iter()
            .all(|place| !effective.contains(&(*place, name.clone())) && !unmatched.contains(place))
    });
    let idle = idle.filter(|(locations, name)| reported.insert((locations[0], name.clone())));
    idle.map(|(locations, name)| finding(locations[0], &name)).collect()
}

fn finding(location: Span, name: &str) -> Diagnostic {
    let (subject, it) = if name == OVERLAY { ("the document", "document") } else { (name, "entry") };
    let message =
        format!("{subject} changes nothing: its values are already set, or what it removes does not exist");
    Diagnostic::warning(RULE.code, message)
        .at(location)
        .help(format!("remove the {it}, or correct its values"))
}

/// Returns the entries of a step, each with its possible locations. The first location is reported.
fn entries(writer: &Writer) -> Vec<(Vec<Span>, SmolStr)> {
    let field = writer.name.split('[').next().unwrap_or_default();
    if writer.location.is_none() || !FIELDS.contains(&field) {
        return Vec::new();
    }
    let mut all: Vec<(Vec<Span>, SmolStr)> = Vec::new();
    for WriterEntry { location, name, .. } in &writer.entries {
        match all.last_mut().filter(|(_, last)| last == name) {
            Some((locations, _)) => locations.push(*location),
            None => all.push((vec![*location], name.clone())),
        }
    }
    if all.is_empty() { vec![(vec![writer.location], writer.name.clone())] } else { all }
}

fn key(cause: &Cause) -> EntryKey {
    (cause.location(), cause.name().clone())
}

/// Returns all keys by which a step may be recorded.
fn keys(step: &Writer) -> impl Iterator<Item = EntryKey> {
    entries(step)
        .into_iter()
        .flat_map(|(locations, name)| locations.into_iter().map(move |location| (location, name.clone())))
}

/// Returns true if list entries from one source have a different order than in that source.
fn is_reordered(known: &ValueHistory) -> bool {
    let is_before_last = |entries: &[(Span, ValueHistory)]| {
        let mut last = FxHashMap::default();
        let mut locations = entries.iter().filter_map(|(_, entry)| origin(entry));
        locations.any(|at| last.insert(at.source, at.start).is_some_and(|before| at.start < before))
    };
    matches!(known, ValueHistory::List(entries) if entries.len() > 1 && is_before_last(entries))
        || known.children().any(is_reordered)
}

/// Returns the location where the first value in a subtree was first written.
fn origin(known: &ValueHistory) -> Option<Span> {
    known.leaves().find_map(|writes| writes.last().map(|first| first.at).filter(|at| !at.is_none()))
}

/// Records the entries that had an effect on the values of a resource.
fn record(history: &History, effective: &mut FxHashSet<EntryKey>) {
    // A patch with a `test` operation has an effect: it fails the build if the test fails.
    effective.extend(history.steps_with_test_operations().map(|step| key(&Cause::from_writer(step))));
    effective.extend(history.removed().iter().map(|removed| key(&removed.by)));
    history.removed().iter().for_each(|removed| values(&removed.value, effective));
    values(history.root(), effective);
}

fn values(known: &ValueHistory, effective: &mut FxHashSet<EntryKey>) {
    // Most values have the same cause as the previous one.
    let mut last = None;
    for cause in known.leaves().flat_map(changes).map(|write| &write.by) {
        let same = Some((cause.location(), cause.name()));
        if last != same {
            effective.insert(key(cause));
            last = same;
        }
    }
}
