//! What manifests and configurations hold that nobody shall see: masked in what a server or a program says of them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use smol_str::SmolStr;

use smp_merge::patch::JsonPatch;
use smp_merge::schema::Gvk;
use smp_text::source::{SourceMap, is_secret_key};
use smp_text::yaml::{Node, Value};

/// Stands for what is hidden.
const HIDDEN: &str = "***";

/// What is no longer than this is no secret, and stands in many words.
const SHORT: usize = 2;

/// Where a Secret holds values; the last is kubectl's copy of it.
const PLACES: [&[&str]; 3] = [
    &["data"],
    &["stringData"],
    &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
];

/// Secret values, in the forms in which they are repeated.
#[derive(Debug, Clone, Default)]
pub struct HeldSecrets(Vec<String>);

impl HeldSecrets {
    /// The values of those manifests that are Secrets.
    pub fn of_manifests<'n>(manifests: impl IntoIterator<Item = &'n Node>) -> Self {
        let mut values = Vec::new();
        for manifest in manifests.into_iter().filter(|manifest| is_secret(manifest)) {
            PLACES.iter().filter_map(|place| manifest.get_path(place)).for_each(|n| scalars(n, &mut values));
        }
        Self::of_values(values)
    }

    /// These, and what a configuration has below keys such as `password`; of one that is about Secrets all it has.
    #[must_use]
    pub(crate) fn and_configuration(mut self, configuration: &Node) -> Self {
        let kind = configuration.get("kind").and_then(Node::as_str).unwrap_or_default();
        match configuration.as_map().filter(|_| kind.contains("Secret")) {
            Some(fields) => fields
                .iter()
                .filter(|(key, _)| !["apiVersion", "kind", "metadata", "type"].contains(key))
                .for_each(|(_, value)| scalars(value, &mut self.0)),
            None => below_secret_keys(configuration, &mut self.0),
        }
        Self::of_values(self.0)
    }

    /// A value may be a part of another one, which goes first.
    fn of_values(mut values: Vec<String>) -> Self {
        values.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self(values)
    }

    /// A text without them.
    pub fn hidden_in(&self, text: &str) -> String {
        self.0.iter().fold(text.to_string(), |text, value| text.replace(value.as_str(), HIDDEN))
    }
}

fn is_secret(manifest: &Node) -> bool {
    let text = |key| manifest.get(key).and_then(Node::as_str).unwrap_or_default();
    text("kind") == "Secret" && Gvk::from_manifest(text("apiVersion"), "Secret").group.is_empty()
}

/// Returns whether a path leads to the data of a manifest that is a Secret.
pub(crate) fn holds_data(manifest: &Node, path: &[impl AsRef<str>]) -> bool {
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
        holds_data(manifest, from) && (to.is_empty() || !holds_data(manifest, to))
    };
    let hidden = patch.copies().filter(out_of_data).map(|(from, to)| {
        hide_copied_at(manifest, &from, sources);
        to
    });
    hidden.collect()
}

/// Hides the scalars at a path of a manifest in reports: they are copied out of a Secret.
pub(crate) fn hide_copied_at(manifest: &Node, path: &[SmolStr], sources: &SourceMap) {
    let path: Vec<&str> = path.iter().map(SmolStr::as_str).collect();
    if path.is_empty() {
        PLACES.iter().filter_map(|place| manifest.get_path(place)).for_each(|node| hide_copied(node, sources));
    } else if let Some(node) = manifest.get_path(&path) {
        hide_copied(node, sources);
    }
}

/// Hides the scalars below a node in reports: they are copied out of a Secret.
pub(crate) fn hide_copied(node: &Node, sources: &SourceMap) {
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

/// The texts below a node, as they are and as base64 and its reverse have them.
fn scalars(node: &Node, out: &mut Vec<String>) {
    for text in node.nodes().filter_map(Node::scalar_text) {
        let mut add = |form: &str| out.extend((form.len() > SHORT).then(|| form.to_string()));
        add(&STANDARD.encode(text));
        let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        for form in [text.to_string()].into_iter().chain(decoded) {
            add(&form);
            // JSON and Go write some characters otherwise within quotes.
            add(&form.escape_debug().to_string());
            // What is printed as a block has its lines apart; a literal has a key before its value.
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
        let held = HeldSecrets::of_manifests([&secret, &node("{kind: ConfigMap, data: {a: shown}}")]);
        let said = "shown: hunter2 aHVudGVyMg== one\\ntwo ab\n  one\n  two\n";
        assert_eq!(held.hidden_in(said), "shown: *** *** *** ab\n  ***\n  ***\n");
    }

    #[test]
    fn configurations_hold_secrets_below_some_keys() {
        let config =
            node("{kind: Foo, spec: {password: hunter3, list: [{apiToken: hunter4}], secretName: shown}}");
        let held = HeldSecrets::default().and_configuration(&config);
        assert_eq!(held.hidden_in("hunter3 hunter4 shown"), "*** *** shown");
        let config = node("{kind: SecretMaker, metadata: {name: shown}, literals: [user=hunter5]}");
        let held = HeldSecrets::default().and_configuration(&config);
        assert_eq!(held.hidden_in("shown user=hunter5 hunter5"), "shown *** ***");
    }
}
