//! Finds the secret values of manifests and configurations, which messages of servers and programs may repeat.

use smol_str::SmolStr;

use smp_merge::patch::JsonPatch;
use smp_merge::schema::Gvk;
use smp_text::source::{SecretValues, SourceMap, is_secret_key};
use smp_text::yaml::{Node, Value};

/// Paths of the values of a Secret. The last one is kubectl's copy of it.
const SECRET_PATHS: [&[&str]; 3] = [
    &["data"],
    &["stringData"],
    &["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"],
];

/// Collects the values of the manifests that are Secrets.
pub fn secret_values<'n>(manifests: impl IntoIterator<Item = &'n Node>) -> SecretValues {
    let mut values = SecretValues::default();
    for manifest in manifests.into_iter().filter(|manifest| is_secret(manifest)) {
        SECRET_PATHS
            .iter()
            .filter_map(|path| manifest.get_path(path))
            .for_each(|n| add_scalars(n, &mut values));
    }
    values
}

/// Adds the values below keys such as `password` in a configuration. If its kind contains `Secret`, all values are
/// added.
pub(crate) fn add_configuration(values: &mut SecretValues, configuration: &Node) {
    let kind = configuration.get("kind").and_then(Node::as_str).unwrap_or_default();
    match configuration.as_map().filter(|_| kind.contains("Secret")) {
        Some(fields) => fields
            .iter()
            .filter(|(key, _)| !["apiVersion", "kind", "metadata", "type"].contains(key))
            .for_each(|(_, value)| add_scalars(value, values)),
        None => add_below_secret_keys(configuration, values),
    }
}

fn is_secret(manifest: &Node) -> bool {
    let text = |key| manifest.get(key).and_then(Node::as_str).unwrap_or_default();
    text("kind") == "Secret" && Gvk::from_manifest(text("apiVersion"), "Secret").group.is_empty()
}

/// Returns true if a path refers to the data of a Secret.
pub(crate) fn is_secret_data_path(manifest: &Node, path: &[impl AsRef<str>]) -> bool {
    let starts = |secret: &&[&str]| secret.iter().zip(path).all(|(name, step)| *name == step.as_ref());
    is_secret(manifest) && SECRET_PATHS.iter().any(starts)
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

/// Hides the scalars at the paths of a manifest in reports, because they are copied from a Secret.
pub(crate) fn mark_copied_secrets_at(manifest: &Node, paths: &[Vec<SmolStr>], sources: &SourceMap) {
    for path in paths {
        mark_copied_secret_at(manifest, path, sources);
    }
}

fn mark_copied_secret_at(manifest: &Node, path: &[SmolStr], sources: &SourceMap) {
    let path: Vec<&str> = path.iter().map(SmolStr::as_str).collect();
    if path.is_empty() {
        SECRET_PATHS
            .iter()
            .filter_map(|path| manifest.get_path(path))
            .for_each(|node| mark_copied_secret(node, sources));
    } else if let Some(node) = manifest.get_path(&path) {
        mark_copied_secret(node, sources);
    }
}

/// Marks the scalars below a node as secret in reports, because they are copied from a Secret.
pub(crate) fn mark_copied_secret(node: &Node, sources: &SourceMap) {
    node.nodes().filter_map(Node::scalar_text).for_each(|text| sources.hide_value(text));
}

fn add_below_secret_keys(node: &Node, values: &mut SecretValues) {
    match &node.value {
        Value::Map(map) => map.iter().for_each(|(key, value)| {
            if is_secret_key(key) { add_scalars(value, values) } else { add_below_secret_keys(value, values) }
        }),
        Value::List(list) => list.iter().for_each(|value| add_below_secret_keys(value, values)),
        Value::Scalar(_) => {}
    }
}

fn add_scalars(node: &Node, values: &mut SecretValues) {
    node.nodes().filter_map(Node::scalar_text).for_each(|text| values.add_encodings(text));
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
        let held = secret_values([&secret, &node("{kind: ConfigMap, data: {a: shown}}")]);
        let said = "shown: hunter2 aHVudGVyMg== one\\ntwo ab\n  one\n  two\n";
        assert_eq!(held.mask(said), "shown: *** *** *** ab\n  ***\n  ***\n");
    }

    #[test]
    fn configurations_hold_secrets_below_some_keys() {
        let config =
            node("{kind: Foo, spec: {password: hunter3, list: [{apiToken: hunter4}], secretName: shown}}");
        let mut held = SecretValues::default();
        add_configuration(&mut held, &config);
        assert_eq!(held.mask("hunter3 hunter4 shown"), "*** *** shown");
        let config = node("{kind: SecretMaker, metadata: {name: shown}, literals: [user=hunter5]}");
        let mut held = SecretValues::default();
        add_configuration(&mut held, &config);
        assert_eq!(held.mask("shown user=hunter5 hunter5"), "shown *** ***");
    }
}
