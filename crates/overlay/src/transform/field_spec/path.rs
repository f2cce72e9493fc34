//! The paths of field specs: finding and creating fields.
//!
//! This module does not depend on kinds and specs.

use smol_str::SmolStr;

use crate::transform::value_path::split_slashed;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Style, Tag, Value};

/// The value that a missing or null field at the end of a path is set to. Missing parent maps are created, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::transform) enum Create {
    /// Missing fields are not created.
    Never,
    /// A scalar with this tag.
    Scalar(Tag),
    /// A map.
    Map,
}

impl Create {
    /// Returns the value for the parent of a field.
    fn for_parent(self) -> Self {
        if self == Self::Never { self } else { Self::Map }
    }
}

/// A function that is called for each matching field.
pub(in crate::transform) type SetField<'f> = dyn FnMut(&mut Node) -> Result<()> + 'f;

/// The maximum number of names in a path. It keeps created fields within the nesting limit of trees.
const MAX_NAMES: usize = 200;

/// A parsed path.
#[derive(Debug)]
pub(in crate::transform) struct SpecPath(Vec<FieldName>);

#[derive(Debug)]
struct FieldName {
    name: SmolStr,
    /// True if the name has the suffix `[]`.
    list: bool,
    fault: Option<Fault>,
}

/// An error in a field name or path.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The name is not allowed in a path.
    Name(&'static str),
    /// The path has too many names.
    TooMany,
}

impl Fault {
    fn diagnostic(self) -> Diagnostic {
        match self {
            Self::Name(message) => Diagnostic::error(Code::InvalidValue, message),
            Self::TooMany => {
                let message = format!("the path has more than {MAX_NAMES} field names");
                Diagnostic::error(Code::LimitExceeded, message)
            }
        }
    }
}

impl SpecPath {
    pub(super) fn new(text: &str) -> Self {
        let names = split_slashed(text);
        if names.len() > MAX_NAMES {
            let fault = Some(Fault::TooMany);
            return Self(vec![FieldName { name: SmolStr::default(), list: false, fault }]);
        }
        Self(names.iter().map(|name| FieldName::new(name)).collect())
    }

    /// Calls `set` for each field that the path matches.
    pub(in crate::transform) fn visit(
        &self,
        node: &mut Node,
        create: Create,
        set: &mut SetField<'_>,
    ) -> Result<()> {
        visit(&self.0, node, create, set)
    }
}

fn visit(names: &[FieldName], node: &mut Node, create: Create, set: &mut SetField<'_>) -> Result<()> {
    let Some((name, rest)) = names.split_first() else { return set(node) };
    if let Some(map) = node.as_map_mut() {
        let here = if rest.is_empty() { create } else { create.for_parent() };
        return match name.field(map, here)? {
            Some(field) => visit(rest, field, create, set),
            None => Ok(()),
        };
    }
    if let Some(list) = node.as_list_mut() {
        return list.iter_mut().try_for_each(|entry| visit(names, entry, create, set));
    }
    if node.is_null() {
        return Ok(());
    }
    let message =
        format!("expected a map or a list with the field `{}`, found {}", name.name, node.type_name());
    Err(Diagnostic::error(Code::WrongType, message).at(node.span()))
}

impl FieldName {
    fn new(text: &str) -> Self {
        let (name, list) = text.strip_suffix("[]").map_or((text, false), |name| (name, true));
        let name = name.trim();
        // kustomize treats these as list positions, but here the value is never a list.
        let fault = match name {
            "" => Some("a field name in the path is empty"),
            "*" => Some("`*` cannot be used in the path of a field spec"),
            "-" => Some("list positions cannot be used in the path of a field spec"),
            _ if name.parse::<i64>().is_ok() || (name.starts_with('[') && name.ends_with(']')) => {
                Some("list positions cannot be used in the path of a field spec")
            }
            _ => None,
        };
        Self { name: name.into(), list, fault: fault.map(Fault::Name) }
    }

    /// Returns the field with this name. Creates it, or replaces a null value, as `create` requests.
    fn field<'m>(&self, map: &'m mut Map, create: Create) -> Result<Option<&'m mut Node>> {
        if let Some(fault) = self.fault {
            return Err(fault.diagnostic());
        }
        let at = match map.position(&self.name) {
            Some(at) => at,
            None if create == Create::Never || self.list => return Ok(None),
            None => {
                map.push(self.name.clone(), Node::plain(""));
                map.len() - 1
            }
        };
        let Some(entry) = map.entries_mut().get_mut(at) else { return Ok(None) };
        let node = &mut entry.value;
        if node.is_null() {
            match create {
                // A null for a list becomes an empty list even with `Create::Never`.
                _ if self.list => set_collection(node, Value::List(Vec::new())),
                Create::Never => {}
                Create::Map => set_collection(node, Value::Map(Map::new())),
                Create::Scalar(tag) => node.meta.tag = tag,
            }
        }
        Ok(Some(node))
    }
}

fn set_collection(node: &mut Node, value: Value) {
    node.value = value;
    node.meta.tag = Tag::None;
    node.meta.style = Style::Block;
}

#[cfg(test)]
mod tests {
    use super::super::set::{set_entries, set_scalar};
    use super::*;
    use crate::transform::testing::nodes;
    use smp_text::yaml::to_yaml;

    #[test]
    fn paths_are_split_at_slashes() {
        let table: [(&str, &[&str]); 7] = [
            ("a/b", &["a", "b"]),
            ("/a/b", &["a", "b"]),
            (r"a/b\/c/d", &["a", "b/c", "d"]),
            ("", &[""]),
            ("a//b", &["a", "", "b"]),
            ("a/", &["a", ""]),
            (r"a\/", &["a/"]),
        ];
        for (path, want) in table {
            assert_eq!(split_slashed(path), want, "{path}");
        }
    }

    /// Sets a field to the string `new`. Returns the manifest, or the code of the error.
    fn set_at(path: &str, create: Create, manifest: &str) -> std::result::Result<String, Code> {
        let mut node = nodes(manifest).remove(0);
        let mut set = |field: &mut Node| match create {
            Create::Map => {
                set_entries(field, &[("k".into(), SmolStr::new("new").into())].into(), None).map(|_| ())
            }
            _ => set_scalar(field, "new".into(), Tag::Str),
        };
        SpecPath::new(path).visit(&mut node, create, &mut set).map_err(|d| d.code())?;
        Ok(to_yaml(&node).expect("printable").trim_end().to_string())
    }

    #[test]
    fn fields_are_found_and_created() {
        use Create::{Map, Never};
        let scalar = Create::Scalar(Tag::Str);
        let table = [
            ("a/b", Never, "{a: {b: 1}}", Ok("a:\n  b: new")),
            (
                "a/b",
                Never,
                "{a: [{b: 1}, {c: 1}, [{b: 2}], null]}",
                Ok("a:\n- b: new\n- c: 1\n- - b: new\n- null"),
            ),
            ("a/b", Never, "{x: 1}", Ok("x: 1")),
            ("a/b", Never, "{a: null}", Ok("a: null")),
            ("a/b", scalar, "{x: 1}", Ok("a:\n  b: new\nx: 1")),
            ("a/b", scalar, "{a: null}", Ok("a:\n  b: new")),
            ("a/b", scalar, "{a: {b: null}}", Ok("a:\n  b: new")),
            ("a/b", scalar, "{a: [{b: 1}, {}]}", Ok("a:\n- b: new\n- b: new")),
            ("a/b", Map, "{x: 1}", Ok("a:\n  b:\n    k: new\nx: 1")),
            ("a/b", Map, "{a: {b: {k: 1, l: 2}}}", Ok("a:\n  b:\n    k: new\n    l: 2")),
            ("a/b", Map, "{a: {b: null}}", Ok("a:\n  b:\n    k: new")),
            ("a[]/b", scalar, "{x: 1}", Ok("x: 1")),
            ("a[]/b", scalar, "{a: [{}]}", Ok("a:\n- b: new")),
            ("a[]/b", Never, "{a: null}", Ok("a: []")),
            ("a[]/b", scalar, "{a: {c: 1}}", Ok("a:\n  b: new\n  c: 1")),
            ("a/b", scalar, "{a: 1}", Err(Code::WrongType)),
            ("a/b", scalar, "{a: {b: {}}}", Err(Code::WrongType)),
            ("a/b", Map, "{a: {b: [k]}}", Err(Code::WrongType)),
            ("a//b", scalar, "{a: {b: 1}}", Err(Code::InvalidValue)),
            ("", scalar, "{a: 1}", Err(Code::InvalidValue)),
            ("a/0", Never, "{a: {'0': 1}}", Err(Code::InvalidValue)),
            ("a/-/b", Never, "{a: [1]}", Err(Code::WrongType)),
            ("a/*", Never, "{a: {}}", Err(Code::InvalidValue)),
            ("a/0", Never, "{b: 1}", Ok("b: 1")),
        ];
        for (path, create, manifest, want) in table {
            let got = set_at(path, create, manifest);
            assert_eq!(got.as_deref().map_err(|e| *e), want, "{path} {create:?} {manifest}");
        }
        let endless = "a/".repeat(10_000);
        assert_eq!(set_at(&endless, scalar, "{a: 1}"), Err(Code::LimitExceeded));
    }
}
