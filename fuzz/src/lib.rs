//! Helpers of the fuzz targets: parsing texts, and making objects of a kind from random bytes.

use arbitrary::{Result, Unstructured};
use smp_merge::schema::{Cursor, TypeKind};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{Map, Node, ParseOptions, parse_documents};

/// The documents of a text with their comments. None if it is malformed.
pub fn read(text: &str) -> Option<Vec<Node>> {
    read_as(Reading::Kustomize, text)
}

/// The documents of a text as kustomize or kubectl parses it, with their comments.
pub fn read_as(reading: Reading, text: &str) -> Option<Vec<Node>> {
    read_with(text, ParseOptions::default().reading(reading).with_comments())
}

/// Parses a text with the given options.
pub fn read_with(text: &str, options: ParseOptions) -> Option<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("fuzz.yaml", text);
    parse_documents(&sources, id, options).ok()
}

const TEXTS: &[&str] = &["a", "b", "c", "TCP", "UDP", "", "1", "null"];

/// A random value for a location in a schema, with fields of that schema.
pub fn value(from: &mut Unstructured<'_>, at: Cursor<'_>, depth: u32) -> Result<Node> {
    if from.ratio(1, 16)? {
        return scalar(from);
    }
    match at.type_kind() {
        TypeKind::Array if depth > 0 => {
            let entries = (0..from.int_in_range(0..=3)?).map(|_| value(from, at.element(), depth - 1));
            Ok(Node::list(entries.collect::<Result<_>>()?))
        }
        TypeKind::Object if depth > 0 => map(from, at, depth),
        _ => scalar(from),
    }
}

fn scalar(from: &mut Unstructured<'_>) -> Result<Node> {
    Ok(match from.int_in_range(0..=7)? {
        0 => Node::null(),
        1 => Node::int(from.int_in_range(0..=3)?),
        2 => Node::from(from.arbitrary::<bool>()?),
        3 => Node::list(Vec::new()),
        4 => Node::map(Map::new()),
        _ => Node::string(*from.choose(TEXTS)?),
    })
}

fn map(from: &mut Unstructured<'_>, at: Cursor<'_>, depth: u32) -> Result<Node> {
    let fields: Vec<_> = at.fields().collect();
    let mut map = Map::new();
    for _ in 0..from.int_in_range(0..=4)? {
        if fields.is_empty() || from.ratio(1, 16)? {
            map.insert(*from.choose(TEXTS)?, value(from, at.additional(), depth - 1)?);
        } else {
            let (name, field) = *from.choose(&fields)?;
            map.insert(name, value(from, field, depth - 1)?);
        }
    }
    Ok(Node::map(map))
}

/// Adds merge keys to most list entries.
pub fn add_keys(from: &mut Unstructured<'_>, node: &mut Node, at: Cursor<'_>) -> Result<()> {
    if let Some(map) = node.as_map_mut() {
        for (name, value) in map.iter_mut() {
            let field = at.field(name);
            add_keys(from, value, if field.is_known() { field } else { at.additional() })?;
        }
    } else if let Some(list) = node.as_list_mut() {
        let keys: Vec<&str> = at.patch_merge_key().into_iter().chain(at.list_map_keys()).collect();
        for entry in list {
            add_keys(from, entry, at.element())?;
            for key in &keys {
                if let Some(map) = entry.as_map_mut()
                    && from.ratio(15, 16)?
                {
                    map.insert(*key, scalar(from)?);
                }
            }
        }
    }
    Ok(())
}

/// Adds directives to random maps and lists of an object.
pub fn add_directives(from: &mut Unstructured<'_>, node: &mut Node) -> Result<()> {
    if let Some(map) = node.as_map_mut() {
        for (_, value) in map.iter_mut() {
            add_directives(from, value)?;
        }
        let names: Vec<String> = map.iter().map(|(name, _)| name.to_owned()).collect();
        let name = from.choose(&names).cloned().unwrap_or_default();
        let added = match from.int_in_range(0..=31)? {
            0..=3 => {
                let directive = *from.choose(&["delete", "replace", "merge", "x"])?;
                Some(("$patch".to_owned(), Node::string(directive)))
            }
            4 | 5 => Some(("$patchMergeKey".to_owned(), names_of(from, &names))),
            6 | 7 => Some(("$retainKeys".to_owned(), names_of(from, &names))),
            8 | 9 => Some((format!("$setElementOrder/{name}"), order_of(map.get(&name)))),
            10 | 11 => Some((format!("$deleteFromPrimitiveList/{name}"), order_of(map.get(&name)))),
            _ => None,
        };
        if let Some((key, value)) = added {
            map.insert(key.as_str(), value);
        }
    } else if let Some(list) = node.as_list_mut() {
        for entry in list {
            add_directives(from, entry)?;
        }
    }
    Ok(())
}

fn names_of(from: &mut Unstructured<'_>, names: &[String]) -> Node {
    let chosen = names.iter().filter(|_| from.ratio(1, 2).unwrap_or(false));
    Node::list(chosen.map(|name| Node::string(name.as_str())).collect())
}

fn order_of(list: Option<&Node>) -> Node {
    list.cloned().unwrap_or_else(|| Node::list(vec![Node::string("a")]))
}

/// Returns true if an object contains a directive of strategic merge patches.
pub fn has_directive(node: &Node) -> bool {
    let is_directive = |name: &str| {
        matches!(name, "$patch" | "$patchMergeKey" | "$retainKeys")
            || name.starts_with("$setElementOrder/")
            || name.starts_with("$deleteFromPrimitiveList/")
    };
    node.as_map()
        .is_some_and(|map| map.iter().any(|(name, value)| is_directive(name) || has_directive(value)))
        || node.as_list().is_some_and(|list| list.iter().any(has_directive))
}
