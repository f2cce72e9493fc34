//! What a diagnostic is about, in words and by its parts.

/// A resource as messages call it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceName {
    shown: String,
    object: Option<ObjectName>,
}

/// The parts of an object's name, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectName {
    /// Group and version, such as `apps/v1`; may be empty.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty when it has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ResourceName {
    /// An object, and how messages call it.
    #[must_use]
    pub fn of_object(shown: String, object: ObjectName) -> Self {
        Self { shown, object: Some(object) }
    }

    /// How messages call it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Its parts; none for what is no object, such as a chart.
    #[must_use]
    pub fn object(&self) -> Option<&ObjectName> {
        self.object.as_ref()
    }
}

impl std::fmt::Display for ResourceName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl From<String> for ResourceName {
    fn from(shown: String) -> Self {
        Self { shown, object: None }
    }
}

impl From<&str> for ResourceName {
    fn from(shown: &str) -> Self {
        Self::from(shown.to_string())
    }
}

impl From<&String> for ResourceName {
    fn from(shown: &String) -> Self {
        Self::from(shown.clone())
    }
}
