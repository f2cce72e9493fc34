//! What an API server would refuse: a rule for each that `validate` has.

use std::cell::LazyCell;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::yaml_surprise::PlainScalar;
use super::{misspelled_directive, yaml_surprise};
use crate::check::causes::Causes;
use crate::check::definitions;
use crate::check::quoting::Quoting;
use crate::check::refusals::{ObjectJudgement, Unfinished, patterns_once};
use crate::check::rule::Rule;
use crate::check::target::CheckedTarget;
use smp_merge::schema::Cursor;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::PathElement;
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map};
use smp_validate::{ValidateOptions, Violation, ViolationRule};

/// The files of an example: a manifest, and the definition of its kind where it has one of its own.
macro_rules! files {
    ($object:expr) => {
        &[("kustomization.yaml", "resources: [object.yaml]\n"), ("object.yaml", $object)]
    };
    ($object:expr, $spec:literal) => {
        &[
            ("kustomization.yaml", "resources: [definition.yaml, object.yaml]\n"),
            (
                "definition.yaml",
                concat!(
                    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n",
                    "metadata: {name: widgets.example.com}\nspec:\n  group: example.com\n",
                    "  names: {kind: Widget, plural: widgets}\n  scope: Namespaced\n  versions:\n",
                    "  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n",
                    "        type: object\n        properties:\n          spec: ",
                    $spec,
                    "\n"
                ),
            ),
            ("object.yaml", $object),
        ]
    };
}

/// Declares rules, each with a manifest that breaks it and one that does not. Behind `of` stands the schema of the
/// `spec` of a custom resource.
macro_rules! refused {
    ($($variant:ident $severity:ident $bad:expr => $good:expr $(, of $spec:literal)?;)*) => {
        pub(super) static RULES: &[Rule] = &[$(
            rule(
                ViolationRule::$variant,
                Severity::$severity,
                files!($bad $(, $spec)?),
                files!($good $(, $spec)?),
            ),
        )*];
    };
}

mod access;
mod names;
mod network;
mod pods;
mod row;
mod schema;
mod storage;
mod workloads;

/// The rules, by what they are about.
pub(in crate::check) static RULES: [&[Rule]; 7] = [
    schema::RULES,
    names::RULES,
    pods::RULES,
    workloads::RULES,
    network::RULES,
    access::RULES,
    storage::RULES,
];

/// What the objects of a target violate.
pub(in crate::check) fn find(target: &CheckedTarget<'_>, options: &ValidateOptions) -> Vec<Diagnostic> {
    let CheckedTarget { schema, sources, .. } = *target;
    let judgement = ObjectJudgement { schema, sources, options, unfinished: Unfinished::Spared };
    let (quoting, causes) = (Quoting::new(target), Causes::new(target.sources));
    let mut found = yaml_surprise::dates(target, &quoting);
    found.extend(yaml_surprise::keys(target));
    found.extend(definitions::find(target));
    let violations =
        target.built.resources.as_slice().par_iter().map(|resource| judgement.violations(resource));
    for (resource, violations) in target.resources().zip(violations.collect::<Vec<_>>()) {
        // Where there is nothing to say, nobody looks.
        let values = LazyCell::new(|| ResourceValues::of(target, resource));
        let told = violations.into_iter().filter(|violation| !is_told_elsewhere(violation));
        found.extend(told.map(|violation| {
            let (rule, at, path) = (violation.rule, violation.at, violation.path.clone());
            let finding = violation.into_diagnostic();
            let finding = match rule {
                ViolationRule::WrongType | ViolationRule::NullValue => values.retyped(finding, at, &quoting),
                ViolationRule::UnknownField => values.respelled(finding, at, target),
                _ => finding,
            };
            causes.told(finding, rule, &path, resource).resource(resource.id()).field(path)
        }));
    }
    patterns_once(found)
}

/// The values of a resource by where they stand, with their types.
struct ResourceValues<'c> {
    scalars: FxHashMap<Span, PlainScalar<'c>>,
    /// The maps that have a field, by where its key stands.
    fields: FxHashMap<Span, (&'c Entry, &'c Map, Cursor<'c>)>,
}

impl<'c> ResourceValues<'c> {
    fn of(target: &CheckedTarget<'c>, resource: &'c Resource) -> Self {
        let (mut scalars, mut fields) = (FxHashMap::default(), FxHashMap::default());
        target.walk(resource, &mut |visit| {
            let plain = PlainScalar::of(visit.node, visit.cursor, target.sources);
            scalars.extend(plain.map(|plain| (visit.node.span(), plain)));
            if let Some(map) = visit.node.as_map() {
                let keys =
                    map.entries().iter().map(|entry| (entry.key.meta.span, (entry, map, visit.cursor)));
                fields.extend(keys);
            }
        });
        Self { scalars, fields }
    }

    /// A finding on the type of a value with what mends it, or what it is in truth.
    fn retyped(&self, finding: Diagnostic, at: Span, quoting: &Quoting<'_, '_>) -> Diagnostic {
        match self.scalars.get(&at) {
            Some(plain) => plain.surprise(quoting).unwrap_or_else(|| plain.quoted(finding, quoting)),
            None => finding,
        }
    }

    /// A finding on an unknown field with its name, where a field of the same letters is the only one, and is not
    /// there.
    fn respelled(&self, finding: Diagnostic, at: Span, target: &CheckedTarget<'_>) -> Diagnostic {
        let known = || {
            let (entry, map, cursor) = self.fields.get(&at)?;
            let name = entry.key.text.as_str();
            let mut alike = cursor.fields().filter(|(field, _)| field.eq_ignore_ascii_case(name));
            let (field, _) = alike.next()?;
            let is_free = alike.next().is_none() && !map.contains_key(field);
            let written = target.sources.written(at)?;
            let is_it = written.trim_matches(['"', '\'']) == name;
            (is_free && is_it).then(|| written.replace(name, field))
        };
        match known() {
            Some(name) => finding.certain_fix(at, name),
            None => finding,
        }
    }
}

/// Whether another rule tells it better.
fn is_told_elsewhere(violation: &Violation) -> bool {
    let is_directive = || match violation.path.elements().last() {
        Some(PathElement::Field(name)) => misspelled_directive::meant(name).is_some(),
        _ => false,
    };
    match violation.rule {
        ViolationRule::Image => violation.message.contains("no image"),
        ViolationRule::UnknownField | ViolationRule::DataKey => is_directive(),
        _ => false,
    }
}
