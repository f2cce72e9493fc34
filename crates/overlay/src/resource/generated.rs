//! What is known of a resource because a generator made it, and how generators encode data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// What a generated resource does when its id exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Behavior {
    /// Nothing was said: as `create`.
    #[default]
    Unspecified,
    /// It must not exist.
    Create,
    /// It takes the place of the one that exists.
    Replace,
    /// Its data is merged into the one that exists.
    Merge,
}

impl Behavior {
    const ALL: [Self; 4] = [Self::Unspecified, Self::Create, Self::Replace, Self::Merge];

    /// Its name in a kustomization.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Merge => "merge",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|behavior| behavior.name() == name)
    }
}

/// Marks a resource that a generator made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Generated {
    /// How it joins resources of the same id.
    pub behavior: Behavior,
    /// Whether its name gets a hash of its content.
    pub name_hash: bool,
}

/// The width of a line of base64.
const WIDTH: usize = 70;

/// Base64 in lines, each with a line break behind it; what fits one line has none.
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
