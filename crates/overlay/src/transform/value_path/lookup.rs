//! Lookup of the single value at a path.

use super::parts::{entry_parts, is_entry};
use super::value::{NodeKind, entries, fields, new_entry, text_of};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::strconv;
use smp_text::yaml::{Node, Value};

/// Returns the parts without surrounding spaces and without empty parts, as [`lookup`] and [`lookup_create`]
/// compare them.
fn clean(path: &[String]) -> Vec<String> {
    path.iter().map(|part| part.trim().to_string()).filter(|part| !part.is_empty()).collect()
}

/// A child of a map or list.
enum FoundAt<'p> {
    Field(&'p str),
    Entry(usize),
}

/// Returns the child that a part matches, or `None` if there is none.
fn child<'p>(node: &Node, part: &'p str) -> Result<Option<FoundAt<'p>>> {
    if let Some(i) = strconv::atoi(part) {
        let i = usize::try_from(i).map_err(|_| {
            Diagnostic::error(Code::InvalidValue, format!("list position {part} cannot be negative"))
        })?;
        return Ok((i < entries(node, part)?.len()).then_some(FoundAt::Entry(i)));
    }
    if part == "-" {
        return Ok(entries(node, part)?.len().checked_sub(1).map(FoundAt::Entry));
    }
    if part == "*" {
        let message = "`*` is not allowed here: the path must match a single value";
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    if is_entry(part) {
        let (name, value) = entry_parts(part)?;
        let fits = |entry: &Node| match (name, &entry.value) {
            ("", _) => text_of(entry) == value,
            (_, Value::Map(map)) => map.get(name).is_some_and(|field| text_of(field) == value),
            _ => false,
        };
        return Ok(entries(node, part)?.iter().position(fits).map(FoundAt::Entry));
    }
    Ok(fields(node, part)?.filter(|map| map.contains_key(part)).map(|_| FoundAt::Field(part)))
}

/// Returns the single value at a path. `[name=value]` matches the first entry with exactly this value.
///
/// # Errors
/// The path does not match the types of the values, or contains `*` or a negative position.
pub(in crate::transform) fn lookup<'n>(node: &'n Node, path: &[String]) -> Result<Option<&'n Node>> {
    let mut at = node;
    for part in &clean(path) {
        let next = match child(at, part)? {
            Some(FoundAt::Field(name)) => at.get(name),
            Some(FoundAt::Entry(i)) => at.as_list().and_then(|list| list.get(i)),
            None => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// Like [`lookup`], but returns a mutable value.
pub(in crate::transform) fn lookup_mut<'n>(
    node: &'n mut Node,
    path: &[String],
) -> Result<Option<&'n mut Node>> {
    walk_mut(node, &clean(path), None)
}

/// Like [`lookup_mut`], but creates missing values, except at list positions. A null in the path is kept, and nothing
/// is found in it.
pub(in crate::transform) fn lookup_create<'n>(
    node: &'n mut Node,
    path: &[String],
    leaf: NodeKind,
) -> Result<Option<&'n mut Node>> {
    walk_mut(node, &clean(path), Some(leaf))
}

fn walk_mut<'n>(node: &'n mut Node, path: &[String], leaf: Option<NodeKind>) -> Result<Option<&'n mut Node>> {
    let mut at = node;
    for (i, part) in path.iter().enumerate() {
        if let Some(leaf) = leaf
            && child(at, part)?.is_none()
        {
            add(at, part, NodeKind::for_next(path.get(i + 1), leaf))?;
        }
        let next = match child(at, part)? {
            Some(FoundAt::Field(name)) => at.get_mut(name),
            Some(FoundAt::Entry(i)) => at.as_list_mut().and_then(|list| list.get_mut(i)),
            None => None,
        };
        let Some(next) = next else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// Adds the field or entry for `part`.
fn add(node: &mut Node, part: &str, kind: NodeKind) -> Result<()> {
    match &mut node.value {
        Value::Map(map) if strconv::atoi(part).is_none() && part != "-" && !is_entry(part) => {
            map.push(part, kind.node());
        }
        Value::List(list) if is_entry(part) => list.push(new_entry(part)?),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::parts::split_dotted;
    use super::*;
    use crate::transform::testing::nodes;

    #[test]
    fn single_value_is_found() {
        let tree = &nodes("{a: {b: [{name: x, v: 1}, {name: y, v: 2}]}, l: [p, q, 3], n: null, e: []}")[0];
        let table = [
            ("a.b.0.v", Some("1")),
            ("a.b.-.v", Some("2")),
            ("a.b.[name=y].v", Some("2")),
            ("a.b.[name=].v", None),
            ("a.b. [name=y] .v", Some("2")),
            ("a..b..0.v", Some("1")),
            ("l.[=3]", Some("3")),
            ("l.[=z]", None),
            ("l.9", None),
            ("e.-", None),
            ("n.x.y", None),
            ("n", Some("null")),
        ];
        for (path, want) in table {
            let found = lookup(tree, &split_dotted(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
            assert_eq!(found.map(text_of), want, "{path}");
        }
        for path in ["a.b.*.v", "a.b.x", "a.0", "l.-1", "a.b.[name]", "l.[x=y].0.[z=1]x.y"] {
            let found = lookup(tree, &split_dotted(path));
            assert!(found.is_err() || path.starts_with("l.[x"), "{path}");
        }
    }

    #[test]
    fn missing_values_are_created() {
        let mut tree = nodes("{a: {}, n: null}").remove(0);
        for path in ["a.b.c", "a.l.[name=x].v", "a.p.[=z]", "a.b.d"] {
            let found = lookup_create(&mut tree, &split_dotted(path), NodeKind::Scalar).expect(path);
            if let Value::Scalar(text) = &mut found.expect(path).value {
                *text = "1".into();
            }
        }
        let want = &nodes("{a: {b: {c: 1, d: 1}, l: [{name: x, v: 1}], p: [1]}, n: null}")[0];
        assert_eq!(tree, *want);
        assert!(
            lookup_create(&mut tree, &split_dotted("n.x"), NodeKind::Scalar).expect("no error").is_none()
        );
        assert!(
            lookup_create(&mut tree, &split_dotted("a.q.0"), NodeKind::Scalar).expect("no error").is_none()
        );
    }
}
