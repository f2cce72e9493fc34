//! Rules for objects that the API server rejects, one for each validation rule.

use std::cell::LazyCell;
use std::sync::LazyLock;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::ambiguous_scalar::PlainScalar;
use super::{ambiguous_scalar, misspelled_directive};
use crate::check::causes::Causes;
use crate::check::crds;
use crate::check::quoting::ScalarFixes;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use crate::check::validation::{IncompleteObjects, ObjectValidation, dedup_pattern_notes};
use smp_merge::schema::Cursor;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::path::PathElement;
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map};
use smp_validate::{
    DATA_KEY, IMAGE, NULL_VALUE, UNKNOWN_FIELD, VALIDATION_RULES, ValidateOptions, ValidationRule, Violation,
    WRONG_TYPE,
};

/// The lint rules for validation rules, as listed by `check --list`.
pub(in crate::check) static RULES: LazyLock<Vec<Rule>> =
    LazyLock::new(|| VALIDATION_RULES.iter().copied().map(rule).collect());

fn rule(of: &'static ValidationRule) -> Rule {
    Rule {
        code: of.diagnostic_code(),
        title: of.text.meaning,
        group: RuleGroup::RejectedByServer,
        severity: of.severity,
        default: RuleDefault::Enabled,
        scope: if of.may_be_partial { RuleScope::BuildableOverlays } else { RuleScope::Overlays },
        why: of.why,
        suppress: of.suppress,
        documentation: of.documentation,
        bad: &[],
        good: &[],
        finder: Finder::Validation(of),
    }
}

/// Returns the violations in the objects of a target.
pub(in crate::check) fn find(target: &CheckedTarget<'_>, options: &ValidateOptions) -> Vec<Diagnostic> {
    let CheckedTarget { schema, sources, .. } = *target;
    let judgement = ObjectValidation { schema, sources, options, incomplete: IncompleteObjects::Skip };
    let (quoting, causes) = (ScalarFixes::new(target), Causes::new(target.sources));
    let mut found = ambiguous_scalar::dates(target, &quoting);
    found.extend(ambiguous_scalar::keys(target));
    found.extend(crds::find(target));
    let violations =
        target.built.resources.as_slice().par_iter().map(|resource| judgement.violations(resource));
    for (resource, violations) in target.resources().zip(violations.collect::<Vec<_>>()) {
        // Only computed if there is a violation.
        let values = LazyCell::new(|| ResourceValues::new(target, resource));
        let reported = violations.into_iter().filter(|violation| !has_better_rule(violation));
        found.extend(reported.map(|violation| {
            let (rule, at, path) = (violation.rule, violation.at, violation.path.clone());
            let finding = violation.into_diagnostic();
            let finding = if rule == WRONG_TYPE || rule == NULL_VALUE {
                values.retyped(finding, at, &quoting)
            } else if rule == UNKNOWN_FIELD {
                values.respelled(finding, at, target)
            } else {
                finding
            };
            causes.at_cause(finding, rule.cause, &path, resource).resource(resource.id()).field(path)
        }));
    }
    dedup_pattern_notes(found)
}

/// The values of a resource by location, with their types.
struct ResourceValues<'c> {
    scalars: FxHashMap<Span, PlainScalar<'c>>,
    /// Fields by the location of their keys, with the surrounding maps and their types.
    fields: FxHashMap<Span, (&'c Entry, &'c Map, Cursor<'c>)>,
}

impl<'c> ResourceValues<'c> {
    fn new(target: &CheckedTarget<'c>, resource: &'c Resource) -> Self {
        let (mut scalars, mut fields) = (FxHashMap::default(), FxHashMap::default());
        target.walk(resource, &mut |visit| {
            let plain = PlainScalar::new(visit.node, visit.cursor, target.sources);
            scalars.extend(plain.map(|plain| (visit.node.span(), plain)));
            if let Some(map) = visit.node.as_map() {
                let keys =
                    map.entries().iter().map(|entry| (entry.key.meta.span, (entry, map, visit.cursor)));
                fields.extend(keys);
            }
        });
        Self { scalars, fields }
    }

    /// Adds a fix to a finding about a type, or replaces the finding by one that explains how YAML reads the value.
    fn retyped(&self, finding: Diagnostic, at: Span, quoting: &ScalarFixes<'_, '_>) -> Diagnostic {
        match self.scalars.get(&at) {
            Some(plain) => plain.surprise(quoting).unwrap_or_else(|| plain.quoted(finding, quoting)),
            None => finding,
        }
    }

    /// Adds a fix to a finding about an unknown field, if exactly one field differs only in case and is not set.
    fn respelled(&self, finding: Diagnostic, at: Span, target: &CheckedTarget<'_>) -> Diagnostic {
        let known = || {
            let (entry, map, cursor) = self.fields.get(&at)?;
            let name = entry.key.text.as_str();
            let mut alike = cursor.fields().filter(|(field, _)| field.eq_ignore_ascii_case(name));
            let (field, _) = alike.next()?;
            let is_free = alike.next().is_none() && !map.contains_key(field);
            let written = target.sources.text_at(at)?;
            let is_it = written.trim_matches(['"', '\'']) == name;
            (is_free && is_it).then(|| written.replace(name, field))
        };
        match known() {
            Some(name) => finding.machine_applicable_fix(at, name),
            None => finding,
        }
    }
}

/// Returns true if another rule reports the violation more precisely.
fn has_better_rule(violation: &Violation) -> bool {
    let is_directive = || match violation.path.elements().last() {
        Some(PathElement::Field(name)) => misspelled_directive::intended_directive(name).is_some(),
        _ => false,
    };
    let rule = violation.rule;
    (rule == IMAGE && violation.message.contains("no image"))
        || ((rule == UNKNOWN_FIELD || rule == DATA_KEY) && is_directive())
}
