//! The traversal of an object by its schema: unknown fields, types, required fields, constraints, duplicate
//! entries.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::constraints::{CompiledConstraints, duplicate_entries};
use super::defaults::filled;
use super::misplaced_field;
use super::options::ValidateOptions;
use super::rule::{RuleViolation, Subject, ValidationRule, text_of};
use super::scalar;
use super::violation::Violation;
use super::walk_step::{WalkStep, key_value};
use super::{lists, rules, unenforced};
use smp_merge::schema::{Cursor, ListType, TypeKind, is_built_in_group};
use smp_text::diagnostic::Severity;
use smp_text::path::{FieldPath, PathValue};
use smp_text::source::Span;
use smp_text::yaml::{Entry, Map, Node, Value, did_you_mean};

/// The value that the API server decodes a null entry of a list of objects to.
static EMPTY_OBJECT: LazyLock<Map> = LazyLock::new(Map::default);

/// The maximum number of violations of an object before the search for the right location of unknown fields stops.
const MAX_VIOLATIONS_WITH_LOCATION: usize = 20;

/// The maximum number of known fields that a help text lists.
const MAX_LISTED_FIELDS: usize = 12;

/// The way in which the API server decodes objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoding {
    /// Into the Go structs of a built-in kind. Null is treated as absent, and validation code runs.
    BuiltIn,
    /// By the structural schema of a CRD, which also contains the constraints.
    Structural,
    /// By the types of the schema alone, without constraints and rules. Null is treated as absent.
    Types,
}

struct SchemaWalk<'n> {
    decoding: Decoding,
    options: &'n ValidateOptions,
    object: &'n Node,
    steps: Vec<WalkStep<'n>>,
    found: Vec<Violation>,
    /// True inside `status`, which the server drops on creation: only types are checked in it.
    in_status: bool,
}

/// Validates an object by its schema.
pub(super) fn walk(
    node: &Node,
    cursor: Cursor<'_>,
    decoding: Decoding,
    options: &ValidateOptions,
) -> Vec<Violation> {
    let with_defaults;
    let node = match decoding {
        Decoding::BuiltIn | Decoding::Types => node,
        Decoding::Structural => {
            with_defaults = filled(node, cursor);
            &with_defaults
        }
    };
    let (steps, found) = (Vec::new(), Vec::new());
    let mut walk = SchemaWalk { decoding, options, object: node, steps, found, in_status: false };
    walk.value(node, cursor);
    walk.violations(rules::check_object(node, decoding == Decoding::BuiltIn));
    walk.found
}

/// Returns the violations of the types in a schema: unknown fields, wrong types, missing required fields, and
/// duplicates in sets. Paths contain the indices of entries.
#[must_use]
pub fn type_violations(node: &Node, cursor: Cursor<'_>) -> Vec<Violation> {
    value_violations(node, cursor, Decoding::Types)
}

/// Returns the violations of the default of a field in a CRD, as the API server validates it: without adding other
/// defaults.
pub(super) fn default_violations(node: &Node, cursor: Cursor<'_>) -> Vec<Violation> {
    value_violations(node, cursor, Decoding::Structural)
}

fn value_violations(node: &Node, cursor: Cursor<'_>, decoding: Decoding) -> Vec<Violation> {
    let options = &ValidateOptions::default();
    let (steps, found) = (Vec::new(), Vec::new());
    let mut walk = SchemaWalk { decoding, options, object: node, steps, found, in_status: false };
    walk.value(node, cursor);
    walk.found
}

impl<'n> SchemaWalk<'n> {
    fn path(&self) -> FieldPath {
        let has_positions = self.decoding == Decoding::Types || self.options.has_positions;
        let element = if has_positions { WalkStep::position } else { WalkStep::element };
        self.steps.iter().map(element).collect()
    }

    fn report(
        &mut self,
        rule: &'static ValidationRule,
        at: Span,
        message: impl Into<String>,
    ) -> &mut Violation {
        let index = self.found.len();
        self.found.push(Violation::error(rule, self.path(), at, message));
        &mut self.found[index]
    }

    fn value(&mut self, node: &'n Node, cursor: Cursor<'n>) {
        if !cursor.is_known() {
            return;
        }
        if node.is_null() {
            self.null(node, cursor);
            return;
        }
        match &node.value {
            Value::Map(map) if matches!(cursor.type_kind(), TypeKind::Object | TypeKind::Any) => {
                self.map(node, map, cursor);
            }
            Value::List(list) if matches!(cursor.type_kind(), TypeKind::Array | TypeKind::Any) => {
                self.list(list, cursor);
            }
            Value::Scalar(_) => {
                if !self.scalar(node, cursor) {
                    return;
                }
            }
            Value::Map(_) | Value::List(_) => {
                self.wrong_type(node, expected(cursor));
                return;
            }
        }
        self.check_constraints(node, cursor);
    }

    fn wrong_type(&mut self, node: &Node, expected: &str) {
        let message = if scalar::is_integer_range(expected) {
            format!("must be {expected}: the integer is out of range")
        } else {
            format!("must be {expected}, but is {}", node.type_name())
        };
        let help = help_for_type(node, expected);
        self.report(&rules::wrong_type::RULE, node.span(), message).help = help;
    }

    /// Validates null. In custom resources, the API server has already removed null fields and set the defaults. Null
    /// remains only in entries of lists, nullable fields and objects that preserve unknown fields.
    fn null(&mut self, node: &'n Node, cursor: Cursor<'n>) {
        let is_entry = matches!(self.steps.last(), Some(WalkStep::Entry { .. }));
        let kind = cursor.type_kind();
        match self.decoding {
            _ if self.in_status => {}
            // Go decodes a null entry as a struct without fields.
            Decoding::BuiltIn if is_entry && kind == TypeKind::Object => {
                self.map(node, &EMPTY_OBJECT, cursor);
            }
            Decoding::Structural => {
                let has_type = !matches!(kind, TypeKind::Any | TypeKind::IntOrString);
                let text = cursor.constraints_text();
                let constraints = text.map(|text| self.options.compiled_constraints(text));
                if has_type && constraints.as_ref().is_none_or(|constraints| !constraints.own.nullable) {
                    let message = format!("must be {}, but is null", expected(cursor));
                    let thing = if is_entry { "entry" } else { "field" };
                    self.report(&rules::null_value::RULE, node.span(), message).help =
                        Some(format!("remove the {thing}, or set a value"));
                } else if let Some((rule, message)) =
                    constraints.and_then(|constraints| constraints.enumeration(node))
                {
                    self.report(rule, node.span(), message);
                }
            }
            Decoding::BuiltIn | Decoding::Types => {}
        }
    }

    /// Checks the type of a scalar. Returns true if it matches.
    fn scalar(&mut self, node: &Node, cursor: Cursor<'n>) -> bool {
        let Some(value) = node.resolve() else { return false };
        let decoded = match self.decoding {
            Decoding::BuiltIn => {
                let text = cursor.constraints_text();
                let constraints = text.map(|text| self.options.compiled_constraints(text));
                scalar::check_scalar(
                    value,
                    cursor,
                    constraints.as_ref().and_then(|d| d.own.format.as_deref()),
                )
            }
            Decoding::Structural => scalar::check_structural_scalar(value, cursor.type_kind()),
            Decoding::Types => scalar::check_scalar(value, cursor, None),
        };
        match decoded {
            Ok(()) => true,
            Err((rule, expected)) if rule == &rules::wrong_type::RULE => {
                self.wrong_type(node, expected);
                false
            }
            Err(_) if self.decoding == Decoding::Types => true,
            Err((rule, expected)) => {
                self.report(rule, node.span(), format!("must be {expected}"));
                false
            }
        }
    }

    fn check_constraints(&mut self, node: &'n Node, cursor: Cursor<'n>) {
        let is_skipped = self.in_status || self.decoding == Decoding::Types;
        let Some(text) = cursor.constraints_text().filter(|_| !is_skipped) else { return };
        let constraints = self.options.compiled_constraints(text);
        let violations = match self.decoding {
            Decoding::BuiltIn if node.as_str() == Some("") && self.is_empty_free() => Vec::new(),
            Decoding::Structural => constraints.violations(node),
            Decoding::BuiltIn | Decoding::Types => constraints.enumeration(node).into_iter().collect(),
        };
        for (rule, message) in violations {
            let possible = constraints.own.enumeration.iter().filter_map(serde_json::Value::as_str);
            let possible: Vec<&str> = possible.filter(|_| rule == &rules::enumeration::RULE).collect();
            let help = node.as_str().and_then(|text| did_you_mean(text, &possible));
            self.report(rule, node.span(), message).help = help;
        }
        if self.decoding == Decoding::Structural {
            self.invalid_patterns(node, &constraints);
            if !constraints.own.rules.is_empty() {
                self.expressions(node, cursor, &constraints);
            }
        }
    }

    /// Reports patterns that cannot be compiled, once per object.
    fn invalid_patterns(&mut self, node: &Node, constraints: &CompiledConstraints) {
        for (pattern, why) in &constraints.invalid_patterns {
            let message = format!("pattern `{pattern}` was not checked: {why}");
            if self.found.iter().all(|violation| violation.message != message) {
                let violation = self.report(&rules::schema_pattern::RULE, node.span(), message);
                violation.severity = Severity::Note;
                violation.help = Some("check the value manually, or use a server-side dry run".into());
            }
        }
    }

    /// Returns true if an empty string is treated as absent here. In lists it never is.
    fn is_empty_free(&self) -> bool {
        match self.steps.last() {
            Some(WalkStep::Field { name, parent }) => unenforced::accepts_empty_string(*parent, name),
            _ => false,
        }
    }

    /// Evaluates the CEL rules of a CRD for a value.
    #[cfg(feature = "cel")]
    fn expressions(&mut self, node: &'n Node, cursor: Cursor<'n>, constraints: &CompiledConstraints) {
        use super::cel::{CelOutcome, failed_rules};
        for failed in failed_rules(&constraints.rules, node, cursor) {
            let expression = &failed.rule.rule;
            let text = || failed.message.clone().unwrap_or_else(|| format!("failed rule: `{expression}`"));
            let (message, severity) = match failed.outcome {
                CelOutcome::True => continue,
                CelOutcome::False => (text(), Severity::Error),
                // The API server does not evaluate the rules of an invalid object.
                CelOutcome::MissingKey { .. } | CelOutcome::Failed { .. } if self.is_invalid() => continue,
                outcome @ (CelOutcome::MissingKey { .. } | CelOutcome::Failed { .. }) => {
                    let why = outcome.reason();
                    (format!("rule `{expression}` cannot be evaluated: {why}"), Severity::Error)
                }
                CelOutcome::Unknown(why) => {
                    (format!("rule `{expression}` was not checked: {why}"), Severity::Warning)
                }
            };
            self.report(&rules::cel::RULE, node.span(), message).severity = severity;
        }
    }

    /// Returns true if a violation was found that prevents the evaluation of rules: a missing value or a wrong type.
    #[cfg(feature = "cel")]
    fn is_invalid(&self) -> bool {
        let blocking = [&rules::missing_required::RULE, &rules::wrong_type::RULE, &rules::null_value::RULE];
        self.found.iter().any(|violation| blocking.contains(&violation.rule))
    }

    /// Reports the number of CEL rules that are not checked, since this build has no CEL.
    #[cfg(not(feature = "cel"))]
    fn expressions(&mut self, node: &'n Node, _: Cursor<'n>, constraints: &CompiledConstraints) {
        let count = constraints.own.rules.len();
        let message = format!("{count} CEL rules of the CRD were not checked: this build has no CEL support");
        self.report(&rules::cel::RULE, node.span(), message).severity = Severity::Warning;
    }

    fn map(&mut self, node: &'n Node, map: &'n Map, cursor: Cursor<'n>) {
        let keeps_all = self.keeps_all(cursor);
        for entry in map.entries() {
            let name = entry.key.text.as_str();
            let declared = cursor.declared(name);
            let below = declared.unwrap_or_else(|| cursor.additional());
            if declared.is_none() && !below.is_known() && !keeps_all {
                self.report_unknown_field(entry, cursor);
                continue;
            }
            let status = self.steps.is_empty() && name == "status" && self.decoding != Decoding::Types;
            self.in_status |= status;
            self.steps.push(WalkStep::Field { name, parent: cursor });
            self.field(&entry.value, below);
            self.steps.pop();
            self.in_status &= !status;
        }
        if !self.in_status {
            self.check_required(node, map, cursor);
            self.run_rules(node, map, cursor);
        }
    }

    /// Validates the metadata of a custom resource by the type that all objects share. The CRD may add constraints for
    /// names.
    fn field(&mut self, value: &'n Node, cursor: Cursor<'n>) {
        let outside = self.decoding;
        let is_metadata = || cursor.type_name().is_some_and(|name| name.ends_with(".meta.v1.ObjectMeta"));
        if self.decoding == Decoding::Structural && is_metadata() {
            self.check_metadata_names(value, cursor);
            self.decoding = Decoding::BuiltIn;
        }
        self.value(value, cursor);
        self.decoding = outside;
    }

    fn check_metadata_names(&mut self, metadata: &'n Node, cursor: Cursor<'n>) {
        let constraints = cursor.constraints_text().map(|text| self.options.compiled_constraints(text));
        for (name, constraints) in constraints.iter().flat_map(|constraints| &constraints.properties) {
            let Some(value) = metadata.get(name) else { continue };
            for (rule, message) in constraints.violations(value) {
                let path = self.path().field(name.clone());
                self.found.push(Violation::error(rule, path, value.span(), message));
            }
        }
    }

    /// Returns true if a map may have undeclared fields.
    fn keeps_all(&self, cursor: Cursor<'n>) -> bool {
        let is_open = || cursor.fields().next().is_none() && !cursor.additional().is_known();
        let free_fields = || {
            let text = cursor.constraints_text();
            text.is_some_and(|text| self.options.compiled_constraints(text).own.free_fields)
        };
        match self.decoding {
            _ if cursor.preserves_unknown_fields() => true,
            Decoding::BuiltIn => is_open(),
            Decoding::Types => is_open() || cursor.is_embedded_resource(),
            Decoding::Structural => free_fields(),
        }
    }

    /// Reports an unknown field. The help names the most similar field, the right parent or the known fields.
    fn report_unknown_field(&mut self, entry: &Entry, cursor: Cursor<'n>) {
        let known: Vec<&str> = cursor.fields().map(|(name, _)| name).collect();
        let name = entry.key.text.as_str();
        let help = did_you_mean(name, &known)
            .or_else(|| self.right_location(name, cursor))
            .or_else(|| self.known_fields_help(&known));
        let path = self.path().field(name);
        let message = format!("unknown field `{name}`");
        // A key that was created by a patch operation has no location, but its value has one.
        let was_created = self.decoding == Decoding::Types && entry.key.meta.span.is_none();
        let at = if was_created { entry.value.span().at_start() } else { entry.key.meta.span };
        let violation = Violation::error(&rules::unknown_field::RULE, path, at, message);
        self.found.push(violation.help(help));
    }

    /// Lists a few known fields, or names the command that lists many.
    fn known_fields_help(&self, known: &[&str]) -> Option<String> {
        if known.is_empty() {
            return None;
        }
        if known.len() <= MAX_LISTED_FIELDS {
            return Some(format!("known fields: {}", known.join(", ")));
        }
        let (kind, version) = (text_of(self.object, "kind"), text_of(self.object, "apiVersion"));
        let group = version.split_once('/').map_or("", |(group, _)| group);
        // `schema show` knows custom resources only with `--schema`.
        if kind.is_empty() || !is_built_in_group(group) {
            return None;
        }
        let kind = kind.to_lowercase();
        let fields = self.steps.iter().filter_map(|step| match step {
            WalkStep::Field { name, .. } => Some(*name),
            WalkStep::Entry { .. } => None,
        });
        let path: Vec<&str> = std::iter::once(kind.as_str()).chain(fields).collect();
        Some(format!("`kubectl smp schema show {}` lists the known fields", path.join(".")))
    }

    /// Suggests the right parent of a field.
    fn right_location(&self, name: &str, cursor: Cursor<'n>) -> Option<String> {
        if self.found.len() >= MAX_VIOLATIONS_WITH_LOCATION {
            return None;
        }
        let path = |depth: usize| match depth {
            0 => String::new(),
            _ => self.steps[..depth].iter().map(WalkStep::element).collect::<FieldPath>().to_string(),
        };
        let mut around = vec![(path(self.steps.len()), cursor)];
        around.extend(self.steps.iter().enumerate().rev().filter_map(|(depth, step)| match step {
            WalkStep::Field { parent, .. } => Some((path(depth), *parent)),
            WalkStep::Entry { .. } => None,
        }));
        let path = misplaced_field::find_declaring_path(&around, name)?;
        let location =
            if path.is_empty() { "at the top level of the object".into() } else { format!("under `{path}`") };
        Some(format!("`{name}` belongs {location}"))
    }

    fn check_required(&mut self, node: &Node, map: &Map, cursor: Cursor<'n>) {
        for name in cursor.required_fields() {
            let missing = match map.get(name) {
                None => true,
                Some(value) => self.decoding != Decoding::Structural && value.is_null(),
            };
            let is_enforced = match self.decoding {
                Decoding::Structural => true,
                Decoding::BuiltIn => !unenforced::is_optional(cursor, name),
                Decoding::Types => cursor.field(name).default().is_none(),
            };
            if missing && is_enforced {
                let path = self.path().field(name);
                let message = format!("missing required field `{name}`");
                let violation = Violation::error(&rules::missing_required::RULE, path, node.span(), message);
                self.found.push(violation);
            }
        }
    }

    /// Runs the checks of rules besides the schema, for built-in types.
    fn run_rules(&mut self, node: &'n Node, map: &'n Map, cursor: Cursor<'n>) {
        let Some(name) = cursor.type_name().filter(|_| self.decoding == Decoding::BuiltIn) else { return };
        let name = name.rsplit('.').next().unwrap_or_default();
        let is_whole = self.steps.is_empty();
        let violations =
            rules::check_type(name, Subject { node, map, object: self.object, is_object: is_whole });
        let before = self.found.len();
        self.violations(violations);
        // Spaces around an image are only rejected in Pods, which includes the Pods that a workload creates.
        if name == "Container" && self.object.get("kind").and_then(Node::as_str) != Some("Pod") {
            let image_violations =
                self.found[before..].iter_mut().filter(|violation| violation.rule == &rules::image::RULE);
            image_violations.for_each(|violation| violation.severity = Severity::Warning);
        }
        // The API server accepts a CronJob with any metadata in its job template, but rejects the Jobs. It does not
        // validate the selectors of metrics.
        if let [.., WalkStep::Field { name: "jobTemplate", .. }, WalkStep::Field { name: "metadata", .. }]
        | [.., WalkStep::Field { name: "metric", .. }, WalkStep::Field { name: "selector", .. }] =
            self.steps[..]
        {
            self.found[before..].iter_mut().for_each(|violation| violation.severity = Severity::Warning);
        }
    }

    fn violations(&mut self, violations: Vec<RuleViolation>) {
        for RuleViolation { rule, path, at, message, severity } in violations {
            let steps = self.path();
            let path = steps.elements().iter().chain(path.elements()).cloned().collect();
            self.found.push(Violation::error(rule, path, at, message).severity(severity));
        }
    }

    fn list(&mut self, list: &'n [Node], cursor: Cursor<'n>) {
        let element = cursor.element();
        for (index, entry) in list.iter().enumerate() {
            self.steps.push(WalkStep::Entry { index, entry, keys: cursor });
            self.value(entry, element);
            self.steps.pop();
        }
        let is_typed = self.decoding == Decoding::Types;
        match cursor.list_type() {
            _ if self.in_status => {}
            Some(ListType::Map) if !is_typed => self.equal_keys(list, cursor),
            Some(ListType::Set) => {
                for index in duplicate_entries(list).take(if is_typed { usize::MAX } else { 1 }) {
                    self.equal_entries(list, index, cursor, "duplicate value in a set".into());
                }
            }
            _ => {}
        }
    }

    /// Reports an entry that has the same list map keys as an earlier one.
    fn equal_keys(&mut self, list: &'n [Node], cursor: Cursor<'n>) {
        let element = cursor.element();
        let mut seen: FxHashMap<Vec<PathValue>, usize> = FxHashMap::default();
        for (index, entry) in list.iter().enumerate() {
            let Some(keys) = cursor
                .list_map_keys()
                .map(|name| key_value(entry, element, name))
                .collect::<Option<Vec<_>>>()
            else {
                continue;
            };
            if seen.insert(keys, index).is_some() {
                let names: Vec<String> = cursor.list_map_keys().map(|name| format!("`{name}`")).collect();
                let message = format!("an earlier entry has the same {}", names.join(" and "));
                self.equal_entries(list, index, cursor, message);
                return;
            }
        }
    }

    fn equal_entries(&mut self, list: &'n [Node], index: usize, cursor: Cursor<'n>, message: String) {
        let is_rejected = self.decoding == Decoding::Structural
            || lists::rejects_duplicate_keys(self.object, self.last_field(), (cursor, &list[index]));
        self.steps.push(WalkStep::Entry { index, entry: &list[index], keys: cursor });
        let violation = self.report(&rules::duplicate_key::RULE, list[index].span(), message);
        if !is_rejected {
            violation.severity = Severity::Warning;
            violation.help = Some("the API server accepts this, but server-side apply rejects it".into());
        }
        self.steps.pop();
    }

    fn last_field(&self) -> &'n str {
        let last = self.steps.iter().rev().find_map(|step| match step {
            WalkStep::Field { name, .. } => Some(*name),
            WalkStep::Entry { .. } => None,
        });
        last.unwrap_or_default()
    }
}

fn expected(cursor: Cursor<'_>) -> &'static str {
    match cursor.type_kind() {
        TypeKind::Object => "a map",
        TypeKind::Array => "a list",
        TypeKind::String => "a string",
        TypeKind::Integer => "an integer",
        TypeKind::Number => "a number",
        TypeKind::Boolean => "`true` or `false`",
        TypeKind::IntOrString => "an integer or a string",
        TypeKind::Any => "another value",
    }
}

/// Returns true if a quoted scalar would have the expected type without its quotes.
fn is_in_quotes(node: &Node, expected: &str) -> bool {
    node.as_str().is_some_and(|text| match expected {
        "an integer" => text.parse::<i64>().is_ok(),
        "a number" => text.parse::<f64>().is_ok(),
        _ => matches!(text, "true" | "false"),
    })
}

fn help_for_type(node: &Node, expected: &str) -> Option<String> {
    let is_scalar = matches!(node.value, Value::Scalar(_));
    match expected {
        "a string" if is_scalar => Some("quote the value".into()),
        "an integer" | "a number" | "`true` or `false`" if is_in_quotes(node, expected) => {
            Some("remove the quotes".into())
        }
        "an integer" if is_scalar => Some("use an integer, such as 2".into()),
        "a list" => Some("start each entry with a dash".into()),
        _ => None,
    }
}
