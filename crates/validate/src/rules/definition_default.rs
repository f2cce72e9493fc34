use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::Severity;

use super::prelude::*;
use crate::walk::default_violations;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "crd-default",
        meaning: "A default in a CustomResourceDefinition does not match its schema.",
        remedy: "Change the default so that it is valid by the schema next to it.",
    },
    why: "The API server adds defaults to objects without the field, so it only accepts defaults that an object \
          could have. A default must also contain the required fields below it, even those with their own default.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting",
    example: definition!("  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {size: {type: integer, default: small}}}}}
"),
    fix: ("small", "3"),
    checks: &[("CustomResourceDefinition", Check::Type(defaults))],
    ..ValidationRule::DEFAULT
};

fn defaults(subject: Subject<'_>, violations: &mut RuleViolations) {
    let spec = subject.get("spec");
    let versions = spec.and_then(|spec| spec.get("versions")).and_then(Node::as_list);
    let schemas: Vec<(usize, &str, &Node)> = versions
        .into_iter()
        .flatten()
        .enumerate()
        .filter_map(|(index, version)| {
            let schema = version.get_path(&["schema", "openAPIV3Schema"])?;
            has_default(schema).then(|| (index, text_of(version, "name"), schema))
        })
        .collect();
    let Some(spec) = spec.filter(|_| !schemas.is_empty()) else { return };
    // A schema that cannot be compiled violates another rule.
    let definition = subject.node.to_json_value();
    let Ok(compiled) = Schema::default().with_crds(std::slice::from_ref(&definition)) else { return };
    let kind = spec.get_path(&["names", "kind"]).and_then(Node::as_str).unwrap_or_default();
    for (index, version, schema) in schemas {
        let gvk = Gvk { group: text_of(spec, "group").into(), version: version.into(), kind: kind.into() };
        let Some(cursor) = compiled.kind(&gvk) else { continue };
        let path = ["spec", "versions"].map(Field).into_iter().chain([Entry(index)]);
        let path = path.chain(["schema", "openAPIV3Schema"].map(Field)).collect();
        Defaults { path, violations }.check(schema, cursor);
    }
}

/// Returns true if a schema contains a default.
fn has_default(schema: &Node) -> bool {
    schema.get("default").is_some_and(|default| !default.is_null())
        || schema.get("items").is_some_and(has_default)
        || schema
            .get("properties")
            .and_then(Node::as_map)
            .is_some_and(|fields| fields.iter().any(|(_, field)| has_default(field)))
}

/// The traversal of a schema and its compiled form.
struct Defaults<'n, 'f> {
    path: Vec<PathStep<'n>>,
    violations: &'f mut RuleViolations,
}

impl<'n> Defaults<'n, '_> {
    fn check(&mut self, schema: &'n Node, cursor: Cursor<'_>) {
        if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
            let found = default_violations(default, cursor);
            for violation in found.into_iter().filter(|violation| violation.severity == Severity::Error) {
                let at = self.path.iter().copied().chain([Field("default")]);
                let below = violation.path.elements().iter().cloned();
                let message = format!("the default does not match its schema: {}", violation.message);
                self.violations.report_below(at, below, violation.at, message);
            }
        }
        if let Some(items) = schema.get("items") {
            self.within(&[Field("items")], |walk| walk.check(items, cursor.element()));
        }
        let is_root = self.path.last().is_some_and(|step| matches!(step, Field("openAPIV3Schema")));
        for (name, field) in schema.get("properties").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
            // Defaults of the metadata are not allowed at all.
            if is_root && ["apiVersion", "kind", "metadata"].contains(&name) {
                continue;
            }
            let Some(below) = cursor.declared(name) else { continue };
            self.within(&[Field("properties"), Field(name)], |walk| walk.check(field, below));
        }
    }

    fn within(&mut self, steps: &[PathStep<'n>], work: impl FnOnce(&mut Self)) {
        self.path.extend(steps);
        work(self);
        self.path.truncate(self.path.len() - steps.len());
    }
}
