//! The names of resources in diagnostics.

/// The name of a resource in messages, with its parts if it is an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceName {
    shown: String,
    object: Option<ObjectName>,
}

/// The parts of an object's name, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectName {
    /// The group and version, such as `apps/v1`; may be empty.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; empty if it has none.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl ResourceName {
    /// Creates the name of an object; `shown` is its name in messages.
    #[must_use]
    pub fn from_object(shown: String, object: ObjectName) -> Self {
        Self { shown, object: Some(object) }
    }

    /// Returns the name in messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.shown
    }

    /// Returns all texts of the name, for masking and rewording.
    pub(super) fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let parts = self.object.as_mut().map(|object| {
            [&mut object.api_version, &mut object.kind, &mut object.namespace, &mut object.name]
        });
        parts.into_iter().flatten().chain([&mut self.shown])
    }

    /// Returns the parts of the name, or `None` for a resource that is not an object, such as a chart.
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
