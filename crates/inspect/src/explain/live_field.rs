//! The live values of fields.

use smol_str::SmolStr;

use smp_text::yaml::Node;

/// The live value of a built field.
#[derive(Debug, Clone, Default)]
pub struct LiveField {
    /// The live value; `None` if the live object lacks the field.
    pub value: Option<Node>,
    /// True if the live value differs from the built one.
    pub differs: bool,
    /// The field managers, the most recent first.
    pub managers: Vec<SmolStr>,
}

/// A value that only the live object has and that has a field manager.
#[derive(Debug, Clone)]
pub struct LiveOnlyField {
    /// The JSON pointer in the live object.
    pub pointer: String,
    /// The value.
    pub value: Node,
    /// The field managers, the most recent first.
    pub managers: Vec<SmolStr>,
}

/// The presence of an object in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveState {
    /// The cluster was not queried.
    #[default]
    Unknown,
    /// The object does not exist.
    Absent,
    /// The object exists.
    Present,
}
