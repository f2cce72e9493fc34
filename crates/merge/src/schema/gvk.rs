//! Group, version and kind of a resource.

use std::fmt;

use serde_json::Value;
use smol_str::SmolStr;

use smp_text::diagnostic::{ObjectName, ResourceName};

/// A group, version and kind, such as `apps`, `v1`, `Deployment`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Gvk {
    /// The API group; empty for the core group.
    pub group: SmolStr,
    /// The version.
    pub version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
}

impl Gvk {
    /// Creates a `Gvk` from the `apiVersion` and `kind` of a manifest. The `apiVersion` is `apps/v1`, for example, or
    /// `v1` for the core group.
    #[must_use]
    pub fn from_manifest(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Returns the `Gvk` of an object, or `None` if it lacks `apiVersion` or `kind`.
    ///
    /// ```
    /// use strategic_merge_patch::schema::Gvk;
    /// use serde_json::json;
    ///
    /// let web = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
    /// assert_eq!(Gvk::from_object(&web), Some(Gvk::from_manifest("apps/v1", "Deployment")));
    /// assert_eq!(Gvk::from_object(&json!({"kind": "Deployment"})), None);
    /// ```
    #[must_use]
    pub fn from_object(object: &Value) -> Option<Self> {
        let text = |name: &str| object.get(name)?.as_str().filter(|text| !text.is_empty());
        Some(Self::from_manifest(text("apiVersion")?, text("kind")?))
    }

    /// Returns true if this is the kind CustomResourceDefinition.
    #[must_use]
    pub fn is_crd(&self) -> bool {
        self.group == "apiextensions.k8s.io" && self.kind == "CustomResourceDefinition"
    }

    /// Returns true if this is the kind Namespace.
    #[must_use]
    pub fn is_namespace(&self) -> bool {
        self.group.is_empty() && self.kind == "Namespace"
    }

    /// Returns the object's name as kubectl prints it: `deployment.apps/web`.
    #[must_use]
    pub fn object_name(&self, name: &str) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        format!("{}{dot}{}/{name}", self.kind.to_lowercase(), self.group)
    }

    /// Returns `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(&self) -> SmolStr {
        if self.group.is_empty() {
            return self.version.clone();
        }
        smol_str::format_smolstr!("{}/{}", self.group, self.version)
    }
}

impl From<&Gvk> for ResourceName {
    fn from(gvk: &Gvk) -> Self {
        let (api_version, kind) = (gvk.api_version().into(), gvk.kind.to_string());
        Self::from_object(gvk.to_string(), ObjectName { api_version, kind, ..ObjectName::default() })
    }
}

impl fmt::Display for Gvk {
    /// Formats the kind as `apps/v1 Deployment`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api_version(), self.kind)
    }
}
