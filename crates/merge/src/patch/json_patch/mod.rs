//! JSON patches (RFC 6902): lists of operations that are applied in order, either all or none.
//!
//! By default as lenient as the Kubernetes tools; optionally strict. Knows neither schemas nor resources.

mod create;
mod operation;
mod pointer;

use smol_str::SmolStr;

use self::operation::{Document, Operation, OperationLocations};
use self::pointer::{Standard, steps};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{FieldPositions, Map, Node, Value, to_yaml_1_1};

/// Options for applying a JSON patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct JsonPatchOptions {
    standard: Standard,
}

impl JsonPatchOptions {
    /// Applies patches as the API server, kubectl and kustomize do (evanphx/json-patch 4.13), which are more
    /// lenient than the RFC:
    ///
    /// - `replace` adds a missing field, `copy` from a missing field writes null, and so does an operation without
    ///   `value`;
    /// - negative indices count from the end (`-1` is the last entry; for `add`, it appends an entry);
    /// - `test` treats a missing field as null;
    /// - a path without a leading `/` loses its first step;
    /// - `add`, `remove`, `move`, `copy`, and `test` with a missing parent cannot target the root.
    #[must_use]
    pub fn kubernetes() -> Self {
        Self::default()
    }

    /// Applies patches strictly by RFC 6902.
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
/// assert!(patch.apply_with(&mut web, &JsonPatchOptions::rfc6902()).is_err(), "the field does not exist");
/// patch.apply(&mut web)?;
/// assert_eq!(web, "spec: {replicas: 1, paused: true}".parse()?, "Kubernetes is lenient");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

/// Parses a JSON patch from a list of operations. Null is an empty patch.
///
/// Scalars are typed by YAML 1.1, as in kubectl and kustomize: `yes`, `on` and `y` are true, and dates are strings.
///
/// # Errors
/// The value is not a list of maps. Other errors in an operation are reported when it is applied.
pub fn parse_json_patch(node: &Node) -> Result<JsonPatch> {
    let wrong = |node: &Node, what: &str| {
        Diagnostic::error(Code::WrongType, format!("{what}, not {}", node.type_name()))
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
        let value = map.get("value").map(to_yaml_1_1);
        let (op, path, from) = (text("op"), text("path"), text("from"));
        let location = |key: &str| {
            let location = map.get(key).map(Node::span).filter(|location| !location.is_none());
            location.unwrap_or_else(|| entry.span())
        };
        let locations = OperationLocations { path: location("path"), from: location("from") };
        Ok(Operation { op, path, from, value, locations, span: entry.span() })
    };
    Ok(JsonPatch { operations: list.iter().map(operation).collect::<Result<_>>()? })
}

impl JsonPatch {
    /// Returns the size of the values in the operations in bytes.
    pub fn value_bytes(&self) -> usize {
        self.operations
            .iter()
            .filter_map(|operation| operation.value.as_ref())
            .map(|value| value.size().bytes)
            .sum()
    }

    /// Returns true if there are no operations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Applies either all operations, as the API server does, or none.
    ///
    /// # Errors
    /// The errors of [`JsonPatch::apply_with`].
    pub fn apply(&self, dest: &mut Node) -> Result<()> {
        self.apply_with(dest, &JsonPatchOptions::default())
    }

    /// Applies either all operations or none.
    ///
    /// # Errors
    /// An operation cannot be applied: it is unknown or malformed, a path does not exist, or a test fails. The error
    /// has the location of the first such operation.
    pub fn apply_with(&self, dest: &mut Node, options: &JsonPatchOptions) -> Result<()> {
        self.apply_with_warnings(dest, *options).map(drop)
    }

    /// Applies the patch like [`JsonPatch::apply_with`], and returns warnings.
    pub fn apply_with_warnings(&self, dest: &mut Node, options: JsonPatchOptions) -> Result<Patched> {
        let mut root = dest.clone();
        let patched = self.apply_all(&mut root, &mut FieldPositions::default(), options)?;
        *dest = root;
        Ok(patched)
    }

    /// Applies a patch as Kubernetes' tools do, without copying the document. If an error occurs, earlier operations
    /// remain applied, unless only [the last operation changes anything](Self::only_last_changes). `positions` are the
    /// field positions that were found in the same document before.
    pub fn apply_in_place(
        &self,
        dest: &mut Node,
        positions: &mut FieldPositions<SmolStr>,
    ) -> Result<Patched> {
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
        Ok(document.finish())
    }

    /// Returns true if all operations but the last are `test`, and the last one changes a single location. In that
    /// case, a failure leaves the document unchanged.
    pub fn only_last_changes(&self) -> bool {
        let Some((last, before)) = self.operations.split_last() else { return false };
        before.iter().all(|operation| operation.is_one_of(&["test"])) && last.is_simple()
    }

    /// Returns true if there are operations and each of them changes a single location. In that case, an operation that
    /// fails changes nothing.
    pub fn has_single_changes(&self) -> bool {
        !self.is_empty() && self.operations.iter().all(Operation::is_simple)
    }

    /// Returns the top-level field of each path, by Kubernetes' rules, or `None` for the whole document.
    pub fn fields(&self) -> impl Iterator<Item = Option<SmolStr>> {
        let pointers = self.operations.iter().flat_map(|operation| [&operation.path, &operation.from]);
        pointers.flatten().map(|pointer| steps(pointer, Standard::Kubernetes)?.into_iter().next())
    }

    /// Returns the source and the target path of each `copy` and `move` operation, by Kubernetes' rules.
    pub fn copies(&self) -> impl Iterator<Item = (Vec<SmolStr>, Vec<SmolStr>)> {
        let copying = self.operations.iter().filter(|operation| operation.is_one_of(&["copy", "move"]));
        let path = |pointer: &Option<SmolStr>| steps(pointer.as_deref()?, Standard::Kubernetes);
        copying.filter_map(move |operation| Some((path(&operation.from)?, path(&operation.path)?)))
    }

    /// Returns mutable references to the values that operations write.
    pub fn written_values_mut(&mut self) -> impl Iterator<Item = &mut Node> {
        let writing = self.operations.iter_mut().filter(|operation| !operation.is_one_of(&["test"]));
        writing.filter_map(|operation| operation.value.as_mut())
    }
}

#[cfg(test)]
mod tests;

pub use create::create_json_patch;
pub(crate) use operation::Patched;
