//! Resource IDs.

use std::fmt;
use std::hash::{Hash, Hasher};

use smol_str::SmolStr;

use smp_merge::schema::Gvk;
use smp_text::diagnostic::{ObjectName, ResourceName};

/// Group, version, kind, name and namespace.
///
/// Ids are compared as in kustomize: an empty namespace equals `default`, and the namespace of a
/// cluster-scoped kind is ignored.
#[derive(Debug, Clone, Default)]
pub struct ResId {
    /// The group, version and kind.
    pub gvk: Gvk,
    /// The name.
    pub name: SmolStr,
    /// The namespace as written; empty if there is none.
    pub namespace: SmolStr,
    /// True if the kind is known to be cluster-scoped.
    pub cluster_scoped: bool,
}

impl ResId {
    /// The effective namespace of cluster-scoped resources.
    pub const NO_NAMESPACE: &'static str = "_non_namespaceable_";

    /// Returns the effective namespace: `default` if none is given.
    #[must_use]
    pub fn effective_namespace(&self) -> &str {
        if self.cluster_scoped {
            Self::NO_NAMESPACE
        } else if self.namespace.is_empty() {
            "default"
        } else {
            &self.namespace
        }
    }

    /// Returns true if both IDs have the same effective namespace.
    #[must_use]
    pub fn same_namespace(&self, other: &Self) -> bool {
        self.effective_namespace() == other.effective_namespace()
    }

    /// Returns true if both IDs have the same group, version, kind and name, in any namespace.
    #[must_use]
    pub fn same_gvk_and_name(&self, other: &Self) -> bool {
        self.name == other.name && self.gvk == other.gvk
    }
}

impl PartialEq for ResId {
    fn eq(&self, other: &Self) -> bool {
        self.same_gvk_and_name(other) && self.same_namespace(other)
    }
}

impl Eq for ResId {}

impl Hash for ResId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.gvk.hash(state);
        self.effective_namespace().hash(state);
    }
}

impl From<&ResId> for ResourceName {
    fn from(id: &ResId) -> Self {
        let object = ObjectName {
            api_version: id.gvk.api_version().into(),
            kind: id.gvk.kind.to_string(),
            namespace: id.namespace.to_string(),
            name: id.name.to_string(),
        };
        Self::from_object(id.to_string(), object)
    }
}

impl fmt::Display for ResId {
    /// Formats the ID for messages: `Deployment.apps web in namespace shop`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.gvk.kind)?;
        if !self.gvk.group.is_empty() {
            write!(f, ".{}", self.gvk.group)?;
        }
        write!(f, " {}", self.name)?;
        if !self.namespace.is_empty() {
            write!(f, " in namespace {}", self.namespace)?;
        }
        Ok(())
    }
}
