//! A field spec: a field of one or more kinds.

use serde::Deserialize;
use smol_str::SmolStr;

use smp_merge::schema::Gvk;

/// A field of one or more kinds. An empty group, version or kind matches any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FieldSpec {
    /// The API group.
    pub group: SmolStr,
    /// The version.
    pub version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// Field names separated by `/`; `\/` is a slash in a name. Lists are not part of the path: all their
    /// entries match. A name with the suffix `[]` is never created.
    pub path: SmolStr,
    /// Creates the field if it is missing.
    pub create: bool,
}

impl FieldSpec {
    /// Creates a spec for a field of all kinds that is not created if it is missing.
    #[must_use]
    pub fn for_all_kinds(path: &str) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// Creates a spec for a field of all kinds that is created if it is missing.
    #[must_use]
    pub fn created_for_all_kinds(path: &str) -> Self {
        Self { create: true, ..Self::for_all_kinds(path) }
    }

    /// Returns true if the spec applies to this group, version and kind.
    #[must_use]
    pub fn selects(&self, gvk: &Gvk) -> bool {
        matches_gvk([&self.group, &self.version, &self.kind], gvk)
    }

    /// Returns true if kustomize skips `incoming` because this spec is in the list. This includes an incoming
    /// spec that is wider than this one.
    pub(super) fn covers(&self, incoming: &Self) -> bool {
        let fits = |incoming: &SmolStr, own: &SmolStr| incoming.is_empty() || incoming == own;
        self.path == incoming.path
            && fits(&incoming.group, &self.group)
            && fits(&incoming.version, &self.version)
            && fits(&incoming.kind, &self.kind)
    }
}

/// Returns true if each of group, version and kind is empty or equal.
pub(in crate::transform) fn matches_gvk([group, version, kind]: [&str; 3], gvk: &Gvk) -> bool {
    (kind.is_empty() || kind == gvk.kind)
        && (group.is_empty() || group == gvk.group)
        && (version.is_empty() || version == gvk.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_match_any_kind() {
        let gvk = Gvk::from_manifest("apps/v1", "Deployment");
        let table = [
            (["", "", ""], true),
            (["apps", "", "Deployment"], true),
            (["", "v1", ""], true),
            (["", "v2", ""], false),
            (["extensions", "", "Deployment"], false),
            (["", "", "Pod"], false),
        ];
        for (selector, want) in table {
            assert_eq!(matches_gvk(selector, &gvk), want, "{selector:?}");
        }
    }
}
