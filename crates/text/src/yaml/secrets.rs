//! Marks the parts of a text that may contain the data of a Secret, by the tree of the text.
//!
//! A document that may be a Secret, a patch of one, a kubeconfig or a generator of Secrets is hidden, except for its
//! identity and the fields that never contain data. All other documents are shown, except for credentials, Secrets in
//! them, and the parts of a kustomization from which a Secret is generated. A document that cannot be parsed is marked
//! by `source::mark_unparsed`.

use std::ops::Range;
use std::path::Path;

use super::embedded::value_offsets;
use super::node::{Entry, Key, Map, Node, Value};
use super::suggest::differ_by_one;
use crate::source::{
    PLAIN_KEYS, SecretRanges, Span, documents, has_sign, is_credential_key, is_env_file, is_kustomization,
    is_prose, mark_secret_lines, mark_unparsed,
};

/// Fields of kustomizations, in addition to the plain ones, that are shown. Patches in them are marked as separate
/// texts.
const KUSTOMIZATION_KEYS: [&str; 12] = [
    "configMapGenerator",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "transformers",
    "generators",
    "validators",
    "replacements",
    "helmCharts",
    "helmGlobals",
    "helmChartInflationGenerator",
    "secretGenerator",
];

/// The number of levels of nested texts that are parsed. Deeper texts are hidden.
const NESTED_TEXTS: usize = 4;

/// A function that returns the documents of a text, or `None` if the text cannot be parsed.
pub(super) type Parse = fn(&str) -> Option<Vec<Node>>;

/// Returns the hidden parts of a text.
pub(super) fn mark(name: &Path, text: &str, parse: Parse) -> SecretRanges {
    if is_env_file(name) {
        return SecretRanges::of_marks(text, &vec![true; text.len()]);
    }
    let mut marks = vec![false; text.len()];
    if !is_prose(name) {
        let context =
            TextContext { is_kustomization: is_kustomization(name), target: None, nesting: 0, parse };
        mark_text(text, context, &mut marks);
    }
    mark_secret_lines(text, &mut marks);
    SecretRanges::of_marks(text, &marks)
}

/// The context of a text.
#[derive(Clone, Copy)]
struct TextContext<'a> {
    is_kustomization: bool,
    /// The kind of the resources to which a patch applies.
    target: Option<&'a str>,
    nesting: usize,
    parse: Parse,
}

fn mark_text(text: &str, context: TextContext<'_>, marks: &mut [bool]) {
    if context.nesting > NESTED_TEXTS {
        return marks.fill(true);
    }
    let parts: Vec<_> = documents(text).map(|part| ((context.parse)(&text[part.clone()]), part)).collect();
    let may_hold = |node: &Node| context.is_secret(node, false);
    // A document without a kind next to one with secrets may be a part of it.
    let has_secret_parts = parts.iter().any(|(nodes, part)| match nodes {
        Some(nodes) => nodes.iter().any(may_hold),
        None => has_sign(&text[part.clone()]),
    });
    for (nodes, part) in parts {
        let marks = &mut marks[part.clone()];
        let text = &text[part];
        let Some(nodes) = nodes else {
            mark_unparsed(text, marks);
            continue;
        };
        let mut marker = Marker { text, marks, context };
        let is_secret = nodes.iter().any(|node| context.is_secret(node, has_secret_parts));
        if is_secret {
            marker.marks.fill(true);
        }
        for node in &nodes {
            if context.is_secret(node, has_secret_parts) {
                marker.show_secret(node);
                continue;
            }
            if is_secret {
                marker.show(node);
            }
            marker.document(node);
        }
    }
}

impl TextContext<'_> {
    /// Returns true if a document is a Secret, or may be a part of one. A text that cannot be a kind is treated as
    /// misspelled.
    fn is_secret(self, document: &Node, has_secret_parts: bool) -> bool {
        let Some(map) = document.as_map() else {
            return has_secret_parts && document.scalar_text().is_some();
        };
        match map.get("kind").map(|kind| kind.scalar_text().map_or("", |kind| kind.as_str())) {
            Some(kind) if is_kind(kind) => holds_secrets(kind, map),
            Some(_) => true,
            None if self.is_kustomization => false,
            None => {
                let is_plain = self.target.is_some_and(|kind| is_kind(kind) && !holds_secrets(kind, map));
                let keys = ["apiVersion", "metadata", "users", "clusters", "literals"];
                !is_plain
                    && (has_secret_parts || has_data(map) || keys.iter().any(|key| map.contains_key(key)))
            }
        }
    }
}

/// Returns true if a text has the format of a kind in the API.
fn is_kind(kind: &str) -> bool {
    kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric())
}

fn holds_secrets(kind: &str, map: &Map) -> bool {
    let is_generator = kind.ends_with("Generator") && kind != "ConfigMapGenerator";
    kind.contains("Secret")
        || differ_by_one(kind, "Secret")
        || kind == "Config"
        || is_generator
        || map.iter().any(|(key, _)| is_string_data(key))
        || (kind != "ConfigMap" && has_data(map))
}

fn is_string_data(key: &str) -> bool {
    key.eq_ignore_ascii_case("stringData") || differ_by_one(key, "stringData")
}

fn has_data(map: &Map) -> bool {
    map.iter().any(|(key, _)| {
        is_string_data(key) || ["data", "binaryData"].iter().any(|known| key.eq_ignore_ascii_case(known))
    })
}

/// Marks one document.
struct Marker<'t, 'm> {
    text: &'t str,
    marks: &'m mut [bool],
    context: TextContext<'m>,
}

impl Marker<'_, '_> {
    fn document(&mut self, node: &Node) {
        match &node.value {
            Value::Map(map) if self.context.is_kustomization || is_kustomization_kind(map) => {
                self.kustomization(map);
            }
            Value::List(entries) => entries.iter().for_each(|entry| match entry.as_map() {
                Some(map) if map.contains_key("value") || map.contains_key("op") => self.operation(map),
                _ => self.walk(entry),
            }),
            _ => self.walk(node),
        }
    }

    /// Marks the secrets in a document that is shown: credentials, Secrets, and texts that contain Secrets.
    fn walk(&mut self, node: &Node) {
        match &node.value {
            Value::Map(map) if is_nested_secret(map) => {
                self.hide(node);
                self.show_secret(node);
            }
            Value::Map(map) => map.iter().for_each(|(key, value)| {
                if is_credential_key(key) && value.scalar_text().is_some() {
                    self.hide(value);
                } else {
                    self.walk(value);
                }
            }),
            Value::List(list) => list.iter().for_each(|entry| self.walk(entry)),
            Value::Scalar(text) if text.contains("PRIVATE KEY") => self.hide(node),
            Value::Scalar(text) if text.contains(['\n', '{']) && has_sign(text) => self.inner(node, None),
            Value::Scalar(_) => {}
        }
    }

    /// Marks the secrets in a document that is embedded in a scalar.
    fn inner(&mut self, node: &Node, target: Option<&str>) {
        let (Some(value), range) = (node.scalar_text(), range(node)) else { return };
        let mut inner = vec![false; value.len()];
        let context = TextContext {
            is_kustomization: false,
            target,
            nesting: self.context.nesting + 1,
            parse: self.context.parse,
        };
        mark_text(value, context, &mut inner);
        let scalar = self.text.get(range.clone()).unwrap_or_default();
        for (at, _) in value_offsets(value, scalar).into_iter().zip(inner).filter(|(_, hidden)| *hidden) {
            if let Some(mark) = self.marks.get_mut(range.start + at as usize) {
                *mark = true;
            }
        }
    }

    fn kustomization(&mut self, map: &Map) {
        for Entry { key, value } in map.entries() {
            let known = |known: &&&str| **known == key.text || differ_by_one(known, &key.text);
            match PLAIN_KEYS.iter().chain(&KUSTOMIZATION_KEYS).find(known) {
                None if has_sign(self.text) => self.hide(value),
                None => self.walk(value),
                Some(&"secretGenerator") => self.generators(value),
                Some(&"configMapGenerator") => self.config_maps(value),
                Some(_) => self.kustomization_field(value, None),
            }
        }
    }

    /// Marks the value of a field: values for Secrets, patches, and generators that are not in a list.
    fn kustomization_field(&mut self, node: &Node, target: Option<&str>) {
        match &node.value {
            Value::Map(map) if GENERATOR_SOURCES.iter().any(|source| map.contains_key(source)) => {
                self.generator(node);
            }
            Value::Map(map) => {
                let kind = |node: &Node| node.get("kind").and_then(Node::scalar_text).cloned();
                let kind = map.get("target").and_then(kind);
                for (key, value) in map.iter() {
                    match key {
                        "valuesInline" => self.hide(value),
                        "sourceValue" if !has_plain_targets(map) => self.hide(value),
                        key if is_credential_key(key) => self.hide(value),
                        _ => self.kustomization_field(value, kind.as_deref().or(target)),
                    }
                }
            }
            Value::List(list) => list.iter().for_each(|entry| self.kustomization_field(entry, target)),
            Value::Scalar(text) if text.contains(['\n', '{']) || text.contains(": ") => {
                self.inner(node, target);
            }
            Value::Scalar(_) => {}
        }
    }

    /// Marks the credentials among the literals of an entry of `configMapGenerator`.
    fn config_maps(&mut self, node: &Node) {
        let is_credential = |node: &&Node| {
            let literal = node.scalar_text().and_then(|text| text.split_once('='));
            literal.is_some_and(|(key, _)| is_credential_key(key.trim()))
        };
        node.nodes().filter(is_credential).for_each(|node| self.hide(node));
    }

    /// Marks the entries of a generator of Secrets.
    fn generators(&mut self, node: &Node) {
        match node.as_list() {
            Some(entries) => entries.iter().for_each(|entry| self.generator(entry)),
            None => self.hide(node),
        }
    }

    fn generator(&mut self, node: &Node) {
        self.hide(node);
        for Entry { key, value } in node.as_map().map(Map::entries).unwrap_or_default() {
            match key.text.as_str() {
                "name" | "namespace" | "type" => self.show_entry(key, value, is_one_word),
                name if name == "behavior" || differ_by_one(name, "behavior") => {
                    self.show_entry(key, value, is_one_word);
                }
                name if GENERATOR_SOURCES.contains(&name) => {
                    self.show_entry(key, value, |text| !name.starts_with("literal") && is_path(text));
                }
                "options" => self.show_entry(key, value, is_one_word),
                _ => {}
            }
        }
    }

    /// Marks the values that an operation of a JSON patch writes to fields that may contain secrets.
    fn operation(&mut self, map: &Map) {
        let is_plain_target =
            self.context.target.is_some_and(|kind| is_kind(kind) && !holds_secrets(kind, &Map::new()));
        let path = map.get("path").and_then(Node::scalar_text).map_or("", |path| path.as_str());
        let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
        let is_plain = is_plain_target || (PLAIN_KEYS.contains(&first) && !path.contains("last-applied"));
        for (key, value) in map.iter() {
            match key {
                "op" | "from" | "path" if value.scalar_text().is_some_and(|text| is_pointer(text)) => {}
                _ if is_plain => self.walk(value),
                _ => self.hide(value),
            }
        }
    }

    /// Unhides the fields of a Secret that never contain its data.
    fn show_secret(&mut self, node: &Node) {
        match &node.value {
            Value::Map(map) => {
                for Entry { key, value } in map.entries() {
                    match key.text.as_str() {
                        "metadata" => self.show_metadata(key, value),
                        "apiVersion" | "kind" | "type" | "immutable" => {
                            self.show_entry(key, value, is_one_word);
                        }
                        "items" => {
                            self.show_range(range_of(key.meta.span));
                            value.as_list().into_iter().flatten().for_each(|item| self.show_secret(item));
                        }
                        "spec" | "status" => {
                            self.show_entry(key, value, |_| true);
                            self.walk(value);
                        }
                        name if GENERATOR_SOURCES.contains(&name) => {
                            self.show_entry(key, value, |text| name.starts_with("env") && is_path(text));
                        }
                        name if has_data_key(name) => self.show_range(range_of(key.meta.span)),
                        _ => {}
                    }
                }
            }
            Value::List(list) => list.iter().filter_map(Node::as_map).for_each(|map| {
                map.iter().for_each(|(_, value)| self.show(value));
                self.operation(map);
            }),
            Value::Scalar(_) => {}
        }
    }

    fn show_metadata(&mut self, key: &Key, metadata: &Node) {
        self.show_range(range_of(key.meta.span));
        for Entry { key, value } in metadata.as_map().map(Map::entries).unwrap_or_default() {
            match key.text.as_str() {
                "name" | "namespace" | "generateName" => self.show_entry(key, value, is_one_word),
                "labels" | "annotations" => {
                    self.show_range(range_of(key.meta.span));
                    for Entry { key, value } in value.as_map().map(Map::entries).unwrap_or_default() {
                        if !key.text.contains("last-applied") && value.scalar_text().is_some() {
                            self.show_entry(key, value, |text| !text.contains(['\n', '{', '=']));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Unhides a key, and those scalars below it that may be shown.
    fn show_entry(&mut self, key: &Key, value: &Node, may_show: impl Fn(&str) -> bool) {
        self.show_range(range_of(key.meta.span));
        for node in value.nodes() {
            match &node.value {
                Value::Scalar(text) if may_show(text) => self.show_range(range(node)),
                Value::Map(map) => {
                    map.entries().iter().for_each(|e| self.show_range(range_of(e.key.meta.span)));
                }
                _ => {}
            }
        }
    }

    fn show(&mut self, node: &Node) {
        self.show_range(range(node));
    }

    fn show_range(&mut self, range: Range<usize>) {
        self.mark(range, false);
    }

    /// Hides a value and all values below it.
    fn hide(&mut self, node: &Node) {
        let hull = |a: Range<usize>, b: Range<usize>| a.start.min(b.start)..a.end.max(b.end);
        let keys =
            node.nodes().filter_map(Node::as_map).flat_map(Map::entries).map(|e| range_of(e.key.meta.span));
        let all = node.nodes().map(range).chain(keys).filter(|range| range.end > 0).reduce(hull);
        self.mark(all.unwrap_or_default(), true);
    }

    fn mark(&mut self, range: Range<usize>, is_hidden: bool) {
        if let Some(marks) = self.marks.get_mut(range) {
            marks.fill(is_hidden);
        }
    }
}

/// The sources of a generator's data.
const GENERATOR_SOURCES: [&str; 6] = ["literals", "literal", "envs", "env", "files", "kvSources"];

fn is_kustomization_kind(map: &Map) -> bool {
    let kind = map.get("kind").and_then(Node::scalar_text).map(smol_str::SmolStr::as_str);
    matches!(kind, Some("Kustomization" | "Component"))
}

/// Returns true if a map in a document is an object with secrets, and not a reference to one.
fn is_nested_secret(map: &Map) -> bool {
    let kind = map.get("kind").and_then(Node::scalar_text).map_or("", |kind| kind.as_str());
    map.iter().any(|(key, _)| is_string_data(key))
        || (kind.contains("Secret") && (map.contains_key("metadata") || has_data(map)))
}

/// Returns true if no target of a replacement is of a kind that contains secrets.
fn has_plain_targets(replacement: &Map) -> bool {
    let kind = |target: &Node| {
        let kind = target.get_path(&["select", "kind"]).and_then(Node::scalar_text);
        kind.is_some_and(|kind| is_kind(kind) && !kind.contains("Secret"))
    };
    replacement.get("targets").and_then(Node::as_list).is_some_and(|targets| targets.iter().all(kind))
}

fn has_data_key(key: &str) -> bool {
    matches!(key, "data" | "stringData" | "binaryData")
}

fn is_one_word(text: &str) -> bool {
    !text.contains(['\n', '=', '{'])
}

fn is_path(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

fn is_pointer(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./~*".contains(c))
}

fn range(node: &Node) -> Range<usize> {
    range_of(node.span())
}

fn range_of(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::may_be_secret;
    use crate::yaml::parse::secret_ranges;

    /// Returns the lines of a text that are shown.
    fn shown(name: &str, text: &str) -> Vec<usize> {
        let hidden = secret_ranges(Path::new(name), text);
        let mut at = 0;
        let mut lines = Vec::new();
        for (i, line) in text.split_inclusive('\n').enumerate() {
            if !hidden.overlap(at..at + line.len()) {
                lines.push(i + 1);
            }
            at += line.len();
        }
        lines
    }

    #[test]
    fn only_lines_that_may_hold_secrets_are_hidden() {
        let table: [(&str, &str, &[usize]); 28] = [
            (
                "a.yaml",
                "kind: Service\nmetadata:\n  name: a\n---\nkind: Secret\ndata: {a: b}\n",
                &[1, 2, 3, 4, 5],
            ),
            (
                "a.yaml",
                "kind: Secret\nmetadata:\n  name: a\n  x: b\nstringData:\n  a: 1\n# c\n",
                &[1, 2, 3, 5],
            ),
            ("a.yaml", "data:\n  a: 1\nkind: Secret\n", &[1, 3]),
            ("a.yaml", "kid: Scret\ndata:\n  a: 1\n", &[2]),
            ("a.yaml", "kind: Sercet\nx: 1\n", &[1]),
            ("a.yaml", "kind: [Secret]\nx: 1\n", &[1]),
            ("a.yaml", "kind: ConfigMap\ndata:\n  a: 1\n  password: |\n    x\n", &[1, 2, 3]),
            (
                "a.yaml",
                "kind: ConfigMap\ndata:\n  a: |\n    kind: Secret\n    data:\n      b: c\n",
                &[1, 2, 3, 4, 5],
            ),
            (
                "a.yaml",
                "kind: List\nitems:\n- kind: Secret\n  data:\n    a: b\n- kind: A\n  x: 1\n",
                &[1, 2, 3, 4, 6, 7],
            ),
            ("a.yaml", "kind: ExternalSecret\nspec:\n  data: x\n", &[1, 2, 3]),
            (
                "a.yaml",
                "kind: Role\nrules:\n- resources: [secrets]\nsubjects:\n- kind: Secret\n  name: a\n",
                &[1, 2, 3, 4, 5, 6],
            ),
            ("a.json", "{\n\"kind\": \"Secret\",\n\"data\": {\n\"a\": 1\n}\n}\n", &[1, 2, 3, 5, 6]),
            (
                "p.yaml",
                "- op: test\n  path: /data/a\n  value: x\n- op: add\n  path: /spec/a\n  value: x\n",
                &[1, 2, 4, 5, 6],
            ),
            ("config", "kind: Config\nusers:\n- user:\n    x: a\n", &[1]),
            ("values.yaml", "a: 1\nadmin:\n  password: x\n", &[1, 2]),
            ("a.yaml", "kind: Secret\ndata: {}\n---\na: b\n---\nkind: A\nx: 1\n", &[1, 2, 3, 5, 6, 7]),
            (
                "kustomization.yaml",
                "secretGenerator:\n- name: a\n  behavior: add\n  literals:\n  - a=b\n  - c\n",
                &[1, 2, 3, 4],
            ),
            (
                "kustomization.yaml",
                "secretGenerator:\n- name: a\n  hunter2: merge\n  files:\n  - a=b\n  - c/d\n  envs: [e]\n",
                &[1, 2, 4, 6, 7],
            ),
            (
                "kustomization.yaml",
                "configMapGenerator:\n- name: a\n  literals:\n  - a\n  - b=c\n  - token=d\n",
                &[1, 2, 3, 4, 5],
            ),
            ("kustomization.yaml", "resources:\n- name: a\n  literals:\n  - a\n- b\n", &[1, 2, 3, 5]),
            ("kustomization.yaml", "namespce: a\nval: b\nsecretGenerator: []\n", &[1, 3]),
            (
                "kustomization.yaml",
                "patches:\n- target: {kind: Secret}\n  patch: |-\n    - op: add\n      path: /data/b\n      value: c\n",
                &[1, 2, 3, 4, 5],
            ),
            (
                "kustomization.yaml",
                "patches:\n- target: {kind: ConfigMap}\n  patch: |-\n    - op: add\n      path: /data/b\n      value: c\n",
                &[1, 2, 3, 4, 5, 6],
            ),
            (
                "kustomization.yaml",
                "patches:\n- patch: |-\n    kind: Secret\n    stringData:\n      a: b\n- path: c\n",
                &[1, 2, 3, 4, 6],
            ),
            ("kustomization.yaml", "patches:\n- patch: '{kind: Secret, data: {a: b}}'\n", &[1]),
            (
                "kustomization.yaml",
                "replacements:\n- sourceValue: a\n  targets: [{select: {kind: Secret}}]\n",
                &[1, 3],
            ),
            ("kustomization.yaml", "helmCharts:\n- name: a\n  valuesInline:\n    b: c\n", &[1, 2, 3]),
            ("x.env", "A=1\n", &[]),
        ];
        let wrong: Vec<_> = table.iter().filter(|(name, text, want)| shown(name, text) != *want).collect();
        let found: Vec<_> = wrong.iter().map(|(name, text, _)| shown(name, text)).collect();
        assert!(wrong.is_empty(), "{wrong:#?}\nshown: {found:?}");
    }

    #[test]
    fn broken_manifests_of_secrets_are_known() {
        for text in ["a: {{\nkind: Secret\n", "- kind:  \"Secret\n", "{\"kind\": \"Secret\",\n"] {
            assert!(may_be_secret(Path::new("a.yaml"), text), "{text}");
        }
        assert!(!may_be_secret(Path::new("a.yaml"), "kind: Service\n"));
        assert!(!may_be_secret(Path::new("README.md"), "A Secret has `data`.\n"));
    }
}
