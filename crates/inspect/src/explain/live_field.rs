//! What is said of live values.

use smol_str::SmolStr;

use smp_text::yaml::Node;

/// What the live object has in the place of a value that was built.
#[derive(Debug, Clone, Default)]
pub struct LiveField {
    /// The live value; none where there is none.
    pub value: Option<Node>,
    /// Whether it is another one than what was built.
    pub differs: bool,
    /// Who manages it, the latest to change something first.
    pub managers: Vec<SmolStr>,
}

/// A value that only the live object has, and somebody manages.
#[derive(Debug, Clone)]
pub struct UnbuiltField {
    /// The JSON pointer to it in the live object.
    pub pointer: String,
    /// The value.
    pub value: Node,
    /// Who manages it, the latest to change something first.
    pub managers: Vec<SmolStr>,
}

/// Whether the cluster has an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LiveState {
    /// Nobody asked.
    #[default]
    Unasked,
    /// It has none.
    Absent,
    /// It has one.
    Present,
}
