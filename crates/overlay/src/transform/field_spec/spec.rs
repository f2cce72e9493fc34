//! One field spec: a field of some kinds.

use serde::Deserialize;
use smol_str::SmolStr;

use smp_merge::schema::Gvk;

/// A field of some kinds; an empty group, version or kind stands for any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct FieldSpec {
    /// The API group.
    pub group: SmolStr,
    /// The version.
    pub version: SmolStr,
    /// The kind.
    pub kind: SmolStr,
    /// Field names with `/` between them (`\/` is a slash in a name). Lists on the way need no
    /// mention: all their entries are meant. A name with `[]` behind it is never created.
    pub path: SmolStr,
    /// Whether the field is made when it is missing.
    pub create: bool,
}

impl FieldSpec {
    /// A field of all kinds that is not made when it is missing.
    #[must_use]
    pub fn of_all(path: &str) -> Self {
        Self { path: path.into(), ..Self::default() }
    }

    /// A field of all kinds that is made when it is missing.
    #[must_use]
    pub fn created_in_all(path: &str) -> Self {
        Self { create: true, ..Self::of_all(path) }
    }

    /// Whether the field is one of this kind.
    #[must_use]
    pub fn selects(&self, gvk: &Gvk) -> bool {
        selects([&self.group, &self.version, &self.kind], gvk)
    }

    /// Whether kustomize takes `self`, which it has, and `incoming` for the same: an incoming spec
    /// that is the wider one is lost.
    pub(super) fn stands_for(&self, incoming: &Self) -> bool {
        let fits = |wanted: &SmolStr, own: &SmolStr| wanted.is_empty() || wanted == own;
        self.path == incoming.path
            && fits(&incoming.group, &self.group)
            && fits(&incoming.version, &self.version)
            && fits(&incoming.kind, &self.kind)
    }
}

/// Whether group, version and kind are each empty or the same.
pub(in crate::transform) fn selects([group, version, kind]: [&str; 3], gvk: &Gvk) -> bool {
    (kind.is_empty() || kind == gvk.kind)
        && (group.is_empty() || group == gvk.group)
        && (version.is_empty() || version == gvk.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
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
            assert_eq!(selects(selector, &gvk), want, "{selector:?}");
        }
    }
}
