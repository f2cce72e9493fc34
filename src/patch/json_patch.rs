//! JSON patches: RFC 6902, with the liberties of the Go library that kubectl and kustomize use.
//!
//! They are: a negative index counts from the end, `replace` adds a field that is not there, `add`
//! and `replace` without a value set null, and what stands before the first `/` of a path is not
//! looked at. A field that is not there and one that is null are the same to `test` and `copy`.

use smol_str::SmolStr;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Span;
use crate::yaml::{Map, Node, Value};

/// A list of operations.
#[derive(Debug, Clone, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Debug, Clone)]
struct Operation {
    kind: Kind,
    path: Pointer,
    from: Option<Pointer>,
    value: Option<Node>,
    span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
}

/// A JSON pointer (RFC 6901); the empty one means the whole document.
#[derive(Debug, Clone)]
struct Pointer {
    text: SmolStr,
    parts: Vec<SmolStr>,
}

impl Pointer {
    fn new(text: &str) -> Self {
        let parts = text.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~").into());
        Self { text: text.into(), parts: parts.collect() }
    }
}

impl JsonPatch {
    /// Reads a patch from a list of operations.
    ///
    /// # Errors
    /// Anything that is no list of maps with a known `op` and the fields that it needs.
    pub fn from_node(node: &Node) -> Result<Self> {
        let Some(list) = node.as_list() else {
            let message = format!("a JSON patch must be a list of operations, not {}", node.type_name());
            return Err(Diagnostic::error(Code::WrongType, message).at(node.span()));
        };
        Ok(Self { operations: list.iter().map(operation).collect::<Result<_>>()? })
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Applies all operations, or none of them.
    ///
    /// # Errors
    /// A path that is not there, an index past the end, a `test` that fails.
    pub fn apply(&self, node: &mut Node) -> Result<()> {
        let mut copy = node.clone();
        for operation in &self.operations {
            operation
                .apply(&mut copy)
                .map_err(|problem| problem.at(operation.span).field(&operation.path.text))?;
        }
        *node = copy;
        Ok(())
    }
}

fn operation(node: &Node) -> Result<Operation> {
    let wrong = |message: String| Diagnostic::error(Code::InvalidValue, message).at(node.span());
    if node.as_map().is_none() {
        return Err(wrong(format!("an operation of a JSON patch must be a map, not {}", node.type_name())));
    }
    let text = |field: &str| node.get(field).and_then(Node::as_str);
    let kind = match text("op") {
        Some("add") => Kind::Add,
        Some("remove") => Kind::Remove,
        Some("replace") => Kind::Replace,
        Some("move") => Kind::Move,
        Some("copy") => Kind::Copy,
        Some("test") => Kind::Test,
        Some(other) => {
            return Err(wrong(format!("`{other}` is no operation of a JSON patch"))
                .help("there are: add, remove, replace, move, copy, test"));
        }
        None => return Err(wrong("this operation of a JSON patch has no `op`".into())),
    };
    let Some(path) = text("path") else {
        return Err(wrong("this operation of a JSON patch has no `path`".into()));
    };
    let from = text("from").map(Pointer::new);
    if from.is_none() && matches!(kind, Kind::Move | Kind::Copy) {
        return Err(wrong("this operation of a JSON patch has no `from`".into()));
    }
    let value = node.get("value").cloned();
    Ok(Operation { kind, path: Pointer::new(path), from, value, span: node.span() })
}

impl Operation {
    fn apply(&self, document: &mut Node) -> Result<()> {
        let value = || self.value.clone().unwrap_or_else(Node::null);
        match self.kind {
            Kind::Add => add(document, &self.path, value()),
            Kind::Remove => remove(document, &self.path).map(drop),
            Kind::Replace => replace(document, &self.path, value()),
            Kind::Test => self.test(document),
            Kind::Move => {
                let Some(from) = &self.from else { return Ok(()) };
                let moved = remove(document, from)?;
                add(document, &self.path, moved)
            }
            Kind::Copy => {
                let Some(from) = &self.from else { return Ok(()) };
                let copied = get(document, from)?.cloned().unwrap_or_else(Node::null);
                add(document, &self.path, copied)
            }
        }
    }

    fn test(&self, document: &Node) -> Result<()> {
        let found = if self.path.parts.is_empty() { Some(document) } else { get(document, &self.path)? };
        let is_null = |node: Option<&Node>| node.is_none_or(Node::is_null);
        let wanted = self.value.as_ref();
        if found == wanted || (is_null(found) && is_null(wanted)) {
            return Ok(());
        }
        let shown = found.and_then(|n| crate::yaml::to_json(n).ok()).unwrap_or_else(|| "nothing".into());
        Err(Diagnostic::error(Code::Conflict, format!("the test fails: there is {shown}")))
    }
}

/// The map or list that holds what a pointer names, and its last part.
fn parent<'n, 'p>(document: &'n mut Node, pointer: &'p Pointer) -> Result<(&'n mut Node, &'p str)> {
    let Some((last, steps)) = pointer.parts.split_last() else {
        return Err(missing(pointer).help("a path begins with a slash"));
    };
    let mut node = document;
    for step in steps {
        node = match &mut node.value {
            Value::Map(map) => map.get_mut(step),
            Value::List(list) => index(step, list.len()).and_then(|i| list.get_mut(i)),
            Value::Scalar(_) => None,
        }
        .ok_or_else(|| missing(pointer))?;
    }
    Ok((node, last))
}

fn get<'n>(document: &'n Node, pointer: &Pointer) -> Result<Option<&'n Node>> {
    let Some((last, steps)) = pointer.parts.split_last() else { return Err(missing(pointer)) };
    let mut node = document;
    for step in steps {
        node = match &node.value {
            Value::Map(map) => map.get(step),
            Value::List(list) => index(step, list.len()).and_then(|i| list.get(i)),
            Value::Scalar(_) => None,
        }
        .ok_or_else(|| missing(pointer))?;
    }
    match &node.value {
        Value::Map(map) => Ok(map.get(last)),
        Value::List(list) => {
            let found = index(last, list.len()).and_then(|i| list.get(i));
            found.map(Some).ok_or_else(|| bad_index(last, list.len()))
        }
        Value::Scalar(_) => Err(missing(pointer)),
    }
}

fn add(document: &mut Node, pointer: &Pointer, value: Node) -> Result<()> {
    let (node, key) = parent(document, pointer)?;
    match &mut node.value {
        Value::Map(map) => {
            map.insert(SmolStr::new(key), value);
            Ok(())
        }
        Value::List(list) if key == "-" => {
            list.push(value);
            Ok(())
        }
        Value::List(list) => {
            // One place more than there are entries, so that -1 is behind the last.
            let at = index(key, list.len() + 1).ok_or_else(|| bad_index(key, list.len()))?;
            list.insert(at, value);
            Ok(())
        }
        Value::Scalar(_) => Err(missing(pointer)),
    }
}

fn remove(document: &mut Node, pointer: &Pointer) -> Result<Node> {
    let (node, key) = parent(document, pointer)?;
    match &mut node.value {
        Value::Map(map) => map.remove(key).ok_or_else(|| missing_field(map, key)),
        Value::List(list) => {
            let at = index(key, list.len()).ok_or_else(|| bad_index(key, list.len()))?;
            Ok(list.remove(at))
        }
        Value::Scalar(_) => Err(missing(pointer)),
    }
}

fn replace(document: &mut Node, pointer: &Pointer, value: Node) -> Result<()> {
    if pointer.text.is_empty() {
        if matches!(value.value, Value::Scalar(_)) {
            let message = format!("the whole document cannot become {}", value.type_name());
            return Err(Diagnostic::error(Code::WrongType, message));
        }
        *document = value;
        return Ok(());
    }
    let (node, key) = parent(document, pointer)?;
    match &mut node.value {
        Value::Map(map) => {
            map.insert(SmolStr::new(key), value);
        }
        Value::List(list) => {
            let at = index(key, list.len()).ok_or_else(|| bad_index(key, list.len()))?;
            list[at] = value;
        }
        Value::Scalar(_) => return Err(missing(pointer)),
    }
    Ok(())
}

/// An index into a list of `len` entries; a negative one counts from its end.
fn index(text: &str, len: usize) -> Option<usize> {
    let number: i64 = text.parse().ok()?;
    let len = i64::try_from(len).ok()?;
    let at = if number < 0 { number + len } else { number };
    usize::try_from(at).ok().filter(|_| at < len)
}

fn missing(pointer: &Pointer) -> Diagnostic {
    Diagnostic::error(Code::NoMatch, format!("there is nothing at `{}`", pointer.text))
        .help("each part of the path but the last must be there; add it first")
}

fn missing_field(map: &Map, key: &str) -> Diagnostic {
    let mut fields: Vec<_> = map.iter().take(12).map(|(k, _)| k).collect();
    fields.sort_unstable();
    let there =
        if fields.is_empty() { "there are none".into() } else { format!("there are: {}", fields.join(", ")) };
    Diagnostic::error(Code::NoMatch, format!("there is no field `{key}`")).help(there)
}

fn bad_index(text: &str, len: usize) -> Diagnostic {
    Diagnostic::error(Code::NoMatch, format!("`{text}` is no index of a list with {len} entries"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{ParseOptions, parse_one, to_json};

    fn read(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("t", text);
        parse_one(&sources, id, ParseOptions::default()).expect(text)
    }

    fn apply(document: &str, patch: &str) -> std::result::Result<String, String> {
        let mut node = read(document);
        let before = node.clone();
        let result = JsonPatch::from_node(&read(patch)).and_then(|p| p.apply(&mut node));
        if result.is_err() {
            assert_eq!(node, before, "a patch that fails changes nothing");
        }
        result.map(|()| to_json(&node).expect("json")).map_err(|e| e.to_string())
    }

    #[test]
    fn operations() {
        let table = [
            ("{a: 1}", "[{op: add, path: /b, value: 2}]", r#"{"a":1,"b":2}"#),
            ("{a: 1}", "[{op: add, path: /a, value: {c: []}}]", r#"{"a":{"c":[]}}"#),
            ("{a: [1, 3]}", "[{op: add, path: /a/1, value: 2}]", r#"{"a":[1,2,3]}"#),
            ("{a: [1]}", "[{op: add, path: /a/-, value: 2}]", r#"{"a":[1,2]}"#),
            ("{a: [1]}", "[{op: add, path: /a/-1, value: 2}]", r#"{"a":[1,2]}"#),
            ("{a: [1, 2, 3]}", "[{op: remove, path: /a/-2}]", r#"{"a":[1,3]}"#),
            ("{a: [1, 2]}", "[{op: replace, path: /a/0, value: x}]", r#"{"a":["x",2]}"#),
            ("{a: 1}", "[{op: replace, path: '', value: [1]}]", "[1]"),
            ("{a: 1}", "[{op: replace, path: /b, value: 2}]", r#"{"a":1,"b":2}"#),
            ("{a: {b: 1}}", "[{op: move, from: /a/b, path: /c}]", r#"{"a":{},"c":1}"#),
            ("{a: {b: 1}}", "[{op: copy, from: /a, path: /c}]", r#"{"a":{"b":1},"c":{"b":1}}"#),
            ("{a: 1}", "[{op: copy, from: /x, path: /c}]", r#"{"a":1,"c":null}"#),
            ("{'a/b': 1, 'm~n': 2}", "[{op: remove, path: /a~1b}, {op: remove, path: /m~0n}]", "{}"),
            ("{a: 1}", "[{op: test, path: /a, value: 1}, {op: test, path: /b, value: null}]", r#"{"a":1}"#),
            ("{a: 1}", "[{op: add, path: /b}]", r#"{"a":1,"b":null}"#),
            ("{a: 1}", "[]", r#"{"a":1}"#),
        ];
        for (document, patch, want) in table {
            assert_eq!(apply(document, patch).as_deref(), Ok(want), "{document} {patch}");
        }
    }

    #[test]
    fn failures_say_what_is_there() {
        let table = [
            ("{a: 1}", "[{op: remove, path: /b}]", "there is no field `b`"),
            ("{a: 1}", "[{op: add, path: /b/c, value: 1}]", "there is nothing at `/b/c`"),
            ("{a: [1]}", "[{op: add, path: /a/3, value: 1}]", "`3` is no index of a list with 1 entries"),
            ("{a: [1]}", "[{op: remove, path: /a/-}]", "`-` is no index"),
            ("{a: 1}", "[{op: test, path: /a, value: 2}]", "the test fails: there is 1"),
            ("{a: 1}", "[{op: add, path: a, value: 1}]", "there is nothing at `a`"),
            ("{a: 1}", "[{op: remove, path: /a}, {op: remove, path: /a}]", "there is no field `a`"),
            ("{a: 1}", "{}", "must be a list"),
            ("{a: 1}", "[1]", "must be a map"),
            ("{a: 1}", "[{path: /a}]", "has no `op`"),
            ("{a: 1}", "[{op: frob, path: /a}]", "`frob` is no operation"),
            ("{a: 1}", "[{op: remove}]", "has no `path`"),
            ("{a: 1}", "[{op: move, path: /b}]", "has no `from`"),
        ];
        for (document, patch, part) in table {
            let error = apply(document, patch).expect_err(patch);
            assert!(error.contains(part), "{document} {patch}: {error}");
        }
    }
}
