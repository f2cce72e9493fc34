//! The six operations, on a document that only this patch sees.

use smol_str::SmolStr;

use super::pointer::{Standard, index, steps};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::pointer_to;
use smp_text::source::Span;
use smp_text::yaml::{FieldPositions, MAX_DEPTH, Map, Node, Value, nearest, nearest_path, to_json};

/// How many bytes copies may add: a few that copy their own surroundings would fill any memory.
const MAX_COPIED: usize = 64 << 20;

/// One operation as it was read; what is wrong with it, applying it says.
#[derive(Debug, Clone)]
pub(super) struct Operation {
    pub(super) op: Option<SmolStr>,
    pub(super) path: Option<SmolStr>,
    pub(super) from: Option<SmolStr>,
    pub(super) value: Option<Node>,
    pub(super) places: OperationPlaces,
    pub(super) span: Span,
}

/// Where the pointers of an operation stand.
#[derive(Debug, Clone, Copy)]
pub(super) struct OperationPlaces {
    pub(super) path: Span,
    pub(super) from: Span,
}

impl Operation {
    pub(super) fn is_one_of(&self, ops: &[&str]) -> bool {
        self.op.as_deref().is_some_and(|op| ops.contains(&op))
    }

    /// Where the pointer stands that leads to a path.
    fn place_of(&self, path: &[SmolStr], standard: Standard) -> Span {
        let from = self.from.as_deref().filter(|_| self.is_one_of(&["move", "copy"]));
        let is_from = from.and_then(|from| steps(from, standard)).is_some_and(|from| from == path);
        if is_from { self.places.from } else { self.places.path }
    }

    /// Whether it changes one place: what is moved is taken from another one.
    pub(super) fn is_simple(&self) -> bool {
        self.is_one_of(&["add", "remove", "replace", "copy", "test"])
    }
}

/// What there is to say of a document that was patched.
pub struct Patched {
    /// How many bytes were copied.
    pub copied: usize,
    /// What was done that the RFC refuses, and that writes something else than it looks like.
    pub warnings: Vec<Diagnostic>,
    /// Those of paths that lose what stands before their first `/`.
    pub(crate) cut_paths: Vec<Diagnostic>,
}

impl Patched {
    /// All that is to be warned of.
    pub fn into_warnings(self) -> Vec<Diagnostic> {
        self.cut_paths.into_iter().chain(self.warnings).collect()
    }
}

/// A document while it is patched.
pub(super) struct Document<'d> {
    root: &'d mut Node,
    standard: Standard,
    copied: usize,
    positions: &'d mut FieldPositions<SmolStr>,
    warnings: Vec<Diagnostic>,
    cut_paths: Vec<Diagnostic>,
}

impl<'d> Document<'d> {
    /// `positions` are those of the fields of `root`, as far as they are known.
    pub(super) fn new(
        root: &'d mut Node,
        positions: &'d mut FieldPositions<SmolStr>,
        standard: Standard,
    ) -> Self {
        let (warnings, cut_paths) = (Vec::new(), Vec::new());
        Self { root, standard, copied: 0, positions, warnings, cut_paths }
    }

    pub(super) fn patched(self) -> Patched {
        Patched { copied: self.copied, warnings: self.warnings, cut_paths: self.cut_paths }
    }

    fn forgive(&mut self, message: String, at: Span) {
        self.warnings.push(forgiven(message, at));
    }

    /// Takes note of a `replace` of what is not there: it adds it, under a name that nothing may read.
    fn forgive_new(&mut self, path: &[SmolStr], meant: Option<SmolStr>, operation: &Operation) {
        let message = format!("{} is not there, so that `replace` adds it", named(path));
        let warning = Diagnostic::warning(Code::AddingReplace, message).at(operation.places.path);
        let meant = meant.zip(path.split_last()).map(|(meant, (_, parents))| {
            let path: Vec<SmolStr> = parents.iter().cloned().chain([meant]).collect();
            format!("did you mean `{}`?", pointer_to(&path))
        });
        self.warnings.push(match meant {
            Some(meant) => warning.help(meant),
            None => warning.help("write `add` where that is meant"),
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
                let message = format!("a JSON patch has no operation `{other}`");
                let help = "use add, remove, replace, move, copy or test";
                Err(Diagnostic::error(Code::InvalidValue, message).at(operation.span).help(help))
            }
            None => Err(missing("op", operation)),
        }
    }

    /// An error of an operation, with the path that was probably meant; `before` are the operations that were done.
    pub(super) fn suggested(
        &self,
        error: Diagnostic,
        operation: &Operation,
        before: &[Operation],
    ) -> Diagnostic {
        if !matches!(error.code(), Code::MissingField | Code::TestFailed) {
            return error;
        }
        // Where there is nothing, a copy or move takes nothing from.
        let pointers = [&operation.from, &operation.path].into_iter().flatten();
        let paths: Vec<_> = pointers.filter_map(|pointer| steps(pointer, self.standard)).collect();
        if let Some((gone, meant)) = paths.iter().find_map(|path| self.taken_away(path, before)) {
            let error = error.note(gone);
            return match meant {
                Some(path) => error.help(format!("did you mean `{}`?", pointer_to(&path))),
                None => error,
            };
        }
        let meant = paths.iter().find_map(|path| nearest_path(self.root, path));
        let shown = meant.map(|path| pointer_to(&path.into_iter().map(SmolStr::from).collect::<Vec<_>>()));
        match shown {
            Some(path) => error.help(format!("did you mean `{path}`?")),
            None => error,
        }
    }

    /// Which operation took away what a path leads to, and the path by which it is found now.
    fn taken_away(&self, path: &[SmolStr], before: &[Operation]) -> Option<(String, Option<Vec<SmolStr>>)> {
        let steps_of = |pointer: &Option<SmolStr>| steps(pointer.as_deref()?, self.standard);
        for (position, operation) in before.iter().enumerate().rev() {
            let (is_move, from) = match op(operation) {
                "move" => (true, steps_of(&operation.from)?),
                "remove" => (false, steps_of(&operation.path)?),
                _ => continue,
            };
            if from.is_empty() || !path.starts_with(&from) || self.leads_on(&from) {
                continue;
            }
            let number = position + 1;
            if !is_move {
                return Some((format!("operation {number} removed {}", named(&from)), None));
            }
            let to = steps_of(&operation.path)?;
            let gone = format!("operation {number} moved {} to {}", named(&from), named(&to));
            let moved: Vec<SmolStr> = to.iter().chain(&path[from.len()..]).cloned().collect();
            return Some((gone, Some(moved).filter(|moved| self.leads_on(moved))));
        }
        None
    }

    /// Whether a path leads to something.
    fn leads_on(&self, path: &[SmolStr]) -> bool {
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
        let at = if field == "from" { operation.places.from } else { operation.places.path };
        let found = steps(pointer, self.standard);
        // Only `replace` and `test` can be about the whole document there.
        let whole = matches!(operation.op.as_deref(), Some("replace" | "test")) && pointer.is_empty();
        let root = self.standard == Standard::Rfc6902 || whole;
        let found = found.filter(|steps| root || !steps.is_empty()).ok_or_else(|| {
            Diagnostic::error(Code::InvalidValue, format!("`{pointer}` is no path to a field"))
                .at(at)
                .help("a path begins with `/`; within its steps `~` is written `~0`, and `/` is written `~1`")
        })?;
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let message =
                format!("`{pointer}` begins without `/`, so that it is taken for `{}`", pointer_to(&found));
            self.cut_paths.push(forgiven(message, at));
        }
        Ok(found)
    }

    fn value(&mut self, operation: &Operation) -> Result<Node> {
        match &operation.value {
            Some(value) => Ok(value.clone()),
            None if self.standard == Standard::Kubernetes => {
                let message = format!("this `{}` has no `value`, so that it writes null", op(operation));
                self.forgive(message, operation.span);
                Ok(Node::null())
            }
            None => Err(missing("value", operation)),
        }
    }

    /// The map or list that holds what a path names, and the last step.
    fn parent<'p>(&mut self, path: &'p [SmolStr], operation: &'p Operation) -> Result<Parent<'_, 'p>> {
        let Some((step, parents)) = path.split_last() else {
            let message = format!("`{}` cannot be about the whole document", op(operation));
            return Err(Diagnostic::error(Code::InvalidValue, message).at(operation.span));
        };
        let standard = self.standard;
        let (mut node, positions) = (&mut *self.root, &mut *self.positions);
        for (depth, step) in parents.iter().enumerate() {
            let last = Last { step, parents: &parents[..depth], path, operation, standard };
            if matches!(node.value, Value::Scalar(_)) && !node.is_null() {
                return Err(last.below_scalar(node));
            }
            node = child(node, &last, positions).ok_or_else(|| last.missing())?;
        }
        let last = Last { step, parents, path, operation, standard };
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
                let message = format!("the whole document cannot become {}", value.type_name());
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
                let meant = is_new.then(|| similar_field(map, last.step));
                positions.insert(last.parents, map, last.step, value);
                if let Some(meant) = meant {
                    self.forgive_new(&path, meant, operation);
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
        // Below a list's entry that went away the next one stands, which may do.
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
                self.forgive(
                    format!("{} is not there, so that null is copied", named(&from)),
                    operation.places.from,
                );
                Node::null()
            }
            None => return Err(self.parent(&from, operation)?.1.missing()),
        };
        self.copied += value.size().bytes;
        if self.copied > MAX_COPIED {
            let message = format!("the copies of this patch add more than {MAX_COPIED} bytes");
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
        let wanted = operation.value.as_ref();
        let null = |node: Option<&Node>| node.is_none_or(Node::is_null);
        let equal = match standard {
            Standard::Kubernetes if null(found) => null(wanted),
            _ => found.zip(wanted).is_some_and(|(found, wanted)| same(found, wanted)),
        };
        if equal {
            return Ok(());
        }
        let is = if found.is_none() { "is not there" } else { "is another value" };
        let error = Diagnostic::error(Code::TestFailed, format!("the test failed: {} {is}", named(&path)))
            .at(operation.span)
            .label(found.map(Node::span).unwrap_or_default(), "this value")
            .help("the patch was made for another object: look at both");
        Err(if path.is_empty() { error } else { error.field(pointer_to(&path)) })
    }

    /// The value at a path; none for a field that is not there.
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

/// The map or list that holds what a path names, the last step, and where fields are.
type Parent<'d, 'p> = (&'d mut Node, Last<'p>, &'d mut FieldPositions<SmolStr>);

/// A step of a path, most often the last.
struct Last<'p> {
    step: &'p SmolStr,
    parents: &'p [SmolStr],
    /// All of it.
    path: &'p [SmolStr],
    operation: &'p Operation,
    standard: Standard,
}

impl Last<'_> {
    /// The position in a list that it names, below `end`.
    fn index(&self, list: &[Node], end: usize) -> Result<usize> {
        index(self.step, end, self.standard).ok_or_else(|| {
            let (list_is, length) = (named(self.parents), list.len());
            let message =
                format!("{list_is} has {length} entries, and `{}` is none of their indices", self.step);
            self.error(message).help("indices count from 0; `-` adds behind the last entry")
        })
    }

    fn missing(&self) -> Diagnostic {
        let help = match op(self.operation) {
            "remove" => "what is not there needs no removal: leave the operation out".to_string(),
            op => format!("`{op}` needs all of its path to be there; add what is missing first"),
        };
        self.error(format!("{} has no `{}`", named(self.parents), self.step)).help(help)
    }

    /// What the parents lead to has no steps below.
    fn below_scalar(&self, node: &Node) -> Diagnostic {
        self.error(format!("{} is {} and has no fields", named(self.parents), node.type_name()))
    }

    fn error(&self, message: String) -> Diagnostic {
        let place = self.operation.place_of(self.path, self.standard);
        Diagnostic::error(Code::MissingField, message).at(place).field(pointer_to(self.path))
    }
}

/// One step down; a null has nothing below it.
fn child<'n>(
    node: &'n mut Node,
    to: &Last<'_>,
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

/// The same JSON; unlike for `==`, an integer is not the float that is nearest to it.
fn same(a: &Node, b: &Node) -> bool {
    matches!((to_json(a), to_json(b)), (Ok(a), Ok(b)) if a == b)
}

/// Values that are put below each other again and again would nest deeper than anything can be printed.
fn check_depth(path: &[SmolStr], value: &Node, operation: &Operation) -> Result<()> {
    if matches!(value.value, Value::Scalar(_)) && path.len() <= MAX_DEPTH
        || path.len() + value.size().depth <= MAX_DEPTH
    {
        return Ok(());
    }
    let message = format!("with this value maps and lists nest more than {MAX_DEPTH} levels deep");
    Err(Diagnostic::error(Code::LimitExceeded, message).at(operation.span))
}

fn forgiven(message: String, at: Span) -> Diagnostic {
    Diagnostic::warning(Code::InvalidValue, message)
        .at(at)
        .help("the API server takes this, and RFC 6902 does not: say what is meant")
}

fn into_itself(from: &[SmolStr], operation: &Operation) -> Diagnostic {
    let message = format!("{} cannot be moved into itself", named(from));
    let error = Diagnostic::error(Code::InvalidValue, message).at(operation.span);
    error.help("`copy` puts a copy of it there; or move it to a place outside")
}

/// Up to how many fields of a map are compared with one that is not there.
const FEW: usize = 64;

/// The field of a map whose name is most like another.
pub fn similar_field(map: &Map, name: &str) -> Option<SmolStr> {
    let names: Vec<&str> = map.iter().map(|(name, _)| name).take(FEW).collect();
    nearest(name, &names).map(SmolStr::from)
}

fn op(operation: &Operation) -> &str {
    operation.op.as_deref().unwrap_or_default()
}

fn missing(field: &str, operation: &Operation) -> Diagnostic {
    Diagnostic::error(Code::MissingField, format!("this operation has no `{field}` that is a string"))
        .at(operation.span)
        .help("an operation has `op` and `path`, and some `value` or `from`")
}

/// A place within the document, for messages.
fn named(path: &[SmolStr]) -> String {
    if path.is_empty() { "the document".to_string() } else { format!("`{}`", pointer_to(path)) }
}
