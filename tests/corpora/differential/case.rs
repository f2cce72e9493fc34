//! A case: an operation and its inputs, our result, and the request to the oracle.

use std::fmt;

use serde_json::{Value as Json, json};
use smp_merge::merge::{InferKeys, ListOrder, MergeOptions, PatchRules, apply, merge2, merge3};
use smp_merge::patch::{ThreeWayOptions, create, create_three_way};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::Result;
use smp_text::source::SourceMap;
use smp_text::yaml::{Map, Node, ParseOptions, parse_one, to_yaml, write_documents_in_source_style};

/// The operation on the inputs of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Apply,
    TwoWay,
    ThreeWay,
    Merge2,
    Merge3,
}

impl Operation {
    pub const ALL: [Self; 5] = [Self::Apply, Self::TwoWay, Self::ThreeWay, Self::Merge2, Self::Merge3];

    pub fn name(self) -> &'static str {
        match self {
            Self::Apply => "apply",
            Self::TwoWay => "two-way",
            Self::ThreeWay => "three-way",
            Self::Merge2 => "merge2",
            Self::Merge3 => "merge3",
        }
    }

    /// The names of the inputs.
    pub fn sides(self) -> &'static [&'static str] {
        match self {
            Self::Apply => &["original", "patch"],
            Self::TwoWay => &["original", "modified"],
            Self::ThreeWay => &["original", "modified", "current"],
            Self::Merge2 => &["dest", "patch"],
            Self::Merge3 => &["original", "updated", "dest"],
        }
    }

    /// Merges work on texts, in which the spelling of a value matters. Patches work on data.
    fn is_merge(self) -> bool {
        matches!(self, Self::Merge2 | Self::Merge3)
    }
}

#[derive(Debug, Clone)]
pub struct Case {
    pub operation: Operation,
    /// For patches: the kind whose schema is used, as `apps/v1 Deployment`.
    pub kind: String,
    /// In the order of [`Operation::sides`].
    pub sides: Vec<Node>,
    /// For three-way patches: overwrites changes of others.
    pub overwrite: bool,
    /// For merges: the merge keys inferred for lists without a schema.
    pub infer: Vec<String>,
    /// For two-way merges: prepends new entries.
    pub prepend: bool,
}

/// The two schemas of the reference implementations.
pub struct Schemas {
    pub kubernetes: Schema,
    pub kustomize: Schema,
    /// The reference's version for a built-in kind.
    pub version: fn(&str) -> String,
}

impl Schemas {
    pub fn new() -> Self {
        Self { kubernetes: Schema::embedded(), kustomize: Schema::kustomize(), version: str::to_string }
    }
}

impl Case {
    /// The case as a request to the oracle, on one line.
    pub fn request(&self, repeat: usize) -> String {
        let names = self.operation.sides().iter().map(ToString::to_string);
        let sides: serde_json::Map<String, Json> =
            names.zip(self.sides.iter().map(|side| self.text(side).into())).collect();
        json!({
            "operation": self.operation.name(),
            "kind": self.kind,
            "sides": sides,
            "overwrite": self.overwrite,
            "infer": self.infer,
            "prepend": self.prepend,
            "repeat": repeat,
        })
        .to_string()
    }

    fn text(&self, side: &Node) -> String {
        if self.operation.is_merge() {
            write_documents_in_source_style(std::slice::from_ref(side))
        } else {
            side.to_json_value().to_string()
        }
    }

    /// The result of the library. Null if nothing is left.
    pub fn ours(&self, schemas: &Schemas) -> Result<Json> {
        let mut sides = Vec::new();
        for side in &self.sides {
            sides.push(self.read(side)?);
        }
        let third = sides.get(2).cloned();
        let (first, second) = (sides.swap_remove(0), sides.pop().unwrap_or_else(Node::null));
        match self.operation {
            Operation::Apply => {
                let kind = self.cursor(schemas);
                let merged = apply(first, &second, kind, &schemas.kubernetes, PatchRules::Apiserver)?;
                // The reference then leaves an empty object.
                Ok(merged.node.map_or_else(|| json!({}), |node| node.to_json_value()))
            }
            Operation::TwoWay => {
                let patch = create(&first, &second, self.cursor(schemas), PatchRules::Apiserver)?;
                Ok(patch.to_json_value())
            }
            Operation::ThreeWay => {
                let options = ThreeWayOptions::default().overwrite(self.overwrite).same_identity(false);
                let current = third.unwrap_or_else(Node::null);
                let patch = create_three_way(&first, &second, &current, self.cursor(schemas), &options)?;
                Ok(patch.to_json_value())
            }
            Operation::Merge2 => {
                let merged = merge2(Some(first), &second, &schemas.kustomize, &self.options())?;
                Ok(merged.node.map_or(Json::Null, |node| node.to_json_value()))
            }
            Operation::Merge3 => {
                let (original, updated) = (Some(&first), Some(&second));
                let (schema, options) = (&schemas.kustomize, self.options());
                let merged = merge3(original, updated, third, schema, &options)?;
                Ok(merged.node.map_or(Json::Null, |node| node.to_json_value()))
            }
        }
    }

    /// An input as parsed from its text.
    fn read(&self, side: &Node) -> Result<Node> {
        if !self.operation.is_merge() {
            return Ok(Node::from(&side.to_json_value()));
        }
        let sources = SourceMap::default();
        parse_one(&sources, sources.add("side.yaml", self.text(side)), ParseOptions::default())
    }

    fn cursor<'s>(&self, schemas: &'s Schemas) -> Cursor<'s> {
        let (api_version, kind) = self.kind.split_once(' ').unwrap_or_default();
        let gvk = Gvk::from_manifest(&(schemas.version)(api_version), kind);
        schemas.kubernetes.kind(&gvk).unwrap_or_else(Cursor::unknown)
    }

    fn options(&self) -> MergeOptions {
        let order = if self.prepend { ListOrder::Prepend } else { ListOrder::Append };
        let infer = match self.infer.as_slice() {
            [] => InferKeys::Off,
            keys => InferKeys::Keys(keys.iter().map(Into::into).collect()),
        };
        MergeOptions::kyaml(order, infer)
    }
}

/// The expected result of a case: `result` in a file, or `error: true`.
pub enum Outcome {
    Data(Json),
    Error,
}

/// A case in a file: its fields are beside the expected result.
pub struct Recorded {
    pub case: Case,
    /// Our result.
    pub ours: Outcome,
    /// The result of the reference: the same, or the value of `reference`.
    pub reference: Outcome,
}

impl Recorded {
    pub fn from_yaml(node: &Node) -> Option<Self> {
        let name = node.get("operation")?.as_str()?;
        let operation = Operation::ALL.into_iter().find(|operation| operation.name() == name)?;
        let infer = node.get("infer").and_then(Node::as_list).into_iter().flatten();
        let sides = operation.sides().iter().map(|side| node.get(side).cloned());
        let case = Case {
            operation,
            kind: node.get("kind").and_then(Node::as_str).unwrap_or_default().to_string(),
            sides: sides.collect::<Option<_>>()?,
            overwrite: is_set(node, "overwrite"),
            infer: infer.filter_map(Node::as_str).map(str::to_string).collect(),
            prepend: is_set(node, "prepend"),
        };
        let reference = Outcome::from_yaml(node.get("reference").unwrap_or(node))?;
        Some(Self { case, ours: Outcome::from_yaml(node)?, reference })
    }
}

fn is_set(node: &Node, name: &str) -> bool {
    node.get(name).is_some_and(|node| *node == Node::from(true))
}

impl Outcome {
    fn from_yaml(node: &Node) -> Option<Self> {
        match node.get("result") {
            Some(result) => Some(Self::Data(result.to_json_value())),
            None => is_set(node, "error").then_some(Self::Error),
        }
    }
}

impl fmt::Display for Case {
    /// Writes the case as a recorded case without its result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut map: Map = [("operation", Node::string(self.operation.name()))].into_iter().collect();
        if !self.kind.is_empty() {
            map.push("kind", Node::string(self.kind.as_str()));
        }
        for (name, is) in [("overwrite", self.overwrite), ("prepend", self.prepend)] {
            if is {
                map.push(name, Node::from(true));
            }
        }
        if !self.infer.is_empty() {
            map.push("infer", Node::list(self.infer.iter().map(|key| Node::string(key.as_str())).collect()));
        }
        for (name, side) in self.operation.sides().iter().zip(&self.sides) {
            map.push(*name, side.clone());
        }
        f.write_str(&write_documents_in_source_style(&[Node::map(map)]))
    }
}

/// Data as YAML, for reports.
pub fn show(value: &Json) -> String {
    to_yaml(&Node::from(value)).unwrap_or_else(|error| error.to_string())
}
