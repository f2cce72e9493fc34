//! The six operations, applied to a working copy of the document.

use smol_str::SmolStr;

use super::pointer::{Standard, index, steps};
use smp_text::diagnostic::{Code, Diagnostic, Result, plural};
use smp_text::path::pointer_to;
use smp_text::source::Span;
use smp_text::yaml::{FieldPositions, MAX_DEPTH, Map, Node, Value, nearest_name, nearest_path, to_json};

/// The maximum number of bytes that copies may add. Otherwise a few operations that copy their own parents could
/// exhaust the memory.
const MAX_COPIED: usize = 64 << 20;

/// A parsed operation. Its errors are reported when it is applied.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) op: Option<SmolStr>,
    pub(super) path: Option<SmolStr>,
    pub(super) from: Option<SmolStr>,
    pub(super) value: Option<Node>,
    pub(super) locations: OperationLocations,
    pub(super) span: Span,
}

/// The locations of an operation's pointers.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperationLocations {
    pub(super) path: Span,
    pub(super) from: Span,
}

impl Operation {
    pub(super) fn is_one_of(&self, ops: &[&str]) -> bool {
        self.op.as_deref().is_some_and(|op| ops.contains(&op))
    }

    /// Returns the location of the operation's pointer that refers to a path.
    fn location_of(&self, path: &[SmolStr], standard: Standard) -> Span {
        let from = self.from.as_deref().filter(|_| self.is_one_of(&["move", "copy"]));
        let is_from = from.and_then(|from| steps(from, standard)).is_some_and(|from| from == path);
        if is_from { self.locations.from } else { self.locations.path }
    }

    /// Returns true if the operation changes a single location. A `move` changes two.
    pub(super) fn is_simple(&self) -> bool {
        self.is_one_of(&["add", "remove", "replace", "copy", "test"])
    }
}

/// The result of patching a document.
pub struct Patched {
    /// The number of bytes that were copied.
    pub copied: usize,
    /// Warnings for operations that RFC 6902 rejects and that have another effect than expected.
    pub warnings: Vec<Diagnostic>,
    /// Warnings for paths that lose the text before their first `/`.
    pub(crate) cut_paths: Vec<Diagnostic>,
}

impl Patched {
    /// Returns all warnings.
    pub fn into_warnings(self) -> Vec<Diagnostic> {
        self.cut_paths.into_iter().chain(self.warnings).collect()
    }
}

/// A document while it is being patched.
pub(super) struct Document<'d> {
    root: &'d mut Node,
    standard: Standard,
    copied: usize,
    positions: &'d mut FieldPositions<SmolStr>,
    warnings: Vec<Diagnostic>,
    cut_paths: Vec<Diagnostic>,
}

impl<'d> Document<'d> {
    /// Creates the document. `positions` are the known positions of fields in `root`.
    pub(super) fn new(
        root: &'d mut Node,
        positions: &'d mut FieldPositions<SmolStr>,
        standard: Standard,
    ) -> Self {
        let (warnings, cut_paths) = (Vec::new(), Vec::new());
        Self { root, standard, copied: 0, positions, warnings, cut_paths }
    }

    pub(super) fn finish(self) -> Patched {
        Patched { copied: self.copied, warnings: self.warnings, cut_paths: self.cut_paths }
    }

    fn warn(&mut self, message: String, at: Span, fix: &str) {
        self.warnings.push(leniency(message, at, fix));
    }

    /// Adds a warning for a `replace` of a missing field. The operation adds the field, whose name may be misspelled.
    fn warn_new_field(&mut self, path: &[SmolStr], intended: Option<SmolStr>, operation: &Operation) {
        let message = format!("{} does not exist, so `replace` adds it", quoted_path(path));
        let warning = Diagnostic::warning(Code::ReplaceMissingField, message).at(operation.locations.path);
        let intended = intended.zip(path.split_last()).map(|(intended, (_, parents))| {
            let path: Vec<SmolStr> = parents.iter().cloned().chain([intended]).collect();
            format!("did you mean `{}`?", pointer_to(&path))
        });
        self.warnings.push(match intended {
            Some(intended) => warning.help(intended),
            None => warning.help("use `add` to add a field"),
        });
    }

    pub(super) fn apply(&mut self, operation: &Operation) -> Result<()> {
        match operation.op.as_deref() {
            Some("add") => {
                let path = self.path(operation)?;
                let value = self.value(operation)?;
                self.add(&path, value, operation)
            }
            Some("remove") => {
                let path = self.path(operation)?;
                self.remove(&path, operation).map(drop)
            }
            Some("replace") => self.replace(operation),
            Some("move") => self.r#move(operation),
            Some("copy") => self.copy(operation),
            Some("test") => self.test(operation),
            Some(other) => {
                let message = format!("unknown JSON patch operation `{other}`");
                let help = "use add, remove, replace, move, copy or test";
                Err(Diagnostic::error(Code::InvalidValue, message).at(operation.span).help(help))
            }
            None => Err(missing("op", operation)),
        }
    }

    /// Adds a suggestion of the intended path to an error. `before` are the operations that were already applied.
    pub(super) fn suggested(
        &self,
        error: Diagnostic,
        operation: &Operation,
        before: &[Operation],
    ) -> Diagnostic {
        if !matches!(error.code(), Code::MissingField | Code::TestFailed) {
            return error;
        }
        // A copy or move cannot read from a missing path.
        let pointers = [&operation.from, &operation.path].into_iter().flatten();
        let paths: Vec<_> = pointers.filter_map(|pointer| steps(pointer, self.standard)).collect();
        if let Some((removal, intended)) = paths.iter().find_map(|path| self.removed_by(path, before)) {
            let error = error.note(removal);
            return match intended {
                Some(path) => error.help(format!("did you mean `{}`?", pointer_to(&path))),
                None => error,
            };
        }
        let intended = paths.iter().find_map(|path| nearest_path(self.root, path));
        let shown = intended.map(|path| pointer_to(&path.into_iter().map(SmolStr::from).collect::<Vec<_>>()));
        match shown {
            Some(path) => error.help(format!("did you mean `{path}`?")),
            None => error,
        }
    }

    /// Returns a description of the operation that removed the value at a path, and the value's current path.
    fn removed_by(&self, path: &[SmolStr], before: &[Operation]) -> Option<(String, Option<Vec<SmolStr>>)> {
        let steps_of = |pointer: &Option<SmolStr>| steps(pointer.as_deref()?, self.standard);
        for (position, operation) in before.iter().enumerate().rev() {
            let (is_move, from) = match op(operation) {
                "move" => (true, steps_of(&operation.from)?),
                "remove" => (false, steps_of(&operation.path)?),
                _ => continue,
            };
            if from.is_empty() || !path.starts_with(&from) || self.resolves(&from) {
                continue;
            }
            let number = position + 1;
            if !is_move {
                return Some((format!("operation {number} removed {}", quoted_path(&from)), None));
            }
            let to = steps_of(&operation.path)?;
            let removal = format!("operation {number} moved {} to {}", quoted_path(&from), quoted_path(&to));
            let moved: Vec<SmolStr> = to.iter().chain(&path[from.len()..]).cloned().collect();
            return Some((removal, Some(moved).filter(|moved| self.resolves(moved))));
        }
        None
    }

    /// Returns true if a path exists.
    fn resolves(&self, path: &[SmolStr]) -> bool {
        let mut node = Some(&*self.root);
        for step in path {
            node = match node.map(|node| &node.value) {
                Some(Value::Map(map)) => map.get(step),
                Some(Value::List(list)) => index(step, list.len(), self.standard).and_then(|at| list.get(at)),
                _ => return false,
            };
        }
        node.is_some()
    }

    fn path(&mut self, operation: &Operation) -> Result<Vec<SmolStr>> {
        self.pointer("path", operation.path.as_deref(), operation)
    }

    fn from(&mut self, operation: &Operation) -> Result<Vec<SmolStr>> {
        self.pointer("from", operation.from.as_deref(), operation)
    }

    fn pointer(&mut self, field: &str, pointer: Option<&str>, operation: &Operation) -> Result<Vec<SmolStr>> {
        let pointer = pointer.ok_or_else(|| missing(field, operation))?;
        let at = if field == "from" { operation.locations.from } else { operation.locations.path };
        let found = steps(pointer, self.standard);
        // Under Kubernetes' rules, only `replace` and `test` can target the whole document.
        let whole = matches!(operation.op.as_deref(), Some("replace" | "test")) && pointer.is_empty();
        let root = self.standard == Standard::Rfc6902 || whole;
        let found = found.filter(|steps| root || !steps.is_empty()).ok_or_else(|| {
            Diagnostic::error(Code::InvalidValue, format!("`{pointer}` is not a path to a field"))
                .at(at)
                .help("a path starts with `/`; in field names, write `~` as `~0` and `/` as `~1`")
        })?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let message = format!(
                "path `{pointer}` does not start with `/`, so it is read as `{}`",
                pointer_to(&found)
            );
            self.cut_paths.push(leniency(message, at, "write the path as it is read"));
        }
        Ok(found)
    }

    fn value(&mut self, operation: &Operation) -> Result<Node> {
        match &operation.value {
            Some(value) => Ok(value.clone()),
            None if self.standard == Standard::Kubernetes => {
                let message = format!("this `{}` has no `value`, so it writes null", op(operation));
                self.warn(message, operation.span, "add `value`, or use `remove` to delete the field");
                Ok(Node::null())
            }
            None => Err(missing("value", operation)),
        }
    }

    /// Returns the map or list that contains the path's target, and the last step of the path.
    fn parent<'p>(&mut self, path: &'p [SmolStr], operation: &'p Operation) -> Result<Parent<'_, 'p>> {
        let Some((step, parents)) = path.split_last() else {
            let message = format!("`{}` cannot target the whole document", op(operation));
            return Err(Diagnostic::error(Code::InvalidValue, message).at(operation.span));
        };
        let standard = self.standard;
        let (mut node, positions) = (&mut *self.root, &mut *self.positions);
        for (depth, step) in parents.iter().enumerate() {
            let last = PathStep { step, parents: &parents[..depth], path, operation, standard };
            if matches!(node.value, Value::Scalar(_)) && !node.is_null() {
                return Err(last.below_scalar(node));
            }
            if let Value::List(list) = &node.value {
                last.index(list, list.len())?;
            }
            node = child(node, &last, positions).ok_or_else(|| last.missing())?;
        }
        let last = PathStep { step, parents, path, operation, standard };
        if matches!(node.value, Value::Scalar(_)) {
            return Err(last.below_scalar(node));
        }
        Ok((node, last, positions))
    }

    fn add(&mut self, path: &[SmolStr], value: Node, operation: &Operation) -> Result<()> {
        if path.is_empty() && self.standard == Standard::Rfc6902 {
            *self.root = value;
            self.positions.clear();
            return Ok(());
        }
        check_depth(path, &value, operation)?;
        let (parent, last, positions) = self.parent(path, operation)?;
        match &mut parent.value {
            Value::Map(map) => positions.insert(last.parents, map, last.step, value),
            Value::List(list) if last.step == "-" => list.push(value),
            Value::List(list) => {
                let at = last.index(list, list.len() + 1)?;
                if at < list.len() {
                    positions.clear();
                }
                list.insert(at, value);
            }
            Value::Scalar(_) => {}
        }
        Ok(())
    }

    fn remove(&mut self, path: &[SmolStr], operation: &Operation) -> Result<Node> {
        let (parent, last, positions) = self.parent(path, operation)?;
        positions.clear();
        match &mut parent.value {
            Value::Map(map) => map.remove(last.step).ok_or_else(|| last.missing()),
            Value::List(list) => Ok(list.remove(last.index(list, list.len())?)),
            Value::Scalar(_) => Err(last.missing()),
        }
    }

    fn replace(&mut self, operation: &Operation) -> Result<()> {
        let path = self.path(operation)?;
        let value = self.value(operation)?;
        if path.is_empty() {
            if self.standard == Standard::Kubernetes && matches!(value.value, Value::Scalar(_)) {
                let message = format!("the whole document cannot be replaced with {}", value.type_name());
                return Err(Diagnostic::error(Code::WrongType, message).at(operation.span));
            }
            *self.root = value;
            self.positions.clear();
            return Ok(());
        }
        check_depth(&path, &value, operation)?;
        let (parent, last, positions) = self.parent(&path, operation)?;
        match &mut parent.value {
            Value::Map(map) => {
                let is_new = positions.find(last.parents, map, last.step).is_none();
                if last.standard == Standard::Rfc6902 && is_new {
                    return Err(last.missing());
                }
                let intended = is_new.then(|| similar_field(map, last.step));
                positions.insert(last.parents, map, last.step, value);
                if let Some(intended) = intended {
                    self.warn_new_field(&path, intended, operation);
                }
            }
            Value::List(list) => {
                let at = last.index(list, list.len())?;
                list[at] = value;
                positions.clear();
            }
            Value::Scalar(_) => {}
        }
        Ok(())
    }

    fn r#move(&mut self, operation: &Operation) -> Result<()> {
        let from = self.from(operation)?;
        let path = self.path(operation)?;
        if self.standard == Standard::Rfc6902 {
            if path == from {
                return self.get(&from, operation).map(drop);
            }
            if path.starts_with(&from) {
                return Err(into_itself(&from, operation));
            }
        }
        let value = self.remove(&from, operation)?;
        let added = self.add(&path, value, operation);
        // After a list entry is removed, the next entry has its index, and may accept the value by mistake.
        let is_within = path.len() > from.len() && path.starts_with(&from);
        added.map_err(|error| if is_within { into_itself(&from, operation) } else { error })
    }

    fn copy(&mut self, operation: &Operation) -> Result<()> {
        let from = self.from(operation)?;
        let path = self.path(operation)?;
        let value = self.get(&from, operation)?.cloned();
        let value = match value {
            Some(value) => value,
            None if self.standard == Standard::Kubernetes => {
                self.warn(
                    format!("{} does not exist, so null is copied", quoted_path(&from)),
                    operation.locations.from,
                    "correct `from`, or use `add` with `value: null`",
                );
                Node::null()
            }
            None => return Err(self.parent(&from, operation)?.1.missing()),
        };
        self.copied += value.size().bytes;
        if self.copied > MAX_COPIED {
            let message = format!("`copy` operations of this patch add more than {MAX_COPIED} bytes");
            return Err(Diagnostic::error(Code::LimitExceeded, message).at(operation.span));
        }
        self.add(&path, value, operation)
    }

    fn test(&mut self, operation: &Operation) -> Result<()> {
        let path = self.path(operation)?;
        let standard = self.standard;
        if standard == Standard::Rfc6902 && operation.value.is_none() {
            return Err(missing("value", operation));
        }
        let found = self.get(&path, operation)?;
        let expected = operation.value.as_ref();
        let null = |node: Option<&Node>| node.is_none_or(Node::is_null);
        let equal = match standard {
            Standard::Kubernetes if null(found) => null(expected),
            _ => found.zip(expected).is_some_and(|(found, expected)| same(found, expected)),
        };
        if equal {
            return Ok(());
        }
        let is = if found.is_none() { "does not exist" } else { "has a different value" };
        let error = Diagnostic::error(Code::TestFailed, format!("test failed: {} {is}", quoted_path(&path)))
            .at(operation.span)
            .label(found.map(Node::span).unwrap_or_default(), "actual value")
            .help("the patch may be for another version of the object");
        Err(if path.is_empty() { error } else { error.field(pointer_to(&path)) })
    }

    /// Returns the value at a path, or `None` for a missing field.
    fn get(&mut self, path: &[SmolStr], operation: &Operation) -> Result<Option<&Node>> {
        if path.is_empty() {
            return Ok(Some(self.root));
        }
        let (parent, last, positions) = self.parent(path, operation)?;
        match &parent.value {
            Value::Map(map) => {
                let position = positions.find(last.parents, map, last.step);
                Ok(position.and_then(|i| map.entries().get(i)).map(|entry| &entry.value))
            }
            Value::List(list) => Ok(list.get(last.index(list, list.len())?)),
            Value::Scalar(_) => Ok(None),
        }
    }
}

/// The map or list that contains the path's target, the last step, and the known field positions.
type Parent<'d, 'p> = (&'d mut Node, PathStep<'p>, &'d mut FieldPositions<SmolStr>);

/// A step of a path. In most cases it is the last one.
struct PathStep<'p> {
    step: &'p SmolStr,
    parents: &'p [SmolStr],
    /// The whole path.
    path: &'p [SmolStr],
    operation: &'p Operation,
    standard: Standard,
}

impl PathStep<'_> {
    /// Returns the list index of the step. It must be lower than `end`.
    fn index(&self, list: &[Node], end: usize) -> Result<usize> {
        index(self.step, end, self.standard).ok_or_else(|| {
            let (list_is, length) = (quoted_path(self.parents), list.len());
            let entries = plural(length, "entry", "entries");
            let message = format!("{list_is} has {length} {entries}, so there is no index `{}`", self.step);
            self.error(message)
                .help("indexes start at 0, and `-` appends an entry; a strategic merge patch selects entries by name")
        })
    }

    fn missing(&self) -> Diagnostic {
        let help = match op(self.operation) {
            "remove" => "correct the path, or drop the operation".to_string(),
            op => format!("correct the path, or add the parents first: `{op}` requires them"),
        };
        self.error(format!("{} has no `{}`", quoted_path(self.parents), self.step)).help(help)
    }

    /// Returns the error for a path that continues below a scalar.
    fn below_scalar(&self, node: &Node) -> Diagnostic {
        self.error(format!("{} is {} and has no fields", quoted_path(self.parents), node.type_name()))
    }

    fn error(&self, message: String) -> Diagnostic {
        let location = self.operation.location_of(self.path, self.standard);
        Diagnostic::error(Code::MissingField, message).at(location).field(pointer_to(self.path))
    }
}

/// Returns the child at a step. Null has no children.
fn child<'n>(
    node: &'n mut Node,
    to: &PathStep<'_>,
    positions: &mut FieldPositions<SmolStr>,
) -> Option<&'n mut Node> {
    match &mut node.value {
        Value::Map(map) => {
            let position = positions.find(to.parents, map, to.step)?;
            map.entries_mut().get_mut(position).map(|entry| &mut entry.value)
        }
        Value::List(list) => {
            let at = index(to.step, list.len(), to.standard)?;
            list.get_mut(at)
        }
        Value::Scalar(_) => None,
    }
}

/// Returns true if the values are the same JSON. Unlike with `==`, an integer never equals a float.
fn same(a: &Node, b: &Node) -> bool {
    matches!((to_json(a), to_json(b)), (Ok(a), Ok(b)) if a == b)
}

/// Rejects a value that would be nested too deeply to be printed, as when a value is repeatedly added below itself.
fn check_depth(path: &[SmolStr], value: &Node, operation: &Operation) -> Result<()> {
    if matches!(value.value, Value::Scalar(_)) && path.len() <= MAX_DEPTH
        || path.len() + value.size().depth <= MAX_DEPTH
    {
        return Ok(());
    }
    let message = format!("with this value, maps and lists nest more than {MAX_DEPTH} levels deep");
    Err(Diagnostic::error(Code::LimitExceeded, message).at(operation.span))
}

/// Returns the warning for an operation that the API server accepts although RFC 6902 does not.
fn leniency(message: String, at: Span, fix: &str) -> Diagnostic {
    Diagnostic::warning(Code::InvalidValue, message)
        .at(at)
        .help(format!("{fix} (the API server accepts this, but RFC 6902 does not)"))
}

fn into_itself(from: &[SmolStr], operation: &Operation) -> Diagnostic {
    let message = format!("{} cannot be moved into itself", quoted_path(from));
    let error = Diagnostic::error(Code::InvalidValue, message).at(operation.span);
    error.help("use `copy`, or move it to a path outside of itself")
}

/// The maximum number of fields that are compared with a missing one to find a suggestion.
const SUGGESTION_LIMIT: usize = 64;

/// Returns the field of a map with the most similar name.
pub fn similar_field(map: &Map, name: &str) -> Option<SmolStr> {
    let names: Vec<&str> = map.iter().map(|(name, _)| name).take(SUGGESTION_LIMIT).collect();
    nearest_name(name, &names).map(SmolStr::from)
}

fn op(operation: &Operation) -> &str {
    operation.op.as_deref().unwrap_or_default()
}

fn missing(field: &str, operation: &Operation) -> Diagnostic {
    Diagnostic::error(Code::MissingField, format!("this operation has no valid `{field}`"))
        .at(operation.span)
        .help("an operation has `op` and `path`; some also require `value` or `from`")
}

/// Returns a path within the document for messages.
fn quoted_path(path: &[SmolStr]) -> String {
    if path.is_empty() { "the document".to_string() } else { format!("`{}`", pointer_to(path)) }
}
