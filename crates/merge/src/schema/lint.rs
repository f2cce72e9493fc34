//! Lints the merge directives of a schema, for its authors.
//!
//! The readers already reject directives without a valid meaning. This module finds likely mistakes: keys that entries
//! do not have, and lists that clients merge in different ways.

use smol_str::SmolStr;

use super::directives::{Directives, ListType, TypeKind, split_keys};
use super::model::{Model, TypeDef};
use smp_text::diagnostic::{Code, Diagnostic};

/// Returns the findings for a schema, by definition and field. Errors are types or patches that the API server rejects.
/// Warnings are merges with results that are probably unexpected.
///
/// ```
/// use std::path::Path;
///
/// use strategic_merge_patch::schema::{lint, read_model};
/// use smp_text::source::SourceMap;
///
/// let schema = r#"{"definitions": {"Cron": {"type": "object", "properties": {"jobs": {"type": "array",
///     "items": {"type": "object", "properties": {"name": {"type": "string"}}},
///     "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]}}}}}"#;
/// let model = read_model(Path::new("cron.json"), schema.into(), &SourceMap::default())?;
/// let findings = lint(&model);
/// assert_eq!(findings[0].message(), "list entries have no field `id`, which is a key");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[must_use]
pub fn lint(model: &Model) -> Vec<Diagnostic> {
    let mut lint = Lint { model, definition: "", path: Vec::new(), findings: Vec::new() };
    for (name, definition) in &model.definitions {
        lint.definition = name;
        lint.visit(definition);
    }
    lint.findings
}

struct Lint<'m> {
    model: &'m Model,
    definition: &'m str,
    path: Vec<&'m str>,
    findings: Vec<Diagnostic>,
}

/// A list and the type of its entries.
#[derive(Clone, Copy)]
struct LintedList<'m> {
    directives: &'m Directives,
    element: &'m TypeDef,
}

impl<'m> Lint<'m> {
    fn visit(&mut self, def: &'m TypeDef) {
        self.check_types(def);
        if let Some(element) = def.element.as_deref().filter(|_| !def.directives.is_empty()) {
            self.check_list(LintedList { directives: &def.directives, element: self.resolved(element) });
        }
        for (name, field) in &def.fields {
            self.path.push(name);
            self.visit(field);
            self.path.pop();
        }
        for inner in [&def.element, &def.additional].into_iter().flatten() {
            self.path.push("[]");
            self.visit(inner);
            self.path.pop();
        }
    }

    /// Returns the definition to which a type refers, or the type itself if it is not a reference.
    fn resolved(&self, def: &'m TypeDef) -> &'m TypeDef {
        let referred = def.reference.as_ref().and_then(|name| self.model.definitions.get(name));
        referred.unwrap_or(def)
    }

    fn report(&mut self, finding: Diagnostic) {
        let path = self.path.join(".").replace(".[]", "[]");
        let finding = finding.resource(self.definition);
        self.findings.push(if path.is_empty() { finding } else { finding.field(path.as_str()) });
    }

    fn check_types(&mut self, def: &TypeDef) {
        let Directives { list_type, map_type, list_map_keys, patch_merge_key, .. } = &def.directives;
        let kind = def.kind;
        let is_other = |expected| kind != expected && kind != TypeKind::Any && def.reference.is_none();
        let is_for_lists = list_type.is_some() || !list_map_keys.is_empty() || patch_merge_key.is_some();
        if is_for_lists && is_other(TypeKind::Array) {
            let message = format!("list merge directives are invalid for a value of type {}", kind.name());
            self.report(match kind {
                // Kubernetes' own documents declare it for byte strings, which are lists in Go.
                TypeKind::String => Diagnostic::warning(Code::InvalidValue, message),
                _ => Diagnostic::error(Code::InvalidValue, message),
            });
        }
        if map_type.is_some() && is_other(TypeKind::Object) {
            let message = format!("x-kubernetes-map-type is invalid for a value of type {}", kind.name());
            self.report(Diagnostic::error(Code::InvalidValue, message));
        }
    }

    fn check_list(&mut self, list: LintedList<'m>) {
        let Directives { list_type, list_map_keys, patch_strategy, patch_merge_key, .. } = list.directives;
        let merge_keys = patch_merge_key.as_deref().map(split_keys).unwrap_or_default();
        let is_map = *list_type == Some(ListType::Map);
        let has_objects = list.element.kind == TypeKind::Object;
        if is_map && list_map_keys.is_empty() {
            self.report(
                Diagnostic::error(
                    Code::MissingField,
                    "a list of type map requires x-kubernetes-list-map-keys",
                )
                .help("list the fields that identify an entry"),
            );
        }
        if !is_map && !list_map_keys.is_empty() {
            let message = "x-kubernetes-list-map-keys has no effect unless x-kubernetes-list-type is map";
            self.report(Diagnostic::warning(Code::InvalidValue, message));
        }
        if patch_strategy.merge && merge_keys.is_empty() && has_objects {
            let message = "a list of objects with patch strategy merge requires x-kubernetes-patch-merge-key";
            self.report(
                Diagnostic::error(Code::MissingMergeKey, message)
                    .help("the API server rejects every strategic merge patch of this list: add a merge key"),
            );
        }
        if !merge_keys.is_empty() && !patch_strategy.merge {
            let message = "x-kubernetes-patch-merge-key has no effect unless x-kubernetes-patch-strategy includes merge";
            self.report(Diagnostic::warning(Code::InvalidValue, message));
        }
        let double = list_map_keys.iter().enumerate().find(|(i, key)| list_map_keys[..*i].contains(key));
        if let Some((_, key)) = double {
            let message = format!("duplicate key `{key}` in x-kubernetes-list-map-keys");
            self.report(Diagnostic::error(Code::InvalidValue, message));
        }
        self.check_keys(list, &merge_keys);
        self.check_agreement(list_map_keys, &merge_keys, list.directives);
    }

    /// Checks that each key is a scalar field that is required or has a default.
    fn check_keys(&mut self, list: LintedList<'m>, merge_keys: &[SmolStr]) {
        let recommended =
            list.directives.recommended_merge_key.as_deref().map(split_keys).unwrap_or_default();
        let map_keys = &list.directives.list_map_keys;
        let mut all: Vec<&SmolStr> = Vec::new();
        for key in map_keys.iter().chain(merge_keys).chain(&recommended) {
            if !all.contains(&key) {
                all.push(key);
            }
        }
        let is_described = !list.element.fields.is_empty();
        for key in all.into_iter().filter(|_| is_described) {
            let Some(field) = list.element.fields.get(key) else {
                let message = format!("list entries have no field `{key}`, which is a key");
                self.report(if has_object_entries(list.element) {
                    Diagnostic::warning(Code::UnknownField, message)
                } else {
                    Diagnostic::error(Code::UnknownField, message)
                });
                continue;
            };
            let field = self.resolved(field);
            if matches!(field.kind, TypeKind::Object | TypeKind::Array) {
                let message = format!("key `{key}` has type {}, but keys must be scalars", field.kind.name());
                self.report(Diagnostic::error(Code::WrongType, message));
            }
            let is_needed = map_keys.contains(key) || merge_keys.contains(key);
            let is_sure = field.default.is_some() || list.element.required.contains(key);
            if is_needed && !is_sure {
                let message = format!("key `{key}` is optional and has no default");
                self.report(
                    Diagnostic::warning(Code::MissingField, message)
                        .help("make it required, or give it a default"),
                );
            } else if !is_sure {
                let message = format!("recommended merge key `{key}` is optional and has no default");
                self.report(Diagnostic::warning(Code::MissingField, message).help(
                    "make it required, or give it a default: an entry without it never matches an entry that has it",
                ));
            }
        }
    }

    /// Compares the list map keys, which server-side apply uses, with the merge keys of strategic merge patches.
    fn check_agreement(&mut self, map_keys: &[SmolStr], merge_keys: &[SmolStr], directives: &Directives) {
        let lacking: Vec<&str> =
            map_keys.iter().filter(|key| !merge_keys.contains(key)).map(SmolStr::as_str).collect();
        let merges = directives.patch_strategy.merge && !merge_keys.is_empty() && !map_keys.is_empty();
        if !merges || lacking.is_empty() || directives.recommended_merge_key.is_some() {
            return;
        }
        let message = format!(
            "list map keys `{}` are not merge keys, so strategic merge patches cannot distinguish entries by them",
            lacking.join("`, `")
        );
        let mut recommended: Vec<&str> = merge_keys.iter().map(SmolStr::as_str).collect();
        recommended.extend(lacking);
        self.report(Diagnostic::warning(Code::MissingMergeKey, message).help(format!(
            "add `x-kubernetes-recommended-patch-merge-key: {}`; the default key must come first",
            recommended.join(",")
        )));
    }
}

/// Returns true if the list entries are whole objects. Such lists are not patched, and in Kubernetes 1.21 one of them
/// has a key that its objects lack.
fn has_object_entries(element: &TypeDef) -> bool {
    ["apiVersion", "kind", "metadata"].into_iter().all(|field| element.fields.contains_key(field))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::openapi::read;
    use smp_text::diagnostic::Severity;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    /// Returns the findings for a list with these directives. Its entries have the fields `port` (required), `protocol`
    /// (with a default), `name`, and `meta` (a map).
    fn findings(words: &str) -> Vec<String> {
        let text = format!(
            "definitions: {{A: {{type: object, properties: {{l: {{type: array, items: {{$ref: '#/definitions/P'}}, \
             {words}}}}}}}, P: {{type: object, required: [port], properties: {{port: {{type: integer}}, name: {{type: \
             string}}, meta: {{type: object}}, protocol: {{type: string, default: TCP}}}}}}}}"
        );
        let sources = SourceMap::default();
        let id = sources.add("schema.yaml", text);
        let node = parse_one(&sources, id, ParseOptions::default()).expect("test text");
        let findings = lint(&read(&node).expect("readable"));

        let show = |finding: &Diagnostic| {
            let severity = if finding.severity() == Severity::Error { "E" } else { "W" };
            format!("{severity} {}", finding.to_string().trim_start_matches("A: "))
        };
        findings.iter().map(show).collect()
    }

    #[test]
    fn misleading_merge_directives_are_reported() {
        let (list, keys) = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys");
        let merge = "x-kubernetes-patch-strategy: merge";
        let key = "x-kubernetes-patch-merge-key";
        let table = [
            (format!("{list}: map, {keys}: [port, protocol]"), vec![]),
            (format!("{list}: map"), vec!["E l: a list of type map requires x-kubernetes-list-map-keys"]),
            (
                format!("{keys}: [port]"),
                vec!["W l: x-kubernetes-list-map-keys has no effect unless x-kubernetes-list-type is map"],
            ),
            (
                merge.to_string(),
                vec![
                    "E l: a list of objects with patch strategy merge requires x-kubernetes-patch-merge-key",
                ],
            ),
            (
                format!("{list}: map, {keys}: [id]"),
                vec!["E l: list entries have no field `id`, which is a key"],
            ),
            (
                format!("{list}: map, {keys}: [meta]"),
                vec![
                    "E l: key `meta` has type object, but keys must be scalars",
                    "W l: key `meta` is optional and has no default",
                ],
            ),
            (format!("{merge}, {key}: 'port,name'"), vec!["W l: key `name` is optional and has no default"]),
            (
                format!("{list}: map, {keys}: [port, protocol], {merge}, {key}: port"),
                vec![
                    "W l: list map keys `protocol` are not merge keys, so strategic merge patches cannot distinguish entries by them",
                ],
            ),
            (
                format!(
                    "{list}: map, {keys}: [port, protocol], {merge}, {key}: port, \
                     x-kubernetes-recommended-patch-merge-key: 'port,protocol'"
                ),
                vec![],
            ),
            (
                format!("{merge}, {key}: port, x-kubernetes-recommended-patch-merge-key: 'port,name'"),
                vec!["W l: recommended merge key `name` is optional and has no default"],
            ),
            (
                format!("{merge}, {key}: port, x-kubernetes-recommended-patch-merge-key: 'port,odd'"),
                vec!["E l: list entries have no field `odd`, which is a key"],
            ),
            (
                format!("{list}: map, {keys}: [port, port]"),
                vec!["E l: duplicate key `port` in x-kubernetes-list-map-keys"],
            ),
            (
                format!("{key}: port"),
                vec![
                    "W l: x-kubernetes-patch-merge-key has no effect unless x-kubernetes-patch-strategy includes merge",
                ],
            ),
            (
                "x-kubernetes-map-type: atomic".to_string(),
                vec!["E l: x-kubernetes-map-type is invalid for a value of type array"],
            ),
        ];
        for (words, want) in table {
            assert_eq!(findings(&words), want, "{words}");
        }
    }
}
