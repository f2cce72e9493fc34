use super::prelude::*;
use smp_text::gocompat::regexp;
use smp_text::source::Span;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-schema",
        meaning: "The schema of a CustomResourceDefinition is not structural.",
        remedy: "Set the type of each field, and use only keywords that the API server supports.",
    },
    why: "The API server prunes unknown fields and validates objects by this schema, so it must know the type of \
          each field. Without the CRD, custom resources of its kind cannot be applied.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema",
    example: "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {properties: {size: {type: integer}}}}}}}
",
    fix: ("{properties:", "{type: object, properties:"),
    checks: &[
    ("CustomResourceDefinitionVersion", Check::Type(schema)),
    ],
    ..ValidationRule::DEFAULT
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords that the API server rejects, because they have no meaning in a CRD or are too expensive.
const REFUSED: [&str; 3] = ["$ref", "dependencies", "patternProperties"];

/// Keywords whose schemas only add constraints to the surrounding schema.
const ALTERNATIVES: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// Keywords that are not allowed in the schemas of `ALTERNATIVES`.
const OUTSIDE_ALONE: [&str; 5] = ["type", "title", "description", "default", "additionalProperties"];

fn schema(subject: Subject<'_>, violations: &mut RuleViolations) {
    // In v1beta1 the schema is optional.
    if subject.object.get("apiVersion").and_then(Node::as_str) != Some("apiextensions.k8s.io/v1") {
        return;
    }
    let root =
        subject.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).filter(|root| !root.is_null());
    let Some(root) = root else {
        let path = [Field("schema"), Field("openAPIV3Schema")];
        let message = "schemas are required for each version";
        return violations.report_at(&path, subject.location("schema"), message);
    };
    let path = vec![Field("schema"), Field("openAPIV3Schema")];
    let mut walk = SchemaOfDefinition { path, violations };
    if root.get("type").and_then(Node::as_str).is_some_and(|name| TYPES.contains(&name) && name != "object") {
        walk.report(&["type"], root.span(), "must be `object` at the root");
    }
    walk.structural(root);
}

/// The traversal of the schemas of a CRD.
struct SchemaOfDefinition<'n, 'f> {
    path: Vec<PathStep<'n>>,
    violations: &'f mut RuleViolations,
}

/// Returns the string of a keyword.
fn word<'n>(schema: &'n Node, keyword: &str) -> Option<&'n str> {
    schema.get(keyword).and_then(Node::as_str)
}

fn is_there(schema: &Node, keyword: &str) -> bool {
    schema.get(keyword).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
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
        let is_empty = |value: &Node| value.is_null() || value.as_map().is_some_and(Map::is_empty);
        let forbidden =
            REFUSED.into_iter().filter(|keyword| schema.get(keyword).is_some_and(|v| !is_empty(v)));
        for keyword in forbidden {
            self.keyword(schema, keyword, format!("`{keyword}` is not supported in CRDs"));
        }
        if is_true(schema.get("uniqueItems")) {
            let message = "`uniqueItems` cannot be true: use `x-kubernetes-list-type: set`";
            self.keyword(schema, "uniqueItems", message);
        }
        self.pattern(schema);
        self.below(schema);
        let is_number_or_text = is_true(schema.get("x-kubernetes-int-or-string"));
        self.alternatives(schema, is_number_or_text);
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
            None if is_open || is_there(schema, "type") => {}
            None => self.keyword(schema, "type", "`type` is required for each field"),
        }
        if name == Some("array") && schema.get("items").is_none_or(Node::is_null) {
            self.keyword(schema, "items", "`items` is required if the type is `array`");
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

    fn list_type(&mut self, schema: &'n Node) {
        const KEYWORD: &str = "x-kubernetes-list-type";
        const KEYS: &str = "x-kubernetes-list-map-keys";
        let has_keys = schema.get(KEYS).and_then(Node::as_list).is_some_and(|keys| !keys.is_empty());
        match word(schema, KEYWORD) {
            Some("atomic" | "set" | "map") if word(schema, "type") != Some("array") => {
                self.keyword(schema, KEYWORD, "may be set only if the type is `array`");
            }
            Some("map") if !has_keys => {
                self.keyword(schema, KEYS, format!("is required if `{KEYWORD}` is `map`"));
            }
            Some("map") => self.keys(schema, KEYS),
            Some("atomic" | "set") | None if has_keys => {
                self.keyword(schema, KEYS, format!("may be set only if `{KEYWORD}` is `map`"));
            }
            Some("atomic" | "set") | None => {}
            Some(_) => self.keyword(schema, KEYWORD, "must be one of `atomic`, `set`, `map`"),
        }
    }

    /// Checks that the list map keys are fields of each entry, and that each is required or has a default.
    fn keys(&mut self, schema: &'n Node, keyword: &'n str) {
        let Some(items) = schema.get("items") else { return };
        let required = items.get("required").and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
        let keys = schema.get(keyword).and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
        for (index, key) in keys.iter().enumerate() {
            let Some(name) = key.as_str() else { continue };
            let field = items.get_path(&["properties", name]);
            let is_sure = required.iter().any(|field| field.as_str() == Some(name))
                || field.and_then(|field| field.get("default")).is_some_and(|default| !default.is_null());
            let message = match field {
                None => "entries of the list have no such field",
                Some(_) if !is_sure => "a list map key must be in `required` or have a `default`",
                Some(_) => continue,
            };
            self.within(&[Field(keyword), Entry(index)], |walk| {
                walk.report(&[], key.span(), message);
            });
        }
    }

    fn pattern(&mut self, schema: &'n Node) {
        if let Some(why) = word(schema, "pattern").and_then(regexp::rejection_reason) {
            self.keyword(schema, "pattern", format!("is not a valid regular expression: {why}"));
        }
    }

    /// Checks the schemas of fields and entries of a schema.
    fn below(&mut self, schema: &'n Node) {
        let fields = schema.get("properties").and_then(Node::as_map);
        for (name, field) in fields.into_iter().flat_map(Map::iter) {
            let steps = [Field("properties"), Field(name)];
            self.within(&steps, |walk| walk.structural(field));
        }
        for keyword in ["items", "additionalProperties"] {
            let Some(inner) = schema.get(keyword).filter(|inner| !inner.is_null()) else { continue };
            self.within(&[Field(keyword)], |walk| walk.structural(inner));
        }
        let all = schema.get("additionalProperties").filter(|all| !all.is_null() && !is_true(Some(all)));
        if all.is_some() && fields.is_some_and(|fields| !fields.is_empty()) {
            let message = "`additionalProperties` and `properties` are mutually exclusive";
            self.keyword(schema, "additionalProperties", message);
        }
    }

    fn alternatives(&mut self, schema: &'n Node, is_number_or_text: bool) {
        for keyword in ALTERNATIVES {
            let Some(value) = schema.get(keyword) else { continue };
            match value.as_list() {
                Some(list) => {
                    for (index, inner) in list.iter().enumerate() {
                        let steps = [Field(keyword), Entry(index)];
                        self.within(&steps, |walk| walk.alternative(inner, is_number_or_text));
                    }
                }
                None => {
                    self.within(&[Field(keyword)], |walk| walk.alternative(value, is_number_or_text));
                }
            }
        }
    }

    /// Checks a schema that only adds constraints. For `x-kubernetes-int-or-string` the types `integer` and `string`
    /// are allowed in it.
    fn alternative(&mut self, schema: &'n Node, is_number_or_text: bool) {
        let forbidden = OUTSIDE_ALONE.into_iter().filter(|keyword| is_there(schema, keyword));
        for keyword in forbidden.filter(|keyword| !is_number_or_text || *keyword != "type") {
            self.keyword(
                schema,
                keyword,
                format!("`{keyword}` is not allowed in an alternative: move it to the surrounding schema"),
            );
        }
        self.pattern(schema);
        let fields = schema.get("properties").and_then(Node::as_map);
        for (name, field) in fields.into_iter().flat_map(Map::iter) {
            let steps = [Field("properties"), Field(name)];
            self.within(&steps, |walk| walk.alternative(field, false));
        }
        if let Some(items) = schema.get("items") {
            self.within(&[Field("items")], |walk| walk.alternative(items, false));
        }
        self.alternatives(schema, is_number_or_text);
    }
}
