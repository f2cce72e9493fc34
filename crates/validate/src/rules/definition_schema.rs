use super::prelude::*;
use smp_text::gocompat::regexp;
use smp_text::source::Span;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "definition-schema",
        meaning: "The schema of a CustomResourceDefinition is not structural.",
        remedy: "Give each field a type, and use only the keywords that the API server supports.",
    },
    why: "The API server prunes and validates by this schema, so it must know the type of each field.",
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

/// What has no meaning in a definition, or takes a server too long.
const REFUSED: [&str; 3] = ["$ref", "dependencies", "patternProperties"];

/// Keywords whose schemas only say more of the values that the schema around them describes.
const ALTERNATIVES: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// What such schemas do not say.
const OUTSIDE_ALONE: [&str; 5] = ["type", "title", "description", "default", "additionalProperties"];

fn schema(of: Subject<'_>, faults: &mut Faults) {
    // Those of v1beta1 might be without.
    if of.object.get("apiVersion").and_then(Node::as_str) != Some("apiextensions.k8s.io/v1") {
        return;
    }
    let root =
        of.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).filter(|root| !root.is_null());
    let Some(root) = root else {
        let path = [Field("schema"), Field("openAPIV3Schema")];
        let message = "the schema of this version is missing";
        return faults.below(&path, of.place("schema"), message);
    };
    let path = vec![Field("schema"), Field("openAPIV3Schema")];
    let mut walk = SchemaOfDefinition { path, faults };
    if root.get("type").and_then(Node::as_str).is_some_and(|name| TYPES.contains(&name) && name != "object") {
        walk.tell(&["type"], root.span(), "an object has the type `object`");
    }
    walk.structural(root);
}

/// A walk over the schemas of a definition.
struct SchemaOfDefinition<'n, 'f> {
    path: Vec<Below<'n>>,
    faults: &'f mut Faults,
}

/// Returns the string of a keyword.
fn word<'n>(schema: &'n Node, keyword: &str) -> Option<&'n str> {
    schema.get(keyword).and_then(Node::as_str)
}

fn is_there(schema: &Node, keyword: &str) -> bool {
    schema.get(keyword).is_some_and(|value| !value.is_null() && value.as_str() != Some(""))
}

impl<'n> SchemaOfDefinition<'n, '_> {
    fn tell(&mut self, below: &[&'n str], at: Span, message: impl Into<String>) {
        let path: Vec<Below<'n>> =
            self.path.iter().copied().chain(below.iter().map(|name| Field(name))).collect();
        self.faults.below(&path, at, message);
    }

    /// Of a keyword of a schema.
    fn keyword(&mut self, schema: &'n Node, keyword: &'n str, message: impl Into<String>) {
        let at = schema.get(keyword).map_or(schema.span(), Node::span);
        self.tell(&[keyword], at, message);
    }

    fn within(&mut self, steps: &[Below<'n>], work: impl FnOnce(&mut Self)) {
        self.path.extend(steps);
        work(self);
        self.path.truncate(self.path.len() - steps.len());
    }

    /// A schema that says what a value is. What is neither a map nor null is told elsewhere.
    fn structural(&mut self, schema: &'n Node) {
        if schema.as_map().is_none() && !schema.is_null() {
            return;
        }
        self.type_name(schema);
        self.map_type(schema);
        self.list_type(schema);
        let is_empty = |value: &Node| value.is_null() || value.as_map().is_some_and(Map::is_empty);
        let told = REFUSED.into_iter().filter(|keyword| schema.get(keyword).is_some_and(|v| !is_empty(v)));
        for keyword in told {
            self.keyword(schema, keyword, format!("a definition has no `{keyword}`"));
        }
        if is_true(schema.get("uniqueItems")) {
            let message = "this takes too long to check: `x-kubernetes-list-type: set` says the same";
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
                let message = format!("there is no such type: it is one of `{}`", TYPES.join("`, `"));
                self.keyword(schema, "type", message);
            }
            Some(_) => {}
            None if is_open || is_there(schema, "type") => {}
            None => self.keyword(schema, "type", "the type is missing"),
        }
        if name == Some("array") && schema.get("items").is_none_or(Node::is_null) {
            self.keyword(schema, "items", "a list needs the schema of its `items`");
        }
    }

    fn map_type(&mut self, schema: &'n Node) {
        const KEYWORD: &str = "x-kubernetes-map-type";
        match word(schema, KEYWORD) {
            Some("atomic" | "granular") if word(schema, "type") != Some("object") => {
                self.keyword(schema, KEYWORD, "only what has the type `object` has this");
            }
            Some("atomic" | "granular") | None => {}
            Some(_) => self.keyword(schema, KEYWORD, "this must be one of `atomic`, `granular`"),
        }
    }

    fn list_type(&mut self, schema: &'n Node) {
        const KEYWORD: &str = "x-kubernetes-list-type";
        const KEYS: &str = "x-kubernetes-list-map-keys";
        let has_keys = schema.get(KEYS).and_then(Node::as_list).is_some_and(|keys| !keys.is_empty());
        match word(schema, KEYWORD) {
            Some("atomic" | "set" | "map") if word(schema, "type") != Some("array") => {
                self.keyword(schema, KEYWORD, "only what has the type `array` has this");
            }
            Some("map") if !has_keys => {
                self.keyword(schema, KEYS, format!("`{KEYWORD}: map` needs the keys of its entries"));
            }
            Some("map") => self.keys(schema, KEYS),
            Some("atomic" | "set") | None if has_keys => {
                self.keyword(schema, KEYS, format!("keys need `{KEYWORD}: map`"));
            }
            Some("atomic" | "set") | None => {}
            Some(_) => self.keyword(schema, KEYWORD, "this must be one of `atomic`, `set`, `map`"),
        }
    }

    /// Each entry of a list has the fields that are its keys.
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
                None => "the entries have no such field",
                Some(_) if !is_sure => "a field that is a key must be in `required`, or have a `default`",
                Some(_) => continue,
            };
            self.within(&[Field(keyword), Entry(index)], |walk| {
                walk.tell(&[], key.span(), message);
            });
        }
    }

    fn pattern(&mut self, schema: &'n Node) {
        if let Some(why) = word(schema, "pattern").and_then(regexp::refusal) {
            self.keyword(
                schema,
                "pattern",
                format!("this is no regular expression as servers read it: {why}"),
            );
        }
    }

    /// The schemas of fields and entries.
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
            let message = "there are `properties`, which go with no other fields";
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

    /// A schema that says more of a value. That of numbers or texts has the two types in its alternatives.
    fn alternative(&mut self, schema: &'n Node, is_number_or_text: bool) {
        let told = OUTSIDE_ALONE.into_iter().filter(|keyword| is_there(schema, keyword));
        for keyword in told.filter(|keyword| !is_number_or_text || *keyword != "type") {
            self.keyword(
                schema,
                keyword,
                format!("`{keyword}` stands in no alternative, but in the schema around"),
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
