//! Content hashes in the names of generated resources.

use sha2::{Digest, Sha256};

use crate::resource::ResourceSet;
use smp_text::diagnostic::Result;
use smp_text::yaml::{Map, Node, to_json};

/// The characters of kustomize's hash suffixes: hexadecimal digits, encoded so that they form no words.
const DIGITS: &[u8] = b"2456789bcdfghkmt";

/// The length of a hash suffix.
const HASH_LENGTH: usize = 10;

/// Returns a name without its hash suffix. Returns `None` if it has no such suffix.
#[must_use]
pub fn name_without_hash(name: &str) -> Option<&str> {
    let (stem, hash) = name.rsplit_once('-')?;
    let is_hash = hash.len() == HASH_LENGTH && hash.bytes().all(|byte| DIGITS.contains(&byte));
    (is_hash && !stem.is_empty()).then_some(stem)
}

/// Appends a content hash to the names of generated resources that need one.
///
/// The old names are stored as former names, so that references are updated.
///
/// # Errors
/// The content cannot be printed as JSON, for example infinity.
pub fn name_hashes(set: &mut ResourceSet) -> Result<()> {
    let needs_hash = |r: &&mut crate::resource::Resource| r.generated.is_some_and(|g| g.name_hash);
    for resource in set.resources_mut().iter_mut().filter(needs_hash) {
        let hash = content_hash(resource.node()).map_err(|d| d.resource(resource.id()))?;
        let name = format!("{}-{hash}", resource.id().name);
        resource.store_previous_id();
        resource.set_name(&name);
    }
    Ok(())
}

/// Returns the content hash of a resource as kustomize computes it: ten characters.
///
/// For ConfigMaps and Secrets the data is hashed, for other kinds the whole manifest. For those,
/// kustomize hashes the nodes of its parser, so that its hash changes with comments and empty lines; this one does
/// not.
///
/// # Errors
/// The content cannot be printed as JSON, for example infinity.
pub fn content_hash(node: &Node) -> Result<String> {
    let json = match node.get("kind").and_then(Node::as_str) {
        Some(kind @ "ConfigMap") => to_json(&content(node, kind, &["data"], "binaryData"))?,
        Some(kind @ "Secret") => to_json(&content(node, kind, &["data", "type"], "stringData"))?,
        _ => to_json(node)?,
    };
    Ok(encode(&Sha256::digest(json)))
}

/// Returns the hashed content of a ConfigMap or Secret.
///
/// The name is always empty, since kustomize looks it up at a wrong path. Missing fields are empty strings,
/// except for `optional`, which is only included if it is a map.
fn content(node: &Node, kind: &str, fields: &[&str], optional: &str) -> Node {
    let mut map: Map = [("kind", Node::string(kind)), ("name", Node::string(""))].into_iter().collect();
    for field in fields {
        // Scalars of all types are hashed as strings.
        let value = match node.get(field) {
            None => Node::string(""),
            Some(value) => {
                value.scalar_text().map_or_else(|| value.clone(), |text| Node::string(text.clone()))
            }
        };
        map.push(*field, value);
    }
    if let Some(value) = node.get(optional).filter(|v| v.as_map().is_some()) {
        map.push(optional, value.clone());
    }
    Node::map(map)
}

/// Encodes the first ten hexadecimal digits, with vowels and similar digits replaced.
fn encode(digest: &[u8]) -> String {
    let digit = |nibble: u8| match char::from_digit(u32::from(nibble), 16).unwrap_or_default() {
        '0' => 'g',
        '1' => 'h',
        '3' => 'k',
        'a' => 'm',
        'e' => 't',
        other => other,
    };
    digest.iter().take(5).flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{names, nodes, set};
    use super::*;
    use crate::resource::Generated;

    #[test]
    fn hash_suffixes_are_removed_from_names() {
        assert_eq!(name_without_hash("app-config-d4g6k2m8b9"), Some("app-config"));
        for name in
            ["app-config", "app-production", "app-1234567890x", "d4g6k2m8b9", "-d4g6k2m8b9", "app-D4g6k2m8b9"]
        {
            assert_eq!(name_without_hash(name), None, "{name}");
        }
    }

    #[test]
    fn content_hashes_equal_those_of_kustomize() {
        // From kustomize 5.8.3.
        let table = [
            ("kind: ConfigMap", "6ct58987ht"),
            ("kind: ConfigMap\nmetadata: {name: x, labels: {a: b}}\ndata: {a: b}", "4h2mbtbbt6"),
            ("kind: ConfigMap\ndata: {x: '<a>&\"é'}", "2hfd4hg9gd"),
            ("kind: ConfigMap\nbinaryData: {bin.dat: //4AYmlu}", "cmdh6chtm5"),
            ("kind: ConfigMap\nbinaryData: {bin.dat: //4AYmlu}\ndata: {a: b}", "gcd2m8k88d"),
            ("kind: ConfigMap\nbinaryData: null\ndata: {a: b}", "4h2mbtbbt6"),
            ("kind: Secret\ntype: Opaque\ndata: {}", "46f8b28mk5"),
            ("kind: Secret\ntype: Opaque\ndata: {a: Yg==}", "k695gkmbtk"),
            ("kind: Secret\ntype: kubernetes.io/tls\ndata: {a: Yg==}", "92982c4m8f"),
        ];
        for (text, want) in table {
            assert_eq!(content_hash(&nodes(text)[0]).expect("hashes"), want, "{text}");
        }
    }

    #[test]
    fn only_resources_with_name_hash_get_one() {
        let mut set = set("
{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
");
        set.resources_mut()[0].generated = Some(Generated { name_hash: true, ..Generated::default() });
        set.resources_mut()[1].generated = Some(Generated::default());
        name_hashes(&mut set).expect("hashes");
        assert_eq!(names(&set), ["a-6ct58987ht", "b", "c"]);
        assert_eq!(set.as_slice()[0].previous[0].name, "a");
    }
}
