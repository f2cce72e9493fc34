//! What is known of a resource because a generator made it.

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
