//! Search for all values at a path.

use std::cell::RefCell;

use super::parts::{entry_parts, is_entry};
use super::value::{NodeKind, entries, fields, new_entry, text_of};
use smp_merge::cause::TouchedStep;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::gocompat::{regexp, strconv};
use smp_text::path::push_step;
use smp_text::yaml::{FieldPositions, Map, Node, Style, Value};

/// A value found by [`Matches`].
pub(in crate::transform) struct FoundValue<'n> {
    /// The value.
    pub node: &'n mut Node,
    /// True if the value was created by this search.
    pub created: bool,
    /// The path to the value from the start of the search; `None` for the start itself.
    pub path: Option<&'n FoundPath<'n>>,
}

/// The last step of the path to a value, linked to the steps before it.
pub(in crate::transform) struct FoundPath<'n> {
    step: FoundStep<'n>,
    before: Option<&'n FoundPath<'n>>,
}

#[derive(Clone, Copy)]
enum FoundStep<'n> {
    /// A field with its position in the map.
    Field(&'n str, usize),
    Entry(usize),
}

impl FoundPath<'_> {
    /// Returns the path as a JSON pointer.
    pub(in crate::transform) fn pointer(&self) -> String {
        let mut pointer = self.before.map(FoundPath::pointer).unwrap_or_default();
        match self.step {
            FoundStep::Field(name, _) => push_step(&mut pointer, name),
            FoundStep::Entry(position) => push_step(&mut pointer, &position.to_string()),
        }
        pointer
    }

    /// Returns the path in the form that histories use.
    pub(in crate::transform) fn touched_path(&self) -> Vec<TouchedStep> {
        let mut path = self.before.map(FoundPath::touched_path).unwrap_or_default();
        path.push(match self.step {
            FoundStep::Field(name, position) => TouchedStep::Field(name.into(), position),
            FoundStep::Entry(position) => TouchedStep::Entry(position),
        });
        path
    }
}

/// Finds all values at a path, in order, and calls a function for each.
///
/// Unlike in [`super::lookup`], the value in `[name=value]` is a regular expression that matches anywhere in
/// the field.
pub(in crate::transform) struct Matches<'f> {
    /// The kind of value to create for missing values, or `None` to create none.
    pub create: Option<NodeKind>,
    /// The function to call for each value.
    pub each: &'f dyn Fn(FoundValue<'_>) -> Result<()>,
    /// The function to call for the rest of a path that continues in a scalar, which may contain YAML or JSON. Returns
    /// the number of values found in it.
    pub inside: &'f dyn Fn(&mut Node, &[String]) -> Result<usize>,
}

/// The positions of fields in large maps of a tree, by the paths to these maps.
pub(in crate::transform) type TreePositions = RefCell<FieldPositions<String>>;

/// The path so far and the known positions, as long as all steps are fields.
#[derive(Clone, Copy)]
struct CachedPath<'w> {
    path: &'w [String],
    positions: &'w TreePositions,
}

impl CachedPath<'_> {
    /// Returns the position of a field in a map. `rest` is the path below the field.
    fn position(self, map: &Map, name: &str, rest: &[String]) -> Option<usize> {
        let steps = self.path.len() - rest.len() - 1;
        self.positions.borrow_mut().find(&self.path[..steps], map, name)
    }

    fn push(self, map: &mut Map, name: &str, rest: &[String], value: Node) {
        let steps = self.path.len() - rest.len() - 1;
        self.positions.borrow_mut().push(&self.path[..steps], map, &name.into(), value);
    }
}

impl Matches<'_> {
    /// Finds the values and returns their number.
    ///
    /// `positions` caches positions of fields between several searches in one tree. It must be cleared
    /// whenever a map is replaced.
    ///
    /// # Errors
    /// The path does not match the types of the values, a regular expression is malformed, a position is past
    /// the end of a list, or a function fails.
    pub(in crate::transform) fn find(
        &self,
        node: &mut Node,
        path: &[String],
        positions: Option<&TreePositions>,
    ) -> Result<usize> {
        let known = positions.map(|positions| CachedPath { path, positions });
        self.walk(FoundValue { node, created: false, path: None }, path, known)
    }

    fn walk(&self, at: FoundValue<'_>, path: &[String], known: Option<CachedPath<'_>>) -> Result<usize> {
        let Some((part, rest)) = path.split_first() else {
            (self.each)(at)?;
            return Ok(1);
        };
        match strconv::atoi(part).and_then(|i| usize::try_from(i).ok()) {
            Some(i) => self.entry_at(at, i, part, rest),
            None if is_entry(part) => self.entries_like(at, part, rest),
            None if part == "*" => self.every_entry(at.node, at.path, rest),
            None => self.field(at, part, rest, known),
        }
    }

    fn field(
        &self,
        at: FoundValue<'_>,
        name: &str,
        rest: &[String],
        known: Option<CachedPath<'_>>,
    ) -> Result<usize> {
        if name.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "the path has an empty part")
                .help("escape a dot in a field name as `\\.`, or put the name in brackets"));
        }
        let FoundValue { node, mut created, path } = at;
        let position = |map: &Map| match known {
            Some(known) => known.position(map, name, rest),
            None => map.position(name),
        };
        let found = fields(node, name)?.and_then(position);
        let Some(map) = node.as_map_mut() else { return Ok(0) };
        let position = match (found, self.create) {
            (Some(position), _) => position,
            (None, None) => return Ok(0),
            (None, Some(leaf)) => {
                let value = NodeKind::for_next(rest.first(), leaf).node();
                match known {
                    Some(known) => known.push(map, name, rest, value),
                    None => map.push(name, value),
                }
                created = true;
                map.len() - 1
            }
        };
        let Some(field) = map.entries_mut().get_mut(position).map(|entry| &mut entry.value) else {
            return Ok(0);
        };
        if !rest.is_empty() && matches!(field.value, Value::Scalar(_)) {
            return (self.inside)(field, rest);
        }
        let path = FoundPath { step: FoundStep::Field(name, position), before: path };
        self.walk(FoundValue { node: field, created, path: Some(&path) }, rest, known)
    }

    fn entry_at(&self, at: FoundValue<'_>, i: usize, part: &str, rest: &[String]) -> Result<usize> {
        let FoundValue { node, path, .. } = at;
        let len = entries(node, part)?.len();
        let mut created = false;
        if let (true, Some(leaf), Some(list)) = (i == len, self.create, node.as_list_mut()) {
            list.push(NodeKind::for_next(rest.first(), leaf).node());
            created = true;
        }
        let at = node.span();
        let Some(entry) = node.as_list_mut().and_then(|list| list.get_mut(i)) else {
            let message = format!("no entry at list position {i}: the list has {len} entries");
            return Err(Diagnostic::error(Code::NoMatch, message).at(at));
        };
        let path = FoundPath { step: FoundStep::Entry(i), before: path };
        self.walk(FoundValue { node: entry, created, path: Some(&path) }, rest, None)
    }

    fn every_entry(&self, node: &mut Node, before: Option<&FoundPath<'_>>, rest: &[String]) -> Result<usize> {
        entries(node, "*")?;
        let list = node.as_list_mut().map_or(&mut [][..], Vec::as_mut_slice);
        let each = |(i, node)| {
            let path = FoundPath { step: FoundStep::Entry(i), before };
            self.walk(FoundValue { node, created: false, path: Some(&path) }, rest, None)
        };
        list.iter_mut().enumerate().map(each).sum()
    }

    fn entries_like(&self, at: FoundValue<'_>, part: &str, rest: &[String]) -> Result<usize> {
        let FoundValue { node, created, path } = at;
        let found = self.existing_like(FoundValue { node: &mut *node, created, path }, part, rest)?;
        if found > 0 || self.create.is_none() {
            return Ok(found);
        }
        let Some(list) = node.as_list_mut() else { return Ok(0) };
        list.push(new_entry(part)?);
        // Nothing else matched, so only the new entry is found.
        self.existing_like(FoundValue { node, created: true, path }, part, rest)
    }

    fn existing_like(&self, at: FoundValue<'_>, part: &str, rest: &[String]) -> Result<usize> {
        let FoundValue { node, created, path: before } = at;
        let (name, value) = entry_parts(part)?;
        if entries(node, part)?.is_empty() {
            return Ok(0);
        }
        let regex = regexp::compile(value).map_err(|why| {
            let message = format!("`{value}` in `{part}` is not a valid regular expression");
            Diagnostic::error(Code::InvalidValue, message).note(why)
        })?;
        let mut found = 0;
        for (i, node) in node.as_list_mut().into_iter().flatten().enumerate() {
            let path = FoundPath { step: FoundStep::Entry(i), before };
            let path = Some(&path);
            if name.is_empty() {
                // The rest of the path is ignored, as in kustomize v5.8.
                if regex.is_match(&as_written(node)) {
                    (self.each)(FoundValue { node, created, path })?;
                    found += 1;
                }
            } else if node.get(name).is_some_and(|field| regex.is_match(&as_written(field))) {
                found += self.walk(FoundValue { node, created, path }, rest, None)?;
            }
        }
        Ok(found)
    }
}

/// Returns the text that regular expressions are matched against: a scalar with its quotes.
fn as_written(node: &Node) -> String {
    let text = text_of(node);
    match node.meta.style {
        Style::DoubleQuoted => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        Style::SingleQuoted => format!("'{}'", text.replace('\'', "''")),
        _ if node.is_null() && text.is_empty() => "null".into(),
        _ => text.trim().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parts::split_dotted;
    use super::*;
    use crate::transform::testing::nodes;
    use smp_text::yaml::to_json;

    /// Sets all found values to `!` and returns the JSON, or the error.
    fn mark(text: &str, path: &str, create: Option<NodeKind>) -> String {
        let mut tree = nodes(text).remove(0);
        let each = |found: FoundValue<'_>| {
            *found.node = Node::string("!");
            Ok(())
        };
        let inside = |_: &mut Node, _: &[String]| Ok(0);
        let found =
            Matches { create, each: &each, inside: &inside }.find(&mut tree, &split_dotted(path), None);
        match found {
            Ok(0) => "none".into(),
            Ok(_) => to_json(&tree).expect("JSON").replace('"', ""),
            Err(error) => format!("error: {}", error.message()),
        }
    }

    #[test]
    fn all_matching_values_are_found() {
        let list = "{l: [{name: web, v: 1}, {name: web-2, v: 2}, {v: 3}]}";
        let table = [
            (list, "l.*.v", "{l:[{name:web,v:!},{name:web-2,v:!},{v:!}]}"),
            (list, "l.[name=web].v", "{l:[{name:web,v:!},{name:web-2,v:!},{v:3}]}"),
            (list, "l.[name=^web$].v", "{l:[{name:web,v:!},{name:web-2,v:2},{v:3}]}"),
            (list, "l.[name=nope].v", "none"),
            (list, "l.1.v", "{l:[{name:web,v:1},{name:web-2,v:!},{v:3}]}"),
            (list, "l.3.v", "error: no entry at list position 3: the list has 3 entries"),
            (list, "l.-.v", "error: expected a map with `-`, found a list"),
            (list, "l.*.w", "none"),
            (list, "l", "{l:!}"),
            (list, "x.y", "none"),
            ("{l: [ab, b, 'c']}", "l.[=b]", "{l:[!,!,c]}"),
            ("{l: [ab, b, 'c']}", "l.[=b].ignored", "{l:[!,!,c]}"),
            ("{l: ['c']}", "l.[=^c$]", "none"),
            ("{a: null}", "a", "{a:!}"),
            ("{a: {b: 1}}", "a.*", "error: expected a list for `*`, found a map"),
            ("{a: 1}", ".", "error: the path has an empty part"),
        ];
        for (text, path, want) in table {
            assert_eq!(mark(text, path, None), want, "{path} in {text}");
        }
    }

    #[test]
    fn missing_values_are_created_for_all_matches() {
        let table = [
            ("{}", "a.b.c", "{a:{b:{c:!}}}"),
            ("{l: []}", "l.[name=x].v", "{l:[{name:x,v:!}]}"),
            ("{}", "l.[=x]", "{l:[!]}"),
            ("{}", "l.0.v", "{l:[{v:!}]}"),
            ("{}", "l.1.v", "error: no entry at list position 1: the list has 0 entries"),
            ("{l: [{name: x}, {}]}", "l.*.v", "{l:[{name:x,v:!},{v:!}]}"),
            ("{l: null}", "l.[name=x].v", "none"),
        ];
        for (text, path, want) in table {
            assert_eq!(mark(text, path, Some(NodeKind::Scalar)), want, "{path} in {text}");
        }
    }
}
