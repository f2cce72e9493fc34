//! The state of decoding: the path of the current value, and the unknown fields.

use std::fmt::Write as _;

use smol_str::SmolStr;

/// A step of a path.
#[derive(Debug)]
pub(super) enum Step {
    Field(SmolStr),
    Index(usize),
}

/// The state of decoding.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The path of the current value.
    pub(super) steps: Vec<Step>,
    /// The messages about unknown fields.
    pub(super) unknown: Vec<String>,
    /// Adds the fields of built-in kinds that Go always writes (see [`super::complete`]).
    pub(super) is_completing: bool,
}

impl Decoder {
    pub(super) fn path(&self, with_indices: bool) -> String {
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) => {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(name);
                }
                Step::Index(index) if with_indices => {
                    let _ = write!(path, "[{index}]");
                }
                Step::Index(_) => {}
            }
        }
        path
    }

    pub(super) fn report_unknown(&mut self, name: &str) {
        self.steps.push(Step::Field(name.into()));
        self.unknown.push(format!("unknown field {:?}", self.path(true)));
        self.steps.pop();
    }
}
