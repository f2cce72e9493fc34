//! An entry of a kustomization that changes nothing.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_merge::cause::{Cause, History, KnownValue, Writer, WriterEntry, changes};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::Span;

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "no-effect",
        meaning: "An entry of a kustomization, or a patch, that changes nothing.",
        remedy: "Remove it, or correct what it says: all that it sets has these values without it.",
    }),
    name: "Entry that changes nothing",
    group: RuleGroup::DoesNothing,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::Entry,
    why: "An entry of `images`, `replicas`, `replacements`, `labels`, `commonLabels` or `commonAnnotations`, or a patch, \
          that finds its target and writes what is there already. It looks as if it decided something. An entry of a \
          component or base is only told when it does nothing in all targets that were looked at, and a JSON patch never that \
          holds a `test`: it guards what it was made for.",
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

/// The fields whose entries are looked at.
const FIELDS: [&str; 9] = [
    "images",
    "replicas",
    "replacements",
    "labels",
    "commonLabels",
    "commonAnnotations",
    "patches",
    "patchesStrategicMerge",
    "patchesJson6902",
];

/// An entry: the place that is told, and its name.
type EntryKey = (Span, SmolStr);

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let resources = &target.built.resources;
    let mut effective = FxHashSet::default();
    for history in resources.iter().filter_map(|resource| resource.history.as_deref()) {
        note(history, &mut effective);
        if is_reordered(history.root()) {
            effective
                .extend(history.visitors().iter().filter(|step| is_patch(step)).flat_map(|step| keys(step)));
        }
    }
    for (resource, cause) in resources.deleted() {
        effective.insert(key(cause));
        resource.history.iter().for_each(|history| note(history, &mut effective));
    }
    let unmatched: FxHashSet<Span> = target
        .built
        .warnings
        .iter()
        .flat_map(|warning| warning.labels().iter().map(|label| label.span))
        .collect();
    let mut told = FxHashSet::default();
    let entries = resources.writers().iter().flat_map(|writer| entries(writer));
    let idle = entries.filter(|(places, name)| {
        places.iter().all(|place| !effective.contains(&(*place, name.clone())) && !unmatched.contains(place))
    });
    let idle = idle.filter(|(places, name)| told.insert((places[0], name.clone())));
    idle.map(|(places, name)| {
        let message = format!("{name} changes nothing: what it sets is so already");
        Diagnostic::warning(RULE.code, message).at(places[0]).help("remove it, or correct what it says")
    })
    .collect()
}

/// The entries of a step, each with the places that it may be known by, the one that is told first.
fn entries(writer: &Writer) -> Vec<(Vec<Span>, SmolStr)> {
    let field = writer.name.split('[').next().unwrap_or_default();
    if writer.at.is_none() || !FIELDS.contains(&field) {
        return Vec::new();
    }
    let mut all: Vec<(Vec<Span>, SmolStr)> = Vec::new();
    for WriterEntry { place, name, .. } in &writer.entries {
        match all.last_mut().filter(|(_, last)| last == name) {
            Some((places, _)) => places.push(*place),
            None => all.push((vec![*place], name.clone())),
        }
    }
    if all.is_empty() { vec![(vec![writer.at], writer.name.clone())] } else { all }
}

fn key(cause: &Cause) -> EntryKey {
    (cause.at(), cause.name().clone())
}

/// Whether a step is a patch: one that names entries of a list moves them, whatever it says of them.
fn is_patch(step: &Writer) -> bool {
    step.name.starts_with("patches")
}

/// All that a step may be known by.
fn keys(step: &Writer) -> impl Iterator<Item = EntryKey> {
    entries(step)
        .into_iter()
        .flat_map(|(places, name)| places.into_iter().map(move |place| (place, name.clone())))
}

/// Whether entries of a list that came from one text stand in another order than there.
fn is_reordered(known: &KnownValue) -> bool {
    let is_before_last = |entries: &[(Span, KnownValue)]| {
        let mut last = FxHashMap::default();
        let mut places = entries.iter().filter_map(|(_, entry)| origin(entry));
        places.any(|at| last.insert(at.source, at.start).is_some_and(|before| at.start < before))
    };
    matches!(known, KnownValue::List(entries) if is_before_last(entries))
        || known.children().any(is_reordered)
}

/// Where the first value of something was written first.
fn origin(known: &KnownValue) -> Option<Span> {
    known.leaves().find_map(|writes| writes.last().map(|first| first.at).filter(|at| !at.is_none()))
}

/// Takes note of what had an effect on the values of a resource.
fn note(history: &History, effective: &mut FxHashSet<EntryKey>) {
    // A patch that tests something keeps a target from being built when that does not hold.
    effective.extend(history.guards().map(|guard| key(&Cause::of(guard))));
    effective.extend(history.removed().iter().map(|removed| key(&removed.by)));
    history.removed().iter().for_each(|removed| values(&removed.value, effective));
    values(history.root(), effective);
}

fn values(known: &KnownValue, effective: &mut FxHashSet<EntryKey>) {
    effective.extend(known.leaves().flat_map(changes).map(|write| key(&write.by)));
}
