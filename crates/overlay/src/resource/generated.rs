//! Properties of resources that a generator made, and the base64 encoding of generators.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// The `behavior` of a generator: its effect if a resource of the same ID exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behavior {
    /// Not set; equivalent to `create`.
    #[default]
    Unspecified,
    /// The resource must not exist.
    Create,
    /// The generated resource replaces the existing one.
    Replace,
    /// The generated data is merged into the existing resource.
    Merge,
}

impl Behavior {
    const ALL: [Self; 4] = [Self::Unspecified, Self::Create, Self::Replace, Self::Merge];

    /// Returns the name of the behavior in a kustomization.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }

    /// Returns the behavior with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|behavior| behavior.name() == name)
    }
}

/// The generator options of a generated resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generated {
    /// The behavior if a resource of the same ID exists.
    pub behavior: Behavior,
    /// True if a hash of the content is appended to the name.
    pub name_hash: bool,
}

/// The width of a base64 line.
const WIDTH: usize = 70;

/// Encodes bytes as base64 lines that each end with a line break. Text that is shorter than one line gets no line
/// break.
pub(crate) fn base64_lines(bytes: &[u8]) -> String {
    let encoded = STANDARD.encode(bytes);
    if encoded.len() < WIDTH {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / WIDTH + 1);
    for line in encoded.as_bytes().chunks(WIDTH) {
        lines.extend(line.iter().map(|&b| b as char));
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_wrapped_from_70_columns_on() {
        assert_eq!(base64_lines(&[0; 51]).len(), 68);
        assert_eq!(base64_lines(&[0; 52]), format!("{}\n{}\n", "A".repeat(70), "=="));
        assert_eq!(base64_lines(&[0; 105]), format!("{0}\n{0}\n", "A".repeat(70)));
    }
}
