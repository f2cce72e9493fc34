//! JSON patches (RFC 6902): lists of operations that are applied in turn, all or none.
//!
//! By default with the leniencies that Kubernetes' own tools have; strictly on demand. Knows neither
//! schemas nor resources.

mod create;
mod operation;
mod pointer;

use smol_str::SmolStr;

use self::operation::{Document, Operation, OperationPlaces};
use self::pointer::{Standard, steps};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{FieldPositions, Map, Node, Value, as_yaml_1_1};

/// How a JSON patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JsonPatchOptions {
    standard: Standard,
}

impl JsonPatchOptions {
    /// As the API server, kubectl and kustomize do (evanphx/json-patch 4.13), which forgive more than the
    /// RFC:
    ///
    /// - `replace` adds a field that is not there, `copy` of one gives null, and so does a missing `value`;
    /// - indices count from the end when they are negative (`-1` adds at the end, else it is the last);
    /// - `test` takes a field that is not there for null;
    /// - a path without a leading `/` loses its first step;
    /// - `add`, `remove`, `test` with a missing parent, `move` and `copy` cannot name the root.
    #[must_use]
    pub fn kubernetes() -> Self {
        Self::default()
    }

    /// As RFC 6902 demands, without any leniency.
    #[must_use]
    pub fn rfc6902() -> Self {
        Self { standard: Standard::Rfc6902 }
    }
}

/// A list of operations.
///
/// ```
/// use strategic_merge_patch::patch::{JsonPatchOptions, parse_json_patch};
/// use smp_text::yaml::Node;
///
/// let patch = parse_json_patch(&"[{op: replace, path: /spec/paused, value: true}]".parse::<Node>()?)?;
/// let mut web: Node = "spec: {replicas: 1}".parse()?;
/// assert!(patch.apply_with(&mut web, &JsonPatchOptions::rfc6902()).is_err(), "there is nothing to replace");
/// patch.apply(&mut web)?;
/// assert_eq!(web, "spec: {replicas: 1, paused: true}".parse()?, "Kubernetes forgives that");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// Reads a JSON patch from a list of operations; null is a patch without any.
///
/// Its scalars have the types that kubectl and kustomize give them here: those of YAML 1.1, where `yes`,
/// `on` and `y` are true, and dates are strings.
///
/// # Errors
/// A value that is no list of maps. What else can be wrong with an operation is an error when it is
/// applied.
pub fn parse_json_patch(node: &Node) -> Result<JsonPatch> {
    let wrong = |node: &Node, what: &str| {
        Diagnostic::error(Code::WrongType, format!("{what}, and this is {}", node.type_name()))
            .at(node.span())
            .help("write a list of operations such as `- {op: replace, path: /spec/replicas, value: 3}`")
    };
    if node.is_null() {
        return Ok(JsonPatch::default());
    }
    let list = node.as_list().ok_or_else(|| wrong(node, "a JSON patch must be a list"))?;
    let operation = |entry: &Node| {
        let nothing = Map::new();
        let map = match &entry.value {
            Value::Map(map) => map,
            _ if entry.is_null() => &nothing,
            _ => return Err(wrong(entry, "an operation of a JSON patch must be a map")),
        };
        let text = |key: &str| map.get(key).and_then(Node::as_str).map(SmolStr::from);
        let value = map.get("value").map(as_yaml_1_1);
        let (op, path, from) = (text("op"), text("path"), text("from"));
        let place = |key: &str| {
            let place = map.get(key).map(Node::span).filter(|place| !place.is_none());
            place.unwrap_or_else(|| entry.span())
        };
        let places = OperationPlaces { path: place("path"), from: place("from") };
        Ok(Operation { op, path, from, value, places, span: entry.span() })
    };
    Ok(JsonPatch { operations: list.iter().map(operation).collect::<Result<_>>()? })
}

impl JsonPatch {
    /// How much its values are.
    pub fn bytes(&self) -> usize {
        self.operations
            .iter()
            .filter_map(|operation| operation.value.as_ref())
            .map(|value| value.size().bytes)
            .sum()
    }

    /// Whether there is no operation.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// The number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Applies all operations as the API server does, or none of them.
    ///
    /// # Errors
    /// As [`JsonPatch::apply_with`].
    pub fn apply(&self, dest: &mut Node) -> Result<()> {
        self.apply_with(dest, &JsonPatchOptions::default())
    }

    /// Applies all operations, or none of them.
    ///
    /// # Errors
    /// The first operation that cannot be applied, with its place: an unknown or malformed one, a path
    /// that leads nowhere, a test that fails.
    pub fn apply_with(&self, dest: &mut Node, options: &JsonPatchOptions) -> Result<()> {
        self.apply_noting(dest, *options).map(drop)
    }

    /// As [`JsonPatch::apply_with`]; returns what else there is to say.
    pub fn apply_noting(&self, dest: &mut Node, options: JsonPatchOptions) -> Result<Patched> {
        let mut root = dest.clone();
        let patched = self.apply_all(&mut root, &mut FieldPositions::default(), options)?;
        *dest = root;
        Ok(patched)
    }

    /// Applies a patch as Kubernetes' tools do, without a copy of what it is applied to. Where it fails, what was done
    /// before stays, unless it [changes something at its end alone](Self::changes_at_its_end). `positions` are those
    /// that were found before, when the document was the same.
    pub fn apply_open(&self, dest: &mut Node, positions: &mut FieldPositions<SmolStr>) -> Result<Patched> {
        self.apply_all(dest, positions, JsonPatchOptions::kubernetes())
    }

    fn apply_all(
        &self,
        dest: &mut Node,
        positions: &mut FieldPositions<SmolStr>,
        options: JsonPatchOptions,
    ) -> Result<Patched> {
        let mut document = Document::new(dest, positions, options.standard);
        for (position, operation) in self.operations.iter().enumerate() {
            let done = document.apply(operation);
            done.map_err(|error| {
                let before = &self.operations[..position];
                document.suggested(error, operation, before).note(format!("operation {}", position + 1))
            })?;
        }
        Ok(document.patched())
    }

    /// Whether only the last operation changes anything, all of it or nothing: the others are tests.
    pub fn changes_at_its_end(&self) -> bool {
        let Some((last, before)) = self.operations.split_last() else { return false };
        before.iter().all(|operation| operation.is_one_of(&["test"])) && last.is_simple()
    }

    /// Whether each operation changes one place, all of it or nothing; there is at least one.
    pub fn is_simple(&self) -> bool {
        !self.is_empty() && self.operations.iter().all(Operation::is_simple)
    }

    /// The fields of the document in or below which all happens, by Kubernetes' standard; none for the document itself.
    pub fn fields(&self) -> impl Iterator<Item = Option<SmolStr>> {
        let pointers = self.operations.iter().flat_map(|operation| [&operation.path, &operation.from]);
        pointers.flatten().map(|pointer| steps(pointer, Standard::Kubernetes)?.into_iter().next())
    }

    /// The values of operations that are written, to change them.
    pub fn written_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        let writing = self.operations.iter_mut().filter(|operation| !operation.is_one_of(&["test"]));
        writing.filter_map(|operation| operation.value.as_mut())
    }
}

#[cfg(test)]
mod tests;

pub use create::create_json_patch;
pub(crate) use operation::Patched;
