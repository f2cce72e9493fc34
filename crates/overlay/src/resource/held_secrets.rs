//! Masks secret values of manifests and configurations in messages of servers and programs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smol_str::SmolStr;

use smp_merge::patch::JsonPatch;
use smp_merge::schema::Gvk;
use smp_text::source::{SourceMap, is_secret_key};
use smp_text::yaml::{Node, Value};

/// Replacement for a hidden value.
const HIDDEN: &str = "***";

/// Maximum length of values that are not hidden: such short strings occur in many words.
const MAX_SHOWN_LENGTH: usize = 2;

/// Paths of the values of a Secret. The last one is kubectl's copy of it.
const PLACES: [&[&str]; 3] = [
    &["data"],
    &["stringData"],
    &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
];

/// Secret values in the encodings in which messages repeat them.
#[derive(Debug, Clone, Default)]
pub struct SecretValues(Vec<String>);

impl SecretValues {
    /// Collects the values of the manifests that are Secrets.
    pub fn from_manifests<'n>(manifests: impl IntoIterator<Item = &'n Node>) -> Self {
        let mut values = Vec::new();
        for manifest in manifests.into_iter().filter(|manifest| is_secret(manifest)) {
            PLACES.iter().filter_map(|place| manifest.get_path(place)).for_each(|n| scalars(n, &mut values));
        }
        Self::from_values(values)
    }

    /// Adds the values below keys such as `password` in a configuration. If its kind contains `Secret`, all
    /// values are added.
    #[must_use]
    pub(crate) fn with_configuration(mut self, configuration: &Node) -> Self {
        let kind = configuration.get("kind").and_then(Node::as_str).unwrap_or_default();
        match configuration.as_map().filter(|_| kind.contains("Secret")) {
            Some(fields) => fields
                .iter()
                .filter(|(key, _)| !["apiVersion", "kind", "metadata", "type"].contains(key))
                .for_each(|(_, value)| scalars(value, &mut self.0)),
            None => below_secret_keys(configuration, &mut self.0),
        }
        Self::from_values(self.0)
    }

    /// Sorts longer values first, since a value may contain another one.
    fn from_values(mut values: Vec<String>) -> Self {
        values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values)
    }

    /// Replaces the secret values in a text.
    pub fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_string(), |text, value| text.replace(value.as_str(), HIDDEN))
    }
}

fn is_secret(manifest: &Node) -> bool {
    let text = |key| manifest.get(key).and_then(Node::as_str).unwrap_or_default();
    text("kind") == "Secret" && Gvk::from_manifest(text("apiVersion"), "Secret").group.is_empty()
}

/// Returns true if a path leads to the data of a Secret.
pub(crate) fn is_secret_data_path(manifest: &Node, path: &[impl AsRef<str>]) -> bool {
    let starts = |place: &&[&str]| place.iter().zip(path).all(|(name, step)| *name == step.as_ref());
    is_secret(manifest) && PLACES.iter().any(starts)
}

/// Hides the values in reports that a JSON patch copies out of the data of a Secret, and returns the paths that they
/// are copied to.
pub(crate) fn hide_data_copied_by(
    patch: &JsonPatch,
    manifest: &Node,
    sources: &SourceMap,
) -> Vec<Vec<SmolStr>> {
    let out_of_data = |(from, to): &(Vec<SmolStr>, Vec<SmolStr>)| {
        is_secret_data_path(manifest, from) && (to.is_empty() || !is_secret_data_path(manifest, to))
    };
    let hidden = patch.copies().filter(out_of_data).map(|(from, to)| {
        mark_copied_secret_at(manifest, &from, sources);
        to
    });
    hidden.collect()
}

/// Hides the scalars at the paths of a manifest in reports: they are copied from a Secret.
pub(crate) fn mark_copied_secrets_at(manifest: &Node, paths: &[Vec<SmolStr>], sources: &SourceMap) {
    for path in paths {
        mark_copied_secret_at(manifest, path, sources);
    }
}

fn mark_copied_secret_at(manifest: &Node, path: &[SmolStr], sources: &SourceMap) {
    let path: Vec<&str> = path.iter().map(SmolStr::as_str).collect();
    if path.is_empty() {
        PLACES
            .iter()
            .filter_map(|place| manifest.get_path(place))
            .for_each(|node| mark_copied_secret(node, sources));
    } else if let Some(node) = manifest.get_path(&path) {
        mark_copied_secret(node, sources);
    }
}

/// Marks the scalars below a node as secret in reports: they are copied from a Secret.
pub(crate) fn mark_copied_secret(node: &Node, sources: &SourceMap) {
    node.nodes().filter_map(Node::scalar_text).for_each(|text| sources.hide_value(text));
}

fn below_secret_keys(node: &Node, out: &mut Vec<String>) {
    match &node.value {
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            if is_secret_key(key) { scalars(value, out) } else { below_secret_keys(value, out) }
        }),
        Value::List(list) => list.iter().for_each(|value| below_secret_keys(value, out)),
        Value::Scalar(_) => {}
    }
}

/// Collects the scalars below a node, plain, base64-encoded and base64-decoded.
fn scalars(node: &Node, out: &mut Vec<String>) {
    for text in node.nodes().filter_map(Node::scalar_text) {
        let mut add = |form: &str| out.extend((form.len() > MAX_SHOWN_LENGTH).then(|| form.to_string()));
        add(&STANDARD.encode(text));
        let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        for form in [text.to_string()].into_iter().chain(decoded) {
            add(&form);
            // JSON and Go escape some characters in quoted strings.
            add(&form.escape_debug().to_string());
            // Block scalars are printed line by line; a literal has a key before its value.
            form.lines().for_each(|line| add(line.trim()));
            form.split_once('=').iter().for_each(|(_, value)| add(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(text: &str) -> Node {
        text.parse().expect("YAML")
    }

    #[test]
    fn values_of_secrets_are_hidden_in_all_forms() {
        let secret = node(
            "{apiVersion: v1, kind: Secret, metadata: {name: shown}, data: {a: aHVudGVyMg==}, stringData: {b: \"one\\ntwo\", n: ab}}",
        );
        let held = SecretValues::from_manifests([&secret, &node("{kind: ConfigMap, data: {a: shown}}")]);
        let said = "shown: hunter2 aHVudGVyMg== one\\ntwo ab\n  one\n  two\n";
        assert_eq!(held.mask(said), "shown: *** *** *** ab\n  ***\n  ***\n");
    }

    #[test]
    fn configurations_hold_secrets_below_some_keys() {
        let config =
            node("{kind: Foo, spec: {password: hunter3, list: [{apiToken: hunter4}], secretName: shown}}");
        let held = SecretValues::default().with_configuration(&config);
        assert_eq!(held.mask("hunter3 hunter4 shown"), "*** *** shown");
        let config = node("{kind: SecretMaker, metadata: {name: shown}, literals: [user=hunter5]}");
        let held = SecretValues::default().with_configuration(&config);
        assert_eq!(held.mask("shown user=hunter5 hunter5"), "shown *** ***");
    }
}
