mod alternatives;
mod lists;
mod paths;
mod root;

use super::cel;
use super::prelude::*;
use crate::names::names_key;
use smp_text::gocompat::regexp;
use smp_text::source::Span;

pub(super) use paths::schema_at;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-schema",
        meaning: "The schema of a CustomResourceDefinition is not structural.",
        remedy: "Set the type of each field, and use only keywords that the API server supports.",
    },
    why: "The API server prunes unknown fields and validates objects by this schema, so it must know the type of \
          each field. Without the CRD, custom resources of its kind cannot be applied.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema",
    example: definition!("  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {properties: {size: {type: integer}}}}}}}
"),
    fix: ("{properties:", "{type: object, properties:"),
    checks: &[
    ("CustomResourceDefinitionSpec", Check::Type(unknown_fields)),
    ("CustomResourceDefinitionVersion", Check::Type(schema)),
    ],
    ..ValidationRule::DEFAULT
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The path of a schema in its version.
const ROOT: [&str; 2] = ["schema", "openAPIV3Schema"];

/// Keywords that the API server rejects, because they have no meaning in a CRD or are too expensive.
const REFUSED: [&str; 6] =
    ["$ref", "additionalItems", "definitions", "dependencies", "id", "patternProperties"];

/// In `v1beta1` the schema is optional, and need not be structural.
fn is_v1(subject: Subject<'_>) -> bool {
    text_of(subject.object, "apiVersion") == "apiextensions.k8s.io/v1"
}

fn unknown_fields(subject: Subject<'_>, violations: &mut RuleViolations) {
    if is_v1(subject) && subject.is_true("preserveUnknownFields") {
        let message = "must not be true: set `x-kubernetes-preserve-unknown-fields` in the schemas instead";
        violations.report_field(subject, "preserveUnknownFields", message);
    }
}

fn schema(subject: Subject<'_>, violations: &mut RuleViolations) {
    if !is_v1(subject) {
        return;
    }
    let root = subject.node.get_path(&ROOT).filter(|root| !root.is_null());
    let Some(root) = root else {
        let path = ROOT.map(Field);
        let message = "schemas are required for each version";
        return violations.report_at(&path, subject.location("schema"), message);
    };
    let path = ROOT.map(Field).into();
    let mut walk = SchemaOfDefinition { path, violations, is_correlatable: true };
    let has_status = subject.get("subresources").is_some_and(|all| all.get("status").is_some());
    walk.root(root, has_status);
    walk.structural(root);
}

/// The traversal of the schemas of a CRD.
struct SchemaOfDefinition<'n, 'f> {
    path: Vec<PathStep<'n>>,
    violations: &'f mut RuleViolations,
    /// True if the API server can find the old value of each value that the schema describes.
    is_correlatable: bool,
}

/// The schema around an alternative.
#[derive(Clone, Copy)]
struct Outside<'n> {
    /// True for `x-kubernetes-int-or-string`, whose alternatives have the types `integer` and `string`.
    is_number_or_text: bool,
    /// The schema of the same value, in which all fields of the alternative must be declared. The API server only
    /// requires that of the alternatives at the root.
    declared: Option<&'n Node>,
}

/// Returns the string of a keyword.
pub(super) fn word<'n>(schema: &'n Node, keyword: &str) -> Option<&'n str> {
    schema.get(keyword).and_then(Node::as_str)
}

/// Returns true if a keyword has a value other than null, false, and an empty text, list or map.
fn is_set(schema: &Node, keyword: &str) -> bool {
    let is_empty = |value: &Node| match (value.as_list(), value.as_map()) {
        (Some(list), _) => list.is_empty(),
        (_, Some(map)) => map.is_empty(),
        _ => value.as_str() == Some("") || matches!(value.resolve(), Some(Resolved::Bool(false))),
    };
    schema.get(keyword).is_some_and(|value| !value.is_null() && !is_empty(value))
}

/// Returns the schemas of the fields, by name.
fn fields(schema: &Node) -> impl Iterator<Item = (&str, &Node)> {
    schema.get("properties").and_then(Node::as_map).into_iter().flat_map(Map::iter)
}

impl<'n> SchemaOfDefinition<'n, '_> {
    fn report(&mut self, below: &[&'n str], at: Span, message: impl Into<String>) {
        let path: Vec<PathStep<'n>> =
            self.path.iter().copied().chain(below.iter().map(|name| Field(name))).collect();
        self.violations.report_at(&path, at, message);
    }

    /// Reports a keyword of a schema.
    fn keyword(&mut self, schema: &'n Node, keyword: &'n str, message: impl Into<String>) {
        let at = schema.get(keyword).map_or(schema.span(), Node::span);
        self.report(&[keyword], at, message);
    }

    fn within(&mut self, steps: &[PathStep<'n>], work: impl FnOnce(&mut Self)) {
        self.path.extend(steps);
        work(self);
        self.path.truncate(self.path.len() - steps.len());
    }

    /// Checks a schema that describes a value. A schema that is neither a map nor null is reported by another rule.
    fn structural(&mut self, schema: &'n Node) {
        if schema.as_map().is_none() && !schema.is_null() {
            return;
        }
        self.type_name(schema);
        self.map_type(schema);
        self.list_type(schema);
        self.extensions(schema);
        for keyword in REFUSED.into_iter().filter(|keyword| is_set(schema, keyword)) {
            self.keyword(schema, keyword, format!("`{keyword}` is not supported in CRDs"));
        }
        if is_true(schema.get("uniqueItems")) {
            let message = "`uniqueItems` cannot be true: use `x-kubernetes-list-type: set`";
            self.keyword(schema, "uniqueItems", message);
        }
        self.pattern(schema);
        self.expressions(schema);
        self.below(schema);
        let is_root = self.path.len() == ROOT.len();
        let is_number_or_text = is_true(schema.get("x-kubernetes-int-or-string"));
        self.alternatives(schema, Outside { is_number_or_text, declared: is_root.then_some(schema) });
    }

    fn type_name(&mut self, schema: &'n Node) {
        let is_open = ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string"]
            .into_iter()
            .any(|keyword| is_true(schema.get(keyword)));
        let name = word(schema, "type").filter(|name| !name.is_empty());
        match name {
            Some(name) if !TYPES.contains(&name) => {
                let message = format!("unknown type: must be one of `{}`", TYPES.join("`, `"));
                self.keyword(schema, "type", message);
            }
            Some(_) => {}
            None if is_open || is_set(schema, "type") => {}
            None => self.keyword(schema, "type", "`type` is required for each field"),
        }
        match schema.get("items").filter(|items| !items.is_null()) {
            None if name == Some("array") => {
                self.keyword(schema, "items", "`items` is required if the type is `array`");
            }
            Some(items) if items.as_list().is_some() => {
                self.keyword(schema, "items", "must be a schema, not a list of schemas");
            }
            _ => {}
        }
    }

    fn map_type(&mut self, schema: &'n Node) {
        const KEYWORD: &str = "x-kubernetes-map-type";
        match word(schema, KEYWORD) {
            Some("atomic" | "granular") if word(schema, "type") != Some("object") => {
                self.keyword(schema, KEYWORD, "may be set only if the type is `object`");
            }
            Some("atomic" | "granular") | None => {}
            Some(_) => self.keyword(schema, KEYWORD, "must be one of `atomic`, `granular`"),
        }
    }

    /// Checks the extensions that allow undeclared fields or several types.
    fn extensions(&mut self, schema: &'n Node) {
        const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
        const EMBEDDED: &str = "x-kubernetes-embedded-resource";
        let preserves = is_true(schema.get(PRESERVE));
        if schema.get(PRESERVE).is_some_and(|value| !value.is_null()) && !preserves {
            self.keyword(schema, PRESERVE, "must be `true` or absent");
        }
        if is_true(schema.get("x-kubernetes-int-or-string")) {
            for keyword in [PRESERVE, EMBEDDED].into_iter().filter(|keyword| is_true(schema.get(keyword))) {
                self.keyword(schema, keyword, "may not be set together with `x-kubernetes-int-or-string`");
            }
        }
        if !is_true(schema.get(EMBEDDED)) {
            return;
        }
        if word(schema, "type") != Some("object") {
            self.keyword(schema, EMBEDDED, "may be set only if the type is `object`");
        }
        if schema.get("additionalProperties").is_some_and(|all| !all.is_null()) {
            self.keyword(
                schema,
                "additionalProperties",
                format!("may not be set together with `{EMBEDDED}`"),
            );
        }
        if !preserves && !is_set(schema, "properties") {
            let message = format!("requires `properties` or `{PRESERVE}`");
            self.keyword(schema, EMBEDDED, message);
        }
    }

    /// Checks what surrounds the expressions of `x-kubernetes-validations`.
    fn expressions(&mut self, schema: &'n Node) {
        const KEYWORD: &str = "x-kubernetes-validations";
        let has_lines = |text: &str| text.trim().contains(['\n', '\r']);
        let rules = list_of(schema, KEYWORD);
        for (index, rule) in rules.iter().enumerate() {
            let (text, message) = (text_of(rule, "rule"), text_of(rule, "message"));
            let path = text_of(rule, "fieldPath");
            let uses_old = names_key(text, "oldSelf");
            let problems = [
                ("message", has_lines(message), "must be a single line"),
                (
                    "message",
                    has_lines(text) && message.is_empty(),
                    "is required if the rule has several lines",
                ),
                ("message", !message.is_empty() && message.trim().is_empty(), "must not be blank"),
                (
                    "fieldPath",
                    !path.is_empty() && schema_at(schema, path, true).is_none(),
                    "must be the path of a field in the schema",
                ),
                (
                    "rule",
                    uses_old && !self.is_correlatable,
                    "cannot use `oldSelf`: entries have no old values here",
                ),
                (
                    "optionalOldSelf",
                    !uses_old && rule.get("optionalOldSelf").is_some_and(|value| !value.is_null()),
                    "may be set only if the rule uses `oldSelf`",
                ),
            ];
            for (field, _, message) in problems.into_iter().filter(|(_, applies, _)| *applies) {
                self.within(&[Field(KEYWORD), Entry(index)], |walk| walk.keyword(rule, field, message));
            }
            self.within(&[Field(KEYWORD), Entry(index)], |walk| walk.selected_fields(rule, schema));
        }
    }

    /// Checks that the expressions of a rule select only declared fields.
    fn selected_fields(&mut self, rule: &'n Node, schema: &'n Node) {
        let is_root = self.path.len() == ROOT.len() + 2;
        let outside = std::mem::replace(&mut self.violations.rule, &cel::RULE);
        for keyword in ["rule", "messageExpression"] {
            if let Some(field) = cel::undeclared_field(text_of(rule, keyword), schema, is_root) {
                self.keyword(rule, keyword, format!("selects `{field}`, which the schema does not declare"));
            }
        }
        self.violations.rule = outside;
    }

    fn pattern(&mut self, schema: &'n Node) {
        if let Some(why) = word(schema, "pattern").and_then(regexp::rejection_reason) {
            self.keyword(schema, "pattern", format!("is not a valid regular expression: {why}"));
        }
    }

    /// Checks the schemas of fields and entries of a schema.
    fn below(&mut self, schema: &'n Node) {
        for (name, field) in fields(schema) {
            self.within(&[Field("properties"), Field(name)], |walk| walk.structural(field));
        }
        if let Some(all) = schema.get("additionalProperties").filter(|all| !all.is_null()) {
            self.within(&[Field("additionalProperties")], |walk| walk.structural(all));
            if !is_true(Some(all)) && is_set(schema, "properties") {
                let message = "`additionalProperties` and `properties` are mutually exclusive";
                self.keyword(schema, "additionalProperties", message);
            }
        }
        if let Some(items) = schema.get("items").filter(|items| !items.is_null()) {
            let outside = self.is_correlatable;
            self.is_correlatable &= word(schema, "x-kubernetes-list-type") == Some("map");
            self.within(&[Field("items")], |walk| walk.structural(items));
            self.is_correlatable = outside;
        }
    }
}
