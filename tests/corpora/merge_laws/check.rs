//! The laws: the required result of a merge, computed independently of the merge.

use std::collections::BTreeMap;

use smp_merge::merge::{Conflict, MergeOptions, Merged, merge2, merge3};
use smp_merge::schema::{Cursor, Gvk, ListType, MapType, Schema};
use smp_text::source::SourceMap;
use smp_text::yaml::{Map, Node, ParseOptions, parse_one, to_json};

/// Ok, or a description of the violation.
pub type Verdict = Result<(), String>;

const KEYS: [&str; 7] = ["mountPath", "devicePath", "ip", "type", "topologyKey", "name", "containerPort"];

/// Parses an object, so that its values have locations.
pub fn read(sources: &SourceMap, text: &str) -> Result<Node, String> {
    let options = ParseOptions::kubectl();
    parse_one(sources, sources.add("side.yaml", text), options).map_err(|error| error.to_string())
}

fn json(node: Option<&Node>) -> String {
    node.map_or("nothing".to_string(), |node| to_json(node).unwrap_or_else(|error| error.to_string()))
}

fn same(what: &str, got: Option<&Node>, want: Option<&Node>) -> Verdict {
    if got == want {
        return Ok(());
    }
    Err(format!(
        "\
{what}
  got  {}
  want {}",
        json(got),
        json(want)
    ))
}

/// Checks all laws for three versions: original, updated and dest.
pub fn check_laws(versions: [&Node; 3], schema: &Schema) -> Verdict {
    let [a, b, _] = versions;
    let kept = without_conflicts([a, a, a], a, schema)
        .and_then(|()| without_conflicts([a, a, b], b, schema))
        .and_then(|()| without_conflicts([a, b, a], b, schema))
        .and_then(|()| without_conflicts([a, b, b], b, schema))
        .and_then(|()| over_itself([a, b], schema))
        .and_then(|()| nothing_is_lost(versions, schema));
    kept.map_err(|error| {
        let texts: Vec<_> = versions.iter().map(|node| json(Some(node))).collect();
        format!("{error}\n  from {}", texts.join("\n  and  "))
    })
}

fn three([original, updated, dest]: [&Node; 3], schema: &Schema) -> Result<Merged, String> {
    let options = MergeOptions::lossless();
    let merged = merge3(Some(original), Some(updated), Some(dest.clone()), schema, &options);
    merged.map_err(|error| error.to_string())
}

fn without_conflicts(versions: [&Node; 3], want: &Node, schema: &Schema) -> Verdict {
    let merged = three(versions, schema)?;
    same("where versions are equal", merged.node.as_ref(), Some(want))?;
    if merged.conflicts.is_empty() { Ok(()) } else { Err(format!("conflicts: {:?}", merged.conflicts)) }
}

/// A source does not change an equal dest, nor its own merge result when merged again.
fn over_itself([a, b]: [&Node; 2], schema: &Schema) -> Verdict {
    let two = |dest: &Node, source: &Node| {
        let merged = merge2(Some(dest.clone()), source, schema, &MergeOptions::lossless());
        merged.map(|merged| merged.node).map_err(|error| error.to_string())
    };
    same("over itself", two(a, a)?.as_ref(), Some(a))?;
    let Some(once) = two(a, b)? else { return Ok(()) };
    same("twice", two(&once, b)?.as_ref(), Some(&once))
}

/// Checks the merge result of three versions at every value.
fn nothing_is_lost(versions: [&Node; 3], schema: &Schema) -> Verdict {
    let merged = three(versions, schema)?;
    let check = Check { conflicts: &merged.conflicts, schema };
    check.value(versions.map(Some), merged.node.as_ref(), Cursor::unknown())
}

struct Check<'m> {
    conflicts: &'m [Conflict],
    schema: &'m Schema,
}

type Versions<'n> = [Option<&'n Node>; 3];

impl<'m> Check<'m> {
    fn value(&self, versions: Versions<'_>, merged: Option<&Node>, at: Cursor<'m>) -> Verdict {
        let [original, updated, dest] = versions;
        if original == updated || updated == dest {
            return same("dest's value", merged, dest);
        }
        if original == dest {
            return same("the updated value", merged, updated);
        }
        if [updated, dest].into_iter().flatten().any(Node::is_null) {
            return same("null clears", merged, None);
        }
        let at = self.known(versions, at);
        let [lists, maps] = [
            versions.iter().flatten().all(|node| node.as_list().is_some() || node.is_null()),
            versions.iter().flatten().all(|node| node.as_map().is_some() || node.is_null()),
        ];
        match (updated, dest) {
            _ if lists => self.list(versions, merged, at),
            // Compared as one value, or both changed its type.
            (Some(_), Some(_)) if !maps || self.is_listed(versions) => {
                same("of a conflict the updated value", merged, updated)?;
                self.listed(versions)
            }
            (Some(_), Some(_)) => self.fields(versions, merged, at),
            // One side removed a value that the other one changed: added parts may stay, and changed parts may
            // come back.
            _ if maps => Ok(()),
            _ => {
                same("of a conflict the updated value", merged, updated)?;
                self.listed(versions)
            }
        }
    }

    /// The type that an object declares itself, where the schema ends.
    fn known(&self, versions: Versions<'_>, at: Cursor<'m>) -> Cursor<'m> {
        if at.is_known() && !at.is_embedded_resource() {
            return at;
        }
        let [original, updated, dest] = versions;
        let text = |node: &Node, name| node.get(name).and_then(Node::as_str).map(str::to_string);
        let kind = |node: &Node| {
            self.schema.kind(&Gvk::from_manifest(&text(node, "apiVersion")?, &text(node, "kind")?))
        };
        let version = |node: Option<&Node>| node.and_then(|node| text(node, "apiVersion"));
        let is_old = version(updated) == version(original);
        let [first, second] = if is_old { [dest, updated] } else { [updated, dest] };
        [first, second, original].into_iter().flatten().find_map(kind).unwrap_or(at)
    }

    fn is_listed(&self, [_, updated, dest]: Versions<'_>) -> bool {
        let spans = [updated, dest].map(|node| node.map(Node::span));
        self.conflicts.iter().any(|conflict| {
            [&conflict.updated, &conflict.dest].map(|value| value.as_ref().map(Node::span)) == spans
        })
    }

    fn listed(&self, versions: Versions<'_>) -> Verdict {
        let shown = || versions.map(json).join("\n  ");
        if self.is_listed(versions) { Ok(()) } else { Err(format!("no conflict is listed:\n  {}", shown())) }
    }

    fn fields(&self, versions: Versions<'_>, merged: Option<&Node>, at: Cursor<'m>) -> Verdict {
        if at.map_type() == Some(MapType::Atomic) && !at.additional().is_known() {
            return Err("an atomic map was merged, and no conflict is listed".into());
        }
        let names = versions.iter().flatten().filter_map(|node| node.as_map()).flat_map(Map::iter);
        for (name, _) in names {
            let field = |node: &Node| node.get(name).cloned();
            let merged = merged.and_then(field);
            let versions = versions.map(|node| node?.get(name));
            let check = self.value(versions, merged.as_ref(), at.field(name));
            check.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    fn list(&self, versions: Versions<'_>, merged: Option<&Node>, at: Cursor<'m>) -> Verdict {
        let lists = versions.map(|node| node.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
        let Some(rows) = rows(lists, at) else {
            same("of a list without keys the updated value", merged, versions[1])?;
            return self.listed(versions);
        };
        let merged = merged.and_then(Node::as_list).map_or(&[][..], Vec::as_slice);
        let Some(results) = rows_by_keys([merged, &[], &[]], at, lists) else {
            return Err("the entries of the result have no keys of their own".into());
        };
        for (name, [original, updated, dest]) in rows {
            let result = results.get(&name).and_then(|row| row[0]);
            let is_removed = original.is_some() && (updated.is_none() || dest.is_none());
            let check = match result {
                None if is_removed => Ok(()),
                None => Err("the entry is lost, and no side removed it".into()),
                _ if is_removed && (original == updated || original == dest) => {
                    Err("the entry is there, and one side removed it".into())
                }
                // The entry came back with the changed parts.
                Some(_) if is_removed => self.listed([original, updated, dest]),
                result => self.value([original, updated, dest], result, at.element()),
            };
            check.map_err(|error| format!("[{name}]: {error}"))?;
        }
        Ok(())
    }
}

type Rows<'n> = BTreeMap<String, Versions<'n>>;

/// The entries of lists by their names, if they have any.
fn rows<'n>(lists: [&'n [Node]; 3], at: Cursor<'_>) -> Option<Rows<'n>> {
    rows_by_keys(lists, at, lists)
}

/// Returns true if no schema says how a list merges. Kubernetes marks its own lists atomic if it declares nothing
/// else.
fn is_undeclared(at: Cursor<'_>) -> bool {
    let is_of_kubernetes = at.element().type_name().is_some_and(|name| name.starts_with("io.k8s."));
    match at.list_type() {
        Some(ListType::Atomic) => is_of_kubernetes && !at.patch_strategy().merge,
        Some(_) => false,
        None => !at.patch_strategy().merge,
    }
}

/// The entries by keys that are inferred from other lists if no schema says how the list merges.
fn rows_by_keys<'n>(lists: [&'n [Node]; 3], at: Cursor<'_>, others: [&[Node]; 3]) -> Option<Rows<'n>> {
    if is_undeclared(at) {
        let keys = KEYS.iter().find(|key| by_keys(others, at, &[key]).is_some())?;
        return by_keys(lists, at, &[keys]);
    }
    let map_keys: Vec<&str> = at.list_map_keys().collect();
    let merge_keys: Vec<&str> = at.patch_merge_key().into_iter().collect();
    match at.list_type() {
        Some(ListType::Atomic) => None,
        Some(ListType::Set) => by_value(lists),
        Some(ListType::Map) if !map_keys.is_empty() => by_keys(lists, at, &map_keys),
        _ if !at.patch_strategy().merge => None,
        _ if merge_keys.is_empty() => by_value(lists),
        _ => by_keys(lists, at, &merge_keys),
    }
}

fn by_keys<'n>(lists: [&'n [Node]; 3], at: Cursor<'_>, keys: &[&str]) -> Option<Rows<'n>> {
    let has_default = at.list_map_keys().len() > 0 && at.list_type() == Some(ListType::Map);
    by_name(lists, |entry| {
        let map = entry.as_map()?;
        let value = |key: &&str| match map.get(key).filter(|value| !value.is_null()) {
            Some(value) => value.scalar_text().and_then(|_| to_json(value).ok()),
            None if has_default => at.element().key_default(key).map(str::to_string),
            None => None,
        };
        Some(keys.iter().map(value).collect::<Option<Vec<_>>>()?.join(","))
    })
}

fn by_value(lists: [&[Node]; 3]) -> Option<Rows<'_>> {
    by_name(lists, |entry| to_json(entry).ok())
}

fn by_name(lists: [&[Node]; 3], name: impl Fn(&Node) -> Option<String>) -> Option<Rows<'_>> {
    let mut rows = Rows::new();
    for (version, list) in lists.into_iter().enumerate() {
        for entry in list {
            if rows.entry(name(entry)?).or_default()[version].replace(entry).is_some() {
                return None;
            }
        }
    }
    Some(rows)
}
